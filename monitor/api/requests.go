package api

import (
	"bufio"
	"encoding/json"
	"net/http"
	"time"

	"plimsoll/monitor/request"
)

const (
	// reportLimit is the longest line of a meter's stream. A request with all its
	// numbers and an error takes under 2 KiB.
	reportLimit = 32 << 10
	// reportsLimit is the most requests of one meter that are followed in flight.
	reportsLimit = 4096
)

// requests takes what a meter tells of requests, one request.Request a line, for
// as long as the meter keeps the stream open. The answer begins at once, so that
// the meter knows who listens. A meter that goes away leaves requests of which
// nobody will tell the end.
func (s *server) requests(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		refuse(w, failuref("bad_method", "/v1/requests has no %s", r.Method))
		return
	}
	conn := http.NewResponseController(w)
	if err := conn.EnableFullDuplex(); err != nil {
		refuse(w, Failure("failed", "reading a meter's stream", err))
		return
	}
	header(w, "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	if conn.Flush() != nil {
		return
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() { // a read of a body ends by its deadline alone
		select {
		case <-s.ending:
			conn.SetReadDeadline(time.Now())
		case <-ended:
		}
	}()
	flying := map[string]request.Request{}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, reportLimit)
	for lines.Scan() {
		var told request.Request
		if json.Unmarshal(lines.Bytes(), &told) != nil || told.ID == "" {
			break // no meter of ours: it may connect again
		}
		if told.Phase == request.PhaseDone {
			delete(flying, told.ID)
		} else if len(flying) < reportsLimit {
			flying[told.ID] = told
		}
		s.agent.Observe(told)
	}
	now := time.Now()
	for _, left := range flying {
		left.Phase, left.Outcome, left.Changed, left.Ended = request.PhaseDone, request.OutcomeUnknown, now, &now
		s.agent.Observe(left)
	}
}

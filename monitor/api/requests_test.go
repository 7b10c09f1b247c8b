package api

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"plimsoll/monitor/request"
)

// observing is an agent that keeps what meters tell.
type observing struct {
	*fakeAgent
	mu   sync.Mutex
	told map[string][]request.Request
	news chan struct{}
}

func newObserving(t *testing.T) *observing {
	return &observing{fakeAgent: newFakeAgent(t, "chip"), told: map[string][]request.Request{}, news: make(chan struct{}, 1<<16)}
}

func (o *observing) Observe(r request.Request) {
	o.mu.Lock()
	o.told[r.ID] = append(o.told[r.ID], r)
	o.mu.Unlock()
	o.news <- struct{}{}
}

// until waits until what was told of a request is as wanted.
func (o *observing) until(t *testing.T, id, what string, wanted func([]request.Request) bool) {
	t.Helper()
	limit := time.After(deadline)
	for {
		o.mu.Lock()
		ok := wanted(o.told[id])
		o.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-o.news:
		case <-limit:
			t.Fatalf("%s: %s was not told; told: %+v", id, what, o.told[id])
		}
	}
}

func last(phase request.Phase, outcome request.Outcome) func([]request.Request) bool {
	return func(all []request.Request) bool {
		return len(all) > 0 && all[len(all)-1].Phase == phase && all[len(all)-1].Outcome == outcome
	}
}

func flying(id string) request.Request { return request.Request{ID: id, Phase: request.PhaseDecode} }
func over(id string) request.Request {
	return request.Request{ID: id, Phase: request.PhaseDone, Outcome: request.OutcomeFinished}
}

// carry runs reports to a socket until stop.
func carry(t *testing.T, q *Reports, path string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); q.Run(ctx, Dial(path), nil) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); receive(t, done, "the end of the reports") }) }
	t.Cleanup(stop)
	return stop
}

func TestReportsReachTheAgent(t *testing.T) {
	o, path := newObserving(t), agentPath(t)
	start(t, o, path, stuckAfter)
	q := NewReports()
	q.Put(over("before"))
	stop := carry(t, q, path)
	o.until(t, "before", "its end", last(request.PhaseDone, request.OutcomeFinished))
	q.Put(flying("a"))
	o.until(t, "a", "its decoding", last(request.PhaseDecode, ""))
	q.Put(over("a"))
	o.until(t, "a", "its end", last(request.PhaseDone, request.OutcomeFinished))
	q.Put(flying("b"))
	o.until(t, "b", "its decoding", last(request.PhaseDecode, ""))
	stop() // the meter is gone, and nobody tells how b went on
	o.until(t, "b", "that it is over", last(request.PhaseDone, request.OutcomeUnknown))
}

func TestReportsOutliveAgents(t *testing.T) {
	path, q := agentPath(t), NewReports()
	q.Put(over("early"))
	carry(t, q, path)
	for round := range 3 {
		o := newObserving(t)
		stop := start(t, o, path, stuckAfter)
		o.until(t, "early", "its end", last(request.PhaseDone, request.OutcomeFinished))
		id := fmt.Sprint("round ", round)
		q.Put(flying(id))
		o.until(t, id, "its decoding", last(request.PhaseDecode, ""))
		stop()
		q.Put(over(id)) // while there is no agent
		if round > 0 {
			o.until(t, fmt.Sprint("round ", round-1), "its end", last(request.PhaseDone, request.OutcomeFinished))
		}
	}
}

func TestReportsNeverWait(t *testing.T) {
	q := NewReports()
	for i := range 10 * unsentReports {
		q.Put(flying(fmt.Sprint(i)))
		q.Put(over(fmt.Sprint(i)))
	}
	if len(q.unsent) > unsentReports || len(q.recent) > unsentReports || len(q.flying) > 0 || len(q.queued) != len(q.unsent) {
		t.Errorf("without an agent %d, %d, %d and %d are kept", len(q.unsent), len(q.recent), len(q.flying), len(q.queued))
	}
	newest := ""
	for r, ok := q.take(); ok; r, ok = q.take() {
		newest = r.ID
	}
	if newest != fmt.Sprint(10*unsentReports-1) {
		t.Errorf("the last one is %s", newest)
	}
}

func TestAMeterThatTalksNonsenseIsHungUpOn(t *testing.T) {
	o, path := newObserving(t), agentPath(t)
	start(t, o, path, stuckAfter)
	for _, line := range []string{"hello\n", "{}\n", `{"id":"` + long(reportLimit) + "\"}\n"} {
		conn, err := net.Dial("unix", path)
		must(t, err)
		conn.SetDeadline(time.Now().Add(deadline))
		fmt.Fprintf(conn, "POST /v1/requests HTTP/1.1\r\nHost: plimsoll\r\nTransfer-Encoding: chunked\r\n\r\n")
		text := `{"id":"x","phase":"decode"}` + "\n"
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text)
		o.until(t, "x", "its decoding", last(request.PhaseDecode, ""))
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(line), line)
		o.until(t, "x", "that nobody knows", last(request.PhaseDone, request.OutcomeUnknown))
		conn.Close()
	}
	if _, refused := raw(t, path, "GET", "/v1/requests", "", nil); refused.Code != "bad_method" {
		t.Errorf("GET: %+v", refused)
	}
}

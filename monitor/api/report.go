package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"plimsoll/monitor/request"
)

const (
	// recentReports is how many requests that are over are told again to an agent
	// that was started again, unsentReports how many may wait for one.
	recentReports, unsentReports = 50, 1024
	// Between two tries to reach an agent pass retryFirst, then twice as long each
	// time, up to retryMost.
	retryFirst, retryMost = 500 * time.Millisecond, 8 * time.Second
)

// Reports carry what a meter tells to the agent. Put never waits and Run connects
// as often as it takes, so that neither an agent that is away nor one that is slow
// holds anybody up: what is told twice of a request before it could be sent
// counts once, and the oldest is dropped when too much waits.
type Reports struct {
	mu     sync.Mutex
	flying map[string]request.Request
	recent []request.Request // over, oldest first
	unsent []string          // IDs, oldest first
	queued map[string]bool   // those in unsent
	ready  chan struct{}
}

// NewReports makes one that is empty.
func NewReports() *Reports {
	return &Reports{flying: map[string]request.Request{}, queued: map[string]bool{}, ready: make(chan struct{}, 1)}
}

// Put takes what is known of a request now.
func (q *Reports) Put(r request.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.Phase == request.PhaseDone {
		delete(q.flying, r.ID)
		q.recent = append(q.recent, r)
		q.recent = q.recent[max(0, len(q.recent)-unsentReports):]
	} else {
		q.flying[r.ID] = r
	}
	q.queue(r.ID)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *Reports) queue(id string) {
	if q.queued[id] {
		return
	}
	if len(q.unsent) == unsentReports {
		delete(q.queued, q.unsent[0])
		q.unsent = append(q.unsent[:0], q.unsent[1:]...)
	}
	q.unsent, q.queued[id] = append(q.unsent, id), true
}

// take is the next request to be sent, as it is now.
func (q *Reports) take() (request.Request, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.unsent) > 0 {
		id := q.unsent[0]
		q.unsent = append(q.unsent[:0], q.unsent[1:]...)
		delete(q.queued, id)
		if r, ok := q.flying[id]; ok {
			return r, true
		}
		for i := len(q.recent) - 1; i >= 0; i-- {
			if q.recent[i].ID == id {
				return q.recent[i], true
			}
		}
	}
	return request.Request{}, false
}

// resend queues a request that did not arrive.
func (q *Reports) resend(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue(id)
}

// again queues all that a new agent should know: the recent and those in flight,
// behind what was not sent yet.
func (q *Reports) again() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.recent[max(0, len(q.recent)-recentReports):] {
		q.queue(r.ID)
	}
	for id := range q.flying {
		q.queue(id)
	}
}

// Drain waits until all has been sent, but no longer than ctx lasts.
func (q *Reports) Drain(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		q.mu.Lock()
		left := len(q.unsent)
		q.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Run sends to the agent until ctx ends. connected, if it is not nil, is told
// when a stream to an agent begins and when it is gone.
func (q *Reports) Run(ctx context.Context, c *Client, connected func(bool)) {
	wait := retryFirst
	for ctx.Err() == nil {
		q.again()
		began, err := c.report(ctx, q, connected)
		if began {
			wait = retryFirst
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = min(2*wait, retryMost)
	}
}

// report keeps one stream to the agent. began says that an agent took it.
func (c *Client) report(ctx context.Context, q *Reports, connected func(bool)) (began bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, to := io.Pipe()
	defer to.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/v1/requests", lines)
	if err != nil {
		return false, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return false, c.unreached(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, failuref("failed", "the agent answered %s to a meter", answer.Status)
	}
	if connected != nil {
		connected(true)
		defer connected(false)
	}
	gone := make(chan struct{})
	go func() { // the agent says nothing; the end of its answer is its own
		io.Copy(io.Discard, answer.Body) //nolint:errcheck // any end is one
		close(gone)
		cancel()
	}()
	defer func() { answer.Body.Close(); <-gone }()
	for {
		told, ok := q.take()
		if !ok {
			select {
			case <-q.ready:
				continue
			case <-ctx.Done():
				return true, ErrGone
			}
		}
		line, err := json.Marshal(told)
		if err != nil {
			continue // a number that is none; the next report has another
		}
		if _, err := to.Write(append(line, '\n')); err != nil {
			q.resend(told.ID)
			return true, fmt.Errorf("telling the agent of requests: %w", err)
		}
	}
}

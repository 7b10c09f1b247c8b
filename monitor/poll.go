package monitor

import (
	"context"
	"io"
	"reflect"
	"sync"
	"time"

	"plimsoll/monitor/backend"
)

const (
	// pollInterval is the time between two questions to a server. With the
	// server's time-out of two seconds a hung one is known within four.
	pollInterval = 2 * time.Second
	// pollSaving is the same on battery while nobody looks.
	pollSaving = 5 * time.Second
	// pollTimeout ends a poll whatever the backend does.
	pollTimeout = 3 * time.Second
)

// poller asks one server at its own pace and keeps the last answer.
type poller struct {
	backend backend.Backend
	wake    chan struct{}

	mu     sync.Mutex
	answer backend.Answer
}

func (m *Monitor) makePollers(backends []backend.Backend) []*poller {
	var pollers []*poller
	for _, b := range backends {
		pollers = append(pollers, &poller{backend: b, wake: make(chan struct{}, 1)})
	}
	return pollers
}

// startPollers starts one goroutine a server. m.mu is held.
func (m *Monitor) startPollers() {
	ctx, stop := context.WithCancel(m.running)
	m.stop = stop
	for _, p := range m.pollers {
		m.pollGroup.Go(func() { m.poll(ctx, p) })
	}
}

// SetBackends replaces the servers. What the old ones answered is forgotten,
// and their connections are closed where they have any.
func (m *Monitor) SetBackends(backends []backend.Backend) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pollers {
		if c, ok := p.backend.(io.Closer); ok {
			c.Close()
		}
	}
	m.pollers = m.makePollers(backends)
	if m.running != nil {
		m.stop()
		m.startPollers()
	}
	m.hurry()
}

// poll asks until ctx ends.
func (m *Monitor) poll(ctx context.Context, p *poller) {
	for {
		asking, cancel := context.WithTimeout(ctx, pollTimeout)
		answer := p.backend.Poll(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		m.builds.learn(p.backend.Name(), answer.Described)
		answer.Described = nil
		if p.keep(answer, m.config.Clock.Now()) {
			m.hurry()
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-m.config.Clock.After(m.pollPace()):
		}
	}
}

func (m *Monitor) pollPace() time.Duration {
	m.mu.Lock()
	latest := m.latest.Snapshot
	m.mu.Unlock()
	if latest != nil && latest.onBattery() && !m.watched() {
		return pollSaving
	}
	return pollInterval
}

// keep stores an answer and reports whether it tells something new. A server
// that stopped answering keeps its models as they were: they are still in memory.
func (p *poller) keep(answer backend.Answer, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.answer
	answer.Status.Answered = &now
	if answer.Status.State != backend.Running {
		answer.Models = before.Models
		answer.Status.Answered = before.Status.Answered
		if answer.Status.State != backend.NotRunning {
			answer.Residents = before.Residents
		}
	}
	p.answer = answer
	return before.Status.State != answer.Status.State || !reflect.DeepEqual(names(before), names(answer))
}

func names(a backend.Answer) []string {
	var names []string
	for _, r := range a.Residents {
		names = append(names, r.Model)
	}
	return names
}

func (p *poller) last() backend.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answer
}

// soon asks the server again at once.
func (p *poller) soon() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Models lists what the servers have on disk, as far as they said.
func (m *Monitor) Models() []backend.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []backend.Model
	for _, p := range m.pollers {
		all = append(all, p.last().Models...)
	}
	return all
}

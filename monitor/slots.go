package monitor

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

const (
	// slotsFlying is the time between two questions to /slots while a request is in
	// flight, slotsIdle while a model is only resident, slotsSaving on battery while
	// nobody looks. Two a second cost a real server nothing that could be measured.
	slotsFlying = 500 * time.Millisecond
	slotsIdle   = pollInterval
	slotsSaving = pollSaving
)

// slotSource is a process that can be asked for its slots.
type slotSource struct {
	origin request.Origin
	// loads: a process that loads its model does so for somebody's request.
	loads bool
	// open makes the reader, nil where the process does not tell after all.
	open func() backend.SlotReader
}

// slotPoller asks one process for its slots at its own pace.
type slotPoller struct {
	slotSource
	reader backend.SlotReader
	wake   chan struct{}
	stop   context.CancelFunc
	// noTotals belongs to the poller's goroutine: the server does not tell totals.
	noTotals bool
}

// followSlots asks those processes for their slots that hold a resident model now.
// Where nothing is resident nobody is asked.
func (m *Monitor) followSlots(s *Snapshot) {
	wanted := m.slotSources(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.slots {
		if _, still := wanted[key]; still {
			delete(wanted, key)
			continue
		}
		p.stop()
		delete(m.slots, key)
	}
	for key, source := range wanted {
		reader := source.open()
		if reader == nil || m.running == nil {
			continue
		}
		ctx, stop := context.WithCancel(m.running)
		p := &slotPoller{slotSource: source, reader: reader, wake: make(chan struct{}, 1), stop: stop}
		m.slots[key] = p
		m.pollGroup.Go(func() { m.pollSlots(ctx, p) })
	}
}

// slotSources are the processes to ask by their origin: the children of servers on
// this machine, and servers that tell for themselves.
func (m *Monitor) slotSources(s *Snapshot) map[request.Origin]slotSource {
	wanted := map[request.Origin]slotSource{}
	m.mu.Lock()
	pollers := slices.Clone(m.pollers)
	m.mu.Unlock()
	for i := range s.Residents {
		r := &s.Residents[i]
		if r.Cloud {
			continue
		}
		origin := request.Origin{Backend: r.Backend, Model: r.Model}
		if p, ok := m.runners.found[residentKey(r)]; ok {
			if port, ok := m.runners.child(p); ok {
				origin.Process = strconv.Itoa(p.PID) + "/" + strconv.FormatUint(p.Started, 10)
				wanted[origin] = slotSource{origin, true, func() backend.SlotReader { return m.child(port) }}
				continue
			}
		}
		for _, p := range pollers {
			t, tells := p.backend.(backend.SlotTeller)
			if tells && p.backend.Name() == r.Backend && alone(s, r.Backend) {
				origin.Process, origin.Sole = p.backend.Address(), true
				wanted[origin] = slotSource{origin, false, t.Slots}
			}
		}
	}
	return wanted
}

// alone reports a backend with one model in memory: of several, slots would have to
// be told apart.
func alone(s *Snapshot, name string) bool {
	n := 0
	for i := range s.Residents {
		if s.Residents[i].Backend == name {
			n++
		}
	}
	return n == 1
}

// child is the port of a runner that is a llama-server which an Ollama started
// (since v0.30). Runners before that tell no slots.
func (r *runners) child(p metal.Process) (port int, ok bool) {
	if p.Name != "llama-server" || !r.servers[p.Parent] {
		return 0, false
	}
	for i, arg := range p.Args {
		value, given := strings.CutPrefix(arg, "--port=")
		if arg == "--port" && i+1 < len(p.Args) {
			value, given = p.Args[i+1], true
		}
		if port, err := strconv.Atoi(value); given && err == nil && port > 0 && port < 1<<16 {
			return port, true
		}
	}
	return 0, false
}

// servesModels tells a process that manages runners.
func servesModels(p metal.Process) bool {
	return (p.Name == "ollama" || p.App == "Ollama") && !holdsModel(p)
}

// pollSlots asks until ctx ends, or until the process says that it does not tell.
func (m *Monitor) pollSlots(ctx context.Context, p *slotPoller) {
	defer p.reader.Close()
	defer m.requests.change(func(t *request.Tracker) { t.Gone(m.moment(), p.origin) })
	for m.askSlots(ctx, p) {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-m.config.Clock.After(m.slotPace(p)):
		}
	}
	<-ctx.Done()
}

// slotPace is the time to the next question.
func (m *Monitor) slotPace(p *slotPoller) time.Duration {
	flying := false
	m.requests.change(func(t *request.Tracker) { flying = t.InFlight(m.moment(), p.origin.Backend, p.origin.Model) })
	switch latest := m.snapshot(); {
	case flying:
		return slotsFlying
	case latest.onBattery() && !m.watched():
		return slotsSaving
	}
	return slotsIdle
}

// wakeSlots asks all processes at once.
func (m *Monitor) wakeSlots() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.slots {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// slotReply is what came of a question, and when.
type slotReply struct {
	slots []request.Slot
	err   error
	came  request.Moment
}

// askSlots asks once. One question is under way at most: a server that reads a
// prompt does not answer for seconds, and that is the news. It reports false when
// there is no use in asking again.
func (m *Monitor) askSlots(ctx context.Context, p *slotPoller) bool {
	asked, done := m.moment(), make(chan slotReply, 1)
	go func() {
		slots, err := p.reader.Read(ctx)
		done <- slotReply{slots, err, m.moment()}
	}()
	var reply slotReply
	select {
	case reply = <-done:
	case <-m.config.Clock.After(request.Silence):
		m.requests.change(func(t *request.Tracker) { t.Silent(m.moment(), p.origin, asked) })
		m.hurry()
		reply = <-done
	}
	if ctx.Err() != nil {
		return false
	}
	return m.takeSlots(ctx, p, asked, reply)
}

// takeSlots tells what came of a question.
func (m *Monitor) takeSlots(ctx context.Context, p *slotPoller, asked request.Moment, reply slotReply) bool {
	if errors.Is(reply.err, backend.ErrNoSlots) {
		m.log.Debug("no slots", "server", p.origin.Backend, "model", p.origin.Model, "error", reply.err)
		return m.askTotals(ctx, p)
	}
	totals := false
	m.requests.change(func(t *request.Tracker) {
		before := t.InFlight(reply.came, p.origin.Backend, p.origin.Model)
		switch {
		case errors.Is(reply.err, backend.ErrLoading):
			if p.loads {
				t.Loading(reply.came, p.origin)
			}
		case errors.Is(reply.err, context.DeadlineExceeded): // it reads on
		case reply.err != nil:
			t.Gone(reply.came, p.origin)
		default:
			t.Slots(request.Reading{Origin: p.origin, Asked: asked, Came: reply.came, Slots: reply.slots})
			totals = t.WantsTotals(p.origin)
		}
		if before != t.InFlight(reply.came, p.origin.Backend, p.origin.Model) {
			m.hurry()
		}
	})
	if totals {
		m.askTotals(ctx, p)
	}
	return true
}

// askTotals asks for the server's counters. It reports false when it tells none.
func (m *Monitor) askTotals(ctx context.Context, p *slotPoller) bool {
	if p.noTotals {
		return false
	}
	totals, err := p.reader.Totals(ctx)
	if errors.Is(err, backend.ErrNoSlots) {
		p.noTotals = true
		return false
	}
	if err == nil {
		m.requests.change(func(t *request.Tracker) { t.Totals(m.moment(), p.origin, totals) })
	}
	return true
}

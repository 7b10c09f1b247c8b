package monitor_test

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
	"plimsoll/monitor/sim"
)

// restClock is a simulated clock that knows what each goroutine of a monitor waits
// for, so that time goes on only when all have come to rest.
type restClock struct {
	*sim.Clock

	mu      sync.Mutex
	waits   map[string]rest // by goroutine
	opening int             // readers of slots whose goroutine has not begun
	changed chan struct{}   // has room for one
}

// rest is what a goroutine waits for: a moment, or the answer of a runner.
type rest struct {
	due  time.Duration
	asks bool
}

// After is called by a goroutine that has nothing else to do, or that has just asked
// a runner for its slots.
func (c *restClock) After(d time.Duration) <-chan time.Time {
	who, asks := goroutine()
	ch := c.Clock.After(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.waits[who]; !known && asks {
		c.opening--
	}
	c.waits[who] = rest{c.Awake() + d, asks}
	c.tell()
	return ch
}

// tell wakes the one who steps the clock.
func (c *restClock) tell() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// goroutine names the goroutine that calls, and tells whether it asks for slots.
func goroutine() (name string, asks bool) {
	var stack [4 << 10]byte
	text := stack[:runtime.Stack(stack[:], false)]
	head, _, _ := bytes.Cut(text, []byte("["))
	return string(head), bytes.Contains(text, []byte(".askSlots("))
}

// next is how long it is until somebody has something to do. ok is false while
// somebody is at work; asking tells how many wait for a runner's answer.
func (c *restClock) next() (d time.Duration, asking int, ok bool) {
	now := c.Awake()
	c.mu.Lock()
	defer c.mu.Unlock()
	d = time.Hour
	for _, r := range c.waits {
		switch {
		case r.asks:
			asking++
		case r.due <= now:
			return 0, 0, false
		default:
			d = min(d, r.due-now)
		}
	}
	const least = 2 // who ticks, and who asks the server
	return d, asking, c.opening == 0 && len(c.waits) >= least
}

// childReader is the reader of a runner's slots whose goroutine is known to end.
type childReader struct {
	*backend.Slots
	clock *restClock
}

func (r childReader) Close() error {
	who, _ := goroutine()
	r.clock.mu.Lock()
	delete(r.clock.waits, who)
	r.clock.mu.Unlock()
	r.clock.tell()
	return r.Slots.Close()
}

// machine is a monitor on a simulated Mac and its model server, over the network.
type machine struct {
	*sim.Mac
	t     *testing.T
	clock *restClock
	box   *monitor.Mailbox
	now   *monitor.Snapshot
	each  func(monitor.Update)
	lost  bool // prompts are to be lost
}

// watched begins a monitor on a simulated Mac whose runners have two slots.
func watched(t *testing.T) *machine {
	t.Helper()
	return watchedMac(t, sim.Config{Seed: 3, Slots: 2})
}

// watchedMac begins a monitor on a simulated Mac.
func watchedMac(t *testing.T, c sim.Config) *machine {
	t.Helper()
	clock := &restClock{Clock: sim.NewClock(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), 0), waits: map[string]rest{}, changed: make(chan struct{}, 1)}
	clock.SetSettle(func() {})
	c.Clock = clock.Clock
	mac := sim.New(c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := backend.NewOllama("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m := monitor.New(monitor.Config{Local: mac, Backends: []backend.Backend{server}, Clock: clock, Simulated: true})
	m.SetChild(func(port int) backend.SlotReader {
		clock.mu.Lock()
		clock.opening++
		clock.mu.Unlock()
		return childReader{backend.ChildSlots(port), clock}
	})
	box := m.Subscribe(monitor.Options{Lossless: true})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = mac.Serve(ctx, l) })
	running.Go(func() { _ = m.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return &machine{Mac: mac, t: t, clock: clock, box: box, each: func(monitor.Update) {}}
}

// step lets time go on until somebody has something to do, at most by d.
func (m *machine) step(d time.Duration) {
	m.t.Helper()
	const pass = 20 * time.Millisecond // a runner answers between two of them
	end := time.After(time.Minute)
	for {
		next, asking, ok := m.clock.next()
		rest := ok && (asking == 0 || asking == m.Asking())
		if rest && asking > 0 {
			next = min(next, pass)
		}
		if rest {
			m.take()
			m.clock.Advance(min(d, next))
			return
		}
		if ok { // a question is on its way to the runner, or the answer is back
			runtime.Gosched()
			continue
		}
		select {
		case <-m.clock.changed:
		case <-end:
			m.t.Fatalf("the monitor does not come to rest; %d ask, truth %+v", asking, m.Truth())
		}
	}
}

// take looks at what came since.
func (m *machine) take() {
	for u, ok := m.box.Take(); ok; u, ok = m.box.Take() {
		m.now = u.Snapshot
		m.each(u)
	}
}

// pass lets that much time pass.
func (m *machine) pass(d time.Duration) {
	m.t.Helper()
	for end := m.clock.Awake() + d; m.clock.Awake() < end; {
		m.step(end - m.clock.Awake())
	}
}

// until lets time pass until it is so.
func (m *machine) until(most time.Duration, what string, so func() bool) {
	m.t.Helper()
	for end := m.clock.Awake() + most; !so(); m.step(time.Second) {
		if m.clock.Awake() > end {
			m.t.Fatalf("%s: not within %v; %+v", what, most, m.Truth())
		}
	}
}

// send asks the simulated server for an answer.
func (m *machine) send(p sim.Prompt) *sim.Job {
	m.t.Helper()
	job, err := m.Send(p)
	if err != nil {
		m.t.Fatal(err)
	}
	return job
}

// answer waits until a request has been answered.
func (m *machine) answer(p sim.Prompt) {
	m.t.Helper()
	job := m.send(p)
	m.until(10*time.Minute, "the answer", func() bool { return job.Result().Finished })
}

// resident is a model in memory as the monitor sees it, nil when it is not there.
func (m *machine) resident(model string) *monitor.Resident {
	for i := range m.now.Residents {
		if r := &m.now.Residents[i]; r.Model == model {
			return r
		}
	}
	return nil
}

// runs is how many requests have taught the monitor how fast a model is.
func (m *machine) runs(model string) int {
	for _, s := range m.now.Speeds {
		if s.Model == model && s.Decode != nil && len(s.Depths) > 0 {
			return s.Depths[0].Runs
		}
	}
	return 0
}

// inFlight reports a request of a model in a phase, as the monitor sees it.
func (m *machine) inFlight(model string, phase request.Phase) bool {
	for _, r := range m.now.Requests {
		if r.Model == model && r.Phase == phase {
			return true
		}
	}
	return false
}

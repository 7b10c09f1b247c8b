package monitor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor/backend"
)

// limitMachine is a fakeMachine with a GPU whose Metal follows the limit that is
// set, after some asks where lag says so, and a Limiter that sets it. Its leases
// end by the bubble's clock.
type limitMachine struct {
	*fakeMachine
	mu         sync.Mutex
	byDefault  uint64
	set        wired.MiB
	lease      *wired.Lease
	until      time.Time
	remembered *wired.MiB
	refused    string
	stateErr   error
	helper     HelperState
	helperAsks int
	helperWait time.Duration
	confirms   int
	meanwhile  func(*limitMachine) // happens just before the first Confirm
	confirmErr error
	restarts   []string
	deaf       bool   // Metal does not follow
	source     string // who tells the limit
	maxBuffer  *uint64
	swapping   time.Time // 10 MB/s go out since then
}

func newLimitMachine() *limitMachine {
	return &limitMachine{fakeMachine: newFakeMachine(), byDefault: 21845 << 20, helper: HelperInstalled, source: "metal"}
}

func (l *limitMachine) change(f func(*limitMachine)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *limitMachine) GPU() (*metal.GPU, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
	g := &metal.GPU{WiredLimit: new(l.set.Bytes()), WorkingSet: new(l.byDefault), LimitSource: l.source, MaxBuffer: l.maxBuffer}
	if l.set > 0 && !l.deaf {
		g.WorkingSet = new(l.set.Bytes())
	}
	return g, nil
}

func (l *limitMachine) Swap() (*metal.Swap, error) {
	l.mu.Lock()
	began := l.swapping
	l.mu.Unlock()
	s, err := l.fakeMachine.Swap()
	if !began.IsZero() {
		s.Out = new(uint64(time.Since(began).Seconds() * 10e6))
	}
	return s, err
}

func (l *limitMachine) expire() {
	if l.lease != nil && !time.Now().Before(l.until) {
		l.set, l.lease = l.lease.Previous, nil
	}
}

func (l *limitMachine) State() (wired.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
	s := wired.State{Key: "iogpu.wired_limit_mb", Set: l.set, Remembered: l.remembered, Refused: l.refused}
	if l.lease != nil {
		lease := *l.lease
		lease.Left = time.Until(l.until)
		s.Lease = &lease
	}
	return s, l.stateErr
}

func (l *limitMachine) Helper(ctx context.Context) HelperState {
	l.mu.Lock()
	l.helperAsks++
	wait, state := l.helperWait, l.helper
	l.mu.Unlock()
	select {
	case <-time.After(wait):
		return state
	case <-ctx.Done():
		return HelperSilent
	}
}

func (l *limitMachine) Set(_ context.Context, limit wired.MiB, lease time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.until = &wired.Lease{Value: limit, Previous: l.set}, time.Now().Add(lease)
	l.set = limit
	return nil
}

func (l *limitMachine) Confirm(_ context.Context, limit wired.MiB) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirms++
	if l.meanwhile != nil {
		l.meanwhile(l)
		l.meanwhile = nil
	}
	if l.confirmErr != nil {
		return l.confirmErr
	}
	l.expire()
	if l.lease == nil {
		return errors.New("nothing to confirm")
	}
	if limit != 0 && limit != l.lease.Value {
		return errors.New("another limit is on trial")
	}
	l.remembered, l.lease = new(l.lease.Value), nil
	return nil
}

func (l *limitMachine) Reset(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set, l.lease, l.remembered, l.refused = 0, nil, nil, ""
	return nil
}

func (l *limitMachine) Restart(_ context.Context, server string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restarts = append(l.restarts, server)
	return nil
}

func (l *limitMachine) RestartCommand(_ context.Context, server string) (string, error) {
	if server != "ollama" {
		return "", errors.New("not known")
	}
	return "brew services restart ollama", nil
}

// asked and confirmed count the calls.
func (l *limitMachine) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.helperAsks
}

func (l *limitMachine) confirmed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.confirms
}

// listed counts how often the processes were.
func (l *limitMachine) listed() (n int) {
	l.fakeMachine.set(func(f *fakeMachine) { n = f.lists })
	return n
}

// press sets memory pressure.
func (l *limitMachine) press(p metal.Pressure) {
	l.fakeMachine.set(func(f *fakeMachine) { f.memory.Pressure = p })
}

// limited runs an agent's monitor with that Limiter in a synctest bubble.
func limited(t *testing.T, l *limitMachine, servers ...backend.Backend) (*Monitor, *Mailbox) {
	t.Helper()
	return running(t, Config{Local: l, Backends: servers, Clock: SystemClock(), Limiter: l, ConfirmLimit: true})
}

func running(t *testing.T, c Config) (*Monitor, *Mailbox) {
	t.Helper()
	m := New(c)
	box := m.Subscribe(Options{Lossless: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return m, box
}

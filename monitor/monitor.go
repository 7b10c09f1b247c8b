// Package monitor turns facts into snapshots.
//
//	metal.Reader ─────────┐
//	backends (own pace) ──┼─► Snapshot ─► History ─► rules ─► Update ─► mailboxes ─► tray | API | recorder
//	                      ┘   one tick
//	click ─► Command ─► Do ─► backend        …its effect is seen in the next Snapshot
//
// One goroutine owns the tick and everything behind it. Backends poll in
// goroutines of their own and leave their last answer with its time, so a hung
// server makes its own part stale and never delays memory. The package makes no
// system call: local facts come through metal.Reader and time through Clock.
package monitor

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// Config is what a Monitor is made of. Local and Clock are needed, the rest may
// be left out.
type Config struct {
	Local    metal.Reader
	Backends []backend.Backend
	Clock    Clock
	// Simulated marks every snapshot.
	Simulated bool
	// Hot is the temperature of the GPU, in °C, from which on it is an alert, from
	// HotLeast to HotMost. Nil: none on temperature alone. See SetHot.
	Hot *float64
	// EndProcess politely ends the process with that pid and start time; without
	// it CommandEndRunner is refused.
	EndProcess func(pid int, started uint64) error
	// SwapDay is what an earlier agent counted of the day's swap-out. May be nil.
	SwapDay *SwapDay
	// Limiter changes the GPU's wired limit; without it there is no Limit section.
	Limiter Limiter
	// ConfirmLimit lets this monitor confirm a raised limit by itself, after a
	// minute of normal pressure. It is for an agent, which stays.
	ConfirmLimit bool
	// PostMortem is told with the first tick. Nil: there is nothing to tell.
	PostMortem *PostMortem
	Log        *slog.Logger
}

// Monitor watches one machine and its model servers. Make one with New, start
// it with Run; the other methods may be called from any goroutine.
type Monitor struct {
	config Config
	log    *slog.Logger
	nudge  chan struct{}
	hot    atomic.Pointer[float64]

	mu        sync.Mutex
	boxes     map[*Mailbox]struct{}
	pollers   []*poller
	unloads   map[string]*unload
	slots     map[request.Origin]*slotPoller
	latest    Update
	stop      context.CancelFunc // ends the pollers of the running Run
	running   context.Context
	pollGroup sync.WaitGroup
	builds    builds

	requests requests
	// child reads the slots of a server's child on this machine.
	child func(port int) backend.SlotReader

	// What follows belongs to the tick's goroutine.
	engine     *engine
	runners    runners
	held       []heldProcess
	consumers  consumerCache
	claims     claims
	foreseen   foreseen
	background backgroundWork
	volumes    volumes
	owners     map[string]owner // by backend
	limit      limitWatch
	news       []Event // of this tick, from logs
}

// New makes a Monitor. It does nothing before Run.
func New(config Config) *Monitor {
	m := &Monitor{
		config: config, log: config.Log, nudge: make(chan struct{}, 1),
		boxes: map[*Mailbox]struct{}{}, unloads: map[string]*unload{}, slots: map[request.Origin]*slotPoller{},
		requests: requests{tracker: request.NewTracker()}, child: func(port int) backend.SlotReader { return backend.ChildSlots(port) }, engine: newEngine(), owners: map[string]owner{},
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.SetHot(config.Hot)
	m.engine.wear.before = config.SwapDay
	m.pollers = m.makePollers(config.Backends)
	m.engine.claims = m.claim
	return m
}

// Run ticks until ctx ends and returns nil then. It may be called once.
func (m *Monitor) Run(ctx context.Context) error {
	m.mu.Lock()
	m.running = ctx
	m.startPollers()
	m.mu.Unlock()
	defer m.pollGroup.Wait()
	for {
		planned := m.tick()
		if !m.rest(ctx, planned) {
			return nil
		}
	}
}

// rest waits for the next tick: planned, or earlier when something happened,
// but never sooner than the spacing. It reports false when ctx ended.
func (m *Monitor) rest(ctx context.Context, planned time.Duration) bool {
	ticked := m.config.Clock.Awake()
	next := m.config.Clock.After(planned)
	select {
	case <-ctx.Done():
		return false
	case <-next:
		return true
	case <-m.nudge:
	}
	wait := nudgeSpacing - (m.config.Clock.Awake() - ticked)
	if wait <= 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-m.config.Clock.After(wait):
		return true
	case <-next:
		return true
	}
}

// SetHot sets the temperature from which on the GPU's is an alert, as in Config.
// It is in force with the next tick.
func (m *Monitor) SetHot(celsius *float64) {
	if celsius != nil {
		celsius = new(*celsius)
	}
	m.hot.Store(celsius)
}

// hurry asks for a tick soon. It never waits.
func (m *Monitor) hurry() {
	select {
	case m.nudge <- struct{}{}:
	default:
	}
}

// tick makes one snapshot and delivers it. It returns the time to the next one.
func (m *Monitor) tick() time.Duration {
	s := m.collect()
	m.engine.history.hot.set(m.hot.Load())
	m.engine.complete(s)
	m.nameLargest(s)
	interval := m.pace(s)
	s.Interval = new(interval.Seconds())
	events := append(m.news, m.followUnloads(s)...)
	if p := m.config.PostMortem; p != nil {
		events, m.config.PostMortem = append(events, p.event(s)), nil
	}
	if s.Consumers == nil && m.engine.wantsConsumers() {
		m.readConsumers(s)
	}
	update := m.engine.step(events)
	m.logEvents(update.Events)
	m.deliver(update)
	return interval
}

// Subscribe hands out a mailbox. The newest update, if there is one, is in it already.
func (m *Monitor) Subscribe(options Options) *Mailbox {
	box := &Mailbox{ready: make(chan struct{}, 1), lossless: options.Lossless, watch: options.Watch, nudge: m.hurry}
	box.drop = func(box *Mailbox) {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.boxes, box)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes[box] = struct{}{}
	if m.latest.Snapshot != nil {
		box.put(Update{Snapshot: m.latest.Snapshot, Alerts: m.latest.Alerts})
	}
	if options.Watch {
		m.hurry()
	}
	return box
}

// Watch hands each update to each, until ctx ends (its error) or each fails (that
// error).
func (m *Monitor) Watch(ctx context.Context, options Options, each func(Update) error) error {
	box := m.Subscribe(options)
	defer box.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-box.Ready():
		}
		for u, ok := box.Take(); ok; u, ok = box.Take() {
			if err := each(u); err != nil {
				return err
			}
		}
	}
}

func (m *Monitor) deliver(u Update) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest = u
	for box := range m.boxes {
		box.put(u)
	}
}

// watched reports whether anybody looks.
func (m *Monitor) watched() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for box := range m.boxes {
		if box.watching() {
			return true
		}
	}
	return false
}

// logEvents writes a problem once when it appears and once when it goes.
func (m *Monitor) logEvents(events []Event) {
	for _, e := range events {
		switch e.Kind {
		case EventProblem:
			m.log.Warn("a section is not readable", "section", e.Evidence.State, "reason", e.Evidence.Cause, "error", e.Evidence.Detail)
		case EventProblemGone:
			m.log.Info("a section is readable again", "section", e.Evidence.State)
		case EventServer:
			m.log.Info("server changed", "server", e.Evidence.Backend, "state", e.Evidence.State, "cause", e.Evidence.Cause, "error", e.Evidence.Detail)
		}
	}
}

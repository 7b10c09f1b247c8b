package monitor

import (
	"context"
	"sync"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
)

const (
	// helperAge is how long it is believed how the helper stands. It is asked in a
	// goroutine of its own: a connection may start a process.
	helperAge = 5 * time.Minute
	// helperTimeout bounds one question to it.
	helperTimeout = 10 * time.Second
	// limitSettles is how many ticks without an override pass before what Metal
	// says counts as the system's default: its answer may be one from before.
	limitSettles = 3
)

// limitWatch is what is remembered of the GPU's limit between ticks. It belongs to
// the tick's goroutine, but for what ask guards.
type limitWatch struct {
	seen    *uint64 // the default, as Metal told it
	set     *uint64 // as it was set at the tick before
	calm    int     // ticks since set changed
	servers serverFigures
	trial   trial

	ask struct {
		sync.Mutex
		state   HelperState
		now     bool // at the next tick, whatever its age
		running bool
		asked   bool
		at      time.Duration
	}
	commands commands
}

// readLimit puts the limit into the snapshot, whose GPU and servers are there.
func (m *Monitor) readLimit(s *Snapshot) {
	if m.config.Limiter == nil {
		return
	}
	state, err := m.config.Limiter.State()
	if err != nil {
		s.Problems[SectionLimit] = problemOf(err)
		return
	}
	w := &m.limit
	l := &Limit{Key: state.Key, Set: state.Set.Bytes(), Effective: inForce(s.GPU), Refused: state.Refused, Helper: w.helper()}
	if state.Remembered != nil {
		l.Remembered = new(state.Remembered.Bytes())
	}
	if lease := state.Lease; lease != nil {
		l.Lease = &LimitLease{Value: lease.Value.Bytes(), Previous: lease.Previous.Bytes(), Until: s.Taken.Add(lease.Left)}
	}
	l.Default, l.DefaultEstimated = w.byDefault(l, s.GPU)
	s.Limit = l
	l.Stale = w.servers.follow(s, m.config.Local)
	m.askHelper(s)
	m.askCommands(s)
	m.confirmTrial(s)
}

// inForce is the limit as Metal tells it: not one that was worked out of the
// setting or estimated because Metal does not answer.
func inForce(g *metal.GPU) *uint64 {
	if g == nil || g.WorkingSet == nil || *g.WorkingSet == 0 {
		return nil
	}
	switch g.LimitSource {
	case "sysctl", "estimate", "":
		return nil
	}
	return new(*g.WorkingSet)
}

// byDefault is the limit without an override: as Metal told it while there was
// none, else made of its largest buffer, which stays at three quarters of the
// default whatever is set (ml-explore/mlx, device info of machines of 64 and 128
// GB with an override).
func (w *limitWatch) byDefault(l *Limit, g *metal.GPU) (bytes *uint64, estimated bool) {
	first := w.set == nil
	switch {
	case first:
		w.calm = limitSettles
	case *w.set != l.Set:
		w.calm = 0
	default:
		w.calm = min(w.calm+1, limitSettles)
	}
	w.set = new(l.Set)
	if l.Set == 0 && l.Effective != nil && w.calm >= limitSettles {
		w.seen = new(*l.Effective)
	}
	switch {
	case w.seen != nil:
		return w.seen, false
	case g == nil:
		return nil, false
	case g.MaxBuffer != nil && *g.MaxBuffer > 0 && *g.MaxBuffer < 1<<60:
		return new(*g.MaxBuffer / 3 * 4), true
	case g.LimitSource == "estimate":
		return g.WorkingSet, true
	}
	return nil, false
}

func (w *limitWatch) helper() HelperState {
	w.ask.Lock()
	defer w.ask.Unlock()
	return w.ask.state
}

// askSoon lets the next tick ask how the helper stands.
func (w *limitWatch) askSoon() {
	w.ask.Lock()
	defer w.ask.Unlock()
	w.ask.now = true
}

// askHelper asks how the helper stands: at the start, after commands and now and
// then, never twice at once.
func (m *Monitor) askHelper(s *Snapshot) {
	ask, now := &m.limit.ask, seconds(*s.Awake)
	ask.Lock()
	defer ask.Unlock()
	if ask.running || ask.asked && !ask.now && now-ask.at < helperAge {
		return
	}
	ask.running, ask.asked, ask.now, ask.at = true, true, false, now
	m.beside(helperTimeout, func(ctx context.Context) {
		state := m.config.Limiter.Helper(ctx)
		ask.Lock()
		changed := ask.state != state
		ask.state, ask.running = state, false
		ask.Unlock()
		if changed {
			m.hurry()
		}
	})
}

// beside runs f in a goroutine that ends before Run does. The tick calls it.
func (m *Monitor) beside(most time.Duration, f func(context.Context)) {
	m.mu.Lock()
	running := m.running
	m.mu.Unlock()
	m.pollGroup.Go(func() {
		ctx, cancel := context.WithTimeout(running, most)
		defer cancel()
		f(ctx)
	})
}

// figure is a limit as a server may have read it.
type figure struct {
	set       uint64
	effective *uint64
}

func figureOf(l *Limit) figure { return figure{l.Set, l.Effective} }

// same compares what Metal told, where it told anything: to the MiB, in which
// limits are set.
func (f figure) same(o figure) bool {
	if f.effective != nil && o.effective != nil {
		return near(*f.effective, *o.effective)
	}
	return f.set == o.set
}

func near(a, b uint64) bool { return less(a, b)+less(b, a) < wired.MiB(1).Bytes() }

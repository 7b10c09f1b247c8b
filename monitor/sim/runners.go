package sim

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"
)

const (
	defaultKeep = 5 * time.Minute
	// forever is what a negative keep_alive means to Ollama.
	forever    = time.Duration(math.MaxInt64)
	maxLoaded  = 3   // OLLAMA_MAX_LOADED_MODELS for one GPU
	maxPending = 512 // OLLAMA_MAX_QUEUE
	// overcommit is how far past the GPU limit this server loads before it drops
	// an idle model first. Estimates that come out too small, models kept by
	// another server and raised keep-alives bring real machines there.
	overcommit = 1.25
	// releaseTime is how long a runner takes to give its memory back.
	releaseTime = 1.5 // s
)

// runner is a process that holds a model.
type runner struct {
	model     *model
	pid, port int
	started   time.Time
	context   int
	bytes     float64 // what it needs when loaded
	loaded    float64 // bytes of it so far
	cpu       float64 // s

	slots   []*slot
	tasks   int // the number of the next one
	totals  totals
	passes  int
	between chan struct{} // closed at the end of a pass, when somebody waits for that
	asking  int           // how many wait
	http    *http.Server  // of a llama-server, while it listens

	refs        int
	queue       []*request
	keep        time.Duration
	expires     time.Duration // on the simulation's time; meaningful with refs 0
	expiresWall time.Time     // as /api/ps shows it; zero until a request has ended
	unlisted    bool
	dead        bool    // ended from outside, still listed
	held        float64 // bytes that stay after the release
	leaving     float64 // bytes still to be released
	spilled     float64 // the part of its bytes that is not on the GPU
	grown       float64 // bytes it has gathered since
}

// submit takes a request in. The lock is held and time is up to date.
func (m *Mac) submit(r *request) *fault {
	if len(m.pending) >= maxPending {
		return &fault{http.StatusServiceUnavailable, "server busy, please try again.  maximum pending requests exceeded"}
	}
	m.requests++
	r.id, r.arrived = m.requests, m.now
	r.context = min(max(r.context, 4), r.model.trained)
	r.changed, r.done = make(chan struct{}, 1), make(chan struct{})
	if need := m.need(r); need > ram-m.systemShare() {
		return &fault{http.StatusInternalServerError, fmt.Sprintf("model requires more system memory (%.1f GiB) than is available (%.1f GiB)",
			need/gib, (ram-m.systemShare())/gib)}
	}
	m.inFlight[r.id] = r
	if run := m.listed(r.model); run != nil && run.usable(r) {
		m.use(run, r)
	} else {
		m.pending = append(m.pending, r)
		m.place()
	}
	return nil
}

// open lists the requests in flight, oldest first.
func (m *Mac) open() []*request {
	list := make([]*request, 0, len(m.inFlight))
	for _, id := range slices.Sorted(maps.Keys(m.inFlight)) {
		list = append(list, m.inFlight[id])
	}
	return list
}

// need is what a runner for a request takes: its cache is for all slots together.
func (m *Mac) need(r *request) float64 {
	return float64(r.model.need(r.context * max(1, m.slots)))
}

// listed is the runner of a model that /api/ps shows.
func (m *Mac) listed(model *model) *runner {
	for _, r := range m.runners {
		if r.model == model && !r.unlisted {
			return r
		}
	}
	return nil
}

func (r *runner) usable(q *request) bool { return r.context == q.context && !r.dead }

// use gives a request its runner.
func (m *Mac) use(run *runner, r *request) {
	run.refs++
	if r.keep != nil {
		run.keep = *r.keep
	}
	r.runner = run
	if run.loaded >= run.bytes {
		m.acquire(r)
	}
}

// acquire puts a request in the queue of its loaded runner.
func (m *Mac) acquire(r *request) {
	r.acquired = m.now
	if r.loadOnly {
		m.finish(r, m.now, nil)
		return
	}
	r.phase = phaseQueued
	r.runner.queue = append(r.runner.queue, r)
	r.runner.seat()
}

// schedule is the part of a step that the server's scheduler has.
func (m *Mac) schedule() {
	for _, r := range slices.Clone(m.runners) {
		if !r.unlisted && r.refs == 0 && (r.dead || r.loaded >= r.bytes) && r.expires <= m.now {
			m.unload(r)
		}
	}
	m.place()
}

// place finds runners for those who wait, one after the other as Ollama does: the
// first one in the way blocks the rest.
func (m *Mac) place() {
	for len(m.pending) > 0 {
		r := m.pending[0]
		run := m.listed(r.model)
		switch {
		case run != nil && run.usable(r):
			m.pending = m.pending[1:]
			m.use(run, r)
		case run != nil: // another context, or dead
			m.expire(run)
			return
		case m.loading():
			return
		case m.crowded(m.need(r)):
			m.expire(m.victim())
			return
		default:
			m.pending = m.pending[1:]
			m.use(m.start(r), r)
		}
	}
}

func (m *Mac) loading() bool {
	return slices.ContainsFunc(m.runners, func(r *runner) bool { return !r.unlisted && !r.dead && r.loaded < r.bytes })
}

// crowded tells whether a listed model must go before need bytes more are loaded.
func (m *Mac) crowded(need float64) bool {
	listed, bytes := 0, need
	for _, r := range m.runners {
		if !r.unlisted {
			listed++
			bytes += r.bytes
		}
	}
	return listed >= maxLoaded || listed > 0 && bytes > overcommit*m.ollama.limit
}

// victim is an idle runner, else any; of several the one with the shortest
// keep-alive.
func (m *Mac) victim() *runner {
	var best *runner
	for _, r := range m.runners {
		if r.unlisted {
			continue
		}
		if best == nil || (r.refs == 0 && best.refs > 0) || (r.refs == 0) == (best.refs == 0) && r.keep < best.keep {
			best = r
		}
	}
	return best
}

// expire lets a runner go as soon as its requests have ended.
func (m *Mac) expire(r *runner) {
	r.keep = 0
	if r.refs == 0 || r.dead {
		m.unload(r)
	}
}

// start begins to load a model.
func (m *Mac) start(q *request) *runner {
	r := &runner{model: q.model, context: q.context, bytes: m.need(q), keep: defaultKeep, slots: m.newSlots(),
		pid: m.nextPID, port: m.nextPort, started: m.wall(), spilled: m.trouble.spill[q.model]}
	delete(m.trouble.grown, q.model)
	m.nextPID += 3 + m.random.IntN(40)
	m.nextPort += 1 + m.random.IntN(9)
	m.runners = append(m.runners, r)
	m.listen(r)
	return r
}

// unload takes a runner off the list and begins to give its memory back.
func (m *Mac) unload(r *runner) {
	r.unlisted = true
	r.hangUp()
	if r.dead {
		m.forget(r)
		return
	}
	r.held = min(m.hold[r.model], r.loaded)
	delete(m.hold, r.model)
	r.leaving = r.loaded - r.held
}

// moveModels is the part of a step in which runners fill and give back memory.
func (m *Mac) moveModels(dt float64) {
	for _, r := range slices.Clone(m.runners) {
		switch {
		case r.dead, r.unlisted:
			n := min(r.leaving, r.bytes/releaseTime*dt)
			r.leaving -= n
			r.loaded -= n
			m.memory.release(n * (1 - r.spilled))
			if r.unlisted && r.leaving <= 0 && r.held <= 0 {
				m.forget(r)
			}
		case r.loaded < r.bytes:
			n := min(m.memory.grant(m.trouble.fileRate()*dt), r.bytes-r.loaded)
			r.loaded += n
			m.memory.models += n * (1 - r.spilled)
			r.cpu += 0.6 * dt
			if r.bytes-r.loaded < 1 {
				r.loaded = r.bytes
				m.acquireAll(r)
			}
		}
	}
}

// acquireAll hands a runner that has just loaded to all who wait for it.
func (m *Mac) acquireAll(run *runner) {
	for _, r := range m.open() {
		if r.runner == run && r.phase == phasePending {
			m.acquire(r)
		}
	}
}

func (m *Mac) forget(r *runner) {
	m.memory.release(r.loaded * (1 - r.spilled))
	r.loaded = 0
	m.runners = slices.DeleteFunc(m.runners, func(o *runner) bool { return o == r })
}

// finish ends a request, with a fault or without.
func (m *Mac) finish(r *request, at time.Duration, err *fault) {
	if r.phase == phaseDone {
		return
	}
	r.phase, r.ended, r.err, r.rate = phaseDone, at, err, 0
	if r.watched {
		m.watchers--
	}
	delete(m.inFlight, r.id)
	m.pending = slices.DeleteFunc(m.pending, func(o *request) bool { return o == r })
	if run := r.runner; run != nil {
		run.queue = slices.DeleteFunc(run.queue, func(o *request) bool { return o == r })
		run.unseat(r)
		m.leave(run)
	}
	close(r.done)
	r.signal()
}

// leave is one reference less. The expiry moves only when the last one goes.
func (m *Mac) leave(r *runner) {
	if r.refs--; r.refs > 0 || r.unlisted {
		return
	}
	if r.keep <= 0 {
		m.unload(r)
		return
	}
	r.expires = forever
	if r.keep < forever-m.now {
		r.expires = m.now + r.keep
	}
	r.expiresWall = m.wall().Add(r.keep)
}

// die is what happens when a runner's process is ended from outside: its memory
// goes, its requests fail, and the server lists it until its next use.
func (m *Mac) die(r *runner) {
	r.dead, r.held, r.leaving = true, 0, r.loaded
	r.hangUp()
	for _, q := range m.open() {
		if q.runner == r {
			m.finish(q, m.now, &fault{http.StatusInternalServerError, "an error was encountered while running the model: unexpected EOF"})
		}
	}
}

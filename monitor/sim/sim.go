// Package sim is a simulated Mac with a model server: an Apple M5 with 32 GB on
// which memory, swap, heat and token rates follow from physics, and a server that
// speaks Ollama's API (v0.17.4) on a real socket. It stands behind the demo, and
// it is the oracle of end-to-end tests, because Truth knows what a monitor can
// only measure.
//
//	Clock ─► step (20 ms): life ─► apps ─► runners, requests ─► memory ─► heat
//	                                            ▲                    │
//	HTTP client ─► Serve ────────────────────────┘                    └─► metal.Reader
//
// Nothing runs between two looks: whoever reads or asks first integrates up to
// now, in fixed steps. So an idle simulation costs nothing, and its course depends
// on the seed and on what was done at which moment of the clock, not on how often
// somebody looked.
package sim

import (
	"math/rand/v2"
	"sync"
	"time"
)

// stepTime is the grid on which everything is integrated. Tokens have exact
// moments within it.
const stepTime = 20 * time.Millisecond

// swappingRate is what counts as swapping out, in bytes per second. Less is the
// trickle that any system in use has.
const swappingRate = 1e6

// Config is what a simulated Mac is made of.
type Config struct {
	// Clock is the time it lives on, shared with the monitor. nil is a clock of
	// its own at real speed.
	Clock *Clock
	// Seed decides everything that is left to chance.
	Seed uint64
	// Auto gives it a life of its own: users' requests, apps that grow and
	// shrink. Without it only what is asked for happens.
	Auto bool
	// Slots makes the server one of v0.30 or later: each runner is a llama-server that
	// works on so many requests at once, and while Serve runs it listens at a port of
	// its own, with /slots. 0 is a server before that, whose runners work on one request
	// and tell nothing.
	Slots int
	// Metrics starts such runners with --metrics, which Ollama does not.
	Metrics bool
}

// Mac is a simulated Mac. It implements metal.Reader; its methods may be called
// from several goroutines.
type Mac struct {
	clock *Clock
	seed  uint64

	mu       sync.Mutex
	random   *rand.Rand
	origin   time.Duration // Clock.Awake at the start
	now      time.Duration // simulated up to here, since origin
	base     time.Time     // the wall clock less awake time
	slept    time.Duration
	booted   time.Time
	phase    [2]float64 // of the system's share
	memory   memory
	heat     heat
	apps     []*app
	runners  []*runner // everything that holds a model's memory, listed or not
	inFlight map[int]*request
	pending  []*request // no runner yet
	life     []event
	hold     map[*model]float64       // bytes that the next unload leaves behind
	quiet    map[*model]time.Duration // until when people here leave it alone

	nextPID    int
	nextPort   int
	requests   int
	watchers   int // requests that somebody waits for
	pumping    bool
	paging     bool // weights come from swap, token by token
	swappedAt  time.Duration
	outRate    float64
	inRate     float64
	cloudCalls int
	slots      int // of each runner; 0: runners before v0.30
	metrics    bool
	paces      map[*model]pace
	child      children
	trouble    trouble

	serving serving
	ollama  daemon
	helper  *helper
}

// New starts a simulated Mac at the present moment of its clock.
func New(c Config) *Mac {
	if c.Clock == nil {
		c.Clock = NewClock(time.Now(), 1)
	}
	m := &Mac{
		clock: c.Clock, seed: c.Seed, random: rand.New(rand.NewPCG(c.Seed, 0x706c696d736f6c6c)),
		heat: newHeat(), memory: newMemory(), hold: map[*model]float64{}, quiet: map[*model]time.Duration{}, inFlight: map[int]*request{}, paces: map[*model]pace{},
		trouble: trouble{spill: map[*model]float64{}, grown: map[*model]float64{}},
		slots:   max(c.Slots, 0), metrics: c.Metrics, nextPID: 4211, nextPort: 49731,
	}
	m.serving.init()
	m.origin, m.base, m.slept = c.Clock.moment()
	m.booted = m.wall().Add(-3*24*time.Hour - 5*time.Hour)
	m.ollama = daemon{pid: firstServer, started: m.booted.Add(time.Minute), limit: m.memory.gpuLimit()}
	m.helper = newHelper(m)
	m.phase = [2]float64{m.random.Float64() * 6.28, m.random.Float64() * 6.28}
	for _, a := range usualApps {
		m.openApp(a, a.bytes)
	}
	m.memory.systemWired, m.memory.plain = m.systemWired(), m.appDemand()-m.memory.swapped
	m.memory.cached = m.memory.room() - freeGoal
	if c.Auto {
		m.beginLife()
	}
	c.Clock.beforeShift(m.catchUp)
	return m
}

// catchUp integrates up to the present moment.
func (m *Mac) catchUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
}

// advance is catchUp with the lock held.
func (m *Mac) advance() {
	awake, base, slept := m.clock.moment()
	m.base = base
	for m.now+stepTime <= awake-m.origin {
		m.step()
	}
	if slept > m.slept {
		m.heat.sleep(slept - m.slept)
		m.slept = slept
	}
}

// step is one step of everything.
func (m *Mac) step() {
	m.now += stepTime
	dt := stepTime.Seconds()
	busy, paged := m.work(dt) // of those who were ready when the step began
	m.live()
	m.runApps(dt)
	m.schedule()
	m.moveModels(dt)
	m.memory.step(m.systemShare(), gpuDesktop, busy.any, paged, dt)
	m.heat.step(min(1, busy.gpu+m.worry(dt)), stepTime)
	if m.memory.outNow > swappingRate*dt {
		m.swappedAt = m.now
	}
	m.outRate += (m.memory.outNow/dt - m.outRate) * dt // smoothed over a second
	m.inRate += (m.memory.inNow/dt - m.inRate) * dt
}

// wall is the wall clock at the moment simulated last.
func (m *Mac) wall() time.Time { return m.wallAt(m.now) }

func (m *Mac) wallAt(t time.Duration) time.Time { return m.base.Add(m.origin + t) }

// watch keeps the simulation stepping while somebody waits for a request.
func (m *Mac) watch(r *request) {
	if r.watched || r.phase == phaseDone {
		return
	}
	r.watched = true
	m.watchers++
	if !m.pumping {
		m.pumping = true
		m.clock.call(m.origin+m.now+stepTime, m.pump)
	}
}

// pump steps on behalf of those who wait, at most once in a few milliseconds of
// real time.
func (m *Mac) pump() {
	const breath = float64(4 * time.Millisecond)
	speed := m.clock.Speed()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if m.watchers == 0 {
		m.pumping = false
		return
	}
	m.clock.call(m.origin+m.now+max(stepTime, time.Duration(speed*breath)), m.pump)
}

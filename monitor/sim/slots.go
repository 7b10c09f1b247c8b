package sim

import (
	"math"
	"slices"
)

// slot is one place in a runner that works on a request. Runners before v0.30 have
// one and say nothing of it; of a llama-server these are what it tells.
type slot struct {
	id   int
	r    *request // nil while it is free
	task int      // the number of its request, or of the last one
	last string   // the prompt in its cache

	// What it had when it became free: it keeps its counters until the next request.
	used bool
	done counters
}

// counters are what a slot counts of a request.
type counters struct {
	prompt, cached, read, decoded int
	text                          string // of the prompt
}

// newSlots are those of a new runner.
func (m *Mac) newSlots() []*slot {
	slots := make([]*slot, max(1, m.slots))
	for i := range slots {
		slots[i] = &slot{id: i, task: -1}
	}
	return slots
}

// seat gives free slots to those who wait.
func (run *runner) seat() {
	for _, r := range run.queue {
		if r.slot != nil {
			continue
		}
		i := slices.IndexFunc(run.slots, func(s *slot) bool { return s.r == nil })
		if i < 0 {
			return
		}
		s := run.slots[i]
		s.r, s.used, r.slot = r, true, s
		s.task, run.tasks = run.tasks, run.tasks+1
	}
}

// unseat frees the slot of a request that has ended.
func (run *runner) unseat(r *request) {
	s := r.slot
	if s == nil || s.r != r {
		return
	}
	s.done, s.r = s.count(), nil
	run.totals.add(r)
	run.passed()
}

// count is where a slot's request is, in whole batches of the prompt.
func (s *slot) count() counters {
	r := s.r
	if r == nil {
		return s.done
	}
	read := int(r.evaluated/prefillBatch) * prefillBatch
	if r.prefilled > 0 {
		read = r.prompt - r.cached
	}
	return counters{r.prompt, r.cached, read, len(r.tokens), r.text}
}

// working are the requests that a pass of a runner moves now. While a prompt is
// read no other slot goes on: their tokens wait for its batches.
func (run *runner) working() []*request {
	run.seat()
	var all []*request
	for _, s := range run.slots {
		switch {
		case s.r == nil:
		case s.r.phase < phaseDecode:
			for _, o := range run.slots {
				if o.r != nil {
					o.r.rate = 0
				}
			}
			return []*request{s.r}
		default:
			all = append(all, s.r)
		}
	}
	return all
}

// totals are what a runner has done since it started.
type totals struct {
	prompt, decoded              int
	promptSeconds, decodeSeconds float64
}

// add counts a request that has ended.
func (t *totals) add(r *request) {
	c := r.result()
	t.prompt += max(int(r.evaluated), 0)
	t.decoded += c.Tokens
	t.promptSeconds += c.Prompt.Seconds()
	t.decodeSeconds += c.Decode.Seconds()
}

// passed ends a pass over the model: whoever asked a llama-server meanwhile has an
// answer now, for it listens between two passes only.
func (run *runner) passed() {
	run.passes++
	if run.between != nil {
		close(run.between)
		run.between, run.asking = nil, 0
	}
}

// busy tells whether a pass is under way.
func (run *runner) busy() bool {
	return slices.ContainsFunc(run.slots, func(s *slot) bool { return s.r != nil })
}

// pace is a fixed speed of a model.
type pace struct{ decode, prefill float64 }

// Pace fixes how fast a model works, in tokens per second of each request: 0 leaves
// it to physics. It is for tests that need a rate to be known.
func (m *Mac) Pace(name string, decode, prefill float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if model := find(name); model != nil {
		m.paces[model] = pace{decode, prefill}
	}
}

// paced is what a token costs at a fixed speed; false where there is none.
func paced(rate float64) (costs, bool) {
	if rate <= 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
		return costs{}, false
	}
	return costs{compute: 1 / rate}, true
}

// watchSteps keeps the simulation stepping while somebody waits for a moment in it.
// The lock is held. The one who waits calls leave, without the lock.
func (m *Mac) watchSteps() (leave func()) {
	m.watchers++
	if !m.pumping {
		m.pumping = true
		m.clock.call(m.origin+m.now+stepTime, m.pump)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.watchers--
	}
}

// settle waits until a runner is between two passes, and reports false when the one
// who asks has gone or the runner has.
func (m *Mac) settle(run *runner, gone <-chan struct{}) bool {
	m.mu.Lock()
	m.advance()
	began := run.passes
	if !run.busy() {
		m.mu.Unlock()
		return true
	}
	leave := m.watchSteps()
	defer func() { leave() }()
	for run.busy() && run.passes == began && !run.dead && !run.unlisted {
		if run.between == nil {
			run.between = make(chan struct{})
		}
		between := run.between
		run.asking++
		m.mu.Unlock()
		select {
		case <-between:
		case <-gone:
			m.mu.Lock()
			if run.between == between {
				run.asking--
			}
			m.mu.Unlock()
			return false
		}
		m.mu.Lock()
		m.advance()
	}
	m.mu.Unlock()
	return !run.dead && !run.unlisted
}

// batchEnds tells whether reading a prompt from one place to another ends a batch.
func batchEnds(from, to float64) bool {
	return math.Floor(from/prefillBatch) != math.Floor(to/prefillBatch)
}

// childVersion is the version of an Ollama whose runners are llama-server.
const childVersion = "0.32.9"

// llamaPath is the program of such a runner.
const llamaPath = "/Applications/Ollama.app/Contents/Resources/llama-server"

package sim

import "time"

const (
	bandwidth = 153e9 // bytes per second, M5
	// efficiency is the part of the bandwidth that decoding reaches.
	efficiency = 0.65
	// prefill7B is token/s of a prompt on ten GPU cores for 7.62e9 parameters;
	// prefill is bound by compute, so it scales with parameters.
	prefill7B    = 450.0
	prefillBatch = 512 // tokens that share one pass over the weights
	// overhead is what a request costs beside its model: template, tokens, the
	// runner's answer.
	overhead = 5 * time.Millisecond
)

// phase is how far a request is.
type phase int

const (
	phasePending phase = iota // waits for a runner, or for its load
	phaseQueued               // has a runner that is busy with another one
	phasePrefill
	phaseDecode
	phaseDone
)

// request is one request in the server.
type request struct {
	id       int
	model    *model
	context  int            // tokens asked for
	keep     *time.Duration // nil: what the runner has
	prompt   int            // tokens
	text     string         // of the prompt, for the cache; "" has none
	want     int            // tokens of the answer, the end token included
	natural  bool           // the answer ends by itself
	loadOnly bool
	internal bool // not over HTTP
	person   bool // of the machine's own life

	runner    *runner
	slot      *slot
	phase     phase
	cached    int
	evaluated float64
	part      float64 // of the token in the making
	tokens    []time.Duration
	rate      float64 // token/s of the last step, while decoding

	arrived, acquired, began, prefilled, ended time.Duration
	err                                        *fault
	watched                                    bool
	changed                                    chan struct{} // has room for one
	done                                       chan struct{}
}

// fault is an answer that is not a success.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

// activity is what the machine did in a step.
type activity struct {
	gpu float64 // share of the step that the GPU computed
	any bool
}

// costs are the seconds that one token takes alone: computing, waiting for weights
// that come from swap, and waiting for anything else while the GPU does nothing for it.
type costs struct{ compute, paging, idle float64 }

func (c costs) sum() float64 { return c.compute + c.paging + c.idle }

// decodeCost of the next token of r: every weight and the cache so far is read
// once.
func (m *Mac) decodeCost(r *request) costs {
	if c, ok := paced(m.paces[r.model].decode); ok {
		return c
	}
	depth := min(r.prompt+len(r.tokens), r.runner.context)
	bytes := float64(r.model.size) + r.model.kvPerToken()*float64(depth)
	return m.add(costs{compute: bytes / (efficiency * bandwidth * m.heat.share()), paging: m.pagedPerPass(r) / swapRate}, r.runner)
}

// prefillCost of one token of the prompt.
func (m *Mac) prefillCost(r *request) costs {
	if c, ok := paced(m.paces[r.model].prefill); ok {
		return c
	}
	rate := prefill7B * store[0].params / r.model.params * m.heat.share()
	return m.add(costs{compute: 1 / rate, paging: m.pagedPerPass(r) / swapRate / prefillBatch}, r.runner)
}

// pagedPerPass is how many bytes of weights come from swap in one pass over the
// model. Weights are read in the same order for each token, so what does not fit
// pushes out just what is needed next: the cost is a multiple of the excess, and
// once there is any it is never small. With these figures decoding falls to about
// one token per second, as people report it.
func (m *Mac) pagedPerPass(r *request) float64 {
	const least, most, multiple = 1.0 * gb, 1.5 * gb, 3
	over := m.memory.over()
	if over < 0.01*gb {
		if m.memory.modelsOut < 0.05*gb { // a little may stay out: buffers nobody reads
			return 0
		}
		return min(m.memory.modelsOut, least)
	}
	return min(float64(r.model.size), max(least, min(most, multiple*over)))
}

// work moves all requests that have a loaded runner. Those of different models
// share the GPU and the swap evenly.
func (m *Mac) work(dt float64) (did activity, paged float64) {
	var active []*runner
	for _, r := range m.runners {
		if !r.dead && r.loaded >= r.bytes && len(r.queue) > 0 {
			active = append(active, r)
		}
	}
	m.paging = false
	for _, run := range active {
		for i, r := range run.working() {
			gpu, bytes := m.serve(r, dt, float64(len(active)))
			if i == 0 { // the others' tokens come of the same passes
				did.gpu += gpu / dt
				paged += bytes
			}
		}
		did.any = true
		run.cpu += dt * 0.2
	}
	m.paging = paged > 0
	return did, paged
}

// serve moves one request by dt, as one of n that share the machine. It tells the
// seconds the GPU computed and the bytes that came from swap.
func (m *Mac) serve(r *request, dt, n float64) (gpu, paged float64) {
	left := dt
	spend := func(c costs, share float64) {
		left -= c.sum() * n * share
		gpu += c.compute * share
		paged += c.paging * share * swapRate
	}
	at := func() time.Duration { return m.now - time.Duration(left*float64(time.Second)) }
	if r.phase < phasePrefill {
		left -= overhead.Seconds()
		r.phase, r.began = phasePrefill, at()
		r.reuse()
	}
	if r.phase == phasePrefill {
		c := m.prefillCost(r)
		tokens := min(float64(r.prompt-r.cached)-r.evaluated, left/((c.compute+c.paging)*n))
		spend(c, tokens)
		if batchEnds(r.evaluated, r.evaluated+tokens) {
			r.runner.passed()
		}
		r.evaluated += tokens
		if r.evaluated < float64(r.prompt-r.cached)-1e-6 {
			return gpu, paged
		}
		r.phase, r.prefilled = phaseDecode, at()
		m.emit(r, r.prefilled) // the pass over the prompt gives the first token
	}
	for r.phase == phaseDecode && left > 1e-9 {
		c := m.decodeCost(r)
		r.rate = 1 / (c.sum() * n)
		share := min(1-r.part, left*r.rate)
		spend(c, share)
		if r.part += share; r.part >= 1-1e-9 {
			r.part = 0
			m.emit(r, at())
		}
	}
	return gpu, paged
}

// emit is one token of the answer, and the end when it was the last.
func (m *Mac) emit(r *request, at time.Duration) {
	if r.want > 0 {
		r.tokens = append(r.tokens, at)
	}
	if len(r.tokens) >= r.want {
		m.finish(r, at, nil)
	}
	r.runner.passed()
	r.signal()
}

// reuse finds how much of the prompt its slot still has from the one before.
// At least one token is always computed.
func (r *request) reuse() {
	last := r.slot.last
	r.slot.last = r.text
	if r.text == "" || last == "" {
		return
	}
	same := 0
	for same < min(len(last), len(r.text)) && last[same] == r.text[same] {
		same++
	}
	r.cached = min(r.prompt*same/len(r.text), r.prompt-1)
}

func (r *request) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

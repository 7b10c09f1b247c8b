package monitor

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/monitor/request"
)

// Diagnosis is one sentence on how fast a model runs and why: the first cause that
// the evidence supports, in the order of the constants. Absent while no model is
// at work and none has been lately, and where nothing measured its rate and no
// cause is seen.
type Diagnosis struct {
	Cause DiagnosisCause `json:"cause"`
	// Backend and Model are the one it is about.
	Backend string    `json:"backend,omitzero"`
	Model   string    `json:"model,omitzero"`
	Since   time.Time `json:"since"`
	// Evidence is the numbers that show it.
	Evidence Evidence `json:"evidence,omitzero"`
	// Also are further causes that hold at the same time, in order.
	Also []DiagnosisCause `json:"also,omitempty"`
	// Action is what a click may do about it. Absent when only a person can.
	Action *Command `json:"action,omitempty"`
}

// DiagnosisCause names a cause of slowness.
type DiagnosisCause string

// The causes, the strongest first.
const (
	SlowSwapping    DiagnosisCause = "swapping"
	SlowSpill       DiagnosisCause = "spill"          // over the GPU limit, or part on the CPU
	SlowThrottled   DiagnosisCause = "throttled"      // by heat or power mode
	SlowSecondModel DiagnosisCause = "second_model"   // another model works too
	SlowSecondUser  DiagnosisCause = "second_client"  // the model has more than one request
	SlowDeepContext DiagnosisCause = "deep_context"   // every token reads a long cache
	SlowReread      DiagnosisCause = "prompt_reread"  // the cache of this chat was lost
	SlowColdLoad    DiagnosisCause = "cold_load"      // the model had to be loaded
	SlowOtherGPU    DiagnosisCause = "other_gpu_user" // another program works on the GPU
	SlowBattery     DiagnosisCause = "battery"
	SlowBackground  DiagnosisCause = "background"   // indexing or backup
	SlowGrown       DiagnosisCause = "runner_grown" // since it was loaded
	SlowEngine      DiagnosisCause = "engine"       // below its own median, nothing else seen
	SlowNot         DiagnosisCause = "normal"
)

// The numbers of a diagnosis; those of swapping and throttling stand with their alerts.
const (
	// diagnosisKeeps is how long the last diagnosis stands when nothing works any more.
	diagnosisKeeps = 2 * time.Minute
	// paceRegained is the share of the usual rate from which on a slow model is at
	// its normal rate again; it became slow below slowShare.
	paceRegained = 0.9
	// usualRuns is how many requests make a median that says something.
	usualRuns = 3
	// deepDrop is the share of its rate that a model must lose to its context
	// before that is worth naming.
	deepDrop = 0.2
	// lookAround is how long a model must be slow before that is laid on what shows in
	// nothing but its rate: until then other programs have been read twice.
	lookAround = backgroundAge + 5*time.Second
	// coldLoad is a load, in seconds, that a person notices.
	coldLoad = 2.0
	// freshLoad is one, in seconds, after which there was no cache that could be lost.
	freshLoad = 0.2
	// otherGPUShare is the part of the GPU's time that another program must take,
	// and backgroundCores the processor cores that the system's own must.
	otherGPUShare   = 0.25
	backgroundCores = 0.5
	// A runner has grown when it takes grownShare more than after its load and
	// grownLeast bytes at least: its prompt cache, or a leak.
	grownShare = 0.15
	grownLeast = gib / 2
)

// causes is the order of evidence. Each check says whether its cause holds now.
var causes = []struct {
	cause DiagnosisCause
	check func(*slowness) (Evidence, *Command, bool)
}{
	{SlowSwapping, (*slowness).swaps},
	{SlowSpill, (*slowness).spills},
	{SlowThrottled, (*slowness).throttled},
	{SlowSecondModel, (*slowness).secondModel},
	{SlowSecondUser, (*slowness).secondUser},
	{SlowDeepContext, (*slowness).deepContext},
	{SlowReread, (*slowness).reread},
	{SlowColdLoad, (*slowness).cold},
	{SlowOtherGPU, (*slowness).otherGPU},
	{SlowBattery, (*slowness).onBattery},
	{SlowBackground, (*slowness).background},
	{SlowGrown, (*slowness).grown},
	{SlowEngine, (*slowness).engine},
}

// slowness is what a diagnosis is made of: the newest snapshots, the model at work
// and its request.
type slowness struct {
	h        *History
	now      *Snapshot
	resident *Resident        // nil when the model is not listed
	request  *request.Request // nil when nobody measures requests
	usual    *request.Speed   // what is usual for the model, nil when not known
	pace     truth            // slow: below its own median at this depth
	rate     float64          // tokens/s now; 0 unless pace is known
	median   float64          // the median it was held against
	deep     bool             // which is that of requests as deep as this one
	loaded   uint64           // footprint after the load, 0 when not known
	load     *float64         // seconds that the request waited for its model, nil when it did not
}

// diagnosing remembers what diagnoses need of the past.
type diagnosing struct {
	last   *Diagnosis
	of     string    // the request that last is about, "" for none
	worked *Snapshot // the newest snapshot in which anything worked
	done   string    // the finished request that was looked at last
	loads  coldLoads
	// slow is the first of the snapshots in which slowModel was slower than usual,
	// with none between in which it was not; nil when it is not slow.
	slow      *Snapshot
	slowModel string
	news      diagnosisNews
	// loaded tells what a model's runner took once it was loaded, 0 when that is
	// not known.
	loaded func(*Resident) uint64
}

// step makes the diagnosis of the newest snapshot.
func (d *diagnosing) step(h *History) *Diagnosis {
	now := h.back(0)
	d.loads.note(now)
	sc := d.scene(h)
	found := d.now(sc)
	switch {
	case found != nil:
		d.worked = now
	case d.last != nil && d.worked != nil && elapsed(d.worked, now) <= diagnosisKeeps && (sc == nil || d.last.Cause == SlowNot || d.of == sc.id()):
		return d.last
	default:
		d.last, d.of = nil, ""
		if sc == nil {
			d.slow = nil
		}
		return nil
	}
	if d.last != nil && d.last.Cause == found.Cause && d.last.Model == found.Model && d.last.Backend == found.Backend {
		found.Since = d.last.Since
	}
	d.last, d.of = found, sc.id()
	return found
}

// now looks at what works at this moment, or ended since the snapshot before. It is
// nil where there is nothing to say, or not yet.
func (d *diagnosing) now(sc *slowness) *Diagnosis {
	if sc == nil {
		return nil
	}
	d.follow(sc)
	found := &Diagnosis{Since: sc.now.Taken}
	found.Backend, found.Model = sc.subject()
	for _, c := range causes {
		evidence, action, holds := c.check(sc)
		switch {
		case !holds:
		case found.Cause == "":
			found.Cause, found.Evidence, found.Action = c.cause, evidence, action
		case c.cause != SlowEngine: // which says that nothing else was seen
			found.Also = append(found.Also, c.cause)
		}
	}
	if before := d.ended(sc, found); before != nil {
		return before
	}
	switch {
	case found.Cause == "" && sc.pace == no:
		found.Cause, found.Evidence = SlowNot, sc.rates()
	case found.Cause == "":
		return nil
	case d.slow != nil && !stronger(found.Cause, SlowOtherGPU): // not yet looked for all that is
		if elapsed(d.slow, sc.now) < lookAround {
			return nil
		}
		found.Since = d.slow.Taken
	}
	return found
}

// follow notes since when the model at work is slow.
func (d *diagnosing) follow(sc *slowness) {
	backend, model := sc.subject()
	if key := backend + "/" + model; key != d.slowModel {
		d.slow, d.slowModel = nil, key
	}
	switch {
	case sc.pace == no:
		d.slow = nil
	case sc.pace == yes && d.slow == nil:
		d.slow = sc.now
	}
}

// ended is what was said last of a request that is over now, with what is found at
// its end beside it: what held while it ran is what made it slow. It is nil where
// nothing stronger was said.
func (d *diagnosing) ended(sc *slowness, found *Diagnosis) *Diagnosis {
	last := d.last
	if last == nil || sc.request == nil || sc.request.Phase != request.PhaseDone || !sc.about(last) || !stronger(last.Cause, found.Cause) {
		return nil
	}
	whole := *last
	whole.Also = slices.Clone(last.Also)
	for _, c := range append([]DiagnosisCause{found.Cause}, found.Also...) {
		if c != "" && c != SlowEngine && !slices.Contains(whole.Also, c) {
			whole.Also = append(whole.Also, c)
		}
	}
	slices.SortFunc(whole.Also, func(a, b DiagnosisCause) int { return cmp.Compare(order(a), order(b)) })
	return &whole
}

// stronger reports that a cause comes before another in the order of evidence.
func stronger(a, b DiagnosisCause) bool { return order(a) < order(b) }

// order is a cause's place in the order of evidence; what is none comes last.
func order(c DiagnosisCause) int {
	for i := range causes {
		if causes[i].cause == c {
			return i
		}
	}
	return len(causes)
}

// scene finds what a diagnosis is about: the oldest request that makes tokens, else
// the oldest in flight, else one that has just ended, else a model at work whose
// requests nobody measures. nil when nothing works.
func (d *diagnosing) scene(h *History) *slowness {
	sc := &slowness{h: h, now: h.back(0)}
	if r := d.subject(sc.now); r != nil {
		sc.request = r
		sc.resident = find(sc.now.Residents, func(o *Resident) bool { return o.Model == r.Model && (r.Backend == "" || o.Backend == r.Backend) })
	} else if sc.resident = find(sc.now.Residents, working); sc.resident == nil {
		return nil
	}
	if sc.resident != nil && sc.resident.Cloud {
		return nil
	}
	backend, model := sc.subject()
	sc.usual = find(sc.now.Speeds, func(s *request.Speed) bool { return s.Model == model && (backend == "" || s.Backend == backend) })
	if sc.resident != nil && d.loaded != nil {
		sc.loaded = d.loaded(sc.resident)
	}
	if sc.request != nil {
		sc.load = d.loads.seconds(sc.request)
	}
	sc.measure(d.last)
	return sc
}

func (d *diagnosing) subject(s *Snapshot) *request.Request {
	for _, phase := range []request.Phase{request.PhaseDecode, request.PhasePrefill, request.PhaseLoading, request.PhaseQueued} {
		if r := find(s.Requests, func(r *request.Request) bool { return r.Phase == phase }); r != nil {
			return r
		}
	}
	ended := find(s.Requests, func(r *request.Request) bool {
		return r.Phase == request.PhaseDone && (r.Outcome == request.OutcomeFinished || r.Outcome == request.OutcomeUnknown)
	})
	if ended == nil || ended.Ended == nil || ended.ID == d.done || s.Taken.Sub(*ended.Ended) > longest {
		return nil
	}
	d.done = ended.ID
	return ended
}

package request

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// listMost is how many requests a list holds, in flight and recent together.
	listMost = 32
	// recordsMost is how many are remembered, slotsMost how many slots of a server
	// are followed, originsMost how many processes and modelsMost how many models.
	recordsMost = 512
	slotsMost   = 256
	originsMost = 64
	modelsMost  = 64
	// Silence is how long a question to /slots stays unanswered before that itself
	// says that a prompt is being read.
	Silence = 500 * time.Millisecond
)

// Tracker makes one list of requests of what slots, totals, log and meter tell,
// and knows what is usual for each model. It is not safe for several goroutines:
// whoever owns it holds a lock around its calls.
//
// A request that several tell of is one Request: the same model, overlapping in
// time, with token counts that agree. Memory is bounded whatever is fed in.
type Tracker struct {
	made    int
	records []*record // oldest first
	watches map[string]*watch
	speeds  map[string]*speed
	// usual is what speeds come to, nil when one has learned since.
	usual []Speed
	hints []hint // of the log, about requests that are not told of yet
}

// NewTracker makes one that knows nothing.
func NewTracker() *Tracker {
	return &Tracker{watches: map[string]*watch{}, speeds: map[string]*speed{}}
}

// record is one request and what each teller said of it.
type record struct {
	id    string
	slots *seen
	meter *Request
	lines *Request
	// lineTask is the server's number of it in the lines of the log.
	lineTask *int
	// kept is the request as it stays, once it is over and nobody tells more.
	kept *Request
	// worked is when its model's runner was last seen to work.
	worked time.Duration
}

// Meter takes what the meter says of a request, in flight or ended, under the
// meter's own ID. Times are by the wall clock, so none is needed.
func (t *Tracker) Meter(r Request) {
	r.Sources = []Source{SourceMeter}
	own := t.find(func(c *record) bool { return c.meter != nil && c.meter.ID == r.ID })
	if own == nil {
		if t.forgotten(r) {
			return
		}
		own = t.add()
	}
	own.meter, own.kept = &r, nil
	t.pair()
}

// forgotten reports a request that ended before all that is remembered: the meter
// tells its latest again when it is connected anew.
func (t *Tracker) forgotten(r Request) bool {
	return r.Ended != nil && len(t.records) == recordsMost && t.records[0].began().After(*r.Ended)
}

// MeterGone ends what the meter told to be in flight: it is not there any more.
func (t *Tracker) MeterGone(now Moment) {
	for _, c := range t.records {
		if c.meter != nil && c.meter.Phase != PhaseDone {
			m := *c.meter
			m.Phase, m.Outcome, m.Ended, m.Changed = PhaseDone, OutcomeUnknown, &now.Wall, now.Wall
			c.meter, c.kept = &m, nil
		}
	}
	t.learn(now)
}

// Working notes that the process of a model is at work, as its processor time
// says: what its client left may still go on.
func (t *Tracker) Working(now Moment, backend, model string) {
	for _, c := range t.records {
		if m := c.meter; m != nil && m.Outcome == OutcomeCancelled && sameModel(m.Model, model) && sameBackend(m.Backend, backend) {
			c.worked, c.kept = now.Awake, nil
		}
	}
}

// Requests are those in flight, oldest first, then the recent ones, newest first,
// at most listMost.
func (t *Tracker) Requests(now Moment) []Request {
	for _, w := range t.watches {
		t.listen(w, now)
	}
	t.learn(now)
	all := make([]*Request, len(t.records))
	for i, c := range t.records {
		all[i] = t.told(c, now)
	}
	slices.SortStableFunc(all, func(a, b *Request) int {
		switch {
		case a.Phase == PhaseDone && b.Phase == PhaseDone:
			return b.Ended.Compare(*a.Ended)
		case a.Phase == PhaseDone:
			return 1
		case b.Phase == PhaseDone:
			return -1
		}
		return a.Began.Compare(b.Began)
	})
	list := make([]Request, min(len(all), listMost))
	for i := range list {
		list[i] = *all[i]
	}
	return list
}

// InFlight reports a request at work on a model, or on any where it is "".
func (t *Tracker) InFlight(now Moment, backend, model string) bool {
	for _, c := range t.records {
		r := t.told(c, now)
		if r.Phase != PhaseDone && r.Phase != PhaseQueued && (model == "" || sameModel(r.Model, model) && sameBackend(r.Backend, backend)) {
			return true
		}
	}
	return false
}

// add makes a record, at the expense of the oldest that is over.
func (t *Tracker) add() *record {
	if len(t.records) >= recordsMost {
		i := max(0, slices.IndexFunc(t.records, func(c *record) bool { return c.over() }))
		t.records = slices.Delete(t.records, i, i+1)
	}
	t.made++
	c := &record{id: strconv.Itoa(t.made)}
	t.records = append(t.records, c)
	return c
}

// reveal lets go of a request that was only guessed at, unless the meter knows it.
func (t *Tracker) reveal(hidden *record) {
	switch {
	case hidden == nil:
	case hidden.meter == nil && hidden.lines == nil:
		t.drop(hidden)
	default:
		hidden.slots, hidden.kept = nil, nil
	}
}

func (t *Tracker) drop(c *record) {
	t.records = slices.DeleteFunc(t.records, func(o *record) bool { return o == c })
}

// find is the newest record that matches, nil when none does.
func (t *Tracker) find(match func(*record) bool) *record {
	for _, c := range slices.Backward(t.records) {
		if match(c) {
			return c
		}
	}
	return nil
}

// over reports that everybody who told of a request says that it ended.
func (c *record) over() bool {
	return (c.slots == nil || c.slots.ended != nil) && (c.meter == nil || c.meter.Phase == PhaseDone) &&
		(c.lines == nil || c.lines.Phase == PhaseDone)
}

// began is when it arrived, as well as anybody knows.
func (c *record) began() time.Time {
	switch {
	case c.meter != nil:
		return c.meter.Began
	case c.slots != nil:
		return c.slots.before.Wall
	}
	return c.lines.Began
}

// watch is what is known of one process from its slots.
type watch struct {
	origin Origin
	last   Moment // the newest reply
	known  bool   // there was one
	asked  *Moment
	slots  map[int]*slotState
	// hidden is a request that shows only in that nothing answers, or in that the
	// model is being loaded.
	hidden *record
	totals *Totals
	ends   []*record // that ended since the totals were read
}

// slotState is a slot as it was at the newest reply.
type slotState struct {
	task          *int
	decoded, read int
	at            *record // the request in flight there
}

func (o Origin) key() string { return strings.Join([]string{o.Backend, o.Model, o.Process}, "\n") }

// watch finds or makes what is known of a process.
func (t *Tracker) watch(o Origin) *watch {
	w := t.watches[o.key()]
	if w == nil {
		if len(t.watches) >= originsMost {
			oldest := slices.MinFunc(values(t.watches), func(a, b *watch) int { return cmp.Compare(a.last.Awake, b.last.Awake) })
			t.Gone(oldest.last, oldest.origin)
		}
		w = &watch{origin: o, slots: map[int]*slotState{}}
		t.watches[o.key()] = w
	}
	return w
}

// Gone forgets a process: it ended, or is not asked any more. Its requests end
// with it, nobody knows how.
func (t *Tracker) Gone(now Moment, o Origin) {
	w := t.watches[o.key()]
	if w == nil {
		return
	}
	delete(t.watches, o.key())
	t.reveal(w.hidden)
	for _, st := range w.slots {
		if st.at != nil {
			st.at.slots.end(ending{between: now, lost: w.asked != nil})
		}
	}
	t.learn(now)
}

func values[K comparable, V any](m map[K]V) []V {
	list := make([]V, 0, len(m))
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// sameModel compares names as Ollama does: no tag means ":latest".
func sameModel(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, ":latest"), strings.TrimSuffix(b, ":latest"))
}

// sameBackend is lenient: not everybody knows which server it was.
func sameBackend(a, b string) bool { return a == "" || b == "" || a == b }

package request

import (
	"slices"
	"strings"
	"time"
)

const (
	// pairSlack is how far apart two tellers' times may be for one request: a
	// meter's message, a poll and a line of a log each come a moment late.
	pairSlack = time.Second
)

// pair makes one record of two that tell of the same request, and two again of
// one when what came since does not agree.
func (t *Tracker) pair() {
	for _, c := range slices.Clone(t.records) {
		if c.kept == nil && c.meter != nil && c.slots != nil && !t.agree(c.meter, c.slots) {
			apart := t.add()
			apart.slots, c.slots, c.kept = c.slots, nil, nil
			t.replace(c, apart)
		}
	}
	for _, c := range t.records {
		if c.kept == nil && c.meter != nil && c.slots != nil && !firstAgrees(c.meter, c.slots) {
			t.exchange(c)
		}
	}
	for _, c := range slices.Clone(t.records) {
		if c.meter == nil || c.slots != nil || c.kept != nil {
			continue
		}
		var best *record
		for _, o := range t.records {
			if o.slots != nil && o.meter == nil && t.agree(c.meter, o.slots) && (best == nil || closer(c, o, best)) {
				best = o
			}
		}
		if best == nil {
			continue
		}
		c.slots, c.kept = best.slots, nil
		if c.lines == nil {
			c.lines, c.lineTask = best.lines, best.lineTask
		}
		t.replace(best, c)
		if slices.Index(t.records, best) < slices.Index(t.records, c) {
			c.id, best.id = best.id, c.id // it stays what it was called first
		}
		t.unlearn(c.id)
		t.unlearn(best.id)
		t.drop(best)
	}
	t.pairLines()
}

// unlearn takes back what a request taught: it is told in other words from now on.
func (t *Tracker) unlearn(id string) {
	for _, s := range t.speeds {
		s.samples = slices.DeleteFunc(s.samples, func(one sample) bool { return one.id == id })
	}
	t.usual = nil
}

// exchange gives a meter's request the slot whose first token came when the meter saw
// it, where there is one: at first its own may still have waited, and another, which
// the meter does not carry, was taken up in its stead.
func (t *Tracker) exchange(c *record) {
	o := t.find(func(o *record) bool {
		return o.slots != nil && o.meter == nil && t.agree(c.meter, o.slots) && firstAgrees(c.meter, o.slots)
	})
	if o == nil {
		return // a tool call comes whole, long after its first token
	}
	c.slots, o.slots = o.slots, c.slots
	c.lines, o.lines, c.lineTask, o.lineTask = o.lines, c.lines, o.lineTask, c.lineTask
	c.kept, o.kept = nil, nil
	between := &record{}
	t.replace(c, between)
	t.replace(o, c)
	t.replace(between, o)
}

// firstAgrees reports that the slot can have made its first token when the meter saw
// one, as far as both are known.
func firstAgrees(m *Request, s *seen) bool {
	if m.TTFT == nil || m.TTFT.Source != SourceMeter || s.baseline || s.missed {
		return true
	}
	first := m.Began.Add(time.Duration(m.TTFT.Value * float64(time.Second)))
	if s.unread.Wall.Add(-pairSlack).After(first) {
		return false // it was still being read
	}
	return s.first == nil || !s.first.Wall.Add(pairSlack).Before(first)
}

// closer reports that a slot's request fits a meter's better than another: one
// whose count agrees to the token, then the one taken up first, as servers do.
func closer(c, a, b *record) bool {
	if x, y := exact(c.meter, a.slots), exact(c.meter, b.slots); x != y {
		return x
	}
	if x, y := firstAgrees(c.meter, a.slots), firstAgrees(c.meter, b.slots); x != y {
		return x
	}
	return a.slots.before.Wall.Before(b.slots.before.Wall)
}

func exact(m *Request, s *seen) bool {
	return s.final && s.decoded != nil && m.OutputTokens != nil && !m.OutputApproximate && *s.decoded == *m.OutputTokens
}

// replace makes the watches follow a record under another.
func (t *Tracker) replace(was, is *record) {
	for _, w := range t.watches {
		if w.hidden == was {
			w.hidden = is
		}
		for _, st := range w.slots {
			if st.at == was {
				st.at = is
			}
		}
		for i := range w.ends {
			if w.ends[i] == was {
				w.ends[i] = is
			}
		}
	}
}

// agree reports that a meter's request and a slot's can be one.
func (t *Tracker) agree(m *Request, s *seen) bool {
	if !sameBackend(m.Backend, s.origin.Backend) || !t.named(m, s) {
		return false
	}
	// The slot took it up after it arrived and worked on it before it ended.
	if s.before.Wall.Add(pairSlack).Before(m.Began) {
		return false
	}
	if s.ended != nil && s.ended.Wall.Add(pairSlack).Before(m.Began) {
		return false
	}
	if m.Ended != nil && m.Ended.Add(pairSlack).Before(s.after.Wall) {
		return false
	}
	if m.Ended != nil && m.Outcome == OutcomeFinished && m.Ended.Add(2*pairSlack).Before(s.newest.Wall) {
		return false
	}
	return tokensAgree(m, s)
}

// named reports that the model can be the same. A name that no process has may be
// another name of one: then only equal counts speak for it.
func (t *Tracker) named(m *Request, s *seen) bool {
	if m.Model == "" || s.origin.Sole || sameModel(m.Model, s.origin.Model) {
		return true
	}
	if !exact(m, s) || *m.OutputTokens < LeastTokens || strings.HasSuffix(m.Model, "cloud") {
		return false
	}
	for _, w := range t.watches {
		if sameModel(w.origin.Model, m.Model) {
			return false
		}
	}
	return true
}

func tokensAgree(m *Request, s *seen) bool {
	if s.decoded != nil && m.OutputTokens != nil {
		made, told := *s.decoded, *m.OutputTokens
		switch {
		case m.OutputApproximate: // chunks: a chunk is a token or more, a poll late
			if told > made+made/4+200 && m.Phase == PhaseDone {
				return false
			}
		case m.Phase == PhaseDone && m.Outcome == OutcomeFinished:
			if made > told+2 || s.final && made < told-2 {
				return false
			}
		}
	}
	if s.whole != nil && m.PromptTokens != nil && m.Phase == PhaseDone {
		if off := *s.whole - *m.PromptTokens; off > 8+*m.PromptTokens/50 || -off > 8+*m.PromptTokens/50 {
			return false
		}
	}
	return true
}

// told is a record as one Request, made once when it is over.
func (t *Tracker) told(c *record, now Moment) *Request {
	if c.kept != nil {
		return c.kept
	}
	r := t.merged(c, now)
	if c.over() && r.Phase == PhaseDone && now.Wall.Sub(*r.Ended) > workedFor {
		c.kept = &r
	}
	return &r
}

// merged is a record as one Request.
func (t *Tracker) merged(c *record, now Moment) Request {
	var s, r Request
	if c.slots != nil {
		until, silent := c.slots.tokens.last.at, false
		if w := t.watches[c.slots.origin.key()]; w != nil && c.slots.ended == nil {
			until = w.until(now)
			silent = until > w.last.Awake
		}
		s = c.slots.request(until, silent)
	}
	switch {
	case c.meter != nil:
		r = *c.meter
		r.Notes = slices.Sorted(slices.Values(r.Notes))
	case c.slots != nil:
		r = s
	default:
		r = *c.lines
	}
	if c.meter != nil && c.slots != nil {
		r.join(&s)
	}
	if c.lines != nil && (c.meter != nil || c.slots != nil) {
		r.join(c.lines)
	}
	r.ID = c.id
	if c.meter != nil && c.meter.Outcome == OutcomeCancelled {
		t.orphan(&r, c, now)
	}
	if c.meter != nil && c.slots == nil {
		r.Phase = t.waits(c, r.Phase)
	}
	if r.Phase == PhaseDone && r.Ended == nil {
		r.Ended = new(r.Changed)
	}
	judge(&r, t.speeds[speedKey(r.Backend, r.Model)])
	return r
}

// join adds what another teller knows. Of two numbers the better source's counts.
func (r *Request) join(o *Request) {
	for _, s := range o.Sources {
		if !r.has(s) {
			r.Sources = append(slices.Clone(r.Sources), s)
		}
	}
	slices.Sort(r.Sources)
	r.Backend, r.Model, r.Endpoint = first(r.Backend, o.Backend), first(r.Model, o.Model), first(r.Endpoint, o.Endpoint)
	if r.Phase != PhaseDone && o.Phase != PhaseDone && order(o.Phase) > order(r.Phase) {
		r.Phase = o.Phase
	}
	if r.Outcome == OutcomeUnknown && o.Outcome != "" {
		r.Outcome = o.Outcome
	}
	r.Error = first(r.Error, o.Error)
	if o.Changed.After(r.Changed) {
		r.Changed = o.Changed
	}
	if o.OutputTokens != nil && (r.OutputTokens == nil || r.OutputApproximate && !(o.OutputApproximate && *o.OutputTokens < *r.OutputTokens)) {
		r.OutputTokens, r.OutputApproximate = o.OutputTokens, o.OutputApproximate
	}
	for _, pick := range []struct{ to, from **int }{
		{&r.Slot, &o.Slot}, {&r.PromptTokens, &o.PromptTokens}, {&r.CachedTokens, &o.CachedTokens},
		{&r.ReadTokens, &o.ReadTokens}, {&r.Context, &o.Context},
	} {
		if *pick.to == nil {
			*pick.to = *pick.from
		}
	}
	for _, pick := range []struct{ to, from **Number }{
		{&r.TTFT, &o.TTFT}, {&r.Decode, &o.Decode}, {&r.Live, &o.Live}, {&r.Session, &o.Session},
	} {
		if *pick.to == nil || *pick.from != nil && rank((*pick.from).Source) < rank((*pick.to).Source) {
			*pick.to = *pick.from
		}
	}
	r.Prefill = joinPrefill(r, o)
	if r.Load == nil {
		r.Load = o.Load
	}
	for _, n := range o.Notes {
		r.Note(n)
	}
}

// joinPrefill prefers a rate that is known to leave out cached tokens: a server's
// own statistics may not.
func joinPrefill(r, o *Request) *Number {
	told := func(q *Request) bool {
		return q.Prefill != nil && q.Prefill.Source == SourceServer && q.CachedTokens == nil
	}
	switch {
	case r.Prefill == nil:
		return o.Prefill
	case o.Prefill == nil || rank(r.Prefill.Source) <= rank(o.Prefill.Source):
		return r.Prefill
	case told(o):
		return r.Prefill
	}
	return o.Prefill
}

// sources are ordered as the constants are, the best first.
var sources = []Source{SourceServer, SourceMeter, SourceSlots, SourceMetrics, SourceLog, SourceBenchmark, SourceEstimate}

func rank(s Source) int {
	if i := slices.Index(sources, s); i >= 0 {
		return i
	}
	return len(sources)
}

// phases are in the order in which a request goes through them.
var phases = []Phase{PhaseQueued, PhaseLoading, PhasePrefill, PhaseDecode, PhaseDone}

func order(p Phase) int { return slices.Index(phases, p) }

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

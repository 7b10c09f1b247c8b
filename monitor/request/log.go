package request

import (
	"slices"
	"strings"
	"time"
)

const (
	// hintFor is how long a line about a request that nobody told of yet is kept.
	hintFor = 5 * time.Second
	// hintsMost is how many.
	hintsMost = 32
)

// hint is a line that waits for its request.
type hint struct{ line Line }

// Log takes what a line of a server's log tells.
func (t *Tracker) Log(now Moment, l Line) {
	if l.At.IsZero() {
		l.At = now.Wall
	}
	c := t.lineOf(l)
	if c == nil {
		switch l.Kind {
		case LinePrompt, LineDecode, LineTimings, LineLoading:
			c = t.add()
			c.lines, c.lineTask = &Request{Began: l.At, Phase: PhasePrefill}, l.Task
		case LineTruncated, LineReread, LineFailed:
			if len(t.hints) < hintsMost {
				t.hints = append(t.hints, hint{l})
			}
			return
		default:
			return // a request line tells of nothing that is not known
		}
	}
	if c.lines == nil {
		c.lines, c.lineTask = &Request{Began: l.At, Phase: PhasePrefill}, l.Task
	}
	lines := *c.lines
	c.lines, c.kept = &lines, nil
	lines.take(l)
	t.hints = slices.DeleteFunc(t.hints, func(h hint) bool {
		if !related(h.line, l) {
			return false
		}
		lines.take(h.line)
		return true
	})
	t.pair()
	t.learn(now)
}

// related reports that a line that waited is about the request of another.
func related(h, l Line) bool {
	return sameBackend(h.Backend, l.Backend) && (h.Model == "" || l.Model == "" || sameModel(h.Model, l.Model)) &&
		(h.Task == nil || l.Task == nil || *h.Task == *l.Task)
}

// take adds what a line says to what the log told before.
func (r *Request) take(l Line) {
	r.Backend, r.Model, r.Endpoint = first(l.Backend, r.Backend), first(l.Model, r.Model), first(l.Path, r.Endpoint)
	r.Sources = []Source{SourceLog}
	if l.At.After(r.Changed) {
		r.Changed = l.At
	}
	if l.Slot != nil {
		r.Slot = l.Slot
	}
	for _, pick := range []struct{ to, from **int }{
		{&r.CachedTokens, &l.CachedTokens}, {&r.ReadTokens, &l.ReadTokens}, {&r.OutputTokens, &l.OutputTokens}, {&r.PromptTokens, &l.PromptTokens},
	} {
		if *pick.from != nil && !(l.Kind == LineTruncated) {
			*pick.to = *pick.from
		}
	}
	end := func(outcome Outcome) {
		r.Phase, r.Outcome, r.Ended = PhaseDone, outcome, new(l.At)
	}
	switch l.Kind {
	case LineLoading:
		r.Phase = PhaseLoading
	case LineLoaded, LinePrompt:
		if r.Phase != PhaseDone {
			r.Phase = PhasePrefill
		}
	case LineDecode:
		if r.Phase != PhaseDone {
			r.Phase = PhaseDecode
		}
	case LineTruncated:
		r.Note(NoteTruncated)
	case LineReread:
		r.Note(NoteReread)
	case LineTimings:
		r.timings(l)
		end(OutcomeFinished)
	case LineFailed:
		r.Error = clip(l.Error)
		end(OutcomeFailed)
	case LineReply:
		switch {
		case l.Status >= 400 && l.Status != 500: // 500 is also written for a client that left
			end(OutcomeFailed)
		case r.Phase != PhaseDone:
			end(OutcomeUnknown)
		}
		if l.Total != nil && *l.Total >= LeastTime && r.OutputTokens != nil && l.Status < 400 {
			r.Session = &Number{Value: float64(*r.OutputTokens) / l.Total.Seconds(), Source: SourceLog, At: l.At}
		}
	}
}

// timings are the server's own statistics, whichever way they came.
func (r *Request) timings(l Line) {
	source := SourceServer
	if l.Derived {
		source = SourceLog
	}
	if l.OutputTokens != nil && l.DecodeTime != nil {
		if rate := Rate(*l.OutputTokens, *l.DecodeTime); rate != nil {
			r.Decode = &Number{Value: *rate, Source: source, At: l.At, Approximate: l.Derived}
		}
	}
	if l.ReadTokens != nil && l.PromptTime != nil {
		if rate := Rate(*l.ReadTokens, *l.PromptTime); rate != nil {
			r.Prefill = &Number{Value: *rate, Source: source, At: l.At, Approximate: l.Derived}
		}
		if r.PromptTokens != nil && r.CachedTokens == nil && *r.PromptTokens >= *l.ReadTokens {
			r.CachedTokens = new(*r.PromptTokens - *l.ReadTokens)
		}
	}
}

// clip bounds what a server said.
func clip(s string) string {
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "")
	}
	return s
}

// lineOf is the request that a line is about, nil when nobody told of it.
func (t *Tracker) lineOf(l Line) *record {
	same := func(backend, model string) bool {
		return sameBackend(backend, l.Backend) && (l.Model == "" || model == "" || sameModel(model, l.Model))
	}
	return t.find(func(c *record) bool {
		r := c.loose()
		if !same(r.Backend, r.Model) || l.At.Add(pairSlack).Before(r.Began) {
			return false
		}
		if l.Kind == LineReply {
			return c.replied(r, l)
		}
		if l.Task != nil {
			switch {
			case c.slots != nil:
				return equal(c.slots.task, l.Task) && equal(c.slots.slot, l.Slot)
			case c.lines != nil && c.lineTask != nil:
				return *c.lineTask == *l.Task && equal(c.lines.Slot, l.Slot) && l.At.Sub(c.lines.Changed) < linesFor
			}
			return false // pairLines finds the meter's
		}
		return r.Phase != PhaseDone || l.Kind == LineTimings && l.At.Sub(*r.Ended) < pairSlack
	})
}

// linesFor is how long a request that only the log tells of goes on without a line.
const linesFor = 10 * time.Minute

// loose is what is needed of a record to find it: whoever knows best.
func (c *record) loose() *Request {
	switch {
	case c.meter != nil:
		return c.meter
	case c.slots != nil && c.slots.done != nil:
		return c.slots.done
	case c.slots != nil:
		return &Request{Backend: c.slots.origin.Backend, Model: c.slots.origin.Model, Phase: c.slots.phase, Began: c.slots.after.Wall}
	}
	return c.lines
}

// replied reports that a request line can be about a record: it began and ended
// when the line says, as far as polls tell.
func (c *record) replied(r *Request, l Line) bool {
	const off = 2*pairSlack + Silence
	if l.Total == nil || r.Endpoint != "" && r.Endpoint != l.Path || c.lines != nil && c.lines.Endpoint != "" {
		return false
	}
	if r.Ended != nil && l.At.Sub(*r.Ended).Abs() > off {
		return false
	}
	began := l.At.Add(-*l.Total)
	if c.meter == nil && c.slots != nil { // it may have waited before a slot took it up
		return !c.slots.before.Wall.Add(off).Before(began) && c.slots.after.Wall.Before(l.At)
	}
	return began.Sub(r.Began).Abs() <= off
}

// pairLines joins what the log tells of a request with what others do.
func (t *Tracker) pairLines() {
	for _, c := range slices.Clone(t.records) {
		if c.lines == nil || c.meter != nil || c.slots != nil {
			continue
		}
		with := t.find(func(o *record) bool {
			if o == c || o.lines != nil {
				return false
			}
			if o.slots != nil && c.lineTask != nil {
				return equal(o.slots.task, c.lineTask) && equal(o.slots.slot, c.lines.Slot) &&
					sameBackend(o.slots.origin.Backend, c.lines.Backend) && (c.lines.Model == "" || sameModel(o.slots.origin.Model, c.lines.Model))
			}
			m := o.meter
			return m != nil && o.slots == nil && sameBackend(m.Backend, c.lines.Backend) &&
				(m.Model == "" || c.lines.Model == "" || sameModel(m.Model, c.lines.Model)) &&
				!c.lines.Began.Add(pairSlack).Before(m.Began) && (m.Ended == nil || !m.Ended.Add(pairSlack).Before(c.lines.Began))
		})
		if with != nil {
			with.lines, with.lineTask, with.kept = c.lines, c.lineTask, nil
			t.replace(c, with)
			t.drop(c)
		}
	}
}

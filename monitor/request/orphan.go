package request

import "time"

const (
	// orphanFor is the longest that a request is shown to go on without its client.
	orphanFor = 30 * time.Minute
	// workedFor is how long a runner counts as at work after it was seen to be.
	workedFor = 3 * time.Second
)

// orphan keeps a request in flight that its client left while the server reads its
// prompt: it notices only when it sends the first token
// (github.com/ollama/ollama/issues/11889).
func (t *Tracker) orphan(r *Request, c *record, now Moment) {
	m := c.meter
	if m.Ended == nil || value(m.OutputTokens) > 0 || m.TTFT != nil || now.Wall.Sub(*m.Ended) > orphanFor {
		return
	}
	going := c.slots != nil && c.slots.ended == nil
	if c.slots == nil {
		going = c.worked > 0 && now.Awake-c.worked <= workedFor && !t.readable(m)
	}
	if !going {
		return
	}
	r.Note(NoteOrphan)
	r.Phase, r.Ended = PhasePrefill, nil
	if c.slots != nil {
		r.Phase = c.slots.phase
	}
}

// readable reports that the slots of a request's model can be read: what does not
// show in them is not going on.
func (t *Tracker) readable(m *Request) bool {
	for _, w := range t.watches {
		if w.known && sameModel(w.origin.Model, m.Model) && sameBackend(w.origin.Backend, m.Backend) && m.Ended != nil && w.last.Wall.After(*m.Ended) {
			return true
		}
	}
	return false
}

// waits is the phase of a request that only the meter sees, which does not see what
// the server does before its first word. All slots of the model at work on others:
// it waits. Nobody who tells slots, and no other request before it: it is read.
func (t *Tracker) waits(c *record, phase Phase) Phase {
	m := c.meter
	if phase == PhaseDone || m.TTFT != nil || value(m.OutputTokens) > 0 {
		return phase
	}
	for _, w := range t.watches {
		if !sameModel(w.origin.Model, m.Model) || !sameBackend(w.origin.Backend, m.Backend) || !w.known {
			continue
		}
		for _, st := range w.slots {
			if st.at == nil {
				return phase
			}
		}
		return PhaseQueued
	}
	for _, o := range t.records {
		if o != c && o.meter != nil && o.meter.Phase != PhaseDone && sameModel(o.meter.Model, m.Model) && o.meter.Began.Before(m.Began) {
			return phase
		}
	}
	return PhasePrefill
}

package request

import "time"

// Slots takes a reply of /slots. The first of a process is a baseline.
func (t *Tracker) Slots(r Reading) {
	w := t.watch(r.Origin)
	if w.known && r.Came.Awake <= w.last.Awake {
		return
	}
	hidden := w.hidden
	w.hidden, w.asked = nil, nil
	alone := !w.flying()
	there := map[int]bool{}
	for _, s := range r.Slots[:min(len(r.Slots), slotsMost)] {
		if !there[s.ID] {
			there[s.ID] = true
			t.slot(w, r, s, &hidden, alone)
		}
	}
	for id, st := range w.slots {
		if !there[id] {
			t.leave(w, st, ending{between: r.Came, lost: r.slow()})
			delete(w.slots, id)
		}
	}
	t.reveal(hidden)
	w.hold(r)
	w.last, w.known = r.Came, true
	t.pair()
	t.learn(r.Came)
}

// flying reports a slot with a request.
func (w *watch) flying() bool {
	for _, st := range w.slots {
		if st.at != nil {
			return true
		}
	}
	return false
}

// slow reports a reply that came only when a prompt was read.
func (r Reading) slow() bool { return r.Came.Awake-r.Asked.Awake >= Silence }

// slot takes what a reply says of one slot. hidden is a request that was known of
// before it was seen; the first that is seen is that one.
func (t *Tracker) slot(w *watch, r Reading, s Slot, hidden **record, alone bool) {
	st, known := w.slots[s.ID]
	if !known {
		st = &slotState{}
		w.slots[s.ID] = st
	}
	same := known && equal(st.task, s.Task) && !(s.Processing && (value(s.Decoded) < st.decoded || value(s.Read) < st.read))
	if st.at != nil && !(same && s.Processing) {
		e := ending{between: r.Came, lost: r.slow()}
		if same && s.Decoded != nil && *s.Decoded >= st.decoded {
			e.final = s.Decoded
		}
		if !same { // the slot was free before the silence, in which the next prompt was read
			e.lost = false
			if r.slow() {
				e.between = r.Asked
			}
		}
		t.leave(w, st, e)
	}
	switch {
	case s.Processing:
		if st.at == nil {
			st.at = t.begin(w, r, s, hidden, alone)
		}
		st.at.slots.update(r, s)
	case known && w.known && !same && value(s.Decoded) > 0:
		t.missed(w, r, s)
	}
	st.task = s.Task
	st.decoded, st.read = 0, 0
	if s.Processing {
		st.decoded, st.read = value(s.Decoded), value(s.Read)
	}
}

// begin makes the record of a request that a slot has taken up.
func (t *Tracker) begin(w *watch, r Reading, s Slot, hidden **record, alone bool) *record {
	c := *hidden
	*hidden = nil
	if c == nil {
		c = t.add()
	}
	was := c.slots
	c.slots = &seen{
		origin: w.origin, slot: new(s.ID), task: s.Task, phase: PhasePrefill, after: w.last, before: r.Came,
		baseline: !w.known, changed: r.Came, unread: w.last,
	}
	switch {
	case was != nil:
		c.slots.after, c.slots.before, c.slots.baseline = was.after, was.before, was.baseline
	case r.slow() && alone && w.known:
		c.slots.before = r.Asked // an idle server answers at once
	}
	if !c.slots.baseline {
		c.slots.tokens.add(c.slots.after.Awake, 0, false) // it was not there yet
	}
	return c
}

// leave ends the request of a slot.
func (t *Tracker) leave(w *watch, st *slotState, e ending) {
	if st.at == nil {
		return
	}
	st.at.slots.end(e)
	if len(w.ends) < slotsMost {
		w.ends = append(w.ends, st.at)
	}
	st.at = nil
}

// missed lists a request that came and went between two replies: its tokens are
// known, its times are not.
func (t *Tracker) missed(w *watch, r Reading, s Slot) {
	c := t.add()
	c.slots = &seen{
		origin: w.origin, slot: new(s.ID), task: s.Task, phase: PhaseDecode, context: s.Context,
		after: w.last, before: r.Came, changed: r.Came, decoded: s.Decoded, cached: s.Cached, read: s.Read, missed: true,
	}
	c.slots.end(ending{between: r.Came, final: s.Decoded, lost: true})
	if len(w.ends) < slotsMost {
		w.ends = append(w.ends, c)
	}
}

// hold notes for whom another's prompt held up the answer.
func (w *watch) hold(r Reading) {
	if !r.slow() {
		return
	}
	for _, st := range w.slots {
		if st.at == nil || st.at.slots.phase != PhaseDecode {
			continue
		}
		for _, o := range w.slots {
			if s := st.at.slots; o.at != nil && o != st && o.at.slots.prompted(r) && s.before.Awake < r.Asked.Awake {
				s.held = max(s.held, r.Came.Awake-r.Asked.Awake)
			}
		}
	}
}

// Silent notes that a question asked at that moment is unanswered while the process
// lives. After Silence that says that a prompt is being read.
func (t *Tracker) Silent(now Moment, o Origin, asked Moment) {
	w := t.watch(o)
	if w.asked == nil {
		w.asked = &asked
	}
	t.listen(w, now)
}

// listen makes a request of a silence that nothing known explains: no prompt that is
// read already, and no answer whose tokens take that long.
func (t *Tracker) listen(w *watch, now Moment) {
	if w.asked == nil || w.hidden != nil {
		return
	}
	silence := now.Awake - w.asked.Awake
	free := len(w.slots) == 0
	for _, st := range w.slots {
		switch {
		case st.at == nil:
			free = true
		case st.at.slots.phase == PhasePrefill, silence < st.at.slots.patience():
			return
		}
	}
	if free && silence >= Silence {
		w.hidden = t.hide(w, now, *w.asked, PhasePrefill)
	}
}

// Loading notes that a process answers that it is still loading its model, which
// a server of many models does for somebody's request.
func (t *Tracker) Loading(now Moment, o Origin) {
	w := t.watch(o)
	w.asked = nil
	if w.hidden == nil {
		w.hidden = t.hide(w, now, now, PhaseLoading)
	}
	w.last, w.known = now, true
}

// hide makes a record that no slot tells of yet.
func (t *Tracker) hide(w *watch, now, before Moment, phase Phase) *record {
	c := t.add()
	c.slots = &seen{origin: w.origin, phase: phase, after: w.last, before: before, baseline: !w.known, changed: now}
	t.pair()
	return c
}

// until is the time up to which a counter of w is known: the newest reply, or now
// while the silence says that nothing moves.
func (w *watch) until(now Moment) time.Duration {
	if w.asked != nil && now.Awake-w.asked.Awake >= Silence {
		return now.Awake
	}
	return w.last.Awake
}

func equal(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

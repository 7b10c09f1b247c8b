package monitor

import (
	"slices"
	"strings"
	"time"
)

// watch is one finding that lasts: waiting to become an alert, standing, or
// waiting to go.
type watch struct {
	rule     *rule
	since    time.Duration // when it was first found, on the latch's own time
	last     time.Duration // when it was last found
	severe   time.Duration // when it was last found as severe as the alert says
	tick     int           // the latch's tick at which it was last found
	standing bool
	alert    Alert
}

// flap is how often an alert came and went lately, and when what it is about was
// last seen to end. Each time doubles the hold of the next, so that a server that
// comes and goes for hours makes a few notices and not one at every change.
type flap struct {
	cleared time.Duration
	times   int
}

// hold is the hold of a rule's next alert, where a first one has its own.
func (f flap) hold(r *rule, first time.Duration) time.Duration {
	if f.times == 0 || r.again == 0 {
		return first << f.times
	}
	return max(first, r.again<<min(f.times-1, againMost))
}

const (
	// flapWindow is how long an alert must be away to count as new.
	flapWindow = 10 * time.Minute
	// flapMost bounds the doubling: 5 s become 160 s.
	flapMost = 5
	// againMost bounds that of rules that say how long a next alert is held.
	againMost = 2
)

// latch turns findings into alerts with hold and clear times, so that a value
// at its threshold makes one notice and not twenty.
type latch struct {
	rules   []rule
	watches map[string]*watch
	flaps   map[string]flap // of alerts with a hold, by ID
	now     time.Duration   // time awake, summed over the snapshots
	tick    int
}

func newLatch(rules []rule) *latch {
	return &latch{rules: rules, watches: map[string]*watch{}, flaps: map[string]flap{}}
}

// wants reports whether a rule that is about to begin needs the consumers read.
func (l *latch) wants(h *History) bool {
	for i := range l.rules {
		r := &l.rules[i]
		if !r.memory {
			continue
		}
		for _, f := range r.check(h) {
			if l.watches[alertID(r, f)] == nil {
				return true
			}
		}
	}
	return false
}

// urgent reports whether an alert stands whose numbers move from tick to tick. A
// server that is down stays down for days.
func (l *latch) urgent() bool {
	for _, w := range l.watches {
		if w.standing && w.rule.memory {
			return true
		}
	}
	return false
}

// stands reports an alert of a rule.
func (l *latch) stands(rule string) bool {
	for _, w := range l.watches {
		if w.standing && w.rule.id == rule {
			return true
		}
	}
	return false
}

// step takes the newest snapshot of h and returns the alerts that stand, worst
// first, and what changed.
func (l *latch) step(h *History) ([]Alert, []Event) {
	taken := h.back(0).Taken
	if before := h.back(1); before != nil {
		l.now += max(0, elapsed(before, h.back(0)))
	}
	l.tick++
	var events []Event
	for i := range l.rules {
		for _, f := range l.rules[i].check(h) {
			if e := l.found(&l.rules[i], f, taken); e != nil {
				events = append(events, *e)
			}
		}
	}
	events = append(events, l.expire(taken)...)
	return l.standing(), events
}

// found takes one finding and returns the event it makes, if any.
func (l *latch) found(r *rule, f finding, taken time.Time) *Event {
	id := alertID(r, f)
	w := l.watches[id]
	if w == nil {
		w = &watch{rule: r, since: l.now, alert: Alert{ID: id, Rule: r.id, Severity: f.severity, Since: taken}}
		l.watches[id] = w
	}
	w.last, w.tick = l.now, l.tick
	w.alert.Evidence, w.alert.Action = keepConsumer(w.alert.Evidence, f.evidence), f.action
	hold := r.hold
	if f.hold != nil {
		hold = *f.hold
	}
	if f.evidence.Cause != CauseThreshold { // what a person set is told each time; it has a watch of its own
		hold = l.flaps[id].hold(r, hold)
	}
	worse := rank(f.severity) > rank(w.alert.Severity)
	if rank(f.severity) >= rank(w.alert.Severity) || l.now-w.severe >= r.clear {
		w.alert.Severity, w.severe = f.severity, l.now
	}
	switch {
	case !w.standing && l.now-w.since >= hold:
		w.standing = true
		return l.event(EventAlertRaised, w, taken)
	case w.standing && worse:
		return l.event(EventAlertChanged, w, taken)
	}
	return nil
}

// keepConsumer carries the named memory user over from the evidence before: the
// programs are read once, when an alert begins.
func keepConsumer(had, e Evidence) Evidence {
	if had.Consumer != "" && !had.ConsumerIsModel && (e.Consumer == "" || e.ConsumerIsModel) &&
		(e.ConsumerBytes == nil || *had.ConsumerBytes > *e.ConsumerBytes) {
		e.Consumer, e.ConsumerIsModel, e.ConsumerBytes = had.Consumer, false, had.ConsumerBytes
	}
	return e
}

// expire drops findings that were away for their clear time, and at once those
// that had not become alerts.
func (l *latch) expire(taken time.Time) []Event {
	var events []Event
	for id, w := range l.watches {
		if w.tick == l.tick || w.standing && l.now-w.last < w.rule.clear {
			continue
		}
		delete(l.watches, id)
		if w.standing {
			events = append(events, *l.event(EventAlertCleared, w, taken))
			if w.rule.hold > 0 || w.rule.again > 0 {
				l.flaps[id] = flap{cleared: l.now, times: min(l.flaps[id].times+1, flapMost)}
			}
		} else if f, ok := l.flaps[id]; ok { // too short for another alert, and still not gone
			l.flaps[id] = flap{cleared: l.now, times: f.times}
		}
	}
	for id, f := range l.flaps {
		if l.watches[id] == nil && l.now-f.cleared >= flapWindow {
			delete(l.flaps, id)
		}
	}
	slices.SortFunc(events, func(a, b Event) int { return strings.Compare(a.Alert.ID, b.Alert.ID) })
	return events
}

func (l *latch) event(kind EventKind, w *watch, taken time.Time) *Event {
	return &Event{Time: taken, Kind: kind, Alert: new(w.alert)}
}

// standing lists the alerts, worst and then oldest first.
func (l *latch) standing() []Alert {
	var alerts []Alert
	for _, w := range l.watches {
		if w.standing {
			alerts = append(alerts, w.alert)
		}
	}
	slices.SortFunc(alerts, func(a, b Alert) int {
		if d := rank(b.Severity) - rank(a.Severity); d != 0 {
			return d
		}
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return alerts
}

func alertID(r *rule, f finding) string {
	if f.subject == "" {
		return r.id
	}
	return r.id + ":" + f.subject
}

func rank(s Severity) int {
	return slices.Index([]Severity{SeverityInfo, SeverityWarning, SeverityCritical}, s)
}

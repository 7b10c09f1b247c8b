package monitor

import "time"

const (
	// HotLeast and HotMost bound the temperature, in °C, that a person may ask to
	// be warned at: below, every machine at work is; above, none gets.
	HotLeast, HotMost = 40, 120
	// hotHold is how long the GPU must be at that temperature, so that a short
	// burst of work is no alarm.
	hotHold = 10 * time.Second
	// hotClear is how far below, in °C, the alarm goes: sensors move by a degree
	// from reading to reading.
	hotClear = 2
)

// CauseThreshold is the Evidence.Cause of an overheat alert that rests on a
// person's own temperature alone: nothing shows that the GPU is slowed.
const CauseThreshold = "threshold"

// hotWatch compares the GPU's temperature with the one that a person set. It
// belongs to the tick's goroutine.
type hotWatch struct {
	limit *float64 // in °C, nil: no alarm on temperature alone
	// over is the last reading while the alarm stands, nil while it does not.
	over *Snapshot
}

// set takes a person's temperature. Another one is judged from the history anew.
func (w *hotWatch) set(limit *float64) {
	if w.limit == limit || w.limit != nil && limit != nil && *w.limit == *limit {
		return
	}
	*w = hotWatch{limit: limit}
}

// note looks at the newest snapshot. A reading that is missing, stuck or
// implausible changes nothing as long as the last good one still counts.
func (w *hotWatch) note(h *History) {
	now := h.back(0)
	switch {
	case w.limit == nil:
		w.over = nil
	case w.over == nil:
		if _, ok := h.lasting(hotHold, w.above); ok {
			w.over = now
		}
	case temperature(now) == nil:
		if elapsed(w.over, now) > longestGap(w.over, now) {
			w.over = nil
		}
	case *temperature(now) < *w.limit-hotClear:
		w.over = nil
	default:
		w.over = now
	}
}

// above: at the temperature or over it.
func (w *hotWatch) above(s *Snapshot) truth {
	t := temperature(s)
	if t == nil {
		return unknown
	}
	return truthOf(*t >= *w.limit)
}

package monitor

import "time"

// wearPerDay is how much may be written to swap in a day, in bytes, before it is
// worth a word: a Mac whose model does not fit wrote 1 TB a day
// (github.com/ml-explore/mlx/issues/3129), and an SSD is made for a few hundred TB.
const wearPerDay = 50e9

// wear counts what is written to swap since the day began.
type wear struct {
	day   time.Time // its midnight
	since time.Time
	sum   uint64
	last  *uint64
	told  *uint64
	from  *time.Time
	// before is what an earlier agent counted, for the first reading. May be nil.
	before *SwapDay
}

// note fills in today's swap-out of a snapshot, and from when on it is counted:
// midnight, the start of the system where that was later, else the first
// reading today, by this agent or the one before it: what went before that is not
// told. The system's own counter tells also what was written while it was not read.
func (w *wear) note(s *Snapshot) {
	if s.Swap == nil || s.Swap.Out == nil {
		return
	}
	out := *s.Swap.Out
	midnight := time.Date(s.Taken.Year(), s.Taken.Month(), s.Taken.Day(), 0, 0, 0, 0, s.Taken.Location())
	switch {
	case !midnight.Equal(w.day) && w.last != nil && w.day.Before(midnight):
		w.since, w.sum = midnight, less(out, *w.last)
	case !midnight.Equal(w.day):
		w.since, w.sum = s.Taken, 0
		if up := uptime(s); up != nil {
			if start := s.Taken.Add(-seconds(*up)); !start.Before(midnight) {
				w.since, w.sum = start, out
			}
		}
		w.resume(s, midnight, out)
	case out >= *w.last:
		w.sum += out - *w.last
	default:
		w.sum += out // the system started again
	}
	w.day, w.last = midnight, &out
	if w.told == nil || *w.told != w.sum || !w.from.Equal(w.since) {
		w.told, w.from = new(w.sum), new(w.since) // snapshots share them while nothing changes
	}
	if s.Swap.OutToday == nil {
		s.Swap.OutToday, s.Swap.OutSince = w.told, w.from
	}
}

// resume goes on where an earlier agent stopped today. Since then the counter grew,
// or began again with the system.
func (w *wear) resume(s *Snapshot, midnight time.Time, out uint64) {
	b := w.before
	w.before = nil
	if b == nil || !b.Day.Equal(midnight) || b.At.After(s.Taken) || !b.Since.Before(w.since) {
		return
	}
	grown := out
	if s.Machine == nil || s.Machine.BootID == b.Boot {
		grown = less(out, b.Counter)
		if out < b.Counter {
			grown = out
		}
	}
	w.since, w.sum = b.Since, b.Bytes+grown
}

// swapWear finds a day with more swap-out than is good for an SSD.
func swapWear(h *History) []finding {
	s := h.back(0).Swap
	if s == nil || s.OutToday == nil || float64(*s.OutToday) < wearPerDay {
		return nil
	}
	return []finding{{severity: SeverityWarning, evidence: Evidence{Bytes: s.OutToday, Since: s.OutSince, SwapOutRate: s.OutRate}}}
}

// SwapDay is what was written to swap on one day, as far as it was counted.
type SwapDay struct {
	// Day is its midnight, Since from when on Bytes were counted.
	Day   time.Time
	Since time.Time
	Bytes uint64
	// Counter is the system's count at the time At, in the life of the system that
	// Boot names ("" where systems do not tell).
	Counter uint64
	At      time.Time
	Boot    string
}

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
}

// note fills in today's swap-out of a snapshot, and from when on it is counted:
// midnight, the start of the system where that was later, else the first
// reading today, for what went before it is not told. The system's own counter
// tells also what was written while it was not read.
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

// swapWear finds a day with more swap-out than is good for an SSD.
func swapWear(h *History) []finding {
	s := h.back(0).Swap
	if s == nil || s.OutToday == nil || float64(*s.OutToday) < wearPerDay {
		return nil
	}
	return []finding{{severity: SeverityWarning, evidence: Evidence{Bytes: s.OutToday, Since: s.OutSince, SwapOutRate: s.OutRate}}}
}

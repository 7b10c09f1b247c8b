package monitor

import "time"

// historyLength is how many snapshots a History keeps: ten minutes at one a second.
const historyLength = 600

// History is the recent snapshots, oldest first. It belongs to the tick's goroutine.
type History struct {
	ring  []*Snapshot
	start int
	hot   hotWatch
}

// add appends a snapshot and forgets the oldest when full.
func (h *History) add(s *Snapshot) {
	if old := h.back(fatSnapshots); old != nil {
		h.ring[(h.start+len(h.ring)-1-fatSnapshots)%len(h.ring)] = old.slim()
	}
	if len(h.ring) < historyLength {
		h.ring = append(h.ring, s)
		return
	}
	h.ring[h.start] = s
	h.start = (h.start + 1) % historyLength
}

// back returns the snapshot n ticks before the newest, nil when there is none.
func (h *History) back(n int) *Snapshot {
	if n < 0 || n >= len(h.ring) {
		return nil
	}
	return h.ring[(h.start+len(h.ring)-1-n)%len(h.ring)]
}

// since returns the oldest snapshot that is at most d older than the newest, with
// neither sleep nor a change of the clock between the two.
func (h *History) since(d time.Duration) *Snapshot {
	newest := h.back(0)
	if newest == nil {
		return nil
	}
	oldest := newest
	for n := 1; ; n++ {
		s := h.back(n)
		if s == nil || elapsed(s, newest) > d {
			return oldest
		}
		if slept, changed := interruption(s, oldest); slept != 0 || changed != 0 {
			return oldest
		}
		oldest = s
	}
}

// elapsed is the time awake from one snapshot to a later one. Lines written by
// hand have no awake time, and it starts again with the agent; there the wall
// clock has to do.
func elapsed(from, to *Snapshot) time.Duration {
	if from.Awake != nil && to.Awake != nil && *to.Awake >= *from.Awake {
		return seconds(*to.Awake - *from.Awake)
	}
	return to.Taken.Sub(from.Taken)
}

// seconds is s as a Duration, held within ten years: a recording may say anything.
func seconds(s float64) time.Duration {
	const most = 10 * 365 * 24 * 3600
	return time.Duration(min(max(s, -most), most) * float64(time.Second))
}

package monitor

import (
	"time"

	"plimsoll/metal"
)

const (
	// jump is how far two clocks may drift apart between two ticks before it is
	// called sleep or a clock change.
	jump = 5 * time.Second
	// shortest is the least time between two readings that a rate is made of.
	shortest = 500 * time.Millisecond
	// longest is the most: a reading older than this says nothing about now. Ticks
	// are at most ten seconds apart.
	longest = 30 * time.Second
	// longestByHand is the same for lines without a time awake, written by hand
	// or by another tool, which are often a minute apart.
	longestByHand = 2 * time.Minute
)

// derive fills in what follows from two snapshots in a row: rates from counters.
// What is there already stays, so that a recording keeps what was measured.
func derive(previous, s *Snapshot) {
	if previous == nil || s.Swap == nil || previous.Swap == nil {
		return
	}
	if s.Swap.InRate == nil {
		s.Swap.InRate = rate(previous, s, previous.Swap.In, s.Swap.In, previous.Swap.InRate)
	}
	if s.Swap.OutRate == nil {
		s.Swap.OutRate = rate(previous, s, previous.Swap.Out, s.Swap.Out, previous.Swap.OutRate)
	}
}

// rate is the growth of a counter per second awake. It is absent when either
// reading is, when the counter went back, and when the time between says
// nothing: after sleep, a clock change or a long gap. Two readings within half
// a second keep the rate they had.
func rate(previous, s *Snapshot, before, after *uint64, had *float64) *float64 {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	if slept, changed := interruption(previous, s); slept != 0 || changed != 0 {
		return nil
	}
	most := longest
	if previous.Awake == nil && s.Awake == nil {
		most = longestByHand
	}
	switch dt := elapsed(previous, s); {
	case dt < 0 || dt > most:
		return nil
	case dt < shortest:
		return had
	default:
		return new(float64(*after-*before) / dt.Seconds())
	}
}

// interruption tells how long the machine slept between two snapshots and by how
// much its wall clock was changed, each 0 when it was not. Time awake stands
// still in sleep, uptime does not, and a changed clock moves neither.
func interruption(from, to *Snapshot) (slept, changed time.Duration) {
	wall := to.Taken.Sub(from.Taken)
	if from.Awake == nil || to.Awake == nil || *to.Awake < *from.Awake {
		if wall < 0 {
			return 0, wall
		}
		return 0, 0
	}
	awake := elapsed(from, to)
	real := wall
	if a, b := uptime(from), uptime(to); a != nil && b != nil && *b >= *a {
		real = seconds(*b - *a)
	}
	if real-awake > jump {
		slept = real - awake
	}
	if off := wall - real; off > jump || off < -jump {
		changed = off
	} else if wall-awake < -jump {
		changed = wall - awake
	}
	return slept, changed
}

func uptime(s *Snapshot) *float64 {
	if s.Machine == nil {
		return nil
	}
	return s.Machine.Uptime
}

// pressure is the kernel's level of a snapshot, "" when it is not known.
func pressure(s *Snapshot) metal.Pressure {
	if s == nil || s.Memory == nil {
		return ""
	}
	return s.Memory.Pressure
}

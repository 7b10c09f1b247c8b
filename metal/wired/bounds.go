package wired

import "fmt"

const gib = 1 << 30

// Reserve is the memory in bytes that is kept for the system and other programs
// on a machine with that much: an eighth of it, at least 4 GiB and at most 16.
// People who run models leave 6 to 8 GB on small Macs and 12 to 16 GB on large
// ones; no official figure exists.
func Reserve(ram uint64) uint64 {
	return min(max(ram/8, 4*gib), 16*gib)
}

// Bounds are the limits that may be set on a machine. 0, the system's default, may
// always be set. Where Most is below Floor nothing else may.
type Bounds struct {
	// Floor is half of the memory: less starves the GPU that draws the screen.
	Floor MiB
	// Most is the memory less the reserve.
	Most MiB
}

// BoundsOf is the bounds of a machine with that much memory in bytes. They are
// whole MiB, rounded to the safe side: Floor up, Most down.
func BoundsOf(ram uint64) Bounds {
	b := Bounds{Floor: MiB((ram/2 + ram%2 + 1<<20 - 1) >> 20)}
	if reserve := Reserve(ram); ram > reserve {
		b.Most = MiB((ram - reserve) >> 20)
	}
	return b
}

// Check tells whether a limit may be set; if not, the error's Code is CodeBounds.
func (b Bounds) Check(limit MiB) error {
	switch {
	case limit == 0 || limit >= b.Floor && limit <= b.Most:
		return nil
	case b.Most < b.Floor:
		return failure(CodeBounds, "this machine has too little memory for another limit than the default", nil)
	}
	return failure(CodeBounds, fmt.Sprintf("%d MiB is not 0 and not from %d to %d MiB", limit, b.Floor, b.Most), nil)
}

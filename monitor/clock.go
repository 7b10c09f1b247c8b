package monitor

import "time"

// Clock is the one source of time of a monitor, its rules and the simulator.
type Clock interface {
	// Now is the wall clock, for moments that people and servers name.
	Now() time.Time
	// Awake is the time that passed while the machine was awake, since some
	// fixed start. Durations and rates are made of it.
	Awake() time.Duration
	// After delivers once, when d has passed on this clock.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the machine's own clock. Go's monotonic time stands still
// while the machine sleeps (CLOCK_MONOTONIC on Linux, mach_absolute_time on
// macOS), which makes it the time awake.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Now() time.Time                         { return time.Now().Round(0) }
func (c systemClock) Awake() time.Duration                   { return time.Since(c.start) }
func (c systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

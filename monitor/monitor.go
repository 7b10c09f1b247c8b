// Package monitor turns facts into snapshots.
//
//	metal.Reader ─────────┐
//	backends (own pace) ──┼─► Snapshot ─► History ─► Rules ─► Update ─► mailboxes ─► tray | API | recorder
//	                      ┘   one tick
//	click ─► Command ─► Do ─► backend        …its effect is seen in the next Snapshot
//
// One goroutine owns the tick and everything behind it. Backends poll in
// goroutines of their own and leave their last answer with its time, so a hung
// server makes its own part stale and never delays memory. The package makes no
// system call: local facts come through metal.Reader and time through Clock.
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

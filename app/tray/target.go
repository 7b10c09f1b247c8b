package tray

import (
	"sync"
	"time"

	"plimsoll/monitor"
)

// aim is how long after a row changed a click still means what it meant before:
// the person decided while the old words stood there. Seeing a change and
// calling a click off takes at least 200 ms, moving to it and clicking more.
const aim = 500 * time.Millisecond

// target is the command of a row: now, and a moment ago.
type target struct {
	mutex   sync.Mutex
	now     *monitor.Command // nil: nothing
	before  *monitor.Command
	changed time.Time
}

// set gives the row a command from now on; nil takes it away.
func (t *target) set(command *monitor.Command, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if same(t.now, command) {
		return
	}
	// After several quick changes the one that stood long enough to be read
	// stays the one that was aimed at.
	if t.before == nil || now.Sub(t.changed) >= aim {
		t.before = t.now
	}
	t.now, t.changed = command, now
}

// at is the command a click at this moment was aimed at, nil for none.
func (t *target) at(click time.Time) *monitor.Command {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.before != nil && click.Sub(t.changed) < aim {
		return t.before
	}
	return t.now
}

// same compares commands by what they say.
func same(a, b *monitor.Command) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Backend == b.Backend && a.Model == b.Model &&
		equal(a.Keep, b.Keep) && equal(a.PID, b.PID) && equal(a.Bytes, b.Bytes)
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

package monitor

import "sync"

// Options say what a subscriber needs.
type Options struct {
	// Watch asks for what is read only while somebody looks: the consumers.
	Watch bool
	// Lossless keeps every update, up to a bound; past it a gap event tells how
	// many are missing. Otherwise a newer update replaces an unread one, and
	// only events add up.
	Lossless bool
}

// losslessBound is how many updates a lossless subscriber may be behind: over
// eight minutes at the fastest tick of one second.
const losslessBound = 512

// eventBound is how many unread events a mailbox keeps before the oldest give
// way to a gap event.
const eventBound = 256

// Mailbox is one subscriber's slot. A slow reader costs the monitor nothing.
type Mailbox struct {
	options Options
	ready   chan struct{}
	close   func(*Mailbox)
	watch   func()

	mu     sync.Mutex
	unread []Update
	lost   int
}

// Ready receives when there is something to Take.
func (m *Mailbox) Ready() <-chan struct{} { return m.ready }

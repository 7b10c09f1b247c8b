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

const (
	// losslessBound is how many updates a lossless subscriber may be behind: over
	// eight minutes at the fastest tick of one second.
	losslessBound = 512
	// eventBound is how many unread events a mailbox keeps before the oldest
	// give way to a gap event.
	eventBound = 256
)

// Mailbox is one subscriber's slot. A slow reader costs the monitor nothing and
// never sees an update older than the newest.
type Mailbox struct {
	ready chan struct{}
	drop  func(*Mailbox)
	nudge func()

	mu       sync.Mutex
	lossless bool
	watch    bool
	unread   []Update
	lost     int
}

// Ready receives when there is something to Take.
func (m *Mailbox) Ready() <-chan struct{} { return m.ready }

// Take returns the oldest unread update and reports whether there was one.
func (m *Mailbox) Take() (Update, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.unread) == 0 {
		return Update{}, false
	}
	u := m.unread[0]
	m.unread = m.unread[1:]
	if m.lost > 0 {
		gap := Event{Kind: EventGap, Evidence: Evidence{Count: new(m.lost)}}
		if u.Snapshot != nil {
			gap.Time = u.Snapshot.Taken
		}
		u.Events = append([]Event{gap}, u.Events...)
		m.lost = 0
	}
	if len(m.unread) > 0 {
		m.signal()
	}
	return u, true
}

// SetWatch changes Options.Watch; turning it on asks for a tick at once.
func (m *Mailbox) SetWatch(on bool) {
	m.mu.Lock()
	turned := on && !m.watch
	m.watch = on
	m.mu.Unlock()
	if turned && m.nudge != nil {
		m.nudge()
	}
}

// Close ends the subscription. Unread updates are dropped.
func (m *Mailbox) Close() {
	if m.drop != nil {
		m.drop(m)
	}
}

func (m *Mailbox) watching() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watch
}

// put delivers an update without ever waiting.
func (m *Mailbox) put(u Update) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.lossless && len(m.unread) >= losslessBound:
		m.lost++
	case m.lossless || len(m.unread) == 0:
		m.unread = append(m.unread, u)
	default:
		events := append(m.unread[0].Events[:len(m.unread[0].Events):len(m.unread[0].Events)], u.Events...)
		if over := len(events) - eventBound; over > 0 {
			events = events[over:]
			m.lost += over
		}
		u.Events = events
		m.unread[0] = u
	}
	m.signal()
}

func (m *Mailbox) signal() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

package monitor

import "time"

const (
	// playStart is the time of a first line that does not say its own.
	playStart = "2026-01-01T00:00:00Z"
	// playStep is the time between lines that do not say theirs: the usual tick.
	playStep = 2 * time.Second
)

// Player runs recorded updates again through the history and the rules of this
// program, so that anyone can see what an alert does with a given course of
// events. It needs no clock: time is what the lines say.
type Player struct {
	engine *engine
	last   *Snapshot
}

// NewPlayer makes a Player with an empty history.
func NewPlayer() *Player { return &Player{engine: newEngine()} }

// SetHot sets the temperature, in °C, from which on the lines that follow make an
// alert; nil, as at the start, for none.
func (p *Player) SetHot(celsius *float64) { p.engine.history.hot.set(celsius) }

// Step takes the next recorded update and returns the one that comes out. What
// the line says is believed; what follows from it (rates, activity, headroom,
// alerts, events) is made here, and the alerts it was recorded with are not
// looked at. A line may hold any part of a Snapshot; one without a time is two
// seconds after the line before. An update without a snapshot passes its events on.
func (p *Player) Step(recorded Update) Update {
	kept := recordedOnly(recorded.Events)
	if recorded.Snapshot == nil {
		return Update{Events: kept}
	}
	s := *recorded.Snapshot
	if s.Taken.IsZero() {
		s.Taken, _ = time.Parse(time.RFC3339, playStart)
		if p.last != nil {
			s.Taken = p.last.Taken.Add(playStep)
		}
	}
	if s.Swap != nil {
		s.Swap = new(*s.Swap)
	}
	s.Residents = append([]Resident(nil), s.Residents...)
	p.last = &s
	p.engine.complete(&s)
	return p.engine.step(kept)
}

// recordedOnly keeps the events that cannot be told from snapshots.
func recordedOnly(events []Event) []Event {
	var kept []Event
	for _, e := range events {
		switch e.Kind {
		case EventUnloadAsked, EventUnloaded, EventUnloadHeld, EventUnloadFailed, EventGap, EventPostMortem,
			EventOutOfMemory, EventTruncated, EventCacheRefused, EventEvicted:
			kept = append(kept, e)
		}
	}
	return kept
}

package monitor

import (
	"slices"
	"time"
)

const (
	// listedWait is how long an idle model may stay listed after its server
	// accepted to unload it.
	listedWait = 10 * time.Second
	// memoryWait is how long the memory may take to come back once the server
	// no longer lists the model. Runners were seen to keep gigabytes for minutes.
	memoryWait = 10 * time.Second
	// returnedShare is the share of a model's size that must come back.
	returnedShare = 0.5
)

// unload is one unload under way: asked, then gone from the list, then the
// memory measured. Success is measured, never believed.
type unload struct {
	backend, model string
	asked          time.Duration // time awake
	idle           time.Duration // since when it is listed and idle
	gone           time.Duration // when it left the list, 0 before
	announced      bool
	size           *uint64
	pid            *int
	footprint      *uint64
	wired          *uint64
	available      *uint64
	local          bool
}

func (m *Monitor) unloading(backend, model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unloads[backend+"/"+model] != nil
}

// followUnloads moves every unload under way on by one tick.
func (m *Monitor) followUnloads(s *Snapshot) []Event {
	m.mu.Lock()
	under := make(map[string]*unload, len(m.unloads))
	for key, u := range m.unloads {
		under[key] = u
	}
	m.mu.Unlock()
	var events []Event
	for key, u := range under {
		more, done := m.followUnload(u, s)
		events = append(events, more...)
		if done {
			m.mu.Lock()
			delete(m.unloads, key)
			m.mu.Unlock()
		}
	}
	return events
}

// followUnload returns what to tell and whether it is over.
func (m *Monitor) followUnload(u *unload, s *Snapshot) ([]Event, bool) {
	now := seconds(*s.Awake)
	r := find(s.Residents, func(r *Resident) bool { return r.Backend == u.backend && r.Model == u.model })
	var events []Event
	if !u.announced {
		u.announced = true
		e := Event{Time: s.Taken, Kind: EventUnloadAsked, Evidence: Evidence{Backend: u.backend, Model: u.model}}
		if r != nil {
			e.Evidence.State = string(r.Activity)
		}
		events = append(events, e)
	}
	if r != nil && u.gone == 0 {
		return m.followListed(u, r, s, now, events)
	}
	if u.gone == 0 {
		u.gone = now
	}
	if freed, ok := m.returned(u, s); ok {
		return append(events, Event{Time: s.Taken, Kind: EventUnloaded, Evidence: Evidence{Backend: u.backend, Model: u.model, Freed: freed}}), true
	}
	if now-u.gone < memoryWait {
		return events, false
	}
	if u.pid == nil && !m.serverHere() {
		return append(events, Event{Time: s.Taken, Kind: EventUnloaded, Evidence: Evidence{Backend: u.backend, Model: u.model}}), true
	}
	h := m.hold(u, s)
	return append(events, Event{Time: s.Taken, Kind: EventUnloadHeld, Evidence: Evidence{
		Backend: h.Backend, Model: h.Model, Bytes: h.Bytes, PID: h.PID, Process: h.Process}}), true
}

// followListed waits while the model answers, and gives up when it is idle and
// does not go. Where its activity cannot be measured, stopping counts as an answer.
func (m *Monitor) followListed(u *unload, r *Resident, s *Snapshot, now time.Duration, events []Event) ([]Event, bool) {
	working := r.Activity == ActivityBusy || r.RunnerPID == nil && r.Activity == ActivityStopping
	if working || r.Answered == nil {
		u.idle = now
	}
	if u.idle == 0 {
		u.idle = now
	}
	if now-u.idle < listedWait {
		return events, false
	}
	return append(events, Event{Time: s.Taken, Kind: EventUnloadFailed, Evidence: Evidence{
		Backend: u.backend, Model: u.model, State: string(r.Activity)}}), true
}

// returned reports whether the memory came back, and how much: the runner is
// gone or lost half of the model, or the machine's wired or available memory
// moved by that much. A server elsewhere cannot be measured; there the list has to do.
func (m *Monitor) returned(u *unload, s *Snapshot) (freed *uint64, ok bool) {
	if !u.local {
		return nil, true
	}
	if u.pid != nil {
		p, err := m.config.Local.Process(*u.pid)
		if err != nil || p.Footprint == nil {
			return u.footprint, err != nil
		}
		if u.footprint == nil {
			return nil, false
		}
		dropped := less(*u.footprint, *p.Footprint)
		size := *u.footprint
		if u.size != nil {
			size = min(size, *u.size)
		}
		return &dropped, float64(dropped) >= returnedShare*float64(size)
	}
	if u.size == nil || s.Memory == nil {
		return nil, true
	}
	enough := returnedShare * float64(*u.size)
	if u.wired != nil && s.Memory.Wired != nil {
		if dropped := less(*u.wired, *s.Memory.Wired); float64(dropped) >= enough {
			return &dropped, true
		}
	}
	if u.available != nil && s.Memory.Available != nil {
		if rose := less(*s.Memory.Available, *u.available); float64(rose) >= enough {
			return &rose, true
		}
	}
	return nil, u.wired == nil && u.available == nil
}

// serverHere reports whether any process of a model server shows on this
// machine. Behind a tunnel or in a virtual machine a server has a loopback address
// and its memory elsewhere: nothing here can be held by it.
func (m *Monitor) serverHere() bool {
	processes, err := m.config.Local.Processes()
	return err != nil || slices.ContainsFunc(processes, modelProgram)
}

// heldProcess is a runner that outlived its model, with what tells it from a
// later process of the same pid.
type heldProcess struct {
	held    Held
	started uint64
	enough  uint64 // at or below this footprint it no longer counts
}

// hold notes memory that did not come back. Without a process it can only be
// told once; with one it is followed until it goes.
func (m *Monitor) hold(u *unload, s *Snapshot) Held {
	h := Held{Backend: u.backend, Model: u.model, Since: s.Taken, Bytes: u.size}
	if u.pid == nil {
		return h
	}
	p, err := m.config.Local.Process(*u.pid)
	if err != nil {
		return h
	}
	h.PID, h.Process, h.Bytes = u.pid, p.Name, p.Footprint
	follow := heldProcess{held: h, started: p.Started}
	if u.footprint != nil {
		follow.enough = *u.footprint / 2
	}
	m.mu.Lock()
	m.held = append(m.held, follow)
	m.mu.Unlock()
	m.hurry()
	return h
}

// checkHeld reads the runners that outlived their models again and forgets those
// that are gone or have given their memory back.
func (m *Monitor) checkHeld(s *Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var still []heldProcess
	for _, h := range m.held {
		p, err := m.config.Local.Process(*h.held.PID)
		if err != nil || p.Started != h.started || p.Footprint == nil || *p.Footprint <= h.enough {
			continue
		}
		if find(s.Residents, func(r *Resident) bool { return r.RunnerPID != nil && *r.RunnerPID == *h.held.PID }) != nil {
			continue // it serves a model again
		}
		h.held.Bytes = p.Footprint
		still = append(still, h)
		s.Held = append(s.Held, h.held)
	}
	m.held = still
}

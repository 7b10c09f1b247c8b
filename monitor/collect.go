package monitor

import (
	"errors"
	"slices"

	"plimsoll/metal"
	"plimsoll/metal/wired"
)

// collect reads the machine and takes what the pollers left.
func (m *Monitor) collect() *Snapshot {
	clock, local := m.config.Clock, m.config.Local
	s := &Snapshot{
		Taken: clock.Now(), Awake: new(clock.Awake().Seconds()),
		Simulated: m.config.Simulated, Problems: map[Section]Problem{},
	}
	s.Machine = read(s, SectionMachine, local.Machine)
	s.Memory = read(s, SectionMemory, local.Memory)
	if swap := read(s, SectionSwap, local.Swap); swap != nil {
		s.Swap = &Swap{Swap: *swap}
	}
	s.GPU = read(s, SectionGPU, local.GPU)
	s.Thermal = read(s, SectionThermal, local.Thermal)
	s.Power = read(s, SectionPower, local.Power)
	m.takeAnswers(s)
	m.nameOwners(s)
	m.readLimit(s)
	m.measureRunners(s)
	m.readLogs(s)
	m.foresee(s)
	m.followSlots(s)
	m.tellRequests(s)
	m.volumes.fill(s, local)
	m.checkHeld(s)
	if m.watched() {
		m.readConsumers(s)
	}
	m.readBackground(s)
	return s
}

// read takes one section from the machine; on an error the section is absent
// and the reason noted.
func read[T any](s *Snapshot, section Section, from func() (*T, error)) *T {
	value, err := from()
	if err != nil {
		s.Problems[section] = problemOf(err)
		return nil
	}
	return value
}

func problemOf(err error) Problem {
	p := Problem{Reason: ReasonFailed, Detail: err.Error()}
	switch {
	case errors.Is(err, metal.ErrUnsupported), errors.Is(err, wired.ErrNoKey):
		p.Reason = ReasonUnsupported
	case errors.Is(err, metal.ErrNotPermitted):
		p.Reason = ReasonNotPermitted
	}
	return p
}

// takeAnswers puts the servers' last answers into the snapshot.
func (m *Monitor) takeAnswers(s *Snapshot) {
	m.mu.Lock()
	pollers := slices.Clone(m.pollers)
	m.mu.Unlock()
	for _, p := range pollers {
		answer := p.last()
		if answer.Status.Name == "" {
			continue // not polled yet
		}
		s.Backends = append(s.Backends, answer.Status)
		for _, r := range answer.Residents {
			s.Residents = append(s.Residents, Resident{
				Resident: r, Unloading: m.unloading(r.Backend, r.Model), Answered: answer.Status.Answered,
			})
		}
	}
}

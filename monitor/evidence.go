package monitor

import "plimsoll/metal"

func inRate(s *Snapshot) *float64 {
	if s == nil || s.Swap == nil {
		return nil
	}
	return s.Swap.InRate
}

func outRate(s *Snapshot) *float64 {
	if s == nil || s.Swap == nil {
		return nil
	}
	return s.Swap.OutRate
}

// lesserRate is the smaller of a rate at two ticks in a row, nil unless both
// are known: one burst is not a course.
func lesserRate(now, before *Snapshot, of func(*Snapshot) *float64) *float64 {
	a, b := of(now), of(before)
	if a == nil || b == nil {
		return nil
	}
	return new(min(*a, *b))
}

// growth is how much swap in use grew within the growth window, nil when it is
// not known or did not grow. What came while the machine slept is no growth.
func growth(h *History) *uint64 {
	now, then := h.back(0), h.since(growthWindow)
	if now.Swap == nil || now.Swap.Used == nil || then.Swap == nil || then.Swap.Used == nil || *now.Swap.Used <= *then.Swap.Used {
		return nil
	}
	return new(*now.Swap.Used - *then.Swap.Used)
}

func aboveNormal(s *Snapshot) bool {
	return pressure(s) == metal.PressureWarning || pressure(s) == metal.PressureCritical
}

// blame names the biggest memory user, model or not, in the newest snapshot that
// knows the programs.
func blame(h *History, e Evidence) Evidence {
	now := h.back(0)
	var most uint64
	for _, r := range now.Residents {
		if size := residentBytes(&r); size > most {
			most, e.Consumer, e.ConsumerIsModel = size, r.Model, true
		}
	}
	for n := 0; ; n++ {
		s := h.back(n)
		if s == nil || elapsed(s, now) > growthWindow {
			break
		}
		if len(s.Consumers) == 0 {
			continue
		}
		if c := s.Consumers[0]; c.Footprint > most {
			most, e.Consumer, e.ConsumerIsModel = c.Footprint, c.Name, false
		}
		break
	}
	if most > 0 {
		e.ConsumerBytes = &most
	}
	return e
}

// relief is the click that helps most: unloading the biggest model that can go.
func relief(s *Snapshot) *Command {
	var biggest *Resident
	for i := range s.Residents {
		r := &s.Residents[i]
		if r.Cloud || r.Unloading {
			continue
		}
		if biggest == nil || residentBytes(r) > residentBytes(biggest) {
			biggest = r
		}
	}
	if biggest == nil {
		return nil
	}
	return &Command{Kind: CommandUnload, Backend: biggest.Backend, Model: biggest.Model}
}

// residentBytes is what a model takes: the larger of what was measured and what
// its server says, 0 when neither is known or it runs elsewhere.
func residentBytes(r *Resident) uint64 {
	var size uint64
	if r.Cloud {
		return 0
	}
	if r.Size != nil {
		size = *r.Size
	}
	if r.Footprint != nil {
		size = max(size, *r.Footprint)
	}
	return size
}

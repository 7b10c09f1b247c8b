package monitor

import "time"

const (
	// A GPU pauses when its watts fall under pauseShare of what they were within
	// pauseWindow, for pauseHold, while the same model stays at work: a laptop
	// went from 30 W to 1 W for two minutes in the middle of an answer
	// (github.com/ml-explore/mlx-examples/pull/1078).
	pauseShare  = 0.2
	pauseHold   = 10 * time.Second
	pauseWindow = 2 * time.Minute
	// pauseLeast is the least level, in watts, that a fall counts from: below it
	// the work was light.
	pauseLeast = 4
	// coolBelow is the temperature, in °C, of a GPU that does not stop for heat.
	coolBelow = 70
)

// pause is the level that watts would have fallen from, 0 when they did not.
type pause struct{ level float64 }

// pauseLevel looks for the level before a fall of watts with a model at work.
func pauseLevel(h *History) pause {
	now := h.back(0)
	if !atWork(now) || now.GPU == nil || positive(now.GPU.Power) == nil {
		return pause{}
	}
	if v := h.standing(); v != nil && v.Cause == CausePaused {
		for _, sign := range v.Evidence {
			if sign.Reason == SignPaused && sign.UsualPower != nil {
				return pause{*sign.UsualPower}
			}
		}
	}
	var watts []float64
	var most float64
	hot, measured := false, false
	for n := 0; ; n++ {
		s := h.back(n)
		if s == nil || elapsed(s, now) > pauseWindow || !sameWork(s, now) {
			break
		}
		if t := temperature(s); t != nil {
			measured = true
			hot = hot || *t >= coolBelow
		}
		hot = hot || warm(s)
		if s.GPU != nil {
			if p := positive(s.GPU.Power); p != nil {
				watts, most = append(watts, *p), max(most, *p)
			}
		}
	}
	if measured && !hot || *now.GPU.Power >= pauseShare*most {
		return pause{}
	}
	if level := median(watts); level != nil && *level >= pauseLeast {
		return pause{*level}
	}
	return pause{}
}

// at: a model is at work, and the watts are next to nothing.
func (p pause) at(s *Snapshot) truth {
	if p.level <= 0 || s.GPU == nil {
		return unknown
	}
	watts := positive(s.GPU.Power)
	if watts == nil {
		return unknown
	}
	return truthOf(*watts < pauseShare*p.level && atWork(s))
}

// atWork reports a model busy on this machine's GPU.
func atWork(s *Snapshot) bool {
	for i := range s.Residents {
		if working(&s.Residents[i]) {
			return true
		}
	}
	return false
}

// sameWork reports a model that was at work then and is now.
func sameWork(then, now *Snapshot) bool {
	for i := range now.Residents {
		r := &now.Residents[i]
		if working(r) && find(then.Residents, func(o *Resident) bool { return working(o) && residentKey(o) == residentKey(r) }) != nil {
			return true
		}
	}
	return false
}

func working(r *Resident) bool {
	return r.Activity == ActivityBusy && !r.Cloud && (r.GPU == nil || *r.GPU > 0)
}

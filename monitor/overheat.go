package monitor

import "plimsoll/metal"

// heavyHold is how long the system must report heavy thermal pressure where
// nothing else was measured.
const heavyHold = heatHold

// overheat finds a GPU that is slowed for heat, or by a policy that does not say
// why, and a system that reports heavy thermal pressure. Degrees alone are no
// reason: chips are built to run hot. Nor is the low power mode, which a person
// chose. It goes with the next reading after recovery; what would make it
// flicker is held by the verdict.
func overheat(h *History) []finding {
	now := h.back(0)
	f := finding{severity: SeverityWarning}
	v := now.Throttle
	slowed := v != nil && v.Throttled && v.Cause != CauseLowPower
	switch {
	case slowed:
		f.evidence.Cause = string(v.Cause)
	case heavy(now):
		f.evidence.Cause, f.hold = string(CauseHeat), new(heavyHold)
	default:
		return nil
	}
	if slowed && v.Cause == CausePaused || heat(now) == metal.ThermalTrapping || heat(now) == metal.ThermalSleeping {
		f.severity = SeverityCritical
	}
	e := &f.evidence
	e.ThermalPressure, e.Temperature = string(heat(now)), temperature(now)
	if now.GPU != nil {
		e.Clock, e.TopClock, e.Power = positive(now.GPU.Clock), positive(now.GPU.TopClock), positive(now.GPU.Power)
	}
	if slowed {
		for _, s := range v.Evidence {
			e.before(s)
		}
	}
	return []finding{f}
}

// before takes over what was usual before the GPU slowed.
func (e *Evidence) before(s Sign) {
	if s.UsualClock != nil {
		e.UsualClock = s.UsualClock
	}
	if s.UsualPower != nil {
		e.UsualPower = s.UsualPower
	}
	if s.DecodeRate != nil {
		e.DecodeRate, e.UsualDecodeRate = s.DecodeRate, s.UsualDecodeRate
	}
}

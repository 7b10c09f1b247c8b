package monitor

import "plimsoll/metal"

// heavyHold is how long the system must report heavy thermal pressure where
// nothing else was measured.
const heavyHold = heatHold

// overheat finds a GPU that is slowed for heat, or by a policy that does not say
// why, and a system that reports heavy thermal pressure. Degrees alone are no
// reason, as chips are built to run hot, unless a person set how many are. Nor
// is the low power mode, which a person chose. It goes with the next reading
// after recovery; what would make it flicker is held by the verdict and by the
// watch on the temperature.
func overheat(h *History) []finding {
	now := h.back(0)
	f := finding{severity: SeverityWarning}
	v := now.Throttle
	slowed := v != nil && v.Throttled && v.Cause != CauseLowPower
	over := h.hot.over
	switch {
	case slowed:
		f.evidence.Cause = string(v.Cause)
	case heavy(now):
		f.evidence.Cause = string(CauseHeat)
		if over == nil {
			f.hold = new(heavyHold)
		}
	case over != nil:
		f.evidence.Cause = CauseThreshold
	default:
		return nil
	}
	if slowed && v.Cause == CausePaused || heat(now) == metal.ThermalTrapping || heat(now) == metal.ThermalSleeping {
		f.severity = SeverityCritical
	}
	e := &f.evidence
	e.ThermalPressure, e.Temperature = string(heat(now)), temperature(now)
	if over != nil {
		e.Temperature, e.TemperatureLimit = temperature(over), h.hot.limit
	}
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

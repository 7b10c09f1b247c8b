package monitor

import (
	"plimsoll/metal"
	"plimsoll/metal/wired"
)

// limitLost finds a remembered limit that is not in force: after a restart of the
// system, where it was refused, or because somebody else set another.
func limitLost(h *History) []finding {
	l := h.back(0).Limit
	if l == nil || l.Lease != nil {
		return nil
	}
	if l.Remembered == nil {
		if l.Refused == "" {
			return nil
		}
		return []finding{{severity: SeverityWarning, evidence: Evidence{Cause: l.Refused}}}
	}
	if *l.Remembered == l.Set || *l.Remembered == 0 {
		return nil
	}
	f := finding{severity: SeverityWarning, evidence: Evidence{Cause: l.Refused, Bytes: l.Remembered, Limit: l.Effective},
		action: &Command{Kind: CommandSetLimit, Bytes: new(*l.Remembered)}}
	switch l.Refused {
	case wired.RefusedBounds, wired.RefusedRAM: // it would be refused again
		f.action = &Command{Kind: CommandResetLimit}
	}
	return []finding{f}
}

// limitPressure finds critical pressure while more is set than the system's
// default: what the GPU may keep, nobody else gets.
func limitPressure(h *History) []finding {
	now := h.back(0)
	l := now.Limit
	if l == nil || l.Set == 0 || pressure(now) != metal.PressureCritical || l.Default != nil && l.Set <= *l.Default {
		return nil
	}
	e := Evidence{Pressure: string(pressure(now)), Bytes: new(l.Set), Limit: l.Default}
	if now.Swap != nil {
		e.SwapUsed, e.SwapOutRate = now.Swap.Used, now.Swap.OutRate
	}
	return []finding{{severity: SeverityCritical, evidence: e, action: &Command{Kind: CommandResetLimit}}}
}

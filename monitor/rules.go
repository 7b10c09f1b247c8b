package monitor

import (
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// A rule says when something is wrong. Its words are the messages
// "alert.ID.title" and "alert.ID.text".
type rule struct {
	id string
	// hold is how long a finding must last before it is an alert, and clear how
	// long it must be away before the alert goes.
	hold, clear time.Duration
	// again is how long a finding must last that follows soon on an alert that
	// went, where the first needs no hold. It doubles a few times.
	again time.Duration
	// memory marks a rule about memory: the biggest users are read once when it
	// first finds, and ticks quicken while its alert stands.
	memory bool
	// check returns what it finds in the newest snapshot; it may look back.
	check func(*History) []finding
}

// finding is one thing that a rule found. subject tells several of one rule apart.
type finding struct {
	subject  string
	severity Severity
	// hold replaces the rule's, when it is longer or shorter for this severity.
	hold     *time.Duration
	evidence Evidence
	action   *Command
}

// The numbers that alerts rest on.
const (
	// swapRate is the least traffic, in bytes per second over two ticks, that is
	// called swapping. A healthy Mac moves a few pages now and then.
	swapRate = 1e6
	// thrashRate is the swap-in traffic that decoding from disk makes: at this
	// rate weights are read back for every token.
	thrashRate = 100e6
	// swapGrowth within growthWindow counts as swapping too, while pressure is
	// above normal.
	swapGrowth   = 256e6
	growthWindow = time.Minute
	// trafficWindow is how far back traffic still counts as now for a full swap.
	trafficWindow = 10 * time.Second
	// swapFull is the used share of swap space that is nearly full. Swap that
	// is merely used says little: kernels free it lazily.
	swapFull = 0.95
	// swapFullUsed is how much must be in use at most, whatever the RAM, for a
	// nearly full swap to count where traffic cannot be seen.
	swapFullUsed = 16 * gib
)

// rules is the table of all alerts. Checks about heat stand in throttle.go,
// overheat.go and toohot.go, those about memory that is lost or grows in leak.go,
// growth.go and wear.go, those about the GPU's limit in limit_rules.go, each with
// its numbers; the others below.
var rules = []rule{
	{id: "swapping", clear: 20 * time.Second, memory: true, check: swapping},
	{id: "swap_full", clear: 20 * time.Second, memory: true, check: swapNearlyFull},
	{id: "pressure", hold: 6 * time.Second, clear: 15 * time.Second, memory: true, check: pressed},
	{id: "server_down", hold: 5 * time.Second, check: serverDown},
	{id: "model_stuck", check: modelStuck},
	{id: "memory_held", check: memoryHeld},
	{id: "overheat", again: 30 * time.Second, check: overheat},
	{id: "memory_leaked", clear: 10 * time.Second, again: 30 * time.Second, check: memoryLeaked},
	{id: "runner_grows", clear: 20 * time.Second, check: runnerGrows},
	{id: "swap_wear", check: swapWear},
	{id: "limit_lost", hold: 5 * time.Second, check: limitLost},
	{id: "limit_pressure", clear: 15 * time.Second, check: limitPressure},
}

// swapping finds memory moving to or from disk now: traffic over two ticks, or
// growth together with pressure. Swap in use is no reason.
func swapping(h *History) []finding {
	now, before := h.back(0), h.back(1)
	if now.Swap == nil {
		return nil
	}
	var e Evidence
	if rate := lesserRate(now, before, outRate); rate != nil && *rate >= swapRate {
		e.SwapOutRate = now.Swap.OutRate
	}
	thrashing := false
	if rate := lesserRate(now, before, inRate); rate != nil && *rate >= thrashRate {
		e.SwapInRate, thrashing = now.Swap.InRate, true
	}
	if aboveNormal(now) { // asked first: looking back a minute costs
		if grown := growth(h); grown != nil && *grown >= swapGrowth {
			e.SwapGrowth = grown
		}
	}
	if e == (Evidence{}) {
		return nil
	}
	severity := SeverityWarning
	if thrashing || pressure(now) == metal.PressureCritical {
		severity = SeverityCritical
	}
	e.SwapUsed, e.SwapTotal, e.Pressure = now.Swap.Used, now.Swap.Total, string(pressure(now))
	return []finding{{severity: severity, evidence: blame(h, e), action: relief(now)}}
}

// swapNearlyFull finds the trap that pressure does not show: swapped pages count
// as available, so the level is normal while the machine is dying. A full swap
// of an idle machine is not it, nor a small one that macOS is about to extend by
// another file: there must be pressure, or traffic with an eighth of RAM in
// use, or, where the system does not count traffic at all, half of RAM. Counters
// that made no rate yet, at the start and after sleep, will tell at the next tick.
func swapNearlyFull(h *History) []finding {
	now := h.back(0)
	s := now.Swap
	if s == nil || s.Used == nil || s.Total == nil || *s.Total == 0 || float64(*s.Used) < swapFull*float64(*s.Total) {
		return nil
	}
	most := uint64(swapFullUsed)
	if now.Memory != nil && now.Memory.Total != nil && *now.Memory.Total > 0 {
		most = min(most, *now.Memory.Total/2)
	}
	unseen := s.In == nil && s.Out == nil && s.InRate == nil && s.OutRate == nil
	if !aboveNormal(now) && !(moving(h) && *s.Used >= most/4) && !(unseen && *s.Used >= most) {
		return nil
	}
	e := Evidence{SwapUsed: s.Used, SwapTotal: s.Total, Pressure: string(pressure(now)), SwapInRate: s.InRate, SwapOutRate: s.OutRate}
	return []finding{{severity: SeverityCritical, evidence: blame(h, e), action: relief(now)}}
}

// moving reports swap traffic in either direction within the last moments.
func moving(h *History) bool {
	now := h.back(0)
	for n := 0; ; n++ {
		s := h.back(n)
		if s == nil || elapsed(s, now) > trafficWindow {
			return false
		}
		for _, rate := range []*float64{inRate(s), outRate(s)} {
			if rate != nil && *rate >= swapRate {
				return true
			}
		}
	}
}

// pressed finds memory pressure. A critical level needs no hold: a machine may
// not have six seconds left.
func pressed(h *History) []finding {
	now := h.back(0)
	e := Evidence{Pressure: string(pressure(now))}
	if now.Swap != nil {
		e.SwapUsed, e.SwapOutRate = now.Swap.Used, now.Swap.OutRate
	}
	switch pressure(now) {
	case metal.PressureCritical:
		return []finding{{severity: SeverityCritical, hold: new(time.Duration(0)), evidence: blame(h, e), action: relief(now)}}
	case metal.PressureWarning:
		return []finding{{severity: SeverityWarning, evidence: blame(h, e), action: relief(now)}}
	}
	return nil
}

// serverDown finds servers that do not serve. One that was never seen running
// since the history began is worth a line, not a warning.
func serverDown(h *History) []finding {
	var found []finding
	for _, b := range h.back(0).Backends {
		if b.State == backend.Running || b.State == "" {
			continue
		}
		severity := SeverityWarning
		if b.State == backend.NotRunning && b.Answered == nil {
			severity = SeverityInfo
		}
		found = append(found, finding{subject: b.Name, severity: severity, evidence: Evidence{
			Backend: b.Name, Address: b.Address, State: string(b.State), Cause: b.Cause, Detail: b.Detail}})
	}
	return found
}

// modelStuck finds models that should have gone and have not.
func modelStuck(h *History) []finding {
	var found []finding
	now := h.back(0)
	for _, r := range now.Residents {
		if r.Activity != ActivityStuck {
			continue
		}
		e := Evidence{Backend: r.Backend, Model: r.Model, Bytes: r.Size, PID: r.RunnerPID}
		switch {
		case r.Expires != nil && r.Expires.Before(now.Taken):
			e.Seconds = new(now.Taken.Sub(*r.Expires).Seconds())
		case r.Since != nil: // it was stopping for a minute before it was called stuck
			e.Seconds = new(max(0, now.Taken.Sub(*r.Since).Seconds()) + stuckAfter.Seconds())
		}
		found = append(found, finding{subject: r.Backend + "/" + r.Model, severity: SeverityWarning, evidence: e})
	}
	return found
}

// memoryHeld finds runners that outlive their model.
func memoryHeld(h *History) []finding {
	var found []finding
	for _, held := range h.back(0).Held {
		f := finding{subject: held.Backend + "/" + held.Model, severity: SeverityWarning, evidence: Evidence{
			Backend: held.Backend, Model: held.Model, Bytes: held.Bytes, PID: held.PID, Process: held.Process}}
		if held.PID != nil {
			f.action = &Command{Kind: CommandEndRunner, Backend: held.Backend, Model: held.Model, PID: held.PID}
		}
		found = append(found, f)
	}
	return found
}

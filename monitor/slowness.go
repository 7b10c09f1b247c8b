package monitor

import (
	"slices"

	"plimsoll/monitor/request"
)

// subject names the backend and model that a diagnosis is about.
func (sc *slowness) subject() (backend, model string) {
	if sc.resident != nil {
		return sc.resident.Backend, sc.resident.Model
	}
	return sc.request.Backend, sc.request.Model
}

// id is the request that it is about, "" when nobody measures requests.
func (sc *slowness) id() string {
	if sc.request == nil {
		return ""
	}
	return sc.request.ID
}

// measure holds the decode rate against the model's own median at this depth of
// context. What was slow stays so until it is well back, so that a rate at the edge
// does not make the sentence come and go.
func (sc *slowness) measure(last *Diagnosis) {
	rate := sc.decodeRate()
	if rate == nil || sc.usual == nil {
		return
	}
	median, deep := usualAt(sc.usual, sc.depth())
	if median == nil {
		return
	}
	least := slowShare
	if last != nil && last.Cause != SlowNot && sc.about(last) {
		least = paceRegained
	}
	sc.rate, sc.median, sc.deep, sc.pace = *rate, *median, deep, truthOf(*rate < least**median)
}

func (sc *slowness) about(d *Diagnosis) bool {
	backend, model := sc.subject()
	return d.Backend == backend && d.Model == model
}

// decodeRate is the rate of the request in flight, or of the whole answer after it.
func (sc *slowness) decodeRate() *float64 {
	switch r := sc.request; {
	case r == nil:
		return nil
	case r.Phase == request.PhaseDone && r.Decode != nil:
		return positive(&r.Decode.Value)
	case r.Phase == request.PhaseDecode && r.Live != nil:
		return positive(&r.Live.Value)
	}
	return nil
}

// depth is how many tokens of context the request has reached, 0 when not known.
func (sc *slowness) depth() int {
	if sc.request == nil {
		return 0
	}
	depth := 0
	for _, n := range []*int{sc.request.PromptTokens, sc.request.OutputTokens} {
		if n != nil && *n > 0 {
			depth += *n
		}
	}
	return depth
}

// usualAt is the median decode rate at a depth of context: that of the requests
// which were as deep (deep), else the one at shallow context.
func usualAt(s *request.Speed, depth int) (median *float64, deep bool) {
	for _, d := range s.Depths {
		if depth >= d.From && depth < d.To && d.Runs >= usualRuns {
			return positive(&d.Decode), true
		}
	}
	if s.Decode == nil || s.Runs < usualRuns {
		return nil, false
	}
	return positive(&s.Decode.Value), false
}

// rates are the numbers of a pace.
func (sc *slowness) rates() Evidence {
	backend, model := sc.subject()
	e := Evidence{Backend: backend, Model: model}
	if sc.pace != unknown {
		e.DecodeRate, e.UsualDecodeRate = new(sc.rate), new(sc.median)
	}
	return e
}

// swaps: memory moves to or from disk.
func (sc *slowness) swaps() (Evidence, *Command, bool) {
	for _, check := range []func(*History) []finding{swapping, swapNearlyFull} {
		if sc.h.back(1) == nil {
			break
		}
		if found := check(sc.h); len(found) > 0 {
			e := found[0].evidence
			rates := sc.rates()
			e.DecodeRate, e.UsualDecodeRate = rates.DecodeRate, rates.UsualDecodeRate
			return e, found[0].action, true
		}
	}
	return Evidence{}, nil, false
}

// spills: a part of the model is worked on by the processor, or the GPU holds more
// than its limit. A model that is on the processor as a whole, on a machine whose
// GPU nobody uses, is where it belongs.
func (sc *slowness) spills() (Evidence, *Command, bool) {
	e := sc.rates()
	if r := sc.resident; r != nil && r.GPU != nil && r.Size != nil && *r.Size > 0 && *r.GPU < *r.Size && (*r.GPU > 0 || unified(sc.now)) {
		e.GPUShare, e.Bytes = new(float64(*r.GPU)/float64(*r.Size)), new(*r.Size-*r.GPU)
		return e, sc.relief(), true
	}
	if limit := gpuLimit(sc.now); limit > 0 && sc.now.GPU.InUse != nil && *sc.now.GPU.InUse > limit {
		e.Bytes, e.Limit = sc.now.GPU.InUse, &limit
		return e, sc.relief(), true
	}
	return Evidence{}, nil, false
}

// relief is to unload another model, never the one at work.
func (sc *slowness) relief() *Command {
	others := *sc.now
	others.Residents = nil
	for _, r := range sc.now.Residents {
		if sc.resident == nil || residentKey(&r) != residentKey(sc.resident) {
			others.Residents = append(others.Residents, r)
		}
	}
	return relief(&others)
}

// throttled: the GPU is slowed, by the verdict; or the model is slower than usual
// while the low power mode is on. A verdict that rests on the rate alone tells nothing
// of why it fell.
func (sc *slowness) throttled() (Evidence, *Command, bool) {
	e := sc.rates()
	if v := sc.now.Throttle; v != nil && v.Throttled && (v.Cause == CauseHeat || v.measured()) {
		e.Cause, e.ThermalPressure, e.Temperature = string(v.Cause), string(heat(sc.now)), temperature(sc.now)
		for _, s := range v.Evidence {
			switch s.Reason {
			case SignClock:
				e.Clock, e.TopClock, e.UsualClock = s.Clock, s.TopClock, s.UsualClock
			case SignPower, SignPaused:
				e.Power, e.UsualPower = s.Power, s.UsualPower
			}
		}
		return e, nil, true
	}
	if lowPower(sc.now) && sc.pace == yes {
		e.Cause = string(CauseLowPower)
		return e, nil, true
	}
	return Evidence{}, nil, false
}

// measured reports evidence that was measured of the GPU itself.
func (v *Throttle) measured() bool {
	return slices.ContainsFunc(v.Evidence, func(s Sign) bool {
		return s.Reason == SignClock || s.Reason == SignPower || s.Reason == SignPaused || s.Reason == SignPressure
	})
}

// secondModel: another model works on the same machine.
func (sc *slowness) secondModel() (Evidence, *Command, bool) {
	for i := range sc.now.Residents {
		r := &sc.now.Residents[i]
		if !working(r) || !here(sc.now, r) || sc.resident != nil && residentKey(r) == residentKey(sc.resident) {
			continue
		}
		e := sc.rates()
		e.Consumer, e.ConsumerIsModel = r.Model, true
		if size := residentBytes(r); size > 0 {
			e.ConsumerBytes = &size
		}
		return e, &Command{Kind: CommandUnload, Backend: r.Backend, Model: r.Model}, true
	}
	return Evidence{}, nil, false
}

// secondUser: the model works on more than one request, or one waits.
func (sc *slowness) secondUser() (Evidence, *Command, bool) {
	backend, model := sc.subject()
	count := 0
	for i := range sc.now.Requests {
		if r := &sc.now.Requests[i]; r.Phase != request.PhaseDone && r.Model == model && (r.Backend == "" || r.Backend == backend) {
			count++
		}
	}
	if count < 2 {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	e.Count = &count
	return e, nil, true
}

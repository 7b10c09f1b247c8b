package monitor

import (
	"slices"

	"plimsoll/monitor/request"
)

// deepContext: every token reads the cache of all tokens before it, so the rate
// falls with depth. How much it must fall follows from the bytes per token, else
// from what this model did at such depths before.
func (sc *slowness) deepContext() (Evidence, *Command, bool) {
	depth := sc.depth()
	drop := sc.expectedDrop(depth)
	if depth < request.ShallowContext || drop < deepDrop {
		return Evidence{}, nil, false
	}
	if rate := sc.decodeRate(); rate != nil && sc.usual != nil && sc.usual.Decode != nil && *rate > (1-deepDrop)*sc.usual.Decode.Value {
		return Evidence{}, nil, false // deep, and as fast as ever
	}
	e := sc.rates()
	e.Tokens, e.Drop = &depth, &drop
	return e, nil, true
}

// expectedDrop is the share of its shallow rate that the model loses at a depth, 0
// when nothing tells.
func (sc *slowness) expectedDrop(depth int) float64 {
	if r := sc.resident; r != nil && r.CachePerToken != nil && r.ReadPerToken != nil && *r.ReadPerToken > 0 && *r.CachePerToken >= 0 {
		cache := *r.CachePerToken * float64(depth)
		return cache / (*r.ReadPerToken + cache)
	}
	if sc.usual == nil || sc.usual.Decode == nil || positive(&sc.usual.Decode.Value) == nil {
		return 0
	}
	for _, d := range sc.usual.Depths {
		if depth >= d.From && depth < d.To && d.Runs >= usualRuns {
			return 1 - d.Decode/sc.usual.Decode.Value
		}
	}
	return 0
}

// reread: a prompt that was in the cache is read again.
func (sc *slowness) reread() (Evidence, *Command, bool) {
	r := sc.request
	if r == nil || sc.load != nil && *sc.load >= freshLoad || !slices.Contains(r.Notes, request.NoteReread) {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	e.Tokens = r.PromptTokens
	if r.TTFT != nil {
		e.Seconds = &r.TTFT.Value
	}
	return e, nil, true
}

// cold: the request waits, or waited, for its model to be loaded.
func (sc *slowness) cold() (Evidence, *Command, bool) {
	r := sc.request
	if r == nil {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	switch {
	case r.Phase == request.PhaseLoading:
		e.Seconds = new(max(0, sc.now.Taken.Sub(r.Began).Seconds()))
	case sc.load != nil && *sc.load >= coldLoad:
		e.Seconds = sc.load
		if sc.resident != nil && sc.resident.Size != nil {
			e.LoadRate = new(float64(*sc.resident.Size) / *sc.load)
		}
	default:
		return Evidence{}, nil, false
	}
	if sc.resident != nil {
		e.Bytes = sc.resident.Size
		if v := sc.resident.Volume; v != nil {
			e.Volume, e.Cause = v.Name, string(v.Kind)
		}
	}
	return e, nil, true
}

// otherGPU: a program that holds no model takes a good part of the GPU's time.
func (sc *slowness) otherGPU() (Evidence, *Command, bool) {
	if len(sc.now.GPUUsers) == 0 || sc.pace == no {
		return Evidence{}, nil, false
	}
	u := sc.now.GPUUsers[0]
	if u.Share < otherGPUShare {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	e.Consumer, e.GPUShare = u.Name, &u.Share
	return e, nil, true
}

// onBattery: nothing else is seen and the mains are not there.
func (sc *slowness) onBattery() (Evidence, *Command, bool) {
	return sc.rates(), nil, sc.now.onBattery() && sc.pace == yes
}

// background: the system's own programs work, on more than half a core.
func (sc *slowness) background() (Evidence, *Command, bool) {
	if len(sc.now.Background) == 0 || sc.pace == no {
		return Evidence{}, nil, false
	}
	b, cores := sc.now.Background[0], 0.0
	for _, one := range sc.now.Background {
		cores += one.Cores
	}
	if cores < backgroundCores {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	e.Process, e.Cores = b.Name, &cores
	return e, nil, true
}

// grown: the runner takes more than after its load, and the model is slower than
// usual: what it gathered is read with every token, or pushes other memory out.
func (sc *slowness) grown() (Evidence, *Command, bool) {
	r := sc.resident
	if r == nil || r.Footprint == nil || sc.loaded == 0 || sc.pace != yes || *r.Footprint <= sc.loaded {
		return Evidence{}, nil, false
	}
	if more := *r.Footprint - sc.loaded; more < grownLeast || float64(more) < grownShare*float64(sc.loaded) {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	e.Bytes, e.Before = r.Footprint, &sc.loaded
	return e, &Command{Kind: CommandUnload, Backend: r.Backend, Model: r.Model}, true
}

// engine: slower than its own median, more than the depth of its context explains.
func (sc *slowness) engine() (Evidence, *Command, bool) {
	if sc.pace != yes {
		return Evidence{}, nil, false
	}
	if drop := sc.expectedDrop(sc.depth()); !sc.deep && drop > 0 && sc.rate >= slowShare*(1-drop)*sc.median {
		return Evidence{}, nil, false
	}
	e := sc.rates()
	if depth := sc.depth(); depth >= request.ShallowContext {
		e.Tokens = &depth
	}
	return e, nil, true
}

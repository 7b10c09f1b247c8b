package view

import (
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// Planner is what a person reads of a model while trying how it could run.
type Planner struct {
	Plan
	// Head is the verdict in few words, "Fits, 3.1 GiB to spare", Why the limit that
	// says so, what may be lost, or why nothing can be said.
	Head  string
	Why   string
	Level Level
	// Bar holds what the model takes against what is left below each limit. Its
	// Total is 0 where either is not known.
	Bar Bar
	// Loaded says what the model takes as it runs now, where the plan is of another
	// way. Its Text is "" otherwise.
	Loaded Row
	// Context is what is planned for, in tokens, and Contexts what may be tried, in
	// rising order; the last is what the model was made for.
	Context  int
	Contexts []int
}

// The parts in the bar of a plan.
const (
	SegmentWeights SegmentKind = "weights"
	SegmentCache   SegmentKind = "cache"
	SegmentBuffers SegmentKind = "buffers"
	// SegmentTaken is what was measured beyond or in place of the parts.
	SegmentTaken SegmentKind = "taken"
)

// PlannedModel is one model of a list of plans.
type PlannedModel struct {
	Backend, Model string
	Name           string
	// Needs is "~9.0 GiB · 8K", without its mark once it was measured; Text the
	// verdict in a sentence.
	Needs string
	Text  string
	Level Level
}

// Planner puts a plan into words for who tries contexts; s is the newest snapshot.
func (r *Renderer) Planner(p monitor.Plan, s *monitor.Snapshot) Planner {
	v := Planner{Plan: r.Plan(p), Level: planLevel(p.Verdict.State), Bar: r.planBar(p), Context: p.Context, Contexts: contexts(p.Trained)}
	args := Args{"Spare": optional(p.Spare), "Short": optional(p.Short), "AtLeast": p.AtLeast}
	state := p.Verdict.State
	if state == "" {
		state = fit.Unknown
	}
	v.Head = r.Text("planner.head."+string(state), args)
	switch {
	case p.Verdict.Reason != "":
		v.Why = r.Text("fit.reason." + string(p.Verdict.Reason))
	case p.Binding != "":
		v.Why = r.Text("view.binding." + string(p.Binding))
	}
	if p.Risk != "" {
		risk := Args{}
		if p.Share != nil {
			risk["Share"] = percent(*p.Share)
		}
		v.Why = line(v.Why, r.Text("fit.risk."+string(p.Risk), risk))
	}
	if s != nil && p.Measured == nil && p.Reported == nil {
		v.Loaded = r.loadedRow(p, s)
	}
	return v
}

// loadedRow says what a model takes as it runs now.
func (r *Renderer) loadedRow(p monitor.Plan, s *monitor.Snapshot) Row {
	row := Row{Label: r.Text("planner.loaded"), Share: -1, Level: Normal}
	for i := range s.Residents {
		m := &s.Residents[i]
		if m.Model != p.Model || m.Backend != p.Backend || m.Holds() == 0 {
			continue
		}
		context := ""
		if m.Context != nil {
			context = r.Text("fit.tokens", Args{"Tokens": grouped(*m.Context)})
		}
		took := r.Text("planner.reported", Args{"Size": optional(m.Size)})
		if m.Footprint != nil {
			took = r.planned(m.Planned, *m.Footprint)
		}
		row.Text = line(context, took)
	}
	return row
}

// PlannedModels puts a list of plans into words.
func (r *Renderer) PlannedModels(plans []monitor.Plan) []PlannedModel {
	var list []PlannedModel
	for _, p := range plans {
		m := PlannedModel{Backend: p.Backend, Model: p.Model, Name: clean(p.Model), Text: r.FitVerdict(&p.Verdict), Level: planLevel(p.Verdict.State)}
		switch {
		case p.Verdict.Reason == fit.ReasonCloud:
		case p.Measured != nil:
			m.Needs = line(size(*p.Measured), tokens(p.Context))
		case p.Total != nil:
			m.Needs = line("~"+size(*p.Total), tokens(p.Context))
		}
		list = append(list, m)
	}
	return list
}

// planBar draws the parts from the left and a mark for what is left below each limit:
// the one that binds with its name above, the others as ticks. A model that is in
// memory has what it holds to itself.
func (r *Renderer) planBar(p monitor.Plan) Bar {
	free, binding := p.Place.Free.Smallest()
	if p.Total == nil && p.Measured == nil || binding == "" || p.Limit == nil {
		return Bar{}
	}
	limits := p.Place.Free.Plus(*p.Limit - min(free, *p.Limit))
	bar := Bar{Segments: r.planSegments(p)}
	var takes, most uint64
	for _, s := range bar.Segments {
		takes += s.Bytes
	}
	for _, l := range []struct {
		bytes   *uint64
		binding fit.Binding
	}{{limits.GPU, fit.BindingGPU}, {limits.Reclaimable, fit.BindingReclaimable}, {limits.RAM, fit.BindingRAM}} {
		if l.bytes == nil {
			continue
		}
		label := r.Text("planner.limit."+string(l.binding), Args{"Size": size(*l.bytes)})
		bar.Marks = append(bar.Marks, Mark{Label: label, At: *l.bytes, Minor: l.binding != p.Binding})
		most = max(most, *l.bytes)
	}
	// A little room at the right, so that the last mark stands within.
	bar.Total = max(takes, most) + max(takes, most)/32
	bar.Segments = append(bar.Segments, Segment{Kind: SegmentFree, Bytes: bar.Total - takes})
	return bar
}

// planSegments are the parts of a need. What was measured decides their sum.
func (r *Renderer) planSegments(p monitor.Plan) []Segment {
	sum := func(parts ...*uint64) (n uint64) {
		for _, part := range parts {
			if part != nil {
				n += *part
			}
		}
		return n
	}
	weights, cache, buffers, taken := sum(p.Weights), sum(p.KV, p.Need.State), sum(p.Compute, p.Projector, p.Draft), uint64(0)
	if p.Measured != nil {
		switch planned := weights + cache + buffers; {
		case p.Total == nil || *p.Measured < weights+cache:
			weights, cache, buffers, taken = 0, 0, 0, *p.Measured
		case *p.Measured < planned:
			buffers = *p.Measured - weights - cache
		default:
			taken = *p.Measured - planned
		}
	}
	var segments []Segment
	for _, part := range []struct {
		kind  SegmentKind
		bytes uint64
	}{{SegmentWeights, weights}, {SegmentCache, cache}, {SegmentBuffers, buffers}, {SegmentTaken, taken}} {
		if part.bytes == 0 {
			continue
		}
		id := "planner.part." + string(part.kind)
		if part.kind == SegmentTaken && len(segments) == 0 {
			id = "planner.part.measured"
		}
		segments = append(segments, Segment{Kind: part.kind, Label: r.Text(id), Text: size(part.bytes), Bytes: part.bytes})
	}
	return segments
}

// The contexts that may be tried: from this many tokens on, and up to this many where
// nobody told what the model was made for.
const (
	leastContext = 2048
	usualTrained = 131072
)

// contexts are the powers of two and what is halfway between them, in tokens.
func contexts(trained int) []int {
	if trained <= 0 {
		trained = usualTrained
	}
	var all []int
	for n := leastContext; n < trained; n *= 2 {
		all = append(all, n)
		if half := n + n/2; half < trained {
			all = append(all, half)
		}
	}
	return append(all, trained)
}

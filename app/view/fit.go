package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// Plan is what a person reads of a planned model.
type Plan struct {
	// Title is its name; Verdict says in a sentence whether it fits.
	Title   string
	Verdict Row
	// Rows are the parts of the need, what is there, and how fast it can be.
	Rows []Row
	// Notes are facts worth a sentence.
	Notes []string
	// SumsTitle and Sums are the formulas behind the parts, for a hand check.
	SumsTitle string
	Sums      []Row
}

// Plan puts a plan into words.
func (r *Renderer) Plan(p monitor.Plan) Plan {
	out := Plan{Title: clean(p.Model), Verdict: r.verdictRow("fit.row.now", &p.Verdict), SumsTitle: r.Text("fit.sums")}
	out.Rows = append(out.Rows, r.needRows(p)...)
	if p.Unloaded != nil {
		out.Rows = append(out.Rows, r.verdictRow("fit.row.unloaded", p.Unloaded))
	}
	out.Rows = append(out.Rows, r.fourRow(p.FourSlots))
	out.Rows = append(out.Rows, r.contextRow(p), r.limitRow(p), r.raiseRow(p))
	for at, e := range p.Rates {
		if e.Reason != "" && e.Reason == p.Verdict.Reason {
			continue // it is said already
		}
		label := "fit.row.speed"
		if at > 0 {
			label = "fit.row.speed_deep"
		}
		out.Rows = append(out.Rows, Row{Label: r.Text(label), Text: r.FitRate(e), Share: -1, Level: Normal})
	}
	out.Rows = append(out.Rows, r.bandwidthRow(p))
	for _, n := range p.Notes {
		out.Notes = append(out.Notes, r.planNote(n, p))
	}
	for _, s := range p.Steps {
		label := r.Text("fit.row." + string(s.Part))
		if s.Draft {
			label = r.Text("fit.row.draft") + between + label
		}
		out.Sums = append(out.Sums, Row{Label: label, Text: fmt.Sprintf("%s = %d B", s.Formula, s.Bytes), Share: -1, Level: Normal})
	}
	return out
}

// planLevel is how a state of a verdict is shown. What is not known is grey.
func planLevel(s fit.State) Level {
	switch s {
	case fit.Fits:
		return Normal
	case fit.Borderline:
		return Warning
	case fit.TooBig:
		return Critical
	}
	return Unknown
}

// fourRow is the plan with four slots.
func (r *Renderer) fourRow(four *monitor.SlotPlan) Row {
	row := Row{Label: r.Text("fit.row.four"), Share: -1}
	if four == nil || four.KV == nil {
		return row
	}
	args := Args{"KV": size(*four.KV)}
	if four.State != fit.Unknown {
		args["Verdict"] = r.FitVerdict(&four.Verdict)
	}
	row.Text, row.Level = r.Text("fit.four", args), min(planLevel(four.State), Normal) // what may be is no alarm
	return row
}

func (r *Renderer) verdictRow(label string, v *fit.Verdict) Row {
	return Row{Label: r.Text(label), Text: r.FitVerdict(v), Level: planLevel(v.State), Share: -1}
}

// FitVerdict is a verdict in words: "fits, 3.1 GiB to spare (GPU limit)".
func (r *Renderer) FitVerdict(v *fit.Verdict) string {
	args := Args{"Spare": optional(v.Spare), "Short": optional(v.Short), "AtLeast": v.AtLeast}
	if v.Binding != "" {
		args["Limit"] = r.Text("view.binding." + string(v.Binding))
	}
	if v.Reason != "" {
		args["Reason"] = r.Text("fit.reason." + string(v.Reason))
	}
	if v.Risk != "" {
		share := 0.0
		if v.Share != nil {
			share = *v.Share
		}
		args["Risk"] = r.Text("fit.risk."+string(v.Risk), Args{"Share": percent(share)})
	}
	return r.Text("fit.verdict."+string(v.State), args)
}

// needRows are the parts of a need that are known.
func (r *Renderer) needRows(p monitor.Plan) []Row {
	n := p.Need
	context := Args{"Tokens": grouped(n.Context), "Cache": string(n.Cache)}
	if n.Slots > 1 {
		context["Slots"] = n.Slots
	}
	row := func(id, text string) Row {
		return Row{Label: r.Text("fit.row." + id), Text: text, Level: Normal, Share: -1}
	}
	rough := func(bytes *uint64) string {
		if bytes == nil {
			return ""
		}
		return "~" + size(*bytes)
	}
	rows := []Row{row("context", r.Text("fit.context", context)), row("weights", optional(n.Weights))}
	switch {
	case n.KV == nil:
	case *n.KV == 0:
		rows = append(rows, row("kv", r.Text("fit.no_cache")))
	case n.PerToken != nil && *n.PerToken > 0:
		rows = append(rows, row("kv", r.Text("fit.kv", Args{"Size": size(*n.KV), "PerToken": exactSize(*n.PerToken)})))
	default:
		rows = append(rows, row("kv", size(*n.KV)))
	}
	if n.State != nil && *n.State > 0 {
		rows = append(rows, row("state", size(*n.State)))
	}
	rows = append(rows, row("compute", rough(n.Compute)), row("projector", optional(n.Projector)), row("draft", rough(n.Draft)), row("total", rough(n.Total)))
	if p.Reported != nil {
		label := "reported"
		if p.Measured != nil && apart(*p.Reported, *p.Measured) {
			label = "estimate"
		}
		rows = append(rows, row(label, size(*p.Reported)))
	}
	if p.Measured != nil {
		rows = append(rows, row("measured", r.planned(n.Total, *p.Measured)))
	}
	return rows
}

// planned is what was taken, beside what was planned: "9.4 GiB, 0.5 GiB more than
// planned".
func (r *Renderer) planned(plan *uint64, took uint64) string {
	switch {
	case plan == nil:
		return size(took)
	case took > *plan:
		return r.Text("fit.more", Args{"Took": size(took), "By": size(took - *plan)})
	case took < *plan:
		return r.Text("fit.less", Args{"Took": size(took), "By": size(*plan - took)})
	}
	return r.Text("fit.exact", Args{"Took": size(took)})
}

// exactSize is an amount with the digits that a hand check needs: "160 KiB",
// "1,152 B".
func exactSize(n uint64) string {
	switch {
	case n >= mebibyte && n%(mebibyte/4) == 0:
		return trimZeros(float64(n)/mebibyte) + " MiB"
	case n >= kibibyte && n%(kibibyte/4) == 0:
		return trimZeros(float64(n)/kibibyte) + " KiB"
	}
	return grouped(int(min(n, math.MaxInt))) + " B"
}

func trimZeros(f float64) string { return fmt.Sprintf("%g", f) }

// contextRow says which context fits at the most.
func (r *Renderer) contextRow(p monitor.Plan) Row {
	row := Row{Label: r.Text("fit.row.largest"), Share: -1, Level: Normal}
	switch {
	case p.Unbounded:
		row.Text = r.Text("fit.unbounded")
	case p.LargestContext != nil && *p.LargestContext == 0:
		row.Text, row.Level = r.Text("fit.none"), Warning
	case len(p.ByType) == 0 && p.LargestContext != nil:
		row.Text = r.Text("fit.tokens", Args{"Tokens": grouped(*p.LargestContext)})
	default:
		var parts []string
		for _, kind := range monitor.PlanCacheTypes {
			if tokens, ok := p.ByType[kind]; ok {
				parts = append(parts, r.Text("fit.largest", Args{"Tokens": grouped(tokens), "Cache": string(kind)}))
			}
		}
		row.Text = joined(between, parts)
	}
	return row
}

// FitRate is an expected rate in words: "~11 to 15 tokens/s, likely 13".
func (r *Renderer) FitRate(e fit.Expected) string {
	if e.Reason != "" {
		return r.Text("fit.verdict.unknown", Args{"Reason": r.Text("fit.reason." + string(e.Reason))})
	}
	args := Args{"Low": tokensPerSecond(e.Low), "High": tokensPerSecond(e.High), "Centre": tokensPerSecond(e.Centre), "Ceiling": tokensPerSecond(e.Ceiling)}
	switch {
	case e.High == nil:
		return r.Text("fit.rate_least", args)
	case e.Source == fit.SourceLearned:
		args["Count"] = e.Runs
		return r.Text("fit.rate_learned", args)
	case e.Class == fit.Mixture:
		return r.Text("fit.rate_mixture", args)
	}
	return r.Text("fit.rate", args)
}

// bandwidthRow says where the rates come from.
func (r *Renderer) bandwidthRow(p monitor.Plan) Row {
	row := Row{Label: r.Text("fit.row.bandwidth"), Share: -1, Level: Normal}
	if b, ok := finite(p.Place.Bandwidth); ok && b > 0 {
		row.Text = r.Text("fit.bandwidth", Args{"Value": fmt.Sprintf("%.4g", b/1e9), "Chip": clean(p.Place.Name), "Certain": p.Place.Certain})
	}
	return row
}

// planNote is one note in words.
func (r *Renderer) planNote(note fit.Note, p monitor.Plan) string {
	n := p.Need
	args := Args{"Context": grouped(n.Context), "Asked": grouped(n.Asked), "Cache": string(n.Wanted), "Expanded": optional(n.Expanded), "Reserve": size(fit.VisionReserve)}
	if kv, ok := p.KVByType[n.Wanted]; ok {
		args["KV"] = size(kv)
	}
	return r.Text("fit.note."+string(note), args)
}

// mostUnder is how many models are shown under a limit that is planned.
const mostUnder = 6

// FitsUnder tells which models on disk will fit under another limit of the GPU, with
// no other model in memory: those first whose verdict changes, then the biggest that
// fit. Nil where no build is known.
func (r *Renderer) FitsUnder(s *monitor.Snapshot, builds []monitor.Build) LimitFits {
	if s == nil || len(builds) == 0 {
		return nil
	}
	return func(limit uint64) []Row {
		now := s.Place().Emptied()
		then := now.WithLimit(limit)
		type change struct {
			row     Row
			changes bool
			needs   uint64
		}
		var all []change
		for _, b := range builds {
			sub := s.Subject(b.Backend, b.Model, b.Build)
			sub.Resident = nil // it is planned anew, as after a restart
			before, was := now.Judge(sub)
			after, is := then.Judge(sub)
			if is.State == fit.Unknown || b.Build.Cloud {
				continue
			}
			row := Row{Label: clean(b.Model), Text: r.FitVerdict(&is), Level: planLevel(is.State), Share: -1}
			if before.Context != after.Context && before.KV != nil && after.KV != nil {
				row.Text += between + r.Text("fit.under.context", Args{"Before": grouped(before.Context), "After": grouped(after.Context), "KV": size(*after.KV)})
			}
			all = append(all, change{row, was.State != is.State, after.Least})
		}
		slices.SortStableFunc(all, func(a, b change) int {
			size := cmp.Compare(b.needs, a.needs)
			if a.row.Level == Critical { // of those that do not fit, the nearest first
				size = -size
			}
			return cmp.Or(-cmp.Compare(truth(a.changes), truth(b.changes)), cmp.Compare(a.row.Level, b.row.Level), size)
		})
		var rows []Row
		for _, c := range all[:min(len(all), mostUnder)] {
			rows = append(rows, c.row)
		}
		return rows
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

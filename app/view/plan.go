package view

import (
	"fmt"

	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// largest names the biggest model on disk that could be loaded now.
func (sc *scene) largest() Row {
	l := sc.s.LargestFit
	if l == nil {
		return Row{Share: -1}
	}
	text := line(clean(l.Model), "~"+size(l.Needs), tokens(l.Context))
	if l.Borderline {
		text = line(text, sc.Text("plan.borderline"))
	}
	row := sc.row("plan.largest", text)
	row.Detail = sc.Text("plan.largest_why")
	return row
}

// comfort is one word on how a model is to work with, "" until it was measured.
func (sc *scene) comfort(m *monitor.Resident) string {
	if id := "plan.comfort." + string(m.Comfort); m.Comfort != "" && sc.has(id) {
		return sc.Text(id)
	}
	return ""
}

// efficiency is "62 % of its ceiling", "" until it was measured.
func (sc *scene) efficiency(m *monitor.Resident) string {
	n, ok := finite(m.Efficiency)
	if !ok || n <= 0 || n > 10 {
		return ""
	}
	return sc.Text("plan.efficiency", Args{"Percent": percentOf(n)})
}

// planDetail is what was planned for a model and how fast it can be.
func (sc *scene) planDetail(m *monitor.Resident) string {
	planned := ""
	switch {
	case m.Planned != nil:
		planned = sc.Text("plan.planned", Args{"Planned": size(*m.Planned), "Cache": optional(m.PlannedCache), "Took": optional(m.Footprint)})
	case m.Unplanned != "":
		reason := clean(string(m.Unplanned))
		if id := "fit.reason." + string(m.Unplanned); sc.has(id) {
			reason = sc.Text(id)
		}
		planned = sc.Text("plan.unplanned", Args{"Reason": reason})
	}
	return lines(planned, sc.expected(m.Expected), sc.comfortWhy(m))
}

// expected is the band of rates that engines reach with a model here.
func (sc *scene) expected(e *fit.Expected) string {
	if e == nil {
		return ""
	}
	args := Args{"Low": tokensPerSecond(e.Low), "High": tokensPerSecond(e.High), "Ceiling": tokensPerSecond(e.Ceiling), "Runs": ""}
	if args["Low"] == "" {
		return ""
	}
	if e.Source == fit.SourceLearned && e.Runs > 0 {
		args["Runs"] = fmt.Sprint(e.Runs)
	}
	return sc.Text("plan.expected", args)
}

func (sc *scene) comfortWhy(m *monitor.Resident) string {
	if sc.comfort(m) == "" {
		return ""
	}
	return sc.Text("plan.comfort_why", Args{"Word": sc.comfort(m), "TTFT": fmt.Sprint(fit.Usable.TTFT), "Decode": fmt.Sprint(fit.Usable.Decode)})
}

// tokensPerSecond is the number of a rate alone, "" when it is absent.
func tokensPerSecond(f *float64) string {
	n, ok := finite(f)
	switch {
	case !ok || n <= 0 || n > 1e6:
		return ""
	case n < 10:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

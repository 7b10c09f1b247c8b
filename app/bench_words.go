package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor/bench"
)

// figure is a measured number with three figures, as far as they say something.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// percent is a ratio as a change, "+9.0 %".
func percent(ratio float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*ratio), "-", "−", 1)
}

// spreadText is "24.3 ±0.2": the median, and how far the runs were from it at most.
func spreadText(s *bench.Spread) string {
	switch {
	case s == nil:
		return "–"
	case s.Runs < 2:
		return figure(s.Median)
	}
	off := max(s.High-s.Median, s.Median-s.Low)
	if s.Median >= 100 {
		return fmt.Sprintf("%s ±%.0f", figure(s.Median), off)
	}
	return fmt.Sprintf("%s ±%s", figure(s.Median), figure(off))
}

// kind names a kind of text, with the depth of its context.
func (p *program) kind(k bench.Kind, depth int) string {
	switch k {
	case bench.Chinese:
		return p.words.Text("bench.kind.chinese")
	case bench.English:
		return p.words.Text("bench.kind.english")
	case bench.Code:
		return p.words.Text("bench.kind.code")
	}
	return p.words.Text("bench.kind.deep", view.Args{"Depth": p.words.Count(depth)})
}

// reasons are reasons in words, one after the other.
func (p *program) reasons(list []bench.Reason) string {
	var all []string
	for _, r := range list {
		all = append(all, p.reasonText(r))
	}
	return strings.Join(all, p.words.Text("bench.and"))
}

// reasonIDs are the messages of reasons.
var reasonIDs = map[bench.ReasonKind]string{
	bench.ReasonSwapping: "bench.reason.swapping", bench.ReasonThrottled: "bench.reason.throttled",
	bench.ReasonOtherRequest: "bench.reason.other_request", bench.ReasonQueued: "bench.reason.queued",
	bench.ReasonOtherModel: "bench.reason.other_model", bench.ReasonBackground: "bench.reason.background",
	bench.ReasonTogether: "bench.reason.together", bench.ReasonOtherGPU: "bench.reason.other_gpu", bench.ReasonSlept: "bench.reason.slept",
	bench.ReasonPower: "bench.reason.power", bench.ReasonReloaded: "bench.reason.reloaded",
	bench.ReasonCached: "bench.reason.cached", bench.ReasonCutShort: "bench.reason.cut_short",
	bench.ReasonTruncated: "bench.reason.truncated", bench.SkipTrained: "bench.reason.trained",
	bench.SkipMemory: "bench.reason.memory", bench.SkipUnknownNeed: "bench.reason.unknown_need",
	bench.SkipUnsupported: "bench.reason.unsupported",
}

func (p *program) reasonText(r bench.Reason) string {
	id, ok := reasonIDs[r.Kind]
	if !ok {
		return string(r.Kind) // of a newer version
	}
	args := view.Args{"Name": r.Name, "Value": ""}
	if r.Value != nil {
		args["Value"] = p.reasonValue(r.Kind, *r.Value)
	}
	return p.words.Text(id, args)
}

func (p *program) reasonValue(kind bench.ReasonKind, v float64) string {
	switch kind {
	case bench.ReasonSwapping, bench.SkipMemory:
		return p.words.Size(uint64(max(0, v)))
	case bench.ReasonQueued, bench.ReasonReloaded, bench.ReasonSlept:
		return p.seconds(v)
	case bench.ReasonOtherGPU:
		return fmt.Sprintf("%.0f %%", 100*v)
	case bench.ReasonCutShort, bench.ReasonTruncated, bench.SkipTrained:
		return p.words.Count(int(v))
	}
	return figure(v)
}

// seconds is a measured time: with fractions as long as they say something.
func (p *program) seconds(v float64) string {
	if v < 60 {
		return figure(v) + " s"
	}
	return p.words.Duration(time.Duration(v * float64(time.Second)).Round(time.Second))
}

// facts are what has to be known to read a result, one line each.
func (p *program) facts(r *bench.Result) []string {
	join := func(parts ...string) string {
		var all []string
		for _, part := range parts {
			if part != "" {
				all = append(all, part)
			}
		}
		return strings.Join(all, " · ")
	}
	m := r.Machine
	ram := ""
	if m.RAMBytes != nil {
		ram = p.words.Size(*m.RAMBytes)
	}
	lines := []string{
		join(r.Model.Name, r.Model.Parameters, r.Model.Quantization),
		join(m.Chip, ram, m.OS, r.Server.Engine+" "+r.Server.Version),
		p.words.Text("bench.options", view.Args{"Context": p.words.Count(r.Options.Context), "Output": r.Options.Output,
			"Seed": r.Options.Seed, "Runs": r.Options.Runs, "Prompts": r.Prompts}),
		join(p.power(r.Before), p.heat(r)),
	}
	if len(r.Before.Others) > 0 {
		lines = append(lines, p.words.Text("bench.others", view.Args{"Models": strings.Join(r.Before.Others, ", ")}))
	}
	for id, holds := range map[string]bool{"bench.simulated": r.Simulated, "bench.unobserved": r.Unobserved && !r.Simulated} {
		if holds {
			lines = append(lines, p.words.Text(id))
		}
	}
	if l := r.Load; l != nil {
		args := view.Args{"Time": p.seconds(l.Seconds), "Rate": "", "From": ""}
		if l.Rate != nil {
			args["Rate"] = fmt.Sprintf("%.1f GB/s", *l.Rate/1e9)
		}
		if l.From == "external" || l.From == "network" {
			args["From"] = p.words.Text("bench.from." + l.From)
		}
		lines = append(lines, p.words.Text("bench.load", args))
	}
	if c := r.Cached; c != nil {
		lines = append(lines, p.words.Text("bench.cached", view.Args{"Tokens": p.words.Count(c.PromptTokens), "Time": spreadText(&c.TTFT)}))
	}
	var some []string
	for _, line := range lines {
		if line != "" {
			some = append(some, line)
		}
	}
	return some
}

func (p *program) power(c bench.Conditions) string {
	var all []string
	if c.OnBattery != nil {
		id := "bench.mains"
		if *c.OnBattery {
			id = "bench.battery"
		}
		all = append(all, p.words.Text(id))
	}
	if c.LowPower != nil && *c.LowPower {
		all = append(all, p.words.Text("bench.low_power"))
	}
	return strings.Join(all, ", ")
}

// heat is the temperature before and after, and whether the GPU was slowed then.
func (p *program) heat(r *bench.Result) string {
	a, b := r.Before.Temperature, r.After.Temperature
	if a == nil || b == nil {
		return ""
	}
	text := p.words.Text("bench.heat", view.Args{"Before": fmt.Sprintf("%.0f", *a), "After": fmt.Sprintf("%.0f", *b)})
	if t := r.After.Throttled; t != nil && *t {
		text += ", " + p.words.Text("bench.slowed")
	}
	return text
}

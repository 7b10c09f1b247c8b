package main

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/app/view"
	"plimsoll/metal"
)

// factRow is a row of the table: a mark, the fact, its value or why there is none,
// what asking cost, who told it, and the tools that it was held against.
func (p *program) factRow(f finding) []string {
	cost := ""
	if f.Cost != nil {
		cost = fmt.Sprintf("%.0f", *f.Cost)
		if *f.Cost < 10 {
			cost = fmt.Sprintf("%.1f", *f.Cost)
		}
	}
	var tools []string
	for _, k := range f.Checks {
		name := k.Tool
		if k.Differs {
			name = "≠ " + name
		}
		tools = append(tools, name)
	}
	return []string{map[string]string{verdictOK: "✓", verdictAbsent: "–", verdictDiffers: "≠"}[f.Verdict],
		shortName(f.Name), p.factValue(f), cost, f.Source, strings.Join(tools, ", ")}
}

// shortName is a fact's name without the unit, which stands at the value.
func shortName(name string) string {
	for _, unit := range []string{"_bytes_per_second", "_bytes", "_ratio", "_celsius", "_mhz", "_watts", "_seconds"} {
		if short, ok := strings.CutSuffix(name, unit); ok && !strings.Contains(name, ".with_") {
			return short
		}
	}
	return name
}

func (p *program) factValue(f finding) string {
	switch {
	case f.Value != nil:
		return p.amount(f.Name, f.Value)
	case f.Reason == "":
		return ""
	}
	return p.words.Text("doctor.absent."+f.Reason, view.Args{"Detail": f.Detail})
}

// amount is a value with the unit that the end of its name tells.
func (p *program) amount(name string, value any) string {
	if levels, ok := value.([]metal.CoreLevel); ok {
		return levelsText(levels)
	}
	value = plain(value)
	n, number := value.(float64)
	switch {
	case value == true:
		return p.words.Text("doctor.yes")
	case value == false:
		return p.words.Text("doctor.no")
	case !number:
		return fmt.Sprint(value)
	case name == "gpu.wired_limit_bytes" && n == 0:
		return p.words.Text("doctor.default_limit")
	case strings.HasSuffix(name, "_bytes_per_second"):
		return fmt.Sprintf("%.0f GB/s", n/1e9)
	case strings.HasSuffix(name, "_bytes"):
		return p.words.Size(uint64(max(n, 0)))
	case strings.HasSuffix(name, "_ratio"):
		return fmt.Sprintf("%.0f %%", n*100)
	case strings.HasSuffix(name, "_celsius"):
		return fmt.Sprintf("%.1f °C", n)
	case strings.HasSuffix(name, "_mhz"):
		return fmt.Sprintf("%.0f MHz", n)
	case strings.HasSuffix(name, "_watts"):
		return fmt.Sprintf("%.2f W", n)
	case strings.HasSuffix(name, "uptime_seconds"):
		return p.words.Duration(time.Duration(n * float64(time.Second)))
	}
	return fmt.Sprintf("%.0f", n)
}

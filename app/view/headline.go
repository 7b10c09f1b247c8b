package view

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"plimsoll"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// demo is the mark of the simulator.
func (sc *scene) demo() string {
	if !sc.s.Simulated {
		return ""
	}
	return sc.Text("view.demo")
}

// headline says what the next model may take, and which limit says so.
func (sc *scene) headline() Row {
	h := sc.s.Headroom
	if h == nil {
		reason := sc.absent("view.line.label", monitor.SectionHeadroom).Detail
		row := sc.row("view.line.label", sc.Text("view.line.unknown", Args{"Reason": reason}))
		row.Level = Unknown
		return row
	}
	id := "view.line.text"
	if h.Bytes == 0 {
		id = "view.line.none"
	}
	row := sc.row("view.line.label", sc.Text(id, Args{"Size": size(h.Bytes), "Limit": sc.binding(h.Binding)}))
	gpu := ""
	if sc.s.GPU != nil {
		gpu = sc.source(sc.s.GPU.LimitSource)
	}
	row.Detail = lines(
		sc.limit(monitor.BindingGPU, h.GPU, gpu),
		sc.limit(monitor.BindingReclaimable, h.Reclaimable, sc.Text("view.told.counters")),
		sc.limit(monitor.BindingRAM, h.RAM, sc.Text("view.told.arithmetic")),
		sc.fact("view.fact.reserve", optional(h.Reserve)),
		sc.fact("view.fact.mapped", optional(h.Mapped)))
	return row
}

// binding names a limit of headroom, "" one that is not known here.
func (sc *scene) binding(b monitor.Binding) string {
	if id := "view.binding." + string(b); sc.has(id) {
		return sc.Text(id)
	}
	return ""
}

// limit is one of headroom's limits, with who told it.
func (sc *scene) limit(b monitor.Binding, n *uint64, source string) string {
	if n == nil {
		return ""
	}
	return sc.Text("view.fact.limit", Args{"Limit": sc.binding(b), "Size": size(*n), "Source": source})
}

// fact is one "name: value" line, "" when there is no value.
func (sc *scene) fact(id, value string) string {
	if value == "" {
		return ""
	}
	return sc.Text(id, Args{"Value": value})
}

// titleWidth is how many cells a number in the title has: "999.9".
const titleWidth = 5

// title is the text beside the icon on macOS. It has one width for every
// headroom up to 999.9 GiB and for its absence, so that the items beside it
// stand still. Without headroom the used share of memory stands in.
func (sc *scene) title() string {
	const unit = " GiB"
	text := ""
	if h := sc.s.Headroom; h != nil {
		number := gib(h.Bytes)
		if len(number) > titleWidth {
			number, _, _ = strings.Cut(number, ".")
		}
		text = padded(number, titleWidth) + unit
	} else if m := sc.s.Memory; m != nil && m.Used != nil && m.Total != nil && *m.Total > 0 {
		text = padded(percent(share(*m.Used, *m.Total)), titleWidth+len(unit))
	}
	if demo := sc.demo(); demo != "" {
		text = joined(" ", []string{demo, text})
	}
	return text
}

// padded fills a text up to width cells with figure spaces from the left.
func padded(text string, width int) string {
	return strings.Repeat(figureSpace, max(0, width-utf8.RuneCountInString(text))) + text
}

// badge is headroom in whole GiB, rounded down: there is no less than it says.
func (sc *scene) badge() string {
	if sc.s.Headroom == nil {
		return ""
	}
	whole := sc.s.Headroom.Bytes / gibibyte
	switch {
	case whole < 1000:
		return fmt.Sprint(whole)
	case whole < 100*kibibyte:
		return fmt.Sprintf("%dT", whole/kibibyte)
	}
	return "99T"
}

// icon is the worst that stands. A server that is away shows before warnings,
// because then nothing else is known of the models.
func (sc *scene) icon() Icon {
	worst := sc.pressureLevel()
	for _, a := range sc.u.Alerts {
		worst = max(worst, level(a.Severity))
	}
	switch {
	case worst == Critical:
		return IconCritical
	case sc.noServer():
		return IconNoServer
	case worst == Warning:
		return IconWarning
	}
	return IconNormal
}

// noServer reports that there are servers to watch and none of them is there.
// One that asks for a login is there, and one that was not asked yet may be.
func (sc *scene) noServer() bool {
	for _, b := range sc.s.Backends {
		switch b.State {
		case backend.NotRunning, backend.NotAnswering, backend.Failed:
		default:
			return false
		}
	}
	return len(sc.s.Backends) > 0
}

// pressureLevel is the level of the kernel's memory pressure.
func (sc *scene) pressureLevel() Level {
	if sc.s.Memory == nil {
		return Unknown
	}
	switch sc.s.Memory.Pressure {
	case metal.PressureNormal:
		return Normal
	case metal.PressureWarning:
		return Warning
	case metal.PressureCritical:
		return Critical
	}
	return Unknown
}

// tooltip is one line: name, headroom, worst alert.
func (sc *scene) tooltip(v View) string {
	name := plimsoll.Name
	if v.Demo != "" {
		name = sc.Text("view.tooltip.demo", Args{"Name": name, "Demo": v.Demo})
	}
	worst := Alert{Level: Normal}
	for _, a := range v.Alerts {
		if a.Level > worst.Level {
			worst = a
		}
	}
	return line(name, v.Line.Text, worst.Title, v.Stale)
}

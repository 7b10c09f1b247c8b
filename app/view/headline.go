package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"plimsoll"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
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

// numberWidth is how many cells a number in the title has: "999.9".
const numberWidth = 5

// The title has one width while nothing is in memory and another, with room for
// "reading 999k", while something is: the items beside it move when a model comes
// or goes and at no other time.
const (
	titleNarrow = numberWidth + len(" GiB")
	titleWide   = 12
)

// title is the text beside the icon on macOS: the request that matters now, else
// what the next model may take. Without either the used share of memory stands in.
func (sc *scene) title() string {
	width := titleNarrow
	if len(sc.s.Residents) > 0 || sc.s.Requests != nil {
		width = titleWide
	}
	text := sc.titleOfRequest()
	if text == "" {
		text = sc.titleOfMemory()
	}
	if text == "" {
		return sc.demo()
	}
	return joined(" ", []string{sc.demo(), padded(text, width)})
}

func (sc *scene) titleOfMemory() string {
	if h := sc.s.Headroom; h != nil {
		number := gib(h.Bytes)
		if len(number) > numberWidth {
			number, _, _ = strings.Cut(number, ".")
		}
		return number + " GiB"
	}
	if m := sc.s.Memory; m != nil && m.Used != nil && m.Total != nil && *m.Total > 0 {
		return percent(share(*m.Used, *m.Total))
	}
	return ""
}

// titleKeeps is how long the last request stays in the title.
const titleKeeps = 10 * time.Minute

// titleOfRequest is "11.2 t/s" while tokens are made, "reading 12k" while a prompt
// is read, and "11.2 ·3m" for ten minutes after. "" when there is nothing to say.
func (sc *scene) titleOfRequest() string {
	r := sc.leading()
	switch {
	case r == nil:
		return ""
	case r.Phase == request.PhasePrefill && soFar(r) > 0:
		return sc.Text("request.title.reading", Args{"Tokens": thousands(soFar(r))})
	case r.Phase == request.PhaseDecode:
		if rate := plainRate(r.Live); rate != "" {
			return sc.Text("request.title.rate", Args{"Rate": rate})
		}
		return sc.Text("request.title.decode")
	case r.Phase != request.PhaseDone:
		if id := "request.title." + string(r.Phase); sc.has(id) {
			return sc.Text(id)
		}
		return ""
	}
	age := max(0, sc.now.Sub(ended(r)))
	switch {
	case age >= titleKeeps:
		return ""
	case age < time.Minute:
		return sc.Text("request.title.last", Args{"Rate": plainRate(r.Decode), "Age": "<1m"})
	}
	return sc.Text("request.title.last", Args{"Rate": plainRate(r.Decode), "Age": fmt.Sprintf("%dm", age/time.Minute)})
}

// padded fills a text up to width cells with figure spaces from the left. A
// Chinese letter takes two.
func padded(text string, width int) string {
	return strings.Repeat(figureSpace, max(0, width-runewidth.StringWidth(text))) + text
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

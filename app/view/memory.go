package view

import (
	"fmt"

	"plimsoll/metal"
	"plimsoll/monitor"
)

// total is the memory of the machine.
func (sc *scene) total() (uint64, bool) {
	if m := sc.s.Memory; m != nil && m.Total != nil && *m.Total > 0 {
		return *m.Total, true
	}
	if m := sc.s.Machine; m != nil && m.RAMBytes != nil && *m.RAMBytes > 0 {
		return *m.RAMBytes, true
	}
	return 0, false
}

// memory is used of total, as Activity Monitor counts it.
func (sc *scene) memory() Row {
	m := sc.s.Memory
	if m == nil {
		return sc.absent("view.memory.label", monitor.SectionMemory)
	}
	row := sc.row("view.memory.label", sc.Text("view.unknown"))
	row.Detail = lines(
		sc.fact("view.fact.app", optional(m.App)),
		sc.fact("view.fact.wired", optional(m.Wired)),
		sc.fact("view.fact.compressed", optional(m.Compressed)),
		sc.fact("view.fact.cached", optional(m.Cached)),
		sc.fact("view.fact.free", optional(m.Free)),
		sc.fact("view.fact.available", optional(m.Available)))
	if m.Used == nil || *m.Used == 0 { // no running machine uses none
		row.Level = Unknown
		return row
	}
	row.Text = sc.Text("view.memory.used", Args{"Size": size(*m.Used)})
	if total, ok := sc.total(); ok {
		row.Text, row.Share = sc.part(*m.Used, total), share(*m.Used, total)
	}
	return row
}

// pressure is the kernel's level, and says so where it is not the kernel's.
func (sc *scene) pressure() Row {
	m := sc.s.Memory
	if m == nil {
		return sc.absent("view.pressure.label", monitor.SectionMemory)
	}
	row := sc.row("view.pressure.label", sc.Text("view.unknown"))
	row.Level = sc.pressureLevel()
	if id := "view.source." + m.PressureSource; m.PressureSource != "" && sc.has(id) {
		row.Detail = sc.Text(id)
	}
	if row.Level == Unknown {
		row.Detail = lines(clean(string(m.Pressure)), row.Detail)
		return row
	}
	row.Text = sc.pressureWord(m.Pressure)
	if m.PressureSource == "psi" {
		row.Text = line(row.Text, "PSI")
	}
	return row
}

func (r *Renderer) pressureWord(p metal.Pressure) string {
	if id := "view.pressure." + string(p); p != "" && r.has(id) {
		return r.Text(id)
	}
	return clean(string(p))
}

// swap is used of total and its traffic. No swap at all is an answer too.
func (sc *scene) swap() Row {
	s := sc.s.Swap
	if s == nil {
		return sc.absent("view.swap.label", monitor.SectionSwap)
	}
	row := sc.row("view.swap.label", "")
	amount := ""
	switch {
	case s.Used == nil:
		amount = sc.Text("view.unknown")
		row.Level = Unknown
	case *s.Used == 0 && (s.Total == nil || *s.Total == 0):
		amount = sc.Text("view.swap.none")
	case s.Total == nil || *s.Total == 0:
		amount = sc.Text("view.swap.used", Args{"Size": size(*s.Used)})
	default:
		amount, row.Share = sc.part(*s.Used, *s.Total), share(*s.Used, *s.Total)
	}
	row.Text = line(amount, sc.fact("view.swap.out", rate(s.OutRate)), sc.fact("view.swap.in", rate(s.InRate)))
	for _, a := range sc.u.Alerts {
		if a.Rule == "swapping" || a.Rule == "swap_full" {
			row.Level = max(row.Level, level(a.Severity))
		}
	}
	return row
}

// thermal levels: what each of the system's words means for the person.
var thermal = map[metal.ThermalPressure]Level{
	metal.ThermalNominal:  Normal,
	metal.ThermalModerate: Warning,
	metal.ThermalHeavy:    Critical,
	metal.ThermalTrapping: Critical,
	metal.ThermalSleeping: Critical,
}

// heat is the GPU's temperature and the thermal pressure. "Nominal" is said as
// what it is: no throttling reported.
func (sc *scene) heat() Row {
	row := sc.absent("view.heat.label", monitor.SectionThermal)
	row.Text = "" // heat is shown only when something is known
	temperature, word := "", ""
	if g := sc.s.GPU; g != nil {
		temperature = sc.fact("view.heat.gpu", celsius(g.Temperature))
	}
	if t := sc.s.Thermal; t != nil && t.Pressure != "" {
		row.Level = thermal[t.Pressure]
		word = clean(string(t.Pressure))
		if id := "view.heat." + string(t.Pressure); row.Level != Unknown && sc.has(id) {
			word = sc.Text(id)
		}
		row.Detail = sc.fact("view.fact.source", clean(t.Source))
	}
	row.Text = line(temperature, word)
	if row.Text != "" && row.Level == Unknown && word == "" {
		row.Level = Normal
	}
	return row
}

// gpu is memory in use of the GPU limit.
func (sc *scene) gpu() Row {
	g := sc.s.GPU
	if g == nil {
		row := sc.absent("view.gpu.label", monitor.SectionGPU)
		row.Text = ""
		return row
	}
	row := sc.row("view.gpu.label", "")
	amount := ""
	switch limit := g.WorkingSet; {
	case g.InUse != nil && limit != nil && *limit > 0:
		amount, row.Share = sc.part(*g.InUse, *limit), share(*g.InUse, *limit)
		if *g.InUse > *limit {
			row.Level = Warning
		}
	case g.InUse != nil:
		amount = sc.Text("view.gpu.in_use", Args{"Size": size(*g.InUse)})
	case limit != nil && *limit > 0:
		amount = sc.Text("view.gpu.limit", Args{"Size": size(*limit)})
	}
	busy := ""
	if n, ok := finite(g.Utilisation); ok && n >= 0 {
		busy = sc.fact("view.gpu.busy", percent(min(n, 1)))
	}
	row.Text = line(amount, busy)
	row.Detail = sc.gpuDetail(g)
	return row
}

func (sc *scene) gpuDetail(g *metal.GPU) string {
	cores, power, clock, bandwidth := "", "", "", ""
	if g.Cores != nil && *g.Cores > 0 {
		cores = sc.Text("view.gpu.cores", Args{"Count": *g.Cores})
	}
	if n, ok := finite(g.Power); ok && n > 0 {
		power = fmt.Sprintf("%.1f W", n)
	}
	if n, ok := finite(g.Clock); ok && n > 0 {
		clock = fmt.Sprintf("%.0f MHz", n)
	}
	if m := sc.s.Machine; m != nil {
		if n, ok := finite(m.Bandwidth); ok && n > 0 {
			id := "view.gpu.bandwidth"
			if m.BandwidthCertain != nil && !*m.BandwidthCertain {
				id = "view.gpu.bandwidth_least"
			}
			bandwidth = sc.fact(id, fmt.Sprintf("%.0f GB/s", n/1e9))
		}
	}
	return lines(line(clean(g.Name), cores), sc.wiredLimit(g.WiredLimit), line(power, clock), bandwidth)
}

// wiredLimit is the GPU limit as it is set.
func (sc *scene) wiredLimit(n *uint64) string {
	switch {
	case n == nil:
		return ""
	case *n == 0:
		return sc.Text("view.gpu.limit_default")
	}
	return sc.Text("view.gpu.limit_set", Args{"Size": size(*n)})
}

package view

import (
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
	case s.Used == nil && (s.OutRate != nil || s.InRate != nil): // the traffic is told
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
	row.Detail = sc.swapToday(s)
	for _, a := range sc.u.Alerts {
		if a.Rule == "swapping" || a.Rule == "swap_full" {
			row.Level = max(row.Level, level(a.Severity))
		}
	}
	return row
}

// swapToday is what was written to swap today, and from when on that is counted.
func (sc *scene) swapToday(s *monitor.Swap) string {
	if s.OutToday == nil || s.OutSince == nil || s.OutSince.IsZero() {
		return ""
	}
	return sc.Text("view.swap.today", Args{"Size": size(*s.OutToday), "From": s.OutSince.Format("15:04")})
}

package view

import (
	"fmt"

	"plimsoll/metal"
	"plimsoll/monitor"
)

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
	row.Detail = lines(sc.gpuDetail(g), sc.age())
	return row
}

func (sc *scene) gpuDetail(g *metal.GPU) string {
	cores, bandwidth := "", ""
	if g.Cores != nil && *g.Cores > 0 {
		cores = sc.Text("view.gpu.cores", Args{"Count": *g.Cores})
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
	limit, use := "", ""
	if g.WorkingSet != nil && *g.WorkingSet > 0 {
		limit = sc.fact("view.gpu.limit_source", sc.source(g.LimitSource))
	}
	if g.InUse != nil {
		use = sc.fact("view.gpu.in_use_source", sc.source(g.Source))
	}
	return lines(line(clean(g.Name), cores), sc.wiredLimit(g.WiredLimit), limit, use, bandwidth)
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

package view

import (
	"fmt"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
)

// diagnosis says how fast a model runs and why, with the numbers that show it; its
// detail ends with what to do.
func (sc *scene) diagnosis() Row {
	d := sc.s.Diagnosis
	if d == nil || d.Cause == "" {
		return Row{Share: -1}
	}
	row := sc.row("diagnosis.label", "")
	if model := clean(d.Model); model != "" {
		row.Label = sc.Text("diagnosis.label.model", Args{"Model": model})
	}
	row.Text, row.Detail = sc.slowness(d.Cause, d.Evidence)
	if d.Cause != monitor.SlowNot {
		row.Level = Warning
	}
	if d.Cause == monitor.SlowSwapping {
		row.Level = Critical
	}
	var also []string
	for _, cause := range d.Also {
		if id := "diagnosis.word." + string(cause); sc.has(id) {
			also = append(also, sc.Text(id))
		}
	}
	if len(also) > 0 {
		row.Detail = lines(row.Detail, sc.Text("diagnosis.also", Args{"Causes": joined(", ", also)}))
	}
	row.Detail = lines(row.Detail, sc.age())
	return row
}

// diagnosisAction is the click that helps, nil when only a person can, or when an
// alert offers the same.
func (sc *scene) diagnosisAction() *Action {
	if sc.s.Diagnosis == nil || sc.s.Diagnosis.Action == nil {
		return nil
	}
	c := sc.s.Diagnosis.Action
	for _, a := range sc.u.Alerts {
		if a.Action != nil && a.Action.Kind == c.Kind && a.Action.Backend == c.Backend && a.Action.Model == c.Model {
			return nil
		}
	}
	return sc.action(c)
}

// slowness is the sentence of a cause and what to do about it.
func (r *Renderer) slowness(cause monitor.DiagnosisCause, e monitor.Evidence) (text, next string) {
	args := r.args(e, time.Time{}, time.Time{})
	args["Cause"] = clean(string(cause))
	args["Tokens"], args["Cores"], args["Drop"], args["GPUPercent"] = positive(e.Tokens), "", "", ""
	if n, ok := finite(e.Cores); ok && n > 0 && n < 1e4 {
		args["Cores"] = fmt.Sprintf("%.1f", n)
	}
	if n, ok := finite(e.Drop); ok && n > 0 && n <= 1 {
		args["Drop"] = percent(n)
	}
	if n, ok := finite(e.GPUShare); ok && n >= 0 && n <= 1 {
		args["GPUPercent"] = percent(n)
	}
	args["Before"], args["LoadRate"], args["Volume"] = optional(e.Before), rate(e.LoadRate), clean(e.Volume)
	args["HeatCause"] = e.Cause == string(monitor.CauseHeat)
	args["LowPower"] = e.Cause == string(monitor.CauseLowPower)
	args["Network"] = e.Cause == string(metal.VolumeNetwork)
	args["External"] = e.Cause == string(metal.VolumeExternal)
	args["Loading"] = e.LoadRate == nil
	id := "diagnosis." + string(cause)
	if !r.has(id) {
		return r.Text("diagnosis.other", args), ""
	}
	if r.has(id + ".next") {
		next = r.Text(id+".next", args)
	}
	return r.Text(id, args), next
}

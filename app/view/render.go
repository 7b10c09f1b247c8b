package view

import (
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
)

// scene is one Update being rendered: what all parts of a View need.
type scene struct {
	*Renderer
	u   monitor.Update
	s   *monitor.Snapshot // never nil
	now time.Time
}

// Render makes all that a screen shows of u. now is the wall clock: expiries and
// ages are counted from it.
func (r *Renderer) Render(u monitor.Update, now time.Time) View {
	sc := &scene{Renderer: r, u: u, s: u.Snapshot, now: now}
	if sc.s == nil {
		sc.s = &monitor.Snapshot{}
	}
	v := View{
		Language:        r.Language(),
		Demo:            sc.demo(),
		Icon:            sc.icon(),
		Title:           sc.title(),
		Badge:           sc.badge(),
		Line:            sc.headline(),
		Largest:         sc.largest(),
		Machine:         sc.machine(),
		Memory:          sc.memory(),
		Pressure:        sc.pressure(),
		Swap:            sc.swap(),
		Heat:            sc.heat(),
		Throttle:        sc.throttle(),
		Diagnosis:       sc.diagnosis(),
		DiagnosisAction: sc.diagnosisAction(),
		GPU:             sc.gpu(),
		Background:      sc.background(),
		Consumers:       sc.consumers(),
		Limit:           sc.gpuLimit(),
		Bar:             sc.bar(),
		Servers:         sc.servers(),
		Models:          sc.models(),
		Speed:           sc.speed(),
		Requests:        sc.requests(),
		UnloadAll:       sc.unloadAll(),
		Alerts:          sc.alerts(),
		Recent:          sc.recent(),
		Stale:           r.since("view.as_of", sc.s.Taken, now, staleAfter(sc.s.Interval)),
	}
	v.Tooltip = sc.tooltip(v)
	return v
}

// row makes a row that is not part of a whole.
func (sc *scene) row(label, text string) Row {
	return Row{Label: sc.Text(label), Text: text, Level: Normal, Share: -1}
}

// absent is the row of a fact that is not known. It says "unknown" where the
// fact should be there and could not be read, and is hidden where the system
// does not have it.
func (sc *scene) absent(label string, section monitor.Section) Row {
	row := Row{Label: sc.Text(label), Share: -1}
	problem, told := sc.s.Problems[section]
	if told {
		row.Detail = sc.problem(problem)
	}
	if told && problem.Reason != monitor.ReasonUnsupported {
		row.Text = sc.Text("view.unknown")
	}
	return row
}

// problem says why a section is absent.
func (r *Renderer) problem(p monitor.Problem) string {
	detail := clean(p.Detail)
	if id := "problem." + p.Reason; r.has(id) {
		return r.Text(id, Args{"Detail": detail})
	}
	return line(clean(p.Reason), detail)
}

// machine says chip, memory and system.
func (sc *scene) machine() Row {
	m := sc.s.Machine
	if m == nil {
		return sc.absent("view.machine.label", monitor.SectionMachine)
	}
	ram := ""
	if m.RAMBytes != nil && *m.RAMBytes > 0 {
		ram = wholeSize(*m.RAMBytes)
	}
	row := sc.row("view.machine.label", line(clean(m.Chip), ram, clean(m.OS)))
	up := ""
	if d := seconds(m.Uptime); d > 0 {
		up = sc.Text("view.machine.uptime", Args{"For": sc.duration(d)})
	}
	row.Detail = lines(clean(m.Model), sc.cores(m), up)
	return row
}

// cores is "10 cores: 4 Super, 6 Efficiency".
func (sc *scene) cores(m *metal.Machine) string {
	if m.Cores == nil || *m.Cores <= 0 {
		return ""
	}
	var levels []string
	for _, level := range m.Levels {
		if name := clean(level.Name); name != "" && level.Cores > 0 {
			levels = append(levels, sc.Text("view.machine.level", Args{"N": level.Cores, "Name": name}))
		}
	}
	return sc.Text("view.machine.cores", Args{"Count": *m.Cores, "Levels": joined(", ", levels)})
}

// consumers are the biggest other memory users.
func (sc *scene) consumers() []Row {
	var rows []Row
	for _, c := range sc.s.Consumers[:min(len(sc.s.Consumers), 3)] {
		row := Row{Label: clean(c.Name), Text: size(c.Footprint), Level: Normal, Share: -1}
		if total, ok := sc.total(); ok {
			row.Share = share(c.Footprint, total)
		}
		if c.Processes > 0 {
			row.Detail = sc.Text("view.processes", Args{"Count": c.Processes})
		}
		rows = append(rows, row)
	}
	return rows
}

// recentRows is how many events a screen lists.
const recentRows = 8

// recent are this update's events, newest first.
func (sc *scene) recent() []Row {
	var rows []Row
	for i := len(sc.u.Events) - 1; i >= 0 && len(rows) < recentRows; i-- {
		e := sc.u.Events[i]
		row := Row{Text: sc.Event(e), Level: Normal, Share: -1}
		if !e.Time.IsZero() {
			row.Label = e.Time.Format("15:04:05")
		}
		if e.Alert != nil && e.Kind != monitor.EventAlertCleared {
			row.Level = level(e.Alert.Severity)
		}
		rows = append(rows, row)
	}
	return rows
}

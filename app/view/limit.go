package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// Limit is the GPU's wired limit: how it stands, and what a click may do about it.
type Limit struct {
	// Bytes is the limit as it is set; 0 is the system's default.
	Bytes uint64
	// Row is the limit in force, "21.3 GiB, system default", with what is left of a
	// trial.
	Row Row
	// Trial is "on trial, 1:43 left" while a raised limit waits to be confirmed.
	Trial string
	// Keep confirms the limit that is on trial. nil when none is.
	Keep *Action
	// Back goes back to the system's default. nil while that is in force.
	Back *Action
	// Choices are the system's default and the steps above it, in rising order.
	Choices []LimitChoice
	// Nothing says why no choice is recommended, "" when one is.
	Nothing string
	// Helper says how the privileged helper stands, "" until that is known.
	Helper string
	// Restarts are the servers that do not see the limit yet.
	Restarts []Restart
}

// LimitChoice is one limit to choose. Its Action sets it, and is not enabled where
// measured use forbids it or where it is in force.
type LimitChoice struct {
	// Bytes is the limit; 0 is the system's default.
	Bytes uint64
	// Label is "25.0 GiB, recommended".
	Label string
	// Detail says what it leaves for others, and why it cannot be chosen now; Short is
	// the second alone.
	Detail, Short string
	Recommended   bool
	// Chosen is the limit that is set.
	Chosen bool
	// Forbidden: other programs use what it would take.
	Forbidden bool
	Action    Action
}

// Restart is a server that must be started again to see the limit.
type Restart struct {
	// Why says that it does not see the limit, Interrupts what a restart costs.
	Why, Interrupts string
	// Command is what does it by hand, "" where that is not known.
	Command string
	// Action is not enabled while a request is in flight.
	Action Action
}

// gpuLimit is nil where the system has no adjustable limit.
func (sc *scene) gpuLimit() *Limit {
	l := sc.s.Limit
	if l == nil {
		return nil
	}
	v := &Limit{Bytes: l.Set, Trial: sc.trial(l), Helper: sc.helperState(l.Helper), Restarts: sc.restarts(l)}
	v.Row = sc.limitRow(l, v.Trial)
	v.Row.Detail = lines(v.Row.Detail, v.Helper)
	if l.Lease != nil {
		v.Keep = &Action{Label: sc.Text("wired.action.keep"), Command: monitor.Command{Kind: monitor.CommandConfirmLimit}, Enabled: true}
	}
	if l.Set > 0 {
		v.Back = &Action{Label: sc.Text("wired.action.back"), Command: monitor.Command{Kind: monitor.CommandResetLimit}, Enabled: true}
	}
	v.Choices, v.Nothing = sc.limitChoices(l)
	return v
}

// limitRow is the limit in force. Metal's word goes before the setting; where it
// does not answer, what is set counts, else an estimate with its mark.
func (sc *scene) limitRow(l *monitor.Limit, trial string) Row {
	text, level := "", Normal
	switch {
	case l.Set == 0:
		text = sc.Text("wired.default", Args{"Size": sc.byDefault(l)})
	case l.Effective != nil && size(*l.Effective) != size(l.Set):
		text, level = sc.Text("wired.not_shown", Args{"Size": size(l.Set), "Effective": size(*l.Effective)}), Warning
	default:
		text = sc.Text("wired.set", Args{"Size": size(l.Set)})
	}
	row := sc.row("wired.label", line(text, trial))
	row.Level = level
	row.Detail = sc.limitFacts(l)
	return row
}

// byDefault is the limit while nothing is set, "" when nobody knows.
func (sc *scene) byDefault(l *monitor.Limit) string {
	switch {
	case l.Set == 0 && l.Effective != nil:
		return size(*l.Effective)
	case l.Default == nil:
		return ""
	case l.DefaultEstimated:
		return "~" + size(*l.Default)
	}
	return size(*l.Default)
}

// limitFacts are exact: these are numbers that people compare with others'.
func (sc *scene) limitFacts(l *monitor.Limit) string {
	metal, set, previous, byDefault := "", "", "", ""
	if l.Effective != nil {
		percentage := ""
		if total, ok := sc.total(); ok {
			percentage = percent(share(*l.Effective, total))
		}
		metal = exact(*l.Effective)
		if percentage != "" {
			metal = sc.Text("wired.fact.share", Args{"Size": metal, "Percent": percentage})
		}
	}
	if l.Set > 0 {
		set, byDefault = fmt.Sprint(l.Set>>20), sc.byDefault(l)
	}
	if l.Lease != nil {
		previous = size(l.Lease.Previous)
		if l.Lease.Previous == 0 {
			previous = sc.Text("wired.default", Args{"Size": sc.byDefault(l)})
		}
	}
	return lines(
		sc.fact("wired.fact.metal", metal), sc.fact("wired.fact.set", set), sc.fact("wired.fact.default", byDefault),
		sc.fact("wired.fact.previous", previous), sc.fact("wired.fact.remembered", optional(l.Remembered)))
}

// trial counts a trial down, "" while there is none.
func (sc *scene) trial(l *monitor.Limit) string {
	if l.Lease == nil {
		return ""
	}
	left := min(max(l.Lease.Until.Sub(sc.now), 0), wired.LeaseMost).Round(time.Second)
	return sc.Text("wired.trial", Args{"Left": fmt.Sprintf("%d:%02d", left/time.Minute, left%time.Minute/time.Second)})
}

func (sc *scene) helperState(h monitor.HelperState) string {
	if id := "wired.helper." + string(h); h != "" && sc.has(id) {
		return sc.Text(id)
	}
	return ""
}

// restarts are the servers that do not see the limit, with what their restart
// interrupts.
func (sc *scene) restarts(l *monitor.Limit) []Restart {
	var list []Restart
	for _, name := range l.Stale {
		server := sc.serverTitle(name)
		r := Restart{
			Why: sc.Text("wired.restart.why", Args{"Server": server}), Command: clean(l.Commands[name]),
			Action: Action{Label: sc.Text("wired.action.restart", Args{"Server": server}), Enabled: true,
				Command: monitor.Command{Kind: monitor.CommandRestartServer, Backend: name}},
		}
		var models []string
		busy := ""
		for i := range sc.s.Residents {
			m := &sc.s.Residents[i]
			if m.Backend != name || m.Cloud {
				continue
			}
			models = append(models, clean(m.Model))
			if m.Activity == monitor.ActivityBusy || m.Activity == monitor.ActivityStopping {
				busy = clean(m.Model)
			}
		}
		for _, q := range sc.s.Requests {
			if q.Backend == name && q.Phase != "done" {
				busy = firstText(clean(q.Model), server)
			}
		}
		switch {
		case busy != "":
			r.Interrupts, r.Action.Enabled = sc.Text("wired.restart.busy", Args{"Model": busy}), false
		case len(models) > 0:
			r.Interrupts = sc.Text("wired.restart.drops", Args{"Count": len(models), "Models": strings.Join(models, ", ")})
		default:
			r.Interrupts = sc.Text("wired.restart.nothing")
		}
		list = append(list, r)
	}
	return list
}

// serverTitle is how a person knows the server of a backend.
func (sc *scene) serverTitle(name string) string {
	for _, b := range sc.s.Backends {
		if b.Name == name {
			return statusName(b)
		}
	}
	return serverName(name)
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// exact is an amount of memory in GiB to two digits, a half rounded up.
func exact(n uint64) string { return fmt.Sprintf("%.2f GiB", math.Round(float64(n)/gibibyte*100)/100) }

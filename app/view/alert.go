package view

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
)

// level is how a severity is shown.
func level(s monitor.Severity) Level {
	switch s {
	case monitor.SeverityCritical:
		return Critical
	case monitor.SeverityWarning:
		return Warning
	}
	return Normal
}

// alerts are the standing alerts in the order of the update.
func (sc *scene) alerts() []Alert {
	var list []Alert
	for i := range sc.u.Alerts {
		list = append(list, sc.alert(&sc.u.Alerts[i], sc.now))
	}
	return list
}

func (r *Renderer) alert(a *monitor.Alert, now time.Time) Alert {
	title, text := r.alertWords(a, now)
	return Alert{ID: a.ID, Title: title, Text: text, Severity: a.Severity, Level: level(a.Severity), Action: r.action(a.Action)}
}

// alertWords are the title and text of a rule. A rule that has no words here, of
// a newer agent, shows by its name and its numbers.
func (r *Renderer) alertWords(a *monitor.Alert, now time.Time) (title, text string) {
	args := r.args(a.Evidence, a.Since, now)
	args["Rule"] = clean(strings.ReplaceAll(a.Rule, "_", " "))
	args["Critical"] = a.Severity == monitor.SeverityCritical
	rule := a.Rule
	if !r.has("alert." + rule + ".title") {
		rule = "other"
	}
	return r.Text("alert."+rule+".title", args), r.Text("alert."+rule+".text", args)
}

// args are the places of a message about evidence. Every name is there; what is
// absent is "", so that a message can leave its part of the sentence out.
func (r *Renderer) args(e monitor.Evidence, since, now time.Time) Args {
	server := serverName(e.Backend)
	state, next := r.trouble(server, e.Address, e.State, e.Cause, e.Detail)
	if e.State == "" {
		state = ""
	}
	args := Args{
		"Server": server, "Address": clean(e.Address), "State": state, "Next": next,
		"Model": clean(e.Model), "Process": clean(e.Process), "PID": positive(e.PID), "Detail": clean(e.Detail),
		"Consumer": clean(e.Consumer), "IsModel": e.ConsumerIsModel, "ConsumerSize": optional(e.ConsumerBytes),
		"SwapUsed": optional(e.SwapUsed), "SwapTotal": optional(e.SwapTotal), "Percent": "",
		"OutRate": rate(e.SwapOutRate), "InRate": rate(e.SwapInRate), "Growth": optional(e.SwapGrowth),
		"Pressure": r.pressureWord(metal.Pressure(e.Pressure)), "Size": optional(e.Bytes), "Freed": optional(e.Freed),
		"For": r.lasting(e, since, now), "Number": positive(e.Count), "Cause": clean(e.Cause),
		"Limit": optional(e.Limit), "GrowsBy": perHour(e.GrowthRate), "From": "",
	}
	if e.Since != nil && !e.Since.IsZero() {
		args["From"] = e.Since.Format("15:04")
	}
	r.heatArgs(args, e)
	if e.SwapUsed != nil && e.SwapTotal != nil && *e.SwapTotal > 0 {
		args["Percent"] = fmt.Sprintf("%.1f %%", 100*share(*e.SwapUsed, *e.SwapTotal))
	}
	return args
}

// lasting is how long something has lasted: as the evidence says, or since it
// began. "" when that is not known or has only just begun.
func (r *Renderer) lasting(e monitor.Evidence, since, now time.Time) string {
	d := seconds(e.Seconds)
	if e.Seconds == nil && !since.IsZero() && !now.IsZero() {
		d = now.Sub(since)
	}
	if d < time.Second && d > -time.Second {
		return ""
	}
	return r.duration(d)
}

// action is the button of a command, nil when there is none or it is of a kind
// that has no words here.
func (r *Renderer) action(c *monitor.Command) *Action {
	if c == nil {
		return nil
	}
	id := "alert.action." + string(c.Kind)
	if !r.has(id) {
		return nil
	}
	return &Action{Label: r.Text(id, Args{
		"Model": clean(c.Model), "PID": positive(c.PID), "Size": optional(c.Bytes), "Server": serverName(c.Backend)}), Command: *c, Enabled: true}
}

package view

import (
	"slices"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend/serverlog"
)

// Notices are what an update's events announce: alerts when they begin or
// become worse, and how an unload that a person asked for ended. An alert that
// is over takes its notice back. An alert of severity info stands in the menu
// and is not announced. At most one notice is made for an ID, the last.
func (r *Renderer) Notices(u monitor.Update) []Notice {
	var list []Notice
	for _, e := range u.Events {
		n, ok := r.notice(e, u)
		if !ok {
			continue
		}
		list = slices.DeleteFunc(list, func(earlier Notice) bool { return earlier.ID == n.ID })
		list = append(list, n)
	}
	if u.Snapshot != nil && u.Snapshot.Simulated {
		for i := range list {
			if !list[i].Withdraw {
				list[i].Title = line(r.Text("view.demo"), list[i].Title)
			}
		}
	}
	return list
}

func (r *Renderer) notice(e monitor.Event, u monitor.Update) (Notice, bool) {
	switch e.Kind {
	case monitor.EventAlertRaised, monitor.EventAlertChanged:
		if e.Alert == nil || e.Alert.Severity == monitor.SeverityInfo {
			return Notice{}, false
		}
		a := r.alert(e.Alert, e.Time)
		return Notice{ID: a.ID, Title: a.Title, Text: a.Text, Severity: a.Severity, Action: a.Action}, true
	case monitor.EventAlertCleared:
		if e.Alert == nil {
			return Notice{}, false
		}
		return Notice{ID: e.Alert.ID, Severity: e.Alert.Severity, Withdraw: true}, true
	case monitor.EventLimit:
		return r.limitNotice(e, u), true
	case monitor.EventUnloaded:
		return r.unloadNotice(e, "event.unloaded", monitor.SeverityInfo), true
	case monitor.EventUnloadHeld:
		if standing(u, "memory_held", e.Evidence.Model) {
			return Notice{}, false // the alert says it, and is taken back when it is over
		}
		n := r.unloadNotice(e, "event.unload_held", monitor.SeverityWarning)
		if pid := e.Evidence.PID; pid != nil {
			n.Action = r.action(&monitor.Command{Kind: monitor.CommandEndRunner,
				Backend: e.Evidence.Backend, Model: e.Evidence.Model, PID: pid})
		}
		return n, true
	case monitor.EventPostMortem:
		args := r.args(e.Evidence, time.Time{}, time.Time{})
		return Notice{ID: "post_mortem", Title: r.Text("event.post_mortem", r.postMortem(args, e)), Text: r.Text("event.post_mortem.text", args), Severity: monitor.SeverityWarning}, true
	case monitor.EventOutOfMemory:
		args := logged(r.args(e.Evidence, time.Time{}, time.Time{}), e)
		return Notice{ID: "out_of_memory:" + e.Evidence.Backend, Title: r.Text("event.out_of_memory", args), Text: r.Text("event.out_of_memory.text", args), Severity: monitor.SeverityWarning}, true
	case monitor.EventUnloadFailed:
		return r.unloadNotice(e, "event.unload_failed", monitor.SeverityWarning), true
	}
	return Notice{}, false
}

func (r *Renderer) unloadNotice(e monitor.Event, id string, s monitor.Severity) Notice {
	args := r.args(e.Evidence, time.Time{}, time.Time{})
	return Notice{ID: "unload:" + e.Evidence.Model, Title: r.Text(id+".title", args), Text: r.Text(id+".text", args), Severity: s}
}

// standing reports an alert of a rule about a model, raised or still there.
func standing(u monitor.Update, rule, model string) bool {
	return slices.ContainsFunc(u.Alerts, func(a monitor.Alert) bool {
		return a.Rule == rule && a.Evidence.Model == model
	})
}

// postMortem adds the places of a message about a panic.
func (r *Renderer) postMortem(args Args, e monitor.Event) Args {
	args["When"] = ""
	if e.Evidence.Since != nil {
		args["When"] = e.Evidence.Since.Local().Format("2006-01-02 15:04")
	}
	args["GPUMemory"] = e.Evidence.Cause == string(metal.PanicGPUMemory)
	args["Watchdog"] = e.Evidence.Cause == string(metal.PanicWatchdog)
	return args
}

// logged adds the places of a message about what a server's log told.
func logged(args Args, e monitor.Event) Args {
	args["System"] = e.Evidence.Cause == serverlog.CauseSystem
	args["Tokens"], args["Kept"] = "", ""
	if n := e.Evidence.Tokens; n != nil && *n > 0 {
		args["Tokens"] = grouped(*n)
	}
	if n := e.Evidence.KeptTokens; n != nil && *n > 0 {
		args["Kept"] = grouped(*n)
	}
	return args
}

// Event is one line that says what happened.
func (r *Renderer) Event(e monitor.Event) string {
	args := r.args(e.Evidence, time.Time{}, time.Time{})
	args["Kind"] = clean(string(e.Kind))
	args["Busy"] = e.Evidence.State == string(monitor.ActivityBusy)
	args["Title"], args["Planned"] = "", ""
	if e.Kind == monitor.EventModelLoaded {
		args["Planned"] = optional(e.Evidence.Planned)
	}
	if e.Alert != nil {
		args["Title"], _ = r.alertWords(e.Alert, e.Time)
	}
	switch e.Kind {
	case monitor.EventProblem, monitor.EventProblemGone:
		args["Section"] = clean(e.Evidence.State)
		if id := "problem.section." + e.Evidence.State; r.has(id) {
			args["Section"] = r.Text(id)
		}
		args["Reason"] = r.problem(monitor.Problem{Reason: e.Evidence.Cause, Detail: e.Evidence.Detail})
	case monitor.EventPostMortem:
		r.postMortem(args, e)
	case monitor.EventDiagnosis:
		args["Sentence"], _ = r.slowness(monitor.DiagnosisCause(e.Evidence.State), e.Evidence)
	case monitor.EventOutOfMemory, monitor.EventTruncated:
		logged(args, e)
	case monitor.EventGap:
		if e.Evidence.Count != nil {
			args["Count"] = *e.Evidence.Count
		}
	}
	if id := "event." + string(e.Kind); r.has(id) {
		return r.Text(id, args)
	}
	return r.Text("event.other", args)
}

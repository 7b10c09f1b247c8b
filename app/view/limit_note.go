package view

import (
	"strings"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// limitNotes are the consequences of a step, the gravest first, and whether it is
// possible at all.
func (sc *scene) limitNotes(m wired.Machine, step wired.Step) (notes []LimitNote, possible bool) {
	if note := sc.outOfBounds(m, step.Limit); note != "" {
		return []LimitNote{{note, Critical}}, false
	}
	if step.Short > 0 && step.Gain() > 0 { // less than now is always possible
		return []LimitNote{{sc.Text("wired.note.short", Args{
			"Use": optional(m.NonModel), "Keeps": size(step.Keeps), "Short": size(step.Short)}), Critical}}, false
	}
	if step.Limit.Bytes() == sc.s.Limit.Set {
		id := "wired.note.same"
		if sc.s.Limit.Lease != nil {
			id = "wired.note.on_trial"
		}
		return []LimitNote{{sc.Text(id), Normal}}, true
	}
	say := func(level Level, text string) {
		if text != "" {
			notes = append(notes, LimitNote{text, level})
		}
	}
	say(Warning, sc.contextNote(step))
	say(Warning, sc.overNote(step))
	say(sc.trialNote(step))
	say(Warning, sc.pressureNote(step))
	say(Normal, sc.restartNote())
	return notes, true
}

// outOfBounds says which limits this machine can have, "" for one of them.
func (sc *scene) outOfBounds(m wired.Machine, limit wired.MiB) string {
	if m.RAM == 0 {
		return ""
	}
	b := wired.BoundsOf(m.RAM)
	switch {
	case b.Check(limit) == nil:
		return ""
	case b.Most < b.Floor:
		return sc.Text("wired.note.no_bounds")
	}
	return sc.Text("wired.note.bounds", Args{
		"Floor": size(b.Floor.Bytes()), "Most": size(b.Most.Bytes()), "FloorMiB": uint64(b.Floor), "MostMiB": uint64(b.Most)})
}

// contextNote says what Ollama makes of the limit: over a step of its own it takes
// a longer context by default, whose cache may eat more than is gained
// (github.com/ollama/ollama/issues/14073 and 14116).
func (sc *scene) contextNote(step wired.Step) string {
	switch {
	case !sc.ollama() || step.ContextAfter == step.ContextBefore:
		return ""
	case step.ContextAfter < step.ContextBefore:
		return sc.Text("wired.note.context_less", Args{"Before": grouped(step.ContextBefore), "After": grouped(step.ContextAfter)})
	}
	growth, gain := step.CacheGrowth(perToken), step.Gain()
	return sc.Text("wired.note.context_more", Args{
		"Before": grouped(step.ContextBefore), "After": grouped(step.ContextAfter), "PerToken": size(perToken),
		"CacheBefore": cache(step.ContextBefore), "CacheAfter": cache(step.ContextAfter),
		"Growth": size(uint64(growth)), "Gain": size(uint64(max(gain, 0))), "Eats": growth > gain})
}

// cache is that of the example model, with one digit more below 1 GiB.
func cache(tokens int) string {
	n := uint64(tokens) * perToken
	if n < gibibyte {
		return exact(n)
	}
	return size(n)
}

// overNote says that the GPU uses more than it could keep.
func (sc *scene) overNote(step wired.Step) string {
	g := sc.s.GPU
	if g == nil || g.InUse == nil || step.After == 0 || *g.InUse <= step.After {
		return ""
	}
	return sc.Text("wired.note.in_use", Args{"Use": size(*g.InUse), "Over": size(*g.InUse - step.After)})
}

// raises reports that a step is put on trial: it is above what is set, or was
// before the trial that is open, where a limit is set at all.
func (sc *scene) raises(step wired.Step) bool {
	base, to := sc.s.Limit.Set, step.Limit.Bytes()
	if lease := sc.s.Limit.Lease; lease != nil {
		return to > lease.Previous
	}
	return to > 0 && to >= base
}

// pressureNote says why a trial will not end well by itself.
func (sc *scene) pressureNote(step wired.Step) string {
	if sc.pressureLevel() < Warning || !sc.raises(step) || sc.s.Limit.Helper == monitor.HelperMissing {
		return ""
	}
	return sc.Text("wired.note.pressure", Args{"Pressure": sc.pressureWord(sc.s.Memory.Pressure)})
}

// trialNote says how the change is made and taken back.
func (sc *scene) trialNote(step wired.Step) (Level, string) {
	switch h := sc.s.Limit.Helper; {
	case h == monitor.HelperMissing:
		return Warning, sc.Text("wired.note.missing")
	case h == monitor.HelperSilent:
		return Warning, sc.Text("wired.note.silent")
	case h == monitor.HelperOutdated:
		return Normal, sc.Text("wired.note.outdated")
	case step.Limit == 0:
		return Normal, sc.Text("wired.note.forget")
	case !sc.raises(step):
		return Normal, sc.Text("wired.note.lower")
	}
	return Normal, sc.Text("wired.note.trial", Args{"For": sc.duration(wired.LeaseDefault)})
}

// restartNote names the servers that run here.
func (sc *scene) restartNote() string {
	names := sc.runningServers()
	if len(names) == 0 {
		return ""
	}
	return sc.Text("wired.note.restart", Args{"Count": len(names), "Servers": strings.Join(names, ", ")})
}

func (sc *scene) runningServers() []string {
	var names []string
	for _, b := range sc.s.Backends {
		if b.State == backend.Running && monitor.ServesHere(sc.s, b.Name) {
			names = append(names, statusName(b))
		}
	}
	return names
}

// changeAction is the button of a change.
func (sc *scene) changeAction(step wired.Step, possible bool) Action {
	l := sc.s.Limit
	a := Action{Enabled: possible && step.Limit.Bytes() != l.Set}
	if step.Limit == 0 {
		a.Label = sc.Text("wired.change.button.back")
		a.Command = monitor.Command{Kind: monitor.CommandResetLimit}
		a.Enabled = possible && (l.Set != 0 || l.Remembered != nil)
		return a
	}
	a.Command = monitor.Command{Kind: monitor.CommandSetLimit, Bytes: new(step.Limit.Bytes())}
	a.Label = sc.Text("wired.change.button.set")
	if sc.raises(step) && l.Helper != monitor.HelperMissing {
		a.Label = sc.Text("wired.change.button.trial", Args{"For": sc.duration(wired.LeaseDefault)})
	}
	return a
}

// signed is a difference of memory, "+4.1 GiB"; "" for none.
func signed(n int64) string {
	switch {
	case n > 0:
		return "+" + size(uint64(n))
	case n < 0:
		return "−" + size(uint64(-n))
	}
	return ""
}

// limitNotice tells of a change of the limit that a person waits for; a later one
// takes the place of an earlier.
func (r *Renderer) limitNotice(e monitor.Event, u monitor.Update) Notice {
	args := r.args(e.Evidence, time.Time{}, time.Time{})
	state := e.Evidence.State
	n := Notice{ID: "limit", Severity: monitor.SeverityInfo}
	id := "wired.notice." + state
	if !r.has(id) {
		n.Withdraw = true
		return n
	}
	args["Servers"], args["Tokens"] = "", ""
	args["Brief"] = e.Evidence.Seconds != nil && *e.Evidence.Seconds <= monitor.LimitCalm.Seconds()
	if s := u.Snapshot; s != nil && s.Limit != nil {
		sc := &scene{Renderer: r, u: u, s: s}
		args["Servers"] = strings.Join(sc.runningServers(), ", ")
		tokens := wired.DefaultContext(s.Limit.Set)
		if d := s.Limit.Default; d != nil && sc.ollama() && tokens > wired.DefaultContext(*d) {
			args["Tokens"] = grouped(tokens)
		}
	}
	n.Title, n.Text = r.Text(id, args), r.Text(id+".text", args)
	switch state {
	case monitor.LimitTrial:
		n.Action = r.action(&monitor.Command{Kind: monitor.CommandConfirmLimit})
	case monitor.LimitEnded:
		n.Severity = monitor.SeverityWarning
	}
	return n
}

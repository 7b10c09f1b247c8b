package main

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/app/term"
	"plimsoll/app/view"
	"plimsoll/monitor"
)

// account is what a replay tells a person: the state where it changes, and what
// happened.
type account struct {
	updates     int
	first, last time.Time
	state       string
	counts      map[monitor.EventKind]int
	standing    []monitor.Alert
}

// tell prints an update's news. The numbers of a quiet minute are no news: the
// state is told again when the headline's level, a server or a model changed.
func (r *replay) tell(u monitor.Update) error {
	r.note(u)
	at := r.last
	if u.Snapshot != nil {
		v := r.program.words.Render(u, u.Snapshot.Taken)
		if state := shape(v); state != r.state {
			r.state = state
			if text := headline(v); text != "" {
				r.line(at, "·", text)
			}
		}
		for _, e := range u.Events {
			r.event(at, e, v)
		}
		return nil
	}
	for _, e := range u.Events {
		r.event(at, e, view.View{})
	}
	return nil
}

func (r *replay) note(u monitor.Update) {
	r.updates++
	if r.counts == nil {
		r.counts = map[monitor.EventKind]int{}
	}
	for _, e := range u.Events {
		r.counts[e.Kind]++
	}
	if u.Snapshot == nil {
		return
	}
	if r.first.IsZero() {
		r.first = u.Snapshot.Taken
	}
	r.last = u.Snapshot.Taken
	r.standing = u.Alerts
}

// shape is what must change for the state to be told again.
func shape(v view.View) string {
	var b strings.Builder
	fmt.Fprint(&b, v.Line.Level, v.Memory.Level, v.Pressure.Level, v.Swap.Level, v.Pressure.Text)
	for _, s := range v.Servers {
		fmt.Fprint(&b, s.Name, s.Level)
	}
	for _, m := range v.Models {
		fmt.Fprint(&b, m.Key, m.Level)
	}
	return b.String()
}

// headline is what is known of the state on one line: headroom, memory, pressure,
// swap and the models.
func headline(v view.View) string {
	var parts []string
	for _, row := range []view.Row{v.Line, v.Memory, v.Pressure, v.Swap} {
		if row.Text != "" && row.Level != view.Unknown {
			parts = append(parts, strings.Replace(term.OneLine(row), "  ", " ", 1))
		}
	}
	for _, m := range v.Models {
		parts = append(parts, m.Name)
	}
	return strings.Join(parts, " · ")
}

// event prints one event; an alert with the words it stands with.
func (r *replay) event(at time.Time, e monitor.Event, v view.View) {
	if e.Time.After(at) || at.IsZero() {
		at = e.Time
	}
	sign := "–"
	switch e.Kind {
	case monitor.EventAlertRaised, monitor.EventAlertChanged:
		sign = "▲"
		if e.Alert != nil && e.Alert.Severity == monitor.SeverityCritical {
			sign = "◆"
		}
	case monitor.EventAlertCleared:
		sign = "✓"
	}
	r.line(at, sign, r.program.words.Event(e))
	if e.Kind != monitor.EventAlertRaised && e.Kind != monitor.EventAlertChanged || e.Alert == nil {
		return
	}
	for _, a := range v.Alerts {
		if a.ID == e.Alert.ID {
			r.line(time.Time{}, " ", a.Text)
		}
	}
}

// line prints a time in the recording's own zone, a sign and a text. Without a
// time the text belongs to the line above.
func (r *replay) line(at time.Time, sign, text string) {
	stamp := strings.Repeat(" ", len("15:04:05"))
	if !at.IsZero() {
		stamp = at.Format("15:04:05")
	}
	fmt.Fprintf(r.out, "%s %s %s\n", stamp, sign, term.Clean(strings.ReplaceAll(text, "\n", " ")))
}

// summary says what it all came to.
func (r *replay) summary() {
	words := r.program.words
	fmt.Fprintln(r.out, words.Text("cli.replay.summary", view.Args{
		"Count": r.updates, "Time": words.Duration(r.last.Sub(r.first)),
		"Raised": r.counts[monitor.EventAlertRaised], "Cleared": r.counts[monitor.EventAlertCleared], "Standing": len(r.standing),
	}))
}

package view

import (
	"fmt"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// LimitChange is what a person reads before the GPU's limit is changed.
type LimitChange struct {
	// Title names the change.
	Title string
	// Rows say what is now and what will be.
	Rows []BeforeAfter
	// Notes are what follows from it, the gravest first.
	Notes []LimitNote
	// FitsTitle and Fits say what will fit then. Empty without a planner.
	FitsTitle string
	Fits      []Row
	// Hand is the command that does the same by hand, Pin the one that keeps
	// Ollama's default context as it is, each with the sentence before it. Empty
	// where there is none.
	Hand, Pin ByHand
	// Action carries it out. It is not enabled where that is forbidden or changes
	// nothing.
	Action Action
}

// BeforeAfter is one fact now and after a change.
type BeforeAfter struct {
	Label, Before, After string
	// Gain is the difference in words, "+4.1 GiB"; "" for none.
	Gain  string
	Level Level
}

// LimitNote is one consequence.
type LimitNote struct {
	Text  string
	Level Level
}

// ByHand is a command for a terminal.
type ByHand struct{ Intro, Command string }

// LimitFits tells what models will fit under a limit, in bytes. A planner
// brings one; nil shows nothing.
type LimitFits func(limit uint64) []Row

// perToken is the cache of each token that the example of a 14B model takes, in
// bytes: 40 layers × 8 heads × 128 × 2 (key and value) × 2 bytes.
const perToken = 40 * 8 * 128 * 2 * 2

// LimitChange says what setting a limit, in bytes, would mean on the machine of a
// snapshot; 0 is the system's default. nil where the system has no adjustable limit.
func (r *Renderer) LimitChange(s *monitor.Snapshot, to uint64, fits LimitFits) *LimitChange {
	if s == nil || s.Limit == nil {
		return nil
	}
	sc := &scene{Renderer: r, s: s}
	machine := limitMachine(s)
	step := machine.At(wired.MiB(to >> 20))
	to = step.Limit.Bytes()
	c := &LimitChange{Title: sc.Text("wired.change.back"), Rows: sc.beforeAfter(machine, step)}
	if to > 0 {
		c.Title = sc.Text("wired.change.set", Args{"Size": size(to)})
	}
	var possible bool
	c.Notes, possible = sc.limitNotes(machine, step)
	c.Action = sc.changeAction(step, possible)
	if fits != nil && step.After > 0 {
		if c.Fits = fits(step.After); len(c.Fits) > 0 {
			c.FitsTitle = sc.Text("wired.change.fits")
		}
	}
	if command := byHand(s.Limit.Key, step.Limit); command != "" && possible {
		c.Hand = ByHand{sc.Text("wired.change.hand"), command}
	}
	if step.ContextAfter > step.ContextBefore && sc.ollama() && possible {
		c.Pin = ByHand{sc.Text("wired.change.pin", Args{"N": grouped(step.ContextBefore)}),
			fmt.Sprintf("launchctl setenv OLLAMA_CONTEXT_LENGTH %d", step.ContextBefore)}
	}
	return c
}

// byHand is the command for a limit under a key of the system, "" for one that is
// not known.
func byHand(key string, limit wired.MiB) string {
	for _, k := range wired.Keys {
		if k.Name == key {
			return k.Command(limit)
		}
	}
	return ""
}

// ollama reports that there is an Ollama here.
func (sc *scene) ollama() bool {
	for _, b := range sc.s.Backends {
		if b.Kind == "ollama" && monitor.ServesHere(sc.s, b.Name) {
			return true
		}
	}
	return false
}

func (sc *scene) beforeAfter(m wired.Machine, step wired.Step) []BeforeAfter {
	known := func(n uint64) string {
		if n == 0 {
			return sc.Text("wired.change.unknown")
		}
		return size(n)
	}
	limit := BeforeAfter{Label: sc.Text("wired.change.limit"), Before: known(step.Before), After: known(step.After), Level: Normal}
	keeps := BeforeAfter{Label: sc.Text("wired.change.keeps"), Before: known(0), After: known(0), Level: Normal}
	if step.Before > 0 && step.After > 0 {
		limit.Gain = signed(step.Gain())
	}
	if m.RAM > step.Before && step.Before > 0 {
		keeps.Before = size(m.RAM - step.Before)
	}
	if step.Keeps > 0 && step.After > 0 {
		keeps.After = size(step.Keeps)
	}
	if step.Short > 0 {
		keeps.Level = Critical
	}
	rows := []BeforeAfter{limit, keeps}
	if step.ContextAfter > 0 && sc.ollama() {
		context := BeforeAfter{Label: sc.Text("wired.change.context"), Level: Normal,
			Before: sc.Text("wired.change.tokens", Args{"N": grouped(step.ContextBefore)}),
			After:  sc.Text("wired.change.tokens", Args{"N": grouped(step.ContextAfter)})}
		if step.ContextAfter != step.ContextBefore {
			context.Level = Warning
		}
		rows = append(rows, context)
	}
	return rows
}

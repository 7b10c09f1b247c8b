package main

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor/bench"
)

// benchProgress prints how far a benchmark is: a line that is written over on a
// terminal, elsewhere a line for each thing that begins.
type benchProgress struct {
	program *program
	screen  bool

	drawn bool
	last  string
	at    time.Duration
}

const (
	// barCells is the length of the bar in characters.
	barCells = 20
	// redrawLeast is the least time between two drawings.
	redrawLeast = 100 * time.Millisecond
)

func (b *benchProgress) show(p bench.Progress) {
	if len(p.Void) > 0 && p.Tokens == 0 {
		b.clear()
		b.program.say(b.program.errs, "bench.voided", view.Args{"Reasons": b.program.reasons(p.Void)})
	}
	what := b.what(p)
	if !b.screen {
		if what != b.last {
			fmt.Fprintln(b.program.errs, what)
		}
		b.last = what
		return
	}
	now := b.program.clock.Awake()
	if what == b.last && now-b.at < redrawLeast {
		return
	}
	b.last, b.at = what, now
	filled := int(p.Done * barCells)
	line := fmt.Sprintf("[%s%s] %3.0f %%  %s", strings.Repeat("█", filled), strings.Repeat("░", barCells-filled), 100*p.Done, what)
	if tokens := b.tokens(p); tokens != "" {
		line += ", " + tokens
	}
	fmt.Fprint(b.program.errs, "\r\x1b[K"+line)
	b.drawn = true
}

// what is the present step in words.
func (b *benchProgress) what(p bench.Progress) string {
	words := b.program.words
	switch p.Step {
	case bench.StepRun:
		args := view.Args{"Kind": b.program.kind(p.Kind, p.Depth), "Run": p.Run, "Runs": p.Runs}
		if p.Dropped {
			return words.Text("bench.step.first", args)
		}
		return words.Text("bench.step.run", args)
	case bench.StepSustained:
		return words.Text("bench.step.sustained", view.Args{"Minute": p.Minute})
	case bench.StepLoad:
		return words.Text("bench.step.load")
	case bench.StepCached:
		return words.Text("bench.step.cached")
	}
	return words.Text("bench.step.prepare")
}

func (b *benchProgress) tokens(p bench.Progress) string {
	switch {
	case p.Step == bench.StepRun && p.Tokens > 0:
		return b.program.words.Text("bench.step.tokens", view.Args{"Tokens": p.Tokens, "Output": p.Output})
	case p.Step == bench.StepSustained && p.Rate > 0:
		return b.program.words.Text("bench.rate", view.Args{"Rate": figure(p.Rate)})
	}
	return ""
}

func (b *benchProgress) clear() {
	if b.drawn {
		fmt.Fprint(b.program.errs, "\r\x1b[K")
		b.drawn = false
	}
}

// end leaves the line to what comes next.
func (b *benchProgress) end() { b.clear() }

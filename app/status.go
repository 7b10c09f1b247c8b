package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/term"
	"plimsoll/monitor"
)

// statusCommand shows the state of the machine: once or live, for people or for
// programs.
func (p *program) statusCommand() *cobra.Command {
	var asJSON, watch, check bool
	cmd := p.command("status", "status", groupSee, func(cmd *cobra.Command, _ []string) error {
		if check && watch {
			return misused(cmd, "cli.usage.check_watch", nil)
		}
		ctx := cmd.Context()
		s, end, err := p.source(ctx)
		if err != nil {
			return err
		}
		defer end()
		switch {
		case watch && asJSON:
			err = p.streamStatus(ctx, s)
		case watch:
			err = p.watchStatus(ctx, s)
		default:
			return p.statusOnce(ctx, s, asJSON, check)
		}
		if ended(ctx, err) {
			return nil // Ctrl-C is how a live view ends
		}
		return err
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, p.words.Text("cli.status.json"))
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, p.words.Text("cli.status.watch"))
	cmd.Flags().BoolVar(&check, "check", false, p.words.Text("cli.status.check"))
	cmd.Args = takes()
	return cmd
}

// statusOnce prints one update and, if asked, lets the exit code say whether an
// alert stands.
func (p *program) statusOnce(ctx context.Context, s source, asJSON, check bool) error {
	update, err := oneUpdate(ctx, s, check)
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(p.out).Encode(update)
	} else {
		_, err = p.out.Write([]byte(p.page().Status(p.words.Render(update, p.now(update)))))
	}
	if err != nil || !check {
		return err
	}
	if alarmed(update) {
		return told(exitAlert)
	}
	return nil
}

func alarmed(u monitor.Update) bool {
	return slices.ContainsFunc(u.Alerts, func(a monitor.Alert) bool { return a.Severity != monitor.SeverityInfo })
}

// checkFor is how long a monitor of this process must have looked before the
// absence of alerts means anything: longer than any rule holds a finding back.
const checkFor = 8 * time.Second

// oneUpdate waits for an update that has all a screen shows: rates need two
// readings, and the biggest memory users are read only for who looks. For a
// check, a monitor that has only just begun gets time for its rules.
func oneUpdate(ctx context.Context, s source, check bool) (monitor.Update, error) {
	_, young := s.(*self)
	var update monitor.Update
	var began *float64
	seen := 0
	err := s.Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
		if update = u; !answered(s, u) {
			return nil
		}
		seen++
		if began == nil {
			began = u.Snapshot.Awake
		}
		if check && young && !alarmed(u) && *u.Snapshot.Awake-*began < checkFor.Seconds() {
			return nil
		}
		if seen < enoughUpdates && !complete(u.Snapshot) {
			return nil
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return update, err
}

// enoughUpdates is how many are waited for at most: what is not there by then,
// this machine does not tell.
const enoughUpdates = 6

// complete reports whether s has what takes a second look.
func complete(s *monitor.Snapshot) bool {
	_, none := s.Problems[monitor.SectionConsumers]
	rates := s.Swap == nil || s.Swap.Out == nil || s.Swap.OutRate != nil
	return rates && (none || s.Consumers != nil)
}

// now is the moment an update is shown at. A simulated machine lives by its own
// clock, which may run fast.
func (p *program) now(u monitor.Update) time.Time {
	if u.Snapshot != nil && u.Snapshot.Simulated {
		return u.Snapshot.Taken
	}
	return p.clock.Now()
}

// page is how standard output is to be written on.
func (p *program) page() term.Page {
	columns, _ := p.size()
	if columns <= 0 {
		columns = 80
	}
	colour := p.terminal(p.out) && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
	return term.Page{Words: p.words, Width: columns, Colour: colour}
}

// streamStatus prints every update on a line of its own.
func (p *program) streamStatus(ctx context.Context, s source) error {
	lines := json.NewEncoder(p.out)
	return p.follow(ctx, s, monitor.Options{Watch: true},
		func(u monitor.Update) error { return lines.Encode(u) },
		func() error { p.say(p.errs, "cli.follow.gone"); return nil })
}

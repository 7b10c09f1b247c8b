package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/limit"
	"plimsoll/app/view"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// setLimitCommand sets the limit and shows what became of it.
func (p *program) setLimitCommand() *cobra.Command {
	var lease time.Duration
	cmd := p.command("limit_set", "set AMOUNT", "", func(cmd *cobra.Command, args []string) error {
		if lease < wired.LeaseLeast || lease > wired.LeaseMost {
			return misused(cmd, "cli.usage.lease", view.Args{"Value": lease.String()})
		}
		return p.setLimit(cmd.Context(), args[0], lease)
	})
	cmd.Flags().DurationVar(&lease, "lease", wired.LeaseDefault, p.words.Text("cli.limit.lease"))
	cmd.Args = takes("AMOUNT")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"recommended", "default"}, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func (p *program) confirmLimitCommand() *cobra.Command {
	cmd := p.command("limit_confirm", "confirm", "", func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		s, _, end, err := p.limitSource(ctx)
		if err != nil {
			return err
		}
		defer end()
		if err := s.Do(ctx, monitor.Command{Kind: monitor.CommandConfirmLimit}); err != nil {
			return err
		}
		update, err := p.awaitLimit(ctx, s, func(u monitor.Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Lease == nil })
		if err != nil {
			return err
		}
		if l := update.Snapshot.Limit; l == nil || l.Lease != nil {
			return failed("limit.not_seen", nil)
		}
		p.say(p.out, "limit.kept", view.Args{"Size": p.words.Size(update.Snapshot.Limit.Set)})
		return nil
	})
	cmd.Args = takes()
	return cmd
}

func (p *program) resetLimitCommand() *cobra.Command {
	cmd := p.command("limit_reset", "reset", "", func(cmd *cobra.Command, _ []string) error {
		return p.setLimit(cmd.Context(), "default", wired.LeaseDefault)
	})
	cmd.Args = takes()
	return cmd
}

// setLimit says what an amount would change, changes it, and shows what the system
// and Metal tell then.
func (p *program) setLimit(ctx context.Context, amount string, lease time.Duration) error {
	s, update, end, err := p.limitSource(ctx)
	if err != nil {
		return err
	}
	defer end()
	to, err := p.limitAmount(amount, update)
	if err != nil {
		return err
	}
	now := update.Snapshot.Limit
	if to == 0 && now.Set == 0 && now.Remembered == nil {
		p.printLimitRow(update, p.words.Render(update, p.now(update)).Limit)
		return nil
	}
	_, alone := s.(*self)
	change := p.words.LimitChange(update.Snapshot, to.Bytes(), nil)
	p.printChange(change, trialWords{p.words, lease, alone})
	command := monitor.Command{Kind: monitor.CommandResetLimit}
	if to > 0 {
		if !change.Action.Enabled && to.Bytes() != now.Set {
			return failed("limit.forbidden", nil)
		}
		command = monitor.Command{Kind: monitor.CommandSetLimit, Bytes: new(to.Bytes()), Lease: new(lease.Seconds())}
	}
	if now.Helper == monitor.HelperMissing || now.Helper == monitor.HelperOutdated {
		if p.getenv("SSH_CONNECTION") != "" && p.euid != 0 {
			return limit.ErrNoSession // the question would be on a screen that nobody may be at
		}
		p.announce()
	}
	if err := s.Do(ctx, command); err != nil {
		if change.Hand.Command != "" {
			p.say(p.errs, "limit.by_hand", view.Args{"Command": change.Hand.Command})
		}
		return err
	}
	return p.showSet(ctx, s, to)
}

// limitUpdates are how many updates after the change are waited for at most: by
// then Metal has been asked, and how to restart a server is known or will not be.
const limitUpdates = 4

// showSet waits until the change is seen, by Metal too where that answers, and shows it.
func (p *program) showSet(ctx context.Context, s source, to wired.MiB) error {
	seen := 0
	update, err := p.awaitLimit(ctx, s, func(u monitor.Update) bool {
		l := u.Snapshot.Limit
		if l == nil || l.Set != to.Bytes() {
			return false
		}
		seen++
		shown := to == 0 || l.Effective == nil || *l.Effective>>20 == uint64(to)
		return shown && len(l.Commands) >= len(l.Stale) && seen > 1 || seen == limitUpdates
	})
	if err != nil {
		return err
	}
	if seen == 0 {
		return failed("limit.not_seen", nil)
	}
	l := p.words.Render(update, p.now(update)).Limit
	fmt.Fprintln(p.out)
	p.printLimitRow(update, l)
	switch {
	case l.Keep != nil:
		p.say(p.out, "limit.keep_it")
	case to > 0 && update.Snapshot.Limit.Helper == monitor.HelperMissing:
		p.say(p.out, "limit.once")
	}
	return nil
}

// trialWords tell of a trial as it is for a command: of a time that was named, which
// may be too short for the agent to keep the limit, and without an agent, in which case
// nobody but the person keeps it either.
type trialWords struct {
	words *view.Renderer
	lease time.Duration
	alone bool
}

func (t trialWords) of(note string) string {
	usual := t.words.Text("wired.note.trial", view.Args{"For": t.words.Duration(wired.LeaseDefault)})
	if note != usual {
		return note
	}
	id := "wired.note.trial"
	switch {
	case t.alone:
		id = "limit.trial_alone"
	case t.lease <= monitor.LimitCalm:
		id = "limit.trial_brief"
	}
	return t.words.Text(id, view.Args{"For": t.words.Duration(t.lease)})
}

// printChange is what a person reads before the limit is changed.
func (p *program) printChange(c *view.LimitChange, trial trialWords) {
	fmt.Fprintln(p.out, c.Title)
	rows := [][]string{{"", p.words.Text("limit.heading.before"), p.words.Text("limit.heading.after"), ""}}
	for _, r := range c.Rows {
		rows = append(rows, []string{"  " + r.Label, r.Before, r.After, r.Gain})
	}
	page := p.page()
	page.Width, page.Colour = 0, false
	fmt.Fprint(p.out, page.Table(rows))
	for _, note := range c.Notes {
		fmt.Fprintln(p.out, trial.of(note.Text))
	}
	for _, hand := range []view.ByHand{c.Pin, c.Hand} {
		if hand.Command != "" {
			fmt.Fprintf(p.out, "%s\n  %s\n", hand.Intro, hand.Command)
		}
	}
}

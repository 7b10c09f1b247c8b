package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// keepCommand sets how long a model stays in memory.
func (p *program) keepCommand() *cobra.Command {
	cmd := p.command("keep", "keep MODEL DURATION|forever", groupAct, func(cmd *cobra.Command, args []string) error {
		seconds, ok := keepSeconds(args[1])
		if !ok {
			return misused(cmd, "cli.usage.keep", view.Args{"Value": args[1]})
		}
		return p.keep(cmd.Context(), args[0], seconds)
	})
	cmd.Args = takes("MODEL", "DURATION")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return []string{"30m", "1h", "8h", "forever"}, cobra.ShellCompDirectiveNoFileComp
		}
		return p.completeResident(cmd, args, word)
	}
	return cmd
}

// longestKeep is far beyond what a person means, and what Ollama can add to a
// date without trouble.
const longestKeep = 10 * 365 * 24 * time.Hour

// keepSeconds reads a time as people write it, "1h30m", or a number of seconds
// as Ollama has it. −1 is for ever. Nothing, and less than nothing, is no time
// to keep a model.
func keepSeconds(text string) (float64, bool) {
	if text == "forever" || text == "-1" {
		return -1, true
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n > 0 && n <= longestKeep.Seconds()) {
			return 0, false
		}
		return n, true
	}
	return d.Seconds(), d > 0 && d <= longestKeep
}

func (p *program) keep(ctx context.Context, name string, seconds float64) error {
	s, end, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer end()
	var model string
	var fresh freshness
	err = s.Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
		if !answered(s, u) {
			return nil
		}
		r, err := p.pick(u, name)
		if err != nil && !fresh.is(s, u) {
			return nil
		}
		if err != nil {
			return err
		}
		model = r.Model
		if err := s.Do(ctx, monitor.Command{Kind: monitor.CommandKeep, Backend: r.Backend, Model: r.Model, Keep: &seconds}); err != nil {
			return err
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		return err
	}
	if seconds < 0 {
		p.say(p.out, "cli.keep.pinned", view.Args{"Model": model})
		return nil
	}
	p.say(p.out, "cli.keep.kept", view.Args{"Model": model, "Time": p.words.Duration(time.Duration(seconds * float64(time.Second)))})
	return nil
}

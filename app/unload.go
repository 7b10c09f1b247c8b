package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// unloadCommand drops models from memory and waits for the proof.
func (p *program) unloadCommand() *cobra.Command {
	var all bool
	var limit time.Duration
	cmd := p.command("unload", "unload MODEL|--all", groupAct, func(cmd *cobra.Command, args []string) error {
		u := &unloading{program: p, all: all, waiting: map[string]bool{}}
		if len(args) > 0 {
			u.name = args[0]
		}
		return u.run(cmd.Context(), limit)
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && len(args) > 0:
			return misused(cmd, "cli.usage.all_and_model", view.Args{"Name": args[0]})
		case all:
			return nil
		case len(args) == 0:
			return misused(cmd, "cli.usage.model_or_all", nil)
		}
		return takes("MODEL")(cmd, args)
	}
	cmd.ValidArgsFunction = p.completeResident
	cmd.Flags().BoolVar(&all, "all", false, p.words.Text("cli.unload.all"))
	cmd.Flags().DurationVar(&limit, "timeout", time.Minute, p.words.Text("cli.unload.timeout"))
	return cmd
}

// unloading is one run of the command: what was asked for, and of which models
// the outcome is still open.
type unloading struct {
	program *program
	source  source
	name    string
	all     bool

	asked   bool
	waiting map[string]bool // by backend and model
	busy    bool            // one of them is in an answer
	fresh   freshness
	code    int
}

// run asks, then follows what happens until the outcome of every model is known,
// the limit is over or the person leaves. An unload that was accepted stays in
// force in each case.
func (u *unloading) run(ctx context.Context, limit time.Duration) error {
	p := u.program
	s, end, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer end()
	u.source = s
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = s.Watch(limited, monitor.Options{Watch: true}, func(update monitor.Update) error { return u.step(limited, update) })
	switch {
	case errors.Is(err, errEnough):
		return told(u.code)
	case len(u.waiting) > 0 && errors.Is(err, api.ErrGone):
		p.complain(p.words.Error(err))
		p.say(p.errs, "cli.unload.left", view.Args{"Models": u.open()})
		return told(exitFailed)
	case limited.Err() == nil || !errors.Is(err, limited.Err()):
		return err
	case !u.asked && ctx.Err() == nil:
		return failed("cli.unload.not_asked", nil)
	case !u.asked:
		return told(exitFailed)
	case ctx.Err() != nil:
		p.say(p.errs, "cli.unload.left", view.Args{"Models": u.open()})
	case u.busy:
		p.say(p.errs, "cli.unload.still_busy", view.Args{"Models": u.open(), "Limit": p.words.Duration(limit)})
	default:
		p.say(p.errs, "cli.unload.timeout_over", view.Args{"Models": u.open(), "Limit": p.words.Duration(limit)})
	}
	return told(exitFailed)
}

// open lists the models whose outcome is not known.
func (u *unloading) open() string {
	var names []string
	for key := range u.waiting {
		_, model, _ := strings.Cut(key, "/")
		names = append(names, model)
	}
	return strings.Join(names, ", ")
}

func (u *unloading) step(ctx context.Context, update monitor.Update) error {
	if u.asked {
		return u.follow(update)
	}
	if !answered(u.source, update) {
		return nil
	}
	models, err := u.targets(update)
	if (err != nil || len(models) == 0) && !u.fresh.is(u.source, update) {
		return nil // it may have been loaded a moment ago
	}
	if err != nil {
		return err
	}
	if len(models) == 0 {
		u.program.say(u.program.out, "cli.unload.none")
	}
	u.asked = true
	for _, m := range models {
		command := monitor.Command{Kind: monitor.CommandUnload, Backend: m.Backend, Model: m.Model}
		if err := u.source.Do(ctx, command); err != nil {
			if !u.all {
				return err
			}
			u.program.complain(m.Model + ": " + u.program.words.Error(err))
			u.code = exitFailed
			continue
		}
		u.waiting[m.Backend+"/"+m.Model] = true
	}
	if len(u.waiting) == 0 {
		return errEnough
	}
	return nil
}

// targets finds the resident models that are meant.
func (u *unloading) targets(update monitor.Update) ([]monitor.Resident, error) {
	if !u.all {
		r, err := u.program.pick(update, u.name)
		if err != nil {
			return nil, err
		}
		return []monitor.Resident{*r}, nil
	}
	var local []monitor.Resident
	for _, r := range update.Snapshot.Residents {
		if !r.Cloud {
			local = append(local, r)
		}
	}
	if len(local) == 0 {
		if err := u.program.serverTrouble(update); err != nil {
			return nil, err
		}
	}
	return local, nil
}

// follow prints what happens to the models that were asked for, and ends when
// the outcome of the last one is known.
func (u *unloading) follow(update monitor.Update) error {
	p := u.program
	for _, e := range update.Events {
		key := e.Evidence.Backend + "/" + e.Evidence.Model
		if !u.waiting[key] {
			continue
		}
		switch e.Kind {
		case monitor.EventUnloadAsked:
			u.busy = u.busy || e.Evidence.State == string(monitor.ActivityBusy)
		case monitor.EventUnloaded:
			delete(u.waiting, key)
		case monitor.EventUnloadHeld, monitor.EventUnloadFailed:
			delete(u.waiting, key)
			u.code = exitFailed
		default:
			continue
		}
		fmt.Fprintln(p.out, p.words.Event(e))
	}
	if len(u.waiting) == 0 {
		return errEnough
	}
	return nil
}

// completeResident completes the names of resident models, from a running agent
// alone: a shell must not wait.
func (p *program) completeResident(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{}
	if path, _, err := p.socket(); err == nil && len(args) == 0 {
		p.agentsResidents(cmd.Context(), path, func(r monitor.Resident) {
			if !r.Cloud {
				names = append(names, r.Model)
			}
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

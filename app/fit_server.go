package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

// fitInstalled plans models that the server has on disk: one, or all. Nothing is
// loaded.
func (p *program) fitInstalled(ctx context.Context, f fitFlags, name string, draft *fit.Model) error {
	s, end, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer end()
	update, err := firstAnswered(ctx, s)
	if err != nil {
		return err
	}
	installed, err := s.Models(ctx)
	if err != nil {
		return err
	}
	if len(installed) == 0 {
		if err := p.serverTrouble(update); err != nil {
			return err
		}
	}
	place := f.under(update.Snapshot.Place())
	if f.machine != "" {
		if place, err = describedPlace(f); err != nil {
			return err
		}
	}
	planner := planner{p: p, flags: f, place: place, snapshot: update.Snapshot, draft: draft}
	if f.all {
		return p.fitAll(ctx, planner, installed)
	}
	m, err := pickInstalled(installed, name)
	if err != nil {
		return err
	}
	plan, err := planner.plan(ctx, m)
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(p.out).Encode(plan)
	}
	return p.printPlan(plan)
}

// fitAll plans every model, those that fit first, the biggest of them first. One
// that cannot be asked about is listed as unknown.
func (p *program) fitAll(ctx context.Context, planner planner, installed []backend.Model) error {
	plans := []monitor.Plan{}
	for _, m := range installed {
		plan, err := planner.plan(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.As(err, new(*backend.StateError)) {
			return err
		}
		if err != nil {
			plan = planner.place.Plan(monitor.Subject{Name: m.Model, Model: fit.Model{Unknown: fit.ReasonNoInfo}.WithSize(sizeOf(m)), Options: planner.flags.options(nil)})
		}
		plans = append(plans, plan)
	}
	monitor.SortPlans(plans)
	if planner.flags.json {
		return json.NewEncoder(p.out).Encode(plans)
	}
	if len(plans) == 0 {
		p.say(p.out, "cli.models.none")
		return nil
	}
	return p.printPlans(plans)
}

// pickInstalled finds a model on disk by its name as people write it.
func pickInstalled(installed []backend.Model, name string) (backend.Model, error) {
	var names []string
	for _, wanted := range []string{name, name + ":latest"} {
		for _, m := range installed {
			if strings.EqualFold(m.Model, wanted) {
				return m, nil
			}
		}
	}
	for _, m := range installed {
		names = append(names, m.Model)
	}
	args := view.Args{"Name": name, "Models": strings.Join(names, ", ")}
	if near := nearest(name, names); near != "" {
		args["Near"] = near
	}
	return backend.Model{}, &failure{code: exitNoModel, id: "fit.no_model", args: args}
}

func sizeOf(m backend.Model) uint64 {
	if m.Size == nil {
		return 0
	}
	return *m.Size
}

// planner plans models of one update, asking their servers how they are built.
type planner struct {
	p        *program
	flags    fitFlags
	place    monitor.Place
	snapshot *monitor.Snapshot
	draft    *fit.Model
}

// plan plans one model on disk.
func (l *planner) plan(ctx context.Context, m backend.Model) (monitor.Plan, error) {
	s := monitor.Subject{Name: m.Model, Options: l.flags.options(l.draft)}
	if m.Cloud {
		s.Model = fit.Model{Cloud: true}
		return l.place.Plan(s), nil
	}
	for _, b := range l.snapshot.Backends {
		if b.Name == m.Backend {
			s.Kind, s.Version = b.Kind, b.Version
			reply, err := l.describe(ctx, b, m.Model)
			if err != nil {
				return monitor.Plan{}, err
			}
			if s.Model, err = fit.Read(reply); err != nil {
				return monitor.Plan{}, err
			}
		}
	}
	s.Model = s.Model.WithSize(sizeOf(m))
	if l.flags.weights > 0 {
		s.Model.Weights = &l.flags.weights
	}
	if l.flags.machine == "" { // what this machine holds is not there on another
		for i, r := range l.snapshot.Residents {
			if r.Backend == m.Backend && r.Model == m.Model {
				s.Resident = &l.snapshot.Residents[i]
			}
		}
	}
	return l.place.Plan(s), nil
}

// describe asks a server how a model is built.
func (l *planner) describe(ctx context.Context, b backend.Status, model string) ([]byte, error) {
	server, err := l.p.server(l.p.storedSettings())
	if err != nil {
		return nil, err
	}
	if server.Address() != b.Address && b.Kind == "ollama" { // the agent was started with another one
		if server, err = backend.NewOllama(b.Address); err != nil {
			return nil, err
		}
	}
	describer, ok := server.(backend.Describer)
	if !ok || b.Kind != "ollama" {
		return nil, failed("fit.cannot_describe", view.Args{"Server": b.Name})
	}
	return describer.Describe(ctx, model)
}

package main

import (
	"context"
	"sync"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// fakeAgent is an agent whose answers a test decides.
type fakeAgent struct {
	mu       sync.Mutex
	err      error // of Health
	refuse   error // of Do and SetSettings
	settings api.Settings
	commands []monitor.Command
	watches  chan chan monitor.Update // one per Watch; closing it ends that Watch
	watched  int
	plan     func(monitor.PlanRequest) (monitor.Plan, error)
	plans    []monitor.Plan
	asked    []monitor.PlanRequest
	builds   []monitor.Build
}

func newFakeAgent() *fakeAgent {
	return &fakeAgent{watches: make(chan chan monitor.Update, 8)}
}

func (f *fakeAgent) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeAgent) Health(context.Context) (api.Health, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return api.Health{Version: "0.1.0", PID: 1}, f.err
}

func (f *fakeAgent) Watch(ctx context.Context, options monitor.Options, each func(monitor.Update) error) error {
	if options.Watch {
		f.set(func() { f.watched++ })
	}
	updates := make(chan monitor.Update)
	f.watches <- updates
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return api.ErrGone
			}
			if err := each(u); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fakeAgent) Do(_ context.Context, c monitor.Command) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, c)
	return f.refuse
}

func (f *fakeAgent) Plan(_ context.Context, r monitor.PlanRequest) (monitor.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r)
	if f.plan == nil {
		return monitor.Plan{}, monitor.ErrNotInstalled
	}
	return f.plan(r)
}

func (f *fakeAgent) Plans(context.Context) ([]monitor.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.plans, f.err
}

func (f *fakeAgent) Builds(context.Context) ([]monitor.Build, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.builds, f.err
}

func (f *fakeAgent) Settings(context.Context) (api.Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.settings, nil
}

func (f *fakeAgent) SetSettings(_ context.Context, s api.Settings) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse == nil {
		f.settings = s
	}
	return f.refuse
}

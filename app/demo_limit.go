package main

import (
	"context"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/sim"
)

// demoLimit changes the simulated Mac's limit through its helper, as the agent
// does on a real one.
type demoLimit struct {
	mac    *sim.Mac
	helper wired.Client
}

func newDemoLimit(mac *sim.Mac) *demoLimit {
	return &demoLimit{mac: mac, helper: wired.Client{Dial: mac.DialHelper}}
}

func (d *demoLimit) State() (wired.State, error) { return d.mac.LimitState() }

func (d *demoLimit) Helper(ctx context.Context) monitor.HelperState {
	if _, err := d.helper.Version(ctx); err != nil {
		return monitor.HelperSilent
	}
	return monitor.HelperInstalled
}

func (d *demoLimit) Set(ctx context.Context, limit wired.MiB, lease time.Duration) error {
	return d.helper.Set(ctx, limit, lease)
}

func (d *demoLimit) Confirm(ctx context.Context, limit wired.MiB) error {
	return d.helper.Confirm(ctx, limit)
}

func (d *demoLimit) Reset(ctx context.Context) error { return d.helper.Reset(ctx) }

// Restart restarts the one server there is.
func (d *demoLimit) Restart(context.Context, string) error {
	d.mac.RestartServer()
	return nil
}

func (d *demoLimit) RestartCommand(context.Context, string) (string, error) {
	return sim.RestartCommand, nil
}

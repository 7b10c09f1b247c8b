package monitor

import (
	"context"
	"fmt"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// Errors of the commands about the limit.
var (
	// ErrNoLimit: nothing here can change the limit. A system without one fails with
	// wired.ErrNoKey, of the same code.
	ErrNoLimit error = &commandError{wired.CodeNoKey, "the GPU limit cannot be changed from here"}
	// ErrInFlight: a server that answers a request is not restarted.
	ErrInFlight error = &commandError{"in_flight", "a request is in flight"}
)

const (
	// limitTimeout bounds a change of the limit: without the helper a person types
	// a password for it.
	limitTimeout = 3 * time.Minute
	// restartTimeout bounds the end and the start of a model server.
	restartTimeout = 45 * time.Second
	// freshSnapshot is how old what is known of requests may be when a server is
	// to be restarted.
	freshSnapshot = 3 * time.Second
)

// Patience is how long Do may take for a command.
func (kind CommandKind) Patience() time.Duration {
	switch kind {
	case CommandSetLimit, CommandConfirmLimit, CommandResetLimit:
		return limitTimeout
	case CommandRestartServer:
		return restartTimeout
	}
	return commandTimeout
}

// changeLimit carries out a command about the limit. Its effect is seen in the
// next snapshots, which ask Metal again.
func (m *Monitor) changeLimit(ctx context.Context, c Command) error {
	limiter := m.config.Limiter
	if limiter == nil {
		return ErrNoLimit
	}
	var err error
	switch c.Kind {
	case CommandConfirmLimit:
		err = limiter.Confirm(ctx, 0)
	case CommandResetLimit:
		err = limiter.Reset(ctx)
	case CommandSetLimit:
		err = m.setLimit(ctx, c)
	}
	m.limit.askSoon()
	m.hurry()
	return err
}

func (m *Monitor) setLimit(ctx context.Context, c Command) error {
	if c.Bytes == nil || *c.Bytes == 0 || *c.Bytes%wired.MiB(1).Bytes() != 0 {
		return fmt.Errorf("%w: a limit is whole MiB above 0", ErrBadCommand)
	}
	lease := wired.LeaseDefault
	if c.Lease != nil {
		if !(*c.Lease >= wired.LeaseLeast.Seconds() && *c.Lease <= wired.LeaseMost.Seconds()) {
			return fmt.Errorf("%w: a trial takes %v to %v", ErrBadCommand, wired.LeaseLeast, wired.LeaseMost)
		}
		lease = seconds(*c.Lease)
	}
	return m.config.Limiter.Set(ctx, wired.MiB(*c.Bytes>>20), lease)
}

// restartServer ends a model server and starts it again, unless it works for
// somebody.
func (m *Monitor) restartServer(ctx context.Context, c Command) error {
	if m.config.Limiter == nil {
		return fmt.Errorf("%w: no server can be restarted from here", ErrBadCommand)
	}
	s, err := m.fresh(ctx)
	if err != nil {
		return err
	}
	status := find(s.Backends, func(b *backend.Status) bool { return b.Name == c.Backend })
	switch {
	case status == nil:
		return fmt.Errorf("%w: %s", ErrNoBackend, c.Backend)
	case !onThisMachine(s, c.Backend):
		return fmt.Errorf("%w: %s runs on another machine", ErrBadCommand, c.Backend)
	}
	if what := atWorkFor(s, c.Backend); what != "" {
		return fmt.Errorf("%w: %s", ErrInFlight, what)
	}
	if err := m.config.Limiter.Restart(ctx, c.Backend); err != nil {
		return err
	}
	m.mu.Lock()
	for _, p := range m.pollers {
		p.soon()
	}
	m.mu.Unlock()
	m.hurry()
	return nil
}

// atWorkFor names what a server is doing for somebody, "" for nothing.
func atWorkFor(s *Snapshot, server string) string {
	if r := find(s.Requests, func(r *request.Request) bool { return r.Backend == server && r.Phase != request.PhaseDone }); r != nil {
		return r.Model
	}
	r := find(s.Residents, func(r *Resident) bool {
		return r.Backend == server && (r.Activity == ActivityBusy || r.Activity == ActivityStopping)
	})
	if r != nil {
		return r.Model
	}
	return ""
}

// fresh is the newest snapshot, after a tick more where that is not of just now.
func (m *Monitor) fresh(ctx context.Context) (*Snapshot, error) {
	s := m.snapshot()
	if s.Awake != nil && m.config.Clock.Awake()-seconds(*s.Awake) < freshSnapshot {
		return s, nil
	}
	box := m.Subscribe(Options{})
	defer box.Close()
	m.hurry()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-box.Ready():
			if u, ok := box.Take(); ok && u.Snapshot != nil && u.Snapshot != s {
				return u.Snapshot, nil
			}
		}
	}
}

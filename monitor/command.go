package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/monitor/backend"
)

// commandError is an error with a code that crosses the API.
type commandError struct{ code, text string }

func (e *commandError) Error() string { return e.text }

// Code names the error for clients of the API.
func (e *commandError) Code() string { return e.code }

// Errors of Do. Do wraps them.
var (
	// ErrNoModel: no backend holds the model.
	ErrNoModel error = &commandError{"no_model", "no such resident model"}
	// ErrCloud: the model runs elsewhere; there is nothing here to unload or keep.
	ErrCloud error = &commandError{"cloud", "the model runs in the cloud"}
	// ErrNoBackend: no backend of that name.
	ErrNoBackend error = &commandError{"no_backend", "no such model server"}
	// ErrBadCommand: unknown kind, or something missing in it.
	ErrBadCommand error = &commandError{"bad_command", "not a command"}
)

// commandTimeout bounds what a click waits for.
const commandTimeout = 10 * time.Second

// Do carries out a command and returns when the server accepted or refused it.
// Its effect is seen in later snapshots and events.
func (m *Monitor) Do(ctx context.Context, c Command) error {
	ctx, cancel := context.WithTimeout(ctx, c.Kind.Patience())
	defer cancel()
	switch c.Kind {
	case CommandUnload:
		return m.unloadOne(ctx, c)
	case CommandUnloadAll:
		return m.unloadAll(ctx)
	case CommandKeep:
		return m.keepModel(ctx, c)
	case CommandEndRunner:
		return m.endRunner(c)
	case CommandSetLimit, CommandConfirmLimit, CommandResetLimit:
		return m.changeLimit(ctx, c)
	case CommandRestartServer:
		return m.restartServer(ctx, c)
	}
	return fmt.Errorf("%w: unknown kind %q", ErrBadCommand, c.Kind)
}

func (m *Monitor) unloadOne(ctx context.Context, c Command) error {
	r, p, err := m.resident(ctx, c)
	if err != nil {
		return err
	}
	s := m.snapshot()
	u := &unload{
		backend: r.Backend, model: r.Model, asked: m.config.Clock.Awake(),
		size: r.Size, pid: r.RunnerPID, footprint: r.Footprint, local: onThisMachine(s, r.Backend),
	}
	if s.Memory != nil {
		u.wired, u.available = s.Memory.Wired, s.Memory.Available
	}
	if err := p.backend.Unload(ctx, r.Model); err != nil {
		return err
	}
	m.mu.Lock()
	m.unloads[residentKey(r)] = u
	m.mu.Unlock()
	p.soon()
	m.hurry()
	return nil
}

// unloadAll asks for every model, also when one is refused.
func (m *Monitor) unloadAll(ctx context.Context) error {
	var failed []error
	count := 0
	for _, r := range m.snapshot().Residents {
		if r.Cloud {
			continue
		}
		count++
		if err := m.unloadOne(ctx, Command{Kind: CommandUnload, Backend: r.Backend, Model: r.Model}); err != nil {
			failed = append(failed, err)
		}
	}
	if count == 0 {
		return ErrNoModel
	}
	return errors.Join(failed...)
}

func (m *Monitor) keepModel(ctx context.Context, c Command) error {
	if c.Keep == nil || *c.Keep == 0 || *c.Keep < 0 && *c.Keep != -1 {
		return fmt.Errorf("%w: keep takes seconds above 0, or -1 to pin", ErrBadCommand)
	}
	r, p, err := m.resident(ctx, c)
	if err != nil {
		return err
	}
	keep := seconds(*c.Keep)
	if *c.Keep == -1 {
		keep = backend.Forever
	}
	if err := p.backend.Keep(ctx, r.Model, keep); err != nil {
		return err
	}
	p.soon()
	m.hurry()
	return nil
}

// endRunner ends a process only while it stands in a snapshot as holding the
// memory of a model that was unloaded.
func (m *Monitor) endRunner(c Command) error {
	if c.PID == nil || m.config.EndProcess == nil {
		return fmt.Errorf("%w: no process to end", ErrBadCommand)
	}
	m.mu.Lock()
	h := find(m.held, func(h *heldProcess) bool { return *h.held.PID == *c.PID })
	m.mu.Unlock()
	if h == nil {
		return fmt.Errorf("%w: process %d does not hold the memory of an unloaded model", ErrBadCommand, *c.PID)
	}
	if err := m.config.EndProcess(*c.PID, h.started); err != nil {
		return fmt.Errorf("ending process %d: %w", *c.PID, err)
	}
	m.hurry()
	return nil
}

// resident finds the model that a command means and its server. A model that
// came since the last poll is found by asking again.
func (m *Monitor) resident(ctx context.Context, c Command) (*Resident, *poller, error) {
	if c.Model == "" {
		return nil, nil, fmt.Errorf("%w: no model named", ErrBadCommand)
	}
	m.mu.Lock()
	pollers := slices.Clone(m.pollers)
	m.mu.Unlock()
	if c.Backend != "" {
		pollers = slices.DeleteFunc(pollers, func(p *poller) bool { return p.backend.Name() != c.Backend })
		if len(pollers) == 0 {
			return nil, nil, fmt.Errorf("%w: %s", ErrNoBackend, c.Backend)
		}
	}
	r, p := m.listed(pollers, c.Model)
	if r == nil {
		for _, p := range pollers {
			p.keep(p.backend.Poll(ctx), m.config.Clock.Now())
		}
		r, p = m.listed(pollers, c.Model)
	}
	switch {
	case r == nil:
		return nil, nil, fmt.Errorf("%w: %s", ErrNoModel, c.Model)
	case r.Cloud:
		return nil, nil, fmt.Errorf("%w: %s", ErrCloud, r.Model)
	}
	return r, p, nil
}

// listed finds a model in the servers' last answers, with what the newest
// snapshot measured of it. A name without a tag means ":latest", as it does for Ollama.
func (m *Monitor) listed(pollers []*poller, model string) (*Resident, *poller) {
	for _, p := range pollers {
		answer := p.last()
		for _, r := range answer.Residents {
			if r.Model != model && r.Model != model+":latest" {
				continue
			}
			known := find(m.snapshot().Residents, func(k *Resident) bool { return k.Backend == r.Backend && k.Model == r.Model })
			if known == nil {
				known = &Resident{Resident: r}
			}
			return known, p
		}
	}
	return nil, nil
}

// snapshot is the newest one, never nil.
func (m *Monitor) snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest.Snapshot == nil {
		return &Snapshot{}
	}
	return m.latest.Snapshot
}

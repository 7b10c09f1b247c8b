package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

// PlanRequest asks what a model on a server's disk comes to on this machine. What is
// zero is as its server runs it.
type PlanRequest struct {
	// Backend is the server's name; "" is the first that has the model.
	Backend string `json:"backend,omitzero"`
	Model   string `json:"model"`
	// Context is in tokens for each slot, up to MostContext.
	Context int           `json:"context_tokens,omitzero"`
	Cache   fit.CacheType `json:"cache_type,omitzero"`
	// Flash is as if the server used flash attention, or did not.
	Flash fit.Flash `json:"flash_attention,omitzero"`
	// Slots is how many requests at once, up to MostSlots.
	Slots int `json:"slots,omitzero"`
}

// The most that may be asked for: beyond every server's.
const (
	MostContext = 1 << 30
	MostSlots   = 1 << 10
)

// Errors of a plan. Both are wrapped with what was asked for.
var (
	ErrBadPlan      = errors.New("no such plan")
	ErrNotInstalled = errors.New("no server has this model on its disk")
)

// check refuses what makes no plan.
func (r PlanRequest) check() error {
	switch {
	case r.Model == "":
		return fmt.Errorf("planning: the model is not named: %w", ErrBadPlan)
	case r.Context < 0 || r.Context > MostContext:
		return fmt.Errorf("planning %s: a context of %d tokens: %w", r.Model, r.Context, ErrBadPlan)
	case r.Slots < 0 || r.Slots > MostSlots:
		return fmt.Errorf("planning %s: %d slots: %w", r.Model, r.Slots, ErrBadPlan)
	case r.Cache != "" && !r.Cache.Known():
		return fmt.Errorf("planning %s: a cache of %q: %w", r.Model, r.Cache, ErrBadPlan)
	case r.Flash != fit.FlashUnknown && r.Flash != fit.FlashOn && r.Flash != fit.FlashOff:
		return fmt.Errorf("planning %s: flash attention %q: %w", r.Model, r.Flash, ErrBadPlan)
	}
	return nil
}

// Plan works out what a model on a server's disk comes to here and now, by what its
// server has told of its build; a server that has not told yet is asked, which loads
// nothing. A model that nobody describes has a plan too, whose verdict is unknown. It
// fails with ErrBadPlan, with ErrNotInstalled, or when ctx ends.
func (m *Monitor) Plan(ctx context.Context, r PlanRequest) (Plan, error) {
	if err := r.check(); err != nil {
		return Plan{}, err
	}
	models := m.Models()
	on := find(models, func(v *backend.Model) bool { return v.Model == r.Model && (r.Backend == "" || v.Backend == r.Backend) })
	if on == nil {
		return Plan{}, fmt.Errorf("planning %s: %w", r.Model, ErrNotInstalled)
	}
	build := m.build(ctx, *on)
	if ctx.Err() != nil {
		return Plan{}, fmt.Errorf("planning %s: %w", r.Model, ctx.Err())
	}
	s := m.snapshot()
	sub := s.Subject(on.Backend, on.Model, build)
	sub.Options = fit.Options{Context: r.Context, Cache: r.Cache, Flash: r.Flash, Slots: r.Slots}
	plan := s.Place().Try(sub)
	plan.Backend = on.Backend
	return plan, nil
}

// Plans is a short plan, without longest contexts and rates, of every model on the
// servers' disks, sorted as SortPlans does. Nobody is asked.
func (m *Monitor) Plans() []Plan {
	s, plans := m.snapshot(), []Plan{}
	place := s.Place()
	for _, on := range m.Models() {
		build, told := m.builds.of(on.Backend, on.Digest, on.Model)
		if !told {
			build = undescribed(on)
		}
		sub := s.Subject(on.Backend, on.Model, build)
		plan := Plan{Backend: on.Backend, Model: on.Model, Trained: build.Trained, Place: place}
		plan.Need, plan.Verdict = place.Judge(sub)
		if r := sub.Resident; r != nil {
			plan.Reported, plan.Measured = r.Size, r.Footprint
			plan.Verdict = plan.taken().Judge(place.Free.Plus(r.Holds()))
		}
		plan.Steps, plan.Notes = nil, nil
		plans = append(plans, plan)
	}
	SortPlans(plans)
	return plans
}

// SortPlans puts those first that fit, and of them the biggest.
func SortPlans(plans []Plan) {
	rank := []fit.State{fit.Fits, fit.Borderline, fit.TooBig, fit.Unknown}
	slices.SortStableFunc(plans, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.Verdict.State), slices.Index(rank, b.Verdict.State)), cmp.Compare(b.Least, a.Least))
	})
}

// Try plans a model as a person wants to try it. Of a model that is in memory that is
// another plan than Plan's, unless it is what runs: the context that the server
// reports and what was measured do not speak of what is only tried.
func (p Place) Try(s Subject) Plan {
	if s.Resident == nil {
		return p.Plan(s)
	}
	now := s
	now.Options = fit.Options{}
	runs := s.Model.Need(p.options(now))
	tried := s
	tried.Resident = new(*s.Resident)
	tried.Resident.Context = nil
	tried.Options.Context = cmp.Or(tried.Options.Context, runs.Context)
	if n := s.Model.Need(p.options(tried)); n.Context == runs.Context && n.Cache == runs.Cache && n.Slots == runs.Slots {
		return p.Plan(now)
	}
	plan := p.Plan(tried)
	plan.Reported, plan.Measured, plan.Logged = nil, nil, nil
	plan.Verdict = plan.Need.Judge(p.Free.Plus(s.Resident.Holds()))
	return plan
}

// taken is the need as it counts: with what the model was measured to take, where it
// was, in place of the sum.
func (plan *Plan) taken() fit.Need {
	n := plan.Need
	if plan.Measured != nil {
		n.Total, n.Least, n.Unknown = plan.Measured, *plan.Measured, ""
	}
	return n
}

// build is how a model is built, as its server has told or tells now.
func (m *Monitor) build(ctx context.Context, on backend.Model) fit.Model {
	if build, told := m.builds.of(on.Backend, on.Digest, on.Model); told {
		return build
	}
	if on.Cloud {
		return fit.Model{Cloud: true}
	}
	server := m.describer(on.Backend)
	if server == nil {
		return undescribed(on)
	}
	reply, err := server.Describe(ctx, on.Model)
	if err != nil {
		return undescribed(on)
	}
	m.builds.learn(on.Backend, []backend.Description{{Model: on.Model, Digest: cmp.Or(on.Digest, on.Model), Size: on.Size, Reply: reply}})
	if build, told := m.builds.of(on.Backend, on.Digest, on.Model); told {
		return build
	}
	return undescribed(on)
}

// describer is the server of a name, nil where it does not describe its models.
func (m *Monitor) describer(name string) backend.Describer {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pollers {
		if d, ok := p.backend.(backend.Describer); ok && p.backend.Name() == name {
			return d
		}
	}
	return nil
}

// undescribed is a model of which only the size is known.
func undescribed(on backend.Model) fit.Model {
	m := fit.Model{Unknown: fit.ReasonNoInfo, Cloud: on.Cloud}
	if on.Size != nil {
		m = m.WithSize(*on.Size)
	}
	return m
}

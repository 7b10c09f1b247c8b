package monitor

import (
	"plimsoll/metal/wired"
	"plimsoll/monitor/fit"
)

// Subject is a model to plan, and who would run it.
type Subject struct {
	Name  string
	Model fit.Model
	// Kind and Version are of the server, as backend.Status has them; "" is not
	// known.
	Kind, Version string
	// Options are as a person wants them; what is zero is filled in by Plan.
	Options fit.Options
	// Settings are how the server is set up. Nil is not known.
	Settings *ServerSettings
	// Resident is set when it is in memory.
	Resident *Resident
}

// Plan is what one model comes to on one machine. Absent is not known.
type Plan struct {
	Model  string     `json:"model,omitzero"`
	Engine fit.Engine `json:"engine,omitzero"`
	// Backend is the server that has it on its disk, where one has.
	Backend string `json:"backend,omitzero"`
	// Trained is the longest context that it was made for, in tokens.
	Trained int `json:"trained_context_tokens,omitzero"`
	fit.Need
	fit.Verdict
	// Unloaded is the verdict once every resident model is unloaded; absent while
	// there is none.
	Unloaded *fit.Verdict `json:"after_unloading,omitempty"`
	// LargestContext is the longest context that fits with the cache as planned and no
	// other model in memory; Unbounded says that the cache does not grow. ByType is
	// the longest for each cache type and KVByType what the cache takes as each, with
	// flash attention.
	LargestContext *int                     `json:"largest_context,omitempty"`
	Unbounded      bool                     `json:"largest_context_unbounded,omitzero"`
	ByType         map[fit.CacheType]int    `json:"largest_context_by_cache_type,omitempty"`
	KVByType       map[fit.CacheType]uint64 `json:"kv_bytes_by_cache_type,omitempty"`
	// FourSlots is the same plan with four slots, where nobody told how many the
	// server has.
	FourSlots *SlotPlan `json:"with_four_slots,omitempty"`
	// Raise is what the other limit of Place changes.
	Raise *fit.Change `json:"limit_change,omitempty"`
	// Reported and Measured are what the model takes in memory, as its server says
	// and as measured; they count, and the plan stands beside them.
	Reported *uint64 `json:"reported_bytes,omitempty"`
	Measured *uint64 `json:"measured_bytes,omitempty"`
	// Logged is what the runner's log told of the load.
	Logged *ModelSettings `json:"logged,omitempty"`
	// Rates are how fast it can be, with an empty context and with a full one.
	Rates []fit.Expected `json:"expected,omitempty"`
	Place Place          `json:"machine"`
}

// SlotPlan is a plan with another number of slots.
type SlotPlan struct {
	KV    *uint64 `json:"kv_bytes,omitempty"`
	Total *uint64 `json:"total_bytes,omitempty"`
	fit.Verdict
}

// PlanCacheTypes are the cache types that Ollama takes.
var PlanCacheTypes = []fit.CacheType{fit.F16, fit.Q8, fit.Q4}

// manySlots is Ollama's default of versions before it became one.
const manySlots = 4

// Plan works out what a model comes to.
func (p Place) Plan(s Subject) Plan {
	o := p.options(s)
	free := p.Free
	plan := Plan{Model: s.Name, Engine: o.Engine, Trained: s.Model.Trained, Need: s.Model.Need(o), Place: p}
	if r := s.Resident; r != nil {
		free = free.Plus(r.Holds()) // it is there for the model that holds it
		plan.Reported, plan.Measured, plan.Logged = r.Size, r.Footprint, s.logged()
	}
	plan.Verdict = plan.taken().Judge(free)
	empty := p.Free.Plus(p.Freed)
	if p.Freed > 0 {
		plan.Unloaded = new(plan.Need.Judge(empty))
	}
	plan.sizes(s.Model, o, empty)
	if o.Slots == 0 {
		plan.four(s.Model, o, free)
	}
	if p.Before != nil && p.GPU != nil && free.GPU != nil {
		before := free
		before.GPU = new(less(*p.Before+*free.GPU, *p.GPU))
		plan.Raise = new(s.Model.Raise(o, before, *p.Before, *p.GPU, wired.DefaultContext(*p.Before), wired.DefaultContext(*p.GPU)))
	}
	plan.rates(s, o)
	return plan
}

// Judge is the short form of Plan: what a model takes and whether that fits, without
// the search for its longest context.
func (p Place) Judge(s Subject) (fit.Need, fit.Verdict) {
	n, free := s.Model.Need(p.options(s)), p.Free
	if s.Resident != nil {
		free = free.Plus(s.Resident.Holds())
	}
	return n, n.Judge(free)
}

// Emptied is the place once every resident model is unloaded.
func (p Place) Emptied() Place {
	p.Free, p.Freed = p.Free.Plus(p.Freed), 0
	return p
}

// options are how the model would run there.
func (p Place) options(s Subject) fit.Options {
	o := p.known(s)
	if logged := s.logged(); logged != nil && logged.Cache != nil && !o.Expanded {
		o.Expanded = expands(s.Model, o, *logged.Cache)
	}
	return o
}

// known are the options as far as a person, the server and the machine tell them.
func (p Place) known(s Subject) fit.Options {
	o := s.Options
	if o.Engine == fit.EngineUnknown {
		o.Engine = s.Model.EngineOf(s.Kind, s.Version)
	}
	if s.Settings != nil {
		s.Settings.into(&o, s.Name)
	}
	if o.Default == 0 {
		o.Default = p.DefaultContext()
	}
	if o.Reported == 0 && s.Resident != nil && s.Resident.Context != nil {
		o.Reported = *s.Resident.Context
	}
	return o
}

// into fills in what a person left open as the server is set up, and as it runs the
// model where it does. What is only assumed of a server counts as not known.
func (k *ServerSettings) into(o *fit.Options, model string) {
	slots, cache, flash := k.Parallel, "", k.FlashAttention
	if k.Sources["kv_cache_type"] == SettingLog {
		cache = k.CacheType
	}
	if m := find(k.Models, func(m *ModelSettings) bool { return m.Model == model }); m != nil {
		if m.Parallel != nil {
			slots = m.Parallel
		}
		if m.CacheType != "" && m.Sources["kv_cache_type"] != SettingAssumed {
			cache = m.CacheType
		}
		if m.FlashAttention != nil {
			flash = m.FlashAttention
		}
	}
	if o.Slots == 0 && slots != nil {
		o.Slots = *slots
	}
	if o.Cache == "" {
		o.Cache = fit.CacheType(cache)
	}
	if o.Flash == fit.FlashUnknown && flash != nil {
		o.Flash = map[bool]fit.Flash{true: fit.FlashOn, false: fit.FlashOff}[*flash]
	}
	if o.Default == 0 && k.Context != nil && k.Sources["context_tokens"] == SettingLog {
		o.Default = *k.Context
	}
}

// logged is what the server's runner told of the model's load, nil where it did not.
func (s *Subject) logged() *ModelSettings {
	if s.Settings == nil {
		return nil
	}
	return find(s.Settings.Models, func(m *ModelSettings) bool { return m.Model == s.Name })
}

// expands reports that an engine keeps a cache expanded: what its log says of the
// cache is nearer to that.
func expands(m fit.Model, o fit.Options, cache uint64) bool {
	n := m.Need(o)
	if n.KV == nil || n.Expanded == nil {
		return false
	}
	return cache > *n.KV+(*n.Expanded-min(*n.KV, *n.Expanded))/2
}

// sizes adds the longest contexts, and the cache as each type.
func (plan *Plan) sizes(m fit.Model, o fit.Options, free fit.Limits) {
	if tokens, bounded, ok := m.Largest(o, free); ok && bounded {
		plan.LargestContext = &tokens
	} else if ok {
		plan.Unbounded = true
	}
	if plan.KV == nil || *plan.KV == 0 {
		return
	}
	plan.ByType, plan.KVByType = map[fit.CacheType]int{}, map[fit.CacheType]uint64{}
	for _, kind := range PlanCacheTypes {
		o.Cache = kind
		if kind != fit.F16 && o.Flash == fit.FlashUnknown {
			o.Flash = fit.FlashOn
		}
		n := m.Need(o)
		if n.Cache != kind || n.KV == nil {
			continue // this model cannot have it
		}
		plan.KVByType[kind] = *n.KV
		if tokens, bounded, ok := m.Largest(o, free); ok && bounded {
			plan.ByType[kind] = tokens
		}
	}
}

// four adds the plan for more slots, unless the model runs with one only.
func (plan *Plan) four(m fit.Model, o fit.Options, free fit.Limits) {
	o.Slots = manySlots
	if n := m.Need(o); n.Slots == manySlots && n.KV != nil && *n.KV > 0 {
		plan.FourSlots = &SlotPlan{KV: n.KV, Total: n.Total, Verdict: n.Judge(free)}
	}
}

// rates adds how fast the model can be while the context is empty and when it is
// full.
func (plan *Plan) rates(s Subject, o fit.Options) {
	speed := fit.Speed{Bandwidth: plan.Place.Bandwidth, Engine: s.Kind, Version: s.Version, Learned: plan.Place.Learned}
	for _, depth := range []int{0, plan.Context} {
		if e := s.Model.Rate(o, speed, depth); depth == 0 || e.Reason == "" && e.KV != nil && *e.KV > 0 {
			plan.Rates = append(plan.Rates, e)
		}
	}
}

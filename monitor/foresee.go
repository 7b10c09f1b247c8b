package monitor

import (
	"slices"
	"strings"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

// foreseen is what the planner remembers between ticks. It belongs to the tick's
// goroutine.
type foreseen struct {
	learner fit.Learner
	// forecasts are those of the resident models, by residentKey.
	forecasts map[string]*forecast
	// largest is the newest LargestFit, for the state that largestOf tells.
	largest   *LargestFit
	largestOf largestKey
	// learned are the requests that were learned from.
	learned map[string]bool
}

// Subject is a model as a server of this machine would run it.
func (s *Snapshot) Subject(server, model string, build fit.Model) Subject {
	sub := Subject{Name: model, Model: build}
	if b := find(s.Backends, func(b *backend.Status) bool { return b.Name == server }); b != nil {
		sub.Kind, sub.Version = b.Kind, b.Version
	}
	sub.Resident = find(s.Residents, func(r *Resident) bool { return r.Backend == server && r.Model == model })
	if k := find(s.ServerSettings, func(k *ServerSettings) bool { return k.Backend == server }); k != nil {
		sub.Settings = k
	}
	return sub
}

// forecast is what the planner says of one resident model, and what it rests on. It
// is worked out again only when that changes.
type forecast struct {
	rests forecastKey

	planned, cache      *uint64
	asked               *int
	unplanned           fit.Reason
	expected            *fit.Expected
	read, readPer       *float64 // bytes for each token, and each token of context adds
	options             fit.Options
	bandwidth           *float64
	efficiencyOf, share float64 // the newest rate whose efficiency was asked for
	efficient           bool
}

// forecastKey is what a forecast rests on.
type forecastKey struct {
	builds    int // how many were told
	learned   *fit.Learned
	bandwidth float64
	version   string
	options   fit.Options
	logged    uint64
	set       int // the context that a person set for the server
}

// mostForecasts bounds how many are remembered: more models than are ever resident.
const mostForecasts = 256

// foresee fills in what the resident models were planned to take and how fast they
// can be.
func (m *Monitor) foresee(s *Snapshot) {
	m.learn(s)
	s.Efficiencies = m.foreseen.learner.Learned()
	place := s.Place()
	for i := range s.Residents {
		r := &s.Residents[i]
		build, known := m.builds.of(r.Backend, r.Digest, r.Model)
		if !known || r.Cloud {
			continue
		}
		f := m.forecast(s.Subject(r.Backend, r.Model, build), place)
		r.Planned, r.PlannedCache, r.Unplanned, r.Expected = f.planned, f.cache, f.unplanned, f.expected
		r.Asked = f.asked
		r.ReadPerToken, r.CachePerToken = f.read, f.readPer
		f.judge(s, r, build)
	}
}

// forecast plans a resident model, or takes what was planned before.
func (m *Monitor) forecast(sub Subject, place Place) *forecast {
	rests := forecastKey{builds: m.builds.count(), version: sub.Version, options: place.known(sub)}
	if len(place.Learned) > 0 {
		rests.learned = &place.Learned[0]
	}
	if place.Bandwidth != nil {
		rests.bandwidth = *place.Bandwidth
	}
	if logged := sub.logged(); logged != nil && logged.Cache != nil {
		rests.logged = *logged.Cache
	}
	if k := sub.Settings; k != nil && k.ContextSet && k.Context != nil {
		rests.set = *k.Context
	}
	key := residentKey(sub.Resident)
	if f := m.foreseen.forecasts[key]; f != nil && f.rests == rests {
		return f
	}
	if m.foreseen.forecasts == nil || len(m.foreseen.forecasts) >= mostForecasts {
		m.foreseen.forecasts = map[string]*forecast{}
	}
	f := &forecast{rests: rests, options: place.options(sub), bandwidth: place.Bandwidth}
	m.foreseen.forecasts[key] = f
	n := sub.Model.Need(f.options)
	f.planned, f.unplanned, f.asked = n.Total, n.Unknown, asked(sub, f.options)
	if n.KV != nil {
		f.cache = new(*n.KV)
		if n.State != nil {
			*f.cache += *n.State
		}
	}
	speed := fit.Speed{Bandwidth: place.Bandwidth, Engine: sub.Kind, Version: sub.Version, Learned: place.Learned}
	if short := sub.Model.Rate(f.options, speed, 0); short.Reason == "" {
		f.expected = &short
	}
	f.read, f.readPer = readShort(sub.Model, f.options)
	return f
}

// asked is the context that a resident model's Modelfile or its server's setting asks
// for, in tokens, where the server runs it with another.
func asked(sub Subject, o fit.Options) *int {
	o.Context = sub.Model.Own
	if k := sub.Settings; o.Context == 0 && k != nil && k.ContextSet && k.Context != nil {
		o.Context = *k.Context
	}
	if n := sub.Model.Need(o); slices.Contains(n.Notes, fit.NoteReported) {
		return &n.Asked
	}
	return nil
}

// judge says how near a model's usual rate comes to its ceiling, and the one word on it.
func (f *forecast) judge(s *Snapshot, r *Resident, build fit.Model) {
	usual := find(s.Speeds, func(v *request.Speed) bool { return v.Backend == r.Backend && v.Model == r.Model })
	if usual == nil {
		return
	}
	var ttft, decode *float64
	if usual.Decode != nil {
		decode = &usual.Decode.Value
		if f.efficiencyOf != *decode {
			f.efficiencyOf = *decode
			f.share, _, f.efficient = build.Efficiency(f.options, f.bandwidth, request.ShallowContext/2, *decode)
		}
		if f.efficient {
			r.Efficiency = new(f.share)
		}
	}
	switch {
	case usual.TTFT != nil:
		ttft = &usual.TTFT.Value
	case usual.Prefill != nil && usual.Prefill.Value > 0: // to read the prompt is nearly all of it
		ttft = new(usualPrompt / usual.Prefill.Value)
	}
	r.Comfort = fit.Usable.Comfort(ttft, decode)
}

// usualPrompt is the length of a prompt, in tokens, that a time to the first token
// is judged by where only the prefill rate is known.
const usualPrompt = 350

// readShort is the weights that are read for each token, and what each token of
// context adds to that, in bytes. Nil where it is not known.
func readShort(m fit.Model, o fit.Options) (weights, each *float64) {
	const bandwidth, step = 1e12, 1 << 14
	at := func(depth int) *uint64 {
		e := m.Rate(o, fit.Speed{Bandwidth: new(bandwidth + 0.0)}, depth)
		if e.Upper {
			return nil
		}
		return e.Read
	}
	short, deep := at(0), at(step)
	if short == nil || deep == nil {
		return nil, nil
	}
	return new(float64(*short)), new(float64(*deep-*short) / step)
}

// mostLearned bounds how many requests are known to have been learned from.
const mostLearned = 512

// learn takes the efficiency of each request that ended since: of one that had a
// model to itself, all on the GPU, while the machine was at its usual pace.
func (m *Monitor) learn(s *Snapshot) {
	f := &m.foreseen
	for i := range s.Requests {
		q := &s.Requests[i]
		if q.Phase != request.PhaseDone || q.Outcome != request.OutcomeFinished || f.learned[q.ID] {
			continue
		}
		if f.learned == nil || len(f.learned) >= mostLearned {
			f.learned = map[string]bool{}
		}
		f.learned[q.ID] = true
		r := find(s.Residents, func(r *Resident) bool {
			return (q.Backend == "" || r.Backend == q.Backend) && strings.TrimSuffix(r.Model, ":latest") == strings.TrimSuffix(q.Model, ":latest")
		})
		if r == nil || r.Cloud || partly(r) || !teaches(s, q) {
			continue
		}
		build, known := m.builds.of(r.Backend, r.Digest, r.Model)
		if !known {
			continue
		}
		sub, place := s.Subject(r.Backend, r.Model, build), s.Place()
		depth := *q.PromptTokens + *q.OutputTokens/2
		if share, class, ok := build.Efficiency(place.options(sub), place.Bandwidth, depth, q.Decode.Value); ok && sub.Kind != "" {
			f.learner.Add(sub.Kind, sub.Version, class, share)
		}
	}
}

// teaches reports that a request's decode rate is the engine's own.
func teaches(s *Snapshot, q *request.Request) bool {
	for _, n := range q.Notes {
		switch n {
		case request.NoteTiny, request.NoteImplausible, request.NotePaced, request.NoteTruncated:
			return false
		}
	}
	if q.Decode == nil || q.Decode.Approximate || q.PromptTokens == nil || q.OutputTokens == nil || *q.OutputTokens < 32 {
		return false
	}
	slowed := s.Throttle != nil && s.Throttle.Throttled || s.Power != nil && s.Power.LowPower != nil && *s.Power.LowPower
	swapping := s.Swap != nil && s.Swap.OutRate != nil && *s.Swap.OutRate > 1e6
	return !slowed && !swapping
}

// Restore gives the planner the efficiencies of an earlier life, as a snapshot had
// them. It must be called before Run.
func (m *Monitor) Restore(before []fit.Learned) { m.foreseen.learner.Restore(before) }

// largestKey is what LargestFit depends on. The headroom counts in steps, so that its
// last digits move nothing.
type largestKey struct {
	builds, residents int
	headroom          uint64
}

// headroomStep is a step of the headroom, in bytes.
const headroomStep = 64 << 20

// nameLargest fills in the biggest model on disk that fits now, as its server would
// load it. It needs the headroom.
func (m *Monitor) nameLargest(s *Snapshot) {
	place := s.Place()
	free, known := place.Free.Smallest()
	if known == "" {
		return
	}
	key := largestKey{m.builds.count(), len(s.Residents), free / headroomStep}
	if key != m.foreseen.largestOf {
		m.foreseen.largestOf, m.foreseen.largest = key, m.largest(s, place)
	}
	s.LargestFit = m.foreseen.largest
}

// largest finds the biggest model on disk that fits at a place.
func (m *Monitor) largest(s *Snapshot, place Place) *LargestFit {
	var best *LargestFit
	for _, b := range m.Builds() {
		sub := s.Subject(b.Backend, b.Model, b.Build)
		if sub.Resident != nil || b.Build.Cloud {
			continue
		}
		n := b.Build.Need(place.options(sub))
		v := n.Judge(place.Free)
		if v.State != fit.Fits && v.State != fit.Borderline {
			continue
		}
		if best == nil || *n.Total > best.Needs {
			best = &LargestFit{Backend: b.Backend, Model: b.Model, Needs: *n.Total, Context: n.Context, Borderline: v.State == fit.Borderline}
		}
	}
	return best
}

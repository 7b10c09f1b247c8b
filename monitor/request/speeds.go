package request

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// samplesMost is how many finished requests of a model its medians are made of.
const samplesMost = 128

// depths are the lower bounds of the context depths that decode rates are kept
// apart by, in tokens; the last is the end.
var depths = []int{0, ShallowContext, 8192, 16384, 32768, 65536, 131072, 262144, 1 << 30}

// sample is what one request taught of its model.
type sample struct {
	id      string
	at      time.Time
	depth   int // tokens of context in the middle of the answer; −1: not known
	decode  *Number
	prefill *Number
	ttft    *Number
	// certain: nothing of the prompt came from the cache, or it is known how much.
	certain bool
	// prompt and output are tokens, for seeing that a chat goes on.
	prompt, output int
	cached         bool
}

// speed is what is usual for one model.
type speed struct {
	backend, model string
	samples        []sample // oldest first
	used           time.Time
}

func speedKey(backend, model string) string {
	return backend + "\n" + strings.ToLower(strings.TrimSuffix(model, ":latest"))
}

// learn takes what finished requests teach, and again when more is known of one.
func (t *Tracker) learn(now Moment) {
	t.forget(now)
	for _, c := range t.records {
		if c.kept != nil || !c.over() {
			continue // known, or still in flight
		}
		if r := t.told(c, now); r.Phase == PhaseDone && r.Model != "" {
			t.speed(r.Backend, r.Model, *r.Ended).take(r)
		}
	}
}

// forget lets go of records that no list shows any more.
func (t *Tracker) forget(now Moment) {
	over := 0
	for _, c := range t.records {
		if l := c.lines; l != nil && l.Phase != PhaseDone && now.Wall.Sub(l.Changed) > linesFor {
			silent := *l
			silent.Phase, silent.Outcome, silent.Ended = PhaseDone, OutcomeUnknown, &l.Changed
			c.lines, c.kept = &silent, nil
		}
		if c.over() {
			over++
		}
	}
	for i := 0; i < len(t.records) && over > 2*listMost; i++ {
		if t.records[i].over() {
			t.records = slices.Delete(t.records, i, i+1)
			over--
			i--
		}
	}
	t.hints = slices.DeleteFunc(t.hints, func(h hint) bool { return now.Wall.Sub(h.line.At) > hintFor })
}

// speed finds or makes what is known of a model.
func (t *Tracker) speed(backend, model string, at time.Time) *speed {
	key := speedKey(backend, model)
	t.usual = nil // whoever asks is about to teach
	s := t.speeds[key]
	if s == nil {
		if len(t.speeds) >= modelsMost {
			oldest := slices.MinFunc(values(t.speeds), func(a, b *speed) int { return a.used.Compare(b.used) })
			delete(t.speeds, speedKey(oldest.backend, oldest.model))
		}
		s = &speed{backend: backend, model: model}
		t.speeds[key] = s
	}
	if at.After(s.used) {
		s.used = at
	}
	return s
}

// take learns from a finished request, anew when it is known already. Cancelled,
// failed and implausible ones teach nothing, nor do rates of a few tokens.
func (s *speed) take(r *Request) {
	i := slices.IndexFunc(s.samples, func(o sample) bool { return o.id == r.ID })
	if i < 0 && len(s.samples) == samplesMost && !r.Ended.After(s.samples[0].at) {
		return
	}
	one := sample{
		id: r.ID, at: *r.Ended, depth: depth(r), prompt: value(r.PromptTokens), output: value(r.OutputTokens),
		cached: r.noted(NoteCached),
	}
	if good(r) {
		if r.OutputTokens != nil && *r.OutputTokens >= LeastTokens {
			one.decode = r.Decode
		}
		read := one.prompt - value(r.CachedTokens)
		if r.ReadTokens != nil {
			read = *r.ReadTokens
		}
		if read >= tinyPrompt && r.Prefill != nil {
			counted := r.Prefill.Source == SourceSlots || r.Prefill.Source == SourceMetrics
			one.prefill, one.certain = r.Prefill, counted || r.CachedTokens != nil || r.fresh()
		}
		one.ttft = r.TTFT
	}
	if i >= 0 {
		s.samples[i] = one
		return
	}
	at, _ := slices.BinarySearchFunc(s.samples, one, func(a, b sample) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.id, b.id))
	})
	s.samples = slices.Insert(s.samples, at, one)
	if len(s.samples) > samplesMost {
		s.samples = slices.Delete(s.samples, 0, 1)
	}
}

// good reports a request whose rates count.
func good(r *Request) bool {
	return (r.Outcome == OutcomeFinished || r.Outcome == OutcomeUnknown) && !r.noted(NoteImplausible) && !r.noted(NoteOtherPrompt)
}

// depth is the context in the middle of the answer, −1 when it is not known.
func depth(r *Request) int {
	if r.PromptTokens == nil || r.OutputTokens == nil {
		return -1
	}
	return *r.PromptTokens + *r.OutputTokens/2
}

// reference is a rate that prompts of this model are read with uncached: the best
// that is known to be, else the slowest of those whose cache is hidden.
func (s *speed) reference() (float64, bool) {
	if s == nil {
		return 0, false
	}
	best, slowest := 0.0, 0.0
	for _, o := range s.samples {
		switch {
		case o.prefill == nil:
		case o.certain:
			best = max(best, o.prefill.Value)
		case slowest == 0 || o.prefill.Value < slowest:
			slowest = o.prefill.Value
		}
	}
	if best > 0 {
		return best, true
	}
	return slowest, slowest > 0
}

// reread reports that a prompt which goes on from an earlier one was read whole.
func (s *speed) reread(r *Request) bool {
	if s == nil || r.PromptTokens == nil || r.noted(NoteCached) || r.fresh() {
		return false
	}
	if r.CachedTokens == nil && r.Prefill == nil {
		return false // whether it was read is not known
	}
	if r.CachedTokens != nil && *r.CachedTokens*2 >= *r.PromptTokens {
		return false
	}
	prompt := *r.PromptTokens
	for _, o := range slices.Backward(s.samples) {
		if o.id == r.ID || o.prompt < rereadFrom || !o.at.Before(r.Began.Add(pairSlack)) {
			continue
		}
		if r.Began.Sub(o.at) > rereadWithin {
			return false
		}
		// A turn adds the answer, or most of it, and what the person says next.
		grown := prompt - o.prompt
		if grown >= max(LeastTokens, o.output/2) && grown <= o.output+max(rereadTurn, o.prompt/4) {
			return value(r.CachedTokens) < o.prompt/2 && s.caches(r.Began)
		}
	}
	return false
}

// caches reports that a prompt came from the cache lately. Where none ever does, one
// that is somewhat longer than an earlier one is just another prompt.
func (s *speed) caches(now time.Time) bool {
	return slices.ContainsFunc(s.samples, func(o sample) bool { return o.cached && now.Sub(o.at) <= rereadWithin })
}

// Speeds are what is usual for each model, sorted by model.
func (t *Tracker) Speeds(now Moment) []Speed {
	t.learn(now)
	if t.usual != nil {
		return t.usual
	}
	all := []Speed{}
	for _, s := range t.speeds {
		if one := s.told(); one.Runs > 0 {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Speed) int {
		return cmp.Or(strings.Compare(a.Model, b.Model), strings.Compare(a.Backend, b.Backend))
	})
	t.usual = all
	return all
}

func (s *speed) told() Speed {
	one := Speed{Backend: s.backend, Model: s.model}
	var shallow, prefill, ttft []*Number
	deep := make([][]*Number, len(depths)-1)
	for _, o := range s.samples {
		if o.decode != nil || o.prefill != nil || o.ttft != nil {
			one.Runs++
		}
		if o.decode != nil {
			one.Last = o.decode
			if o.depth >= 0 && o.depth < ShallowContext {
				shallow = append(shallow, o.decode)
			}
			for i := range deep {
				if o.depth >= depths[i] && o.depth < depths[i+1] {
					deep[i] = append(deep[i], o.decode)
				}
			}
		}
		if o.prefill != nil {
			prefill = append(prefill, o.prefill)
			if one.BestPrefill == nil || o.prefill.Value > one.BestPrefill.Value {
				one.BestPrefill = o.prefill
			}
		}
		if o.ttft != nil {
			ttft = append(ttft, o.ttft)
		}
	}
	one.Decode, one.Prefill, one.TTFT = median(shallow), median(prefill), median(ttft)
	for i, list := range deep {
		if m := median(list); m != nil {
			one.Depths = append(one.Depths, Depth{From: depths[i], To: depths[i+1], Decode: m.Value, Runs: len(list)})
		}
	}
	return one
}

// median is the middle number, nil of none.
func median(list []*Number) *Number {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b *Number) int { return cmp.Compare(a.Value, b.Value) })
	return sorted[len(sorted)/2]
}

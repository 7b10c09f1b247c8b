package request

import "time"

// Totals takes a server's counters. What they grew by since the last reading
// belongs to the requests that ended in between: told of one alone, they are that
// one's exact rates; of several, or without slots, they are what is usual.
func (t *Tracker) Totals(now Moment, o Origin, totals Totals) {
	w := t.watch(o)
	was := w.totals
	w.totals = &totals
	ends := w.ends
	w.ends = nil
	if was == nil {
		return
	}
	decode, made := growth(was.DecodeTokens, totals.DecodeTokens, was.DecodeSeconds, totals.DecodeSeconds)
	prefill, read := growth(was.PromptTokens, totals.PromptTokens, was.PromptSeconds, totals.PromptSeconds)
	if decode == nil && prefill == nil || w.flying() {
		return // one in flight has its part in them
	}
	number := func(v *float64) *Number {
		if v == nil {
			return nil
		}
		return &Number{Value: *v, Source: SourceMetrics, At: now.Wall}
	}
	switch {
	case len(ends) == 1 && ends[0].slots != nil && ends[0].slots.done != nil:
		t.refine(ends[0].slots, number(decode), made, number(prefill), read)
		ends[0].kept = nil
		t.learn(now)
	case len(ends) == 0 && len(w.slots) == 0:
		t.made++
		r := Request{ID: o.key() + now.Wall.String(), Outcome: OutcomeUnknown, Ended: &now.Wall,
			OutputTokens: &made, Decode: number(decode), Prefill: number(prefill), CachedTokens: new(0), ReadTokens: &read}
		t.speed(o.Backend, o.Model, now.Wall).take(&r)
	}
}

// WantsTotals reports that a server's counters would tell more: there is no
// baseline yet, or requests ended since and none is in flight.
func (t *Tracker) WantsTotals(o Origin) bool {
	w := t.watches[o.key()]
	return w != nil && (w.totals == nil || len(w.ends) > 0 && !w.flying())
}

// refine fills in what a slot's replies could not tell of a request.
func (t *Tracker) refine(s *seen, decode *Number, made int, prefill *Number, read int) {
	if s.decoded != nil && (s.final && *s.decoded != made || !s.final && *s.decoded > made) {
		return // somebody else's are in them too
	}
	if made > 0 {
		s.done.OutputTokens, s.done.OutputApproximate = &made, false
		s.decoded, s.final = &made, true
	}
	if s.done.Decode == nil || s.done.Decode.Approximate {
		s.done.Decode = decode
	}
	if s.done.Prefill == nil || s.done.Prefill.Approximate {
		s.done.Prefill = prefill
		if prefill != nil && s.done.ReadTokens == nil {
			s.done.ReadTokens = &read
		}
	}
}

// growth is the rate that two counters grew with, nil when they are too small or
// went back, and by how many tokens.
func growth(tokensWas, tokensAre, secondsWas, secondsAre *float64) (*float64, int) {
	if tokensWas == nil || tokensAre == nil || secondsWas == nil || secondsAre == nil || *tokensAre < *tokensWas || *secondsAre < *secondsWas {
		return nil, 0
	}
	n := int(*tokensAre - *tokensWas)
	return Rate(n, time.Duration((*secondsAre-*secondsWas)*float64(time.Second))), n
}

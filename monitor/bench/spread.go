package bench

import (
	"slices"

	"plimsoll/monitor/request"
)

// spread is the median of values, nil when there are none.
func spread(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return &Spread{Median: median, Low: sorted[0], High: sorted[len(sorted)-1], Runs: len(sorted)}
}

// cachedAbove is how many times the usual rate a prompt must seem to have been
// read with to have come from a cache in spite of its opening
// (github.com/dogkeeper886/ollama37/pull/473: 18,828 tokens/s where 50 are usual).
const cachedAbove = 3

// voidCached voids the runs whose prompt came from a cache: its rate is far above
// what the others', or the best that is known from before, say.
func voidCached(runs []Pass, before float64) {
	var all []float64
	for _, r := range runs {
		if r.Prefill != nil {
			all = append(all, *r.Prefill)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	usual := all[(len(all)-1)/2] // of two the lower one
	if before > 0 {
		usual = min(usual, before)
	}
	for i, r := range runs {
		if r.Prefill != nil && *r.Prefill > cachedAbove*usual {
			runs[i].Void = append(runs[i].Void, Reason{Kind: ReasonCached, Value: r.Prefill})
			runs[i].Prefill = nil
		}
	}
}

// rates are the numbers of one run, guarded: what is made of too few tokens or in
// too short a time is absent.
func rates(a Answer) Pass {
	r := Pass{PromptTokens: a.PromptTokens, OutputTokens: a.OutputTokens, Ended: a.Reason}
	if a.OutputTokens != nil {
		r.Decode = request.Rate(*a.OutputTokens, a.Decode)
		r.Session = request.Rate(*a.OutputTokens, a.Wall-a.Load)
	}
	if read := a.read(); read != nil {
		r.Prefill = request.Rate(*read, a.Prompt)
	}
	if a.First > 0 {
		r.TTFT = new(a.First.Seconds())
	}
	if a.Wall > 0 {
		r.Wall = new(a.Wall.Seconds())
	}
	return r
}

// counted are the runs that count.
func counted(runs []Pass) []Pass {
	var kept []Pass
	for _, r := range runs {
		if !r.Dropped && len(r.Void) == 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// sum fills in the medians of a test from its runs.
func (t *Test) sum() {
	kept := counted(t.Runs)
	of := func(value func(Pass) *float64) *Spread {
		var values []float64
		for _, r := range kept {
			if v := value(r); v != nil {
				values = append(values, *v)
			}
		}
		return spread(values)
	}
	t.Decode = of(func(r Pass) *float64 { return r.Decode })
	t.Prefill = of(func(r Pass) *float64 { return r.Prefill })
	t.TTFT = of(func(r Pass) *float64 { return r.TTFT })
	t.Session = of(func(r Pass) *float64 { return r.Session })
}

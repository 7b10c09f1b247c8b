package bench

import (
	"context"
	"errors"
	"time"
)

// test measures one kind: runs until enough of them count, or as many again did
// not.
func (b *bench) test(ctx context.Context, t Test, output int, text func() string) error {
	b.result.Tests = append(b.result.Tests, t)
	at := &b.result.Tests[len(b.result.Tests)-1]
	weight := weightOf(at.Depth)
	err := b.repeat(ctx, at, output, text, weight)
	at.sum()
	if at.Depth == 0 {
		b.base[at.Kind] = at.Decode
		if at.Prefill != nil {
			b.best = max(b.best, at.Prefill.High)
		}
	}
	b.judge(at, err == nil)
	return err
}

// repeat makes the runs of a test.
func (b *bench) repeat(ctx context.Context, t *Test, output int, text func() string, weight float64) error {
	for voided := 0; ; {
		kept := len(counted(t.Runs))
		if kept == b.Plan.Runs || voided > b.Plan.Runs {
			return nil
		}
		p := Progress{Step: StepRun, Kind: t.Kind, Depth: t.Depth, Run: kept, Runs: b.Plan.Runs, Dropped: len(t.Runs) == 0, Output: output}
		if !p.Dropped {
			p.Run++
		}
		if n := len(t.Runs); n > 1 { // the first one does not count anyway
			p.Void = t.Runs[n-1].Void
		}
		r, err := b.run(ctx, b.prompt(text(), output, b.result.Options.Context), p)
		if err != nil {
			return err
		}
		r.Dropped = len(t.Runs) == 0
		t.Runs = append(t.Runs, r)
		voidCached(t.Runs, b.cachedBound(t))
		if r = t.Runs[len(t.Runs)-1]; !r.Dropped && len(r.Void) > 0 {
			voided++
			continue
		}
		b.done += weight
	}
}

// cachedBound is the best prefill rate of short prompts: longer ones are read a
// little faster in batches, never three times.
func (b *bench) cachedBound(t *Test) float64 {
	if t.Depth > 0 {
		return b.best
	}
	return 0
}

// judge says what a test as a whole came to.
func (b *bench) judge(t *Test, finished bool) {
	if kept := len(counted(t.Runs)); finished && kept < b.Plan.Runs {
		for _, r := range t.Runs {
			for _, reason := range r.Void {
				add(&t.Void, reason)
			}
		}
		t.Decode, t.Prefill, t.TTFT, t.Session = nil, nil, nil, nil
		return
	}
	shallow := b.base[English]
	if t.Depth == 0 || t.Decode == nil || shallow == nil || shallow.Median <= 0 {
		return
	}
	t.Drop = new(1 - t.Decode.Median/shallow.Median)
	t.Expected = b.expectedDrop(t.Depth)
	t.Steep = steep(*t.Drop, t.Expected)
}

const (
	// steepOver is by how much the rate may fall below what the longer cache
	// explains, as a share of that, before the engine is to blame; steepUnknown is
	// the drop that no cache explains at the usual depths.
	steepOver    = 0.5
	steepUnknown = 0.8
)

// steep reports a drop that is the engine's own. expected is nil when nobody
// knows how much is read.
func steep(drop float64, expected *float64) bool {
	if expected == nil {
		return drop > steepUnknown
	}
	return 1-drop < steepOver*(1-*expected)
}

// run makes one request and says what interfered with it.
func (b *bench) run(ctx context.Context, p Prompt, at Progress) (Pass, error) {
	b.tell(at)
	mark, before := b.watch.mark(), readPrograms(b.Programs)
	began := b.Clock.Awake()
	tokens := 0
	a, err := b.Server.Ask(ctx, p, func(time.Time) {
		tokens++
		if at.Tokens = tokens; tokens%8 == 0 {
			b.tell(at)
		}
	})
	if err != nil {
		return Pass{}, err
	}
	took := b.Clock.Awake() - began
	r := rates(a)
	r.Void = append(r.Void, b.fromAnswer(ctx, p, a)...)
	r.Void = append(r.Void, before.worked(readPrograms(b.Programs), took, b.ours()...)...)
	to := b.watch.mark()
	if b.Watch != nil && !b.watch.after(ctx, b.Clock, to) {
		b.result.Unobserved = true
	}
	for _, reason := range b.watch.between(mark, to) {
		add(&r.Void, reason)
	}
	return r, ctx.Err()
}

// ours are the processes that are not to blame: this program and the runner.
func (b *bench) ours() []int {
	own := b.Own
	if s := b.watch.latest(); s != nil {
		for _, r := range s.Residents {
			if r.RunnerPID != nil && sameModel(r.Model, b.result.Model.Name) {
				own = append(own[:len(own):len(own)], *r.RunnerPID)
			}
		}
	}
	return own
}

const (
	// queuedMost is how long a request may have waited: 1 to 20 ms are the server's.
	queuedMost = 250 * time.Millisecond
	// reloadedMost is how long a model that is in memory takes to be found there.
	reloadedMost = time.Second
	// listedWithin is how far the server's expiry may be from the one asked for.
	listedWithin = 2 * time.Second
	// listedTries are how often the list is looked at: it follows the answer after
	// a moment.
	listedTries = 10
)

// fromAnswer is what the server's own numbers say of others.
func (b *bench) fromAnswer(ctx context.Context, p Prompt, a Answer) (found []Reason) {
	if q := a.queued(); a.Total > 0 && q > queuedMost {
		found = append(found, Reason{Kind: ReasonQueued, Value: new(q.Seconds())})
	}
	if a.Load > reloadedMost {
		found = append(found, Reason{Kind: ReasonReloaded, Value: new(a.Load.Seconds())})
	}
	if a.PromptTokens != nil && p.Context > 0 && *a.PromptTokens >= p.Context-1 {
		found = append(found, Reason{Kind: ReasonTruncated, Value: new(float64(*a.PromptTokens))})
	}
	if rates(a).Decode == nil {
		n := 0.0
		if a.OutputTokens != nil {
			n = float64(*a.OutputTokens)
		}
		found = append(found, Reason{Kind: ReasonCutShort, Value: &n})
	}
	if b.touched(ctx, p, a) {
		found = append(found, Reason{Kind: ReasonOtherRequest})
	}
	return found
}

// touched reports that the server's list does not show the end of our request as
// the last: somebody else's is in flight, or ended after it.
func (b *bench) touched(ctx context.Context, p Prompt, a Answer) bool {
	if p.Keep <= 0 || a.Ended.IsZero() {
		return false
	}
	for range listedTries {
		until, listed, err := b.Server.Listed(ctx, p.Model)
		if err != nil || until.IsZero() && listed {
			return false // nobody told
		}
		if off := until.Sub(a.Ended) - p.Keep; listed && off < listedWithin && off > -listedWithin {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-b.Clock.After(50 * time.Millisecond):
		}
	}
	return true
}

// sustain decodes without a pause, and writes down each minute.
func (b *bench) sustain(ctx context.Context) error {
	s := &sustaining{watch: b.watch, limit: b.Plan.Sustained, scale: 1}
	b.result.Sustained = &Sustained{}
	began := b.Clock.Awake()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	mark, reached := b.watch.mark(), false
	for !reached && ctx.Err() == nil {
		p := b.prompt(english, max(b.Plan.Output, 512), b.result.Options.Context)
		s.begin()
		a, err := b.Server.Ask(limited, p, func(at time.Time) {
			if s.token(at, b.Clock.Awake()-began) {
				reached = true
				cancel()
				return
			}
			b.tell(Progress{Step: StepSustained, Minute: s.minute() + 1, Share: s.elapsed.Seconds() / b.Plan.Sustained.Seconds(), Rate: s.rate()})
		})
		s.end(a)
		if err != nil && !reached {
			b.conclude(s, mark)
			return errors.Join(err, ctx.Err())
		}
	}
	b.conclude(s, mark)
	return ctx.Err()
}

// conclude sums up what was sustained. Heat is what it looks for, so that alone
// voids nothing.
func (b *bench) conclude(s *sustaining, mark int) {
	r := b.result.Sustained
	r.Seconds, r.Minutes = s.elapsed.Seconds(), s.minutes()
	r.Kept = kept(r.Minutes)
	for _, reason := range b.watch.between(mark, b.watch.mark()) {
		if reason.Kind != ReasonThrottled {
			add(&r.Void, reason)
		}
	}
}

package bench

import (
	"context"

	"plimsoll/monitor/fit"
)

// depths are the tests behind a deep context, those that cannot be among them
// with the reason.
func (b *bench) depths() []Test {
	var tests []Test
	for _, depth := range b.Plan.Depths {
		t := Test{Kind: Deep, Depth: depth}
		t.Skipped = b.impossible(depth + b.Plan.DeepOutput + margin)
		tests = append(tests, t)
	}
	return tests
}

// plenty is a context that any server that holds the model has room for: it is
// what servers take when nobody asks.
const plenty = 4096 + 1024

// impossible is why a context of that many tokens cannot be measured, nil when it
// can.
func (b *bench) impossible(tokens int) *Reason {
	if trained := b.result.Model.Trained; trained != nil && tokens > *trained {
		return &Reason{Kind: SkipTrained, Value: new(float64(*trained))}
	}
	s := b.watch.latest()
	if b.result.Unobserved || s == nil {
		return nil // the machine that has to have room is another one
	}
	var need *uint64
	if b.build != nil {
		need = b.build.Need(b.fitOptions(tokens)).Total
	}
	if need == nil || s.Headroom == nil {
		if tokens <= plenty {
			return nil
		}
		return &Reason{Kind: SkipUnknownNeed}
	}
	room := s.Headroom.Bytes
	for _, r := range s.Residents { // the model itself goes first
		if sameModel(r.Model, b.result.Model.Name) && r.Size != nil {
			room += *r.Size
		}
	}
	if *need > room {
		return &Reason{Kind: SkipMemory, Value: new(float64(*need - room))}
	}
	return nil
}

func (b *bench) fitOptions(context int) fit.Options {
	return fit.Options{Context: context, Weights: b.result.Model.SizeBytes}
}

// expectedDrop is how much of the rate reading a longer cache takes, nil when
// nobody knows how much that is.
func (b *bench) expectedDrop(depth int) *float64 {
	if b.build == nil {
		return nil
	}
	o := b.fitOptions(b.result.Options.Context)
	any := fit.Speed{Bandwidth: new(1e9)} // only what is read counts here
	shallow := b.build.Rate(o, any, b.tokens[English]).Read
	deep := b.build.Rate(o, any, depth).Read
	if shallow == nil || deep == nil || *deep == 0 {
		return nil
	}
	return new(1 - float64(*shallow)/float64(*deep))
}

// deep measures behind a long context: the middle of the answer is at its depth.
func (b *bench) deep(ctx context.Context, t Test) error {
	tokens := t.Depth - b.Plan.DeepOutput/2
	text := func() string {
		// What the first run's prompt came to makes the next ones exact.
		if last := b.result.Tests[len(b.result.Tests)-1]; last.Kind == Deep && last.Depth == t.Depth && len(last.Runs) == 1 {
			if n := last.Runs[0].PromptTokens; n != nil && *n > tokens/2 {
				b.letters *= float64(tokens) / float64(*n)
			}
		}
		return deepText(tokens, b.letters)
	}
	if err := b.test(ctx, t, b.Plan.DeepOutput, text); err != nil {
		return err
	}
	if b.result.Cached == nil {
		return b.cached(ctx, text())
	}
	return nil
}

// cached sends one long prompt again and again: all but the first time the server
// has it still.
func (b *bench) cached(ctx context.Context, text string) error {
	p := b.prompt(text, 1, b.result.Options.Context)
	var times []float64
	tokens := 0
	for n := range b.Plan.Runs + 1 {
		b.tell(Progress{Step: StepCached, Run: n, Runs: b.Plan.Runs})
		a, err := b.Server.Ask(ctx, p, nil)
		if err != nil {
			return err
		}
		first := a.First
		if first == 0 {
			first = a.Wall
		}
		if a.PromptTokens != nil {
			tokens = *a.PromptTokens
		}
		if n > 0 && a.queued() <= queuedMost {
			times = append(times, first.Seconds())
		}
	}
	if s := spread(times); s != nil {
		b.result.Cached = &Cached{PromptTokens: tokens, TTFT: *s}
	}
	b.done++
	return nil
}

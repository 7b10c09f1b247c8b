// Package bench measures how fast a model is, so that the figure can be held
// against another: the same texts, a prompt that is in no cache, a first run that
// does not count, a median with its spread, and the state of the machine beside it.
//
//	Config ─► Run ─► load ─► short prompts (three kinds) ─► deep contexts ─► sustained ─► Result
//	                  │            │  every request: Server.Ask
//	                  └── watch ◄──┴─ every update of the monitor: what interfered voids the run
//
// It loads, unloads and generates, so it runs only when a person asks for it.
package bench

import (
	"context"
	"errors"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// Config is what a benchmark is made of. Server, Clock, Model and Plan are needed.
type Config struct {
	Server Server
	Clock  monitor.Clock
	Model  string
	Plan   Plan
	// Watch tells what else the machine does. Nil where the server runs elsewhere.
	Watch Watcher
	// Programs reads the processes of the machine. May be nil.
	Programs func() ([]metal.Process, error)
	// Own are the process IDs of this program and others that are not to blame.
	Own []int
	// Unique makes a word that no prompt had before.
	Unique func() string
	// Progress is told how far it is. May be nil.
	Progress func(Progress)
}

// Plan is what to measure.
type Plan struct {
	// Runs is how many runs of each kind count, after one that does not.
	Runs int
	// Output is the most tokens of an answer, DeepOutput behind a long context.
	Output, DeepOutput int
	// Depths are the deep contexts, in tokens.
	Depths []int
	// Sustained is how long to decode without a pause; 0 leaves it out.
	Sustained time.Duration
	// SustainedOnly leaves out the rest.
	SustainedOnly bool
	Seed          int
	// Anyway begins though somebody's request is in flight.
	Anyway bool
}

// Usual is the plan when nothing else is asked for. The runs, lengths and depths
// are those that published figures for Apple silicon are usually given at.
func Usual() Plan {
	return Plan{Runs: 3, Output: 512, DeepOutput: 128, Depths: []int{4096, 16384}, Seed: 42}
}

const (
	// temperature 0 and one seed: the same words each time, so that speculative
	// decoding has the same luck.
	temperature = 0
	// stay is how long the model stays in memory after each request. It is unlike
	// any default, so that another client's request shows in the server's list.
	stay = 37 * time.Minute
	// margin is the tokens of a context beside prompt and answer: the template's.
	margin = 256
	// finish is how long the end may take after Ctrl-C, reload with a model that is
	// to be loaded again.
	finish = 5 * time.Second
	reload = time.Minute
)

// bench is one run of Run.
type bench struct {
	Config
	watch   *watch
	result  *Result
	build   *fit.Model   // nil when it is not known
	tokens  map[Kind]int // of the fixed prompts
	base    map[Kind]*Spread
	letters float64 // characters per token of English prose
	done    float64 // parts of all that are behind
	all     float64
	best    float64 // prefill rate, the best of short prompts
}

// Run measures. Ended by ctx or by an error it returns what there is with the
// error, and Result.Interrupted or Failure says so; nil when there is nothing.
func Run(ctx context.Context, c Config) (*Result, error) {
	about, err := c.Server.About(ctx)
	if err != nil {
		return nil, err
	}
	model, err := c.Server.Describe(ctx, c.Model)
	switch {
	case err != nil:
		return nil, err
	case model.Cloud:
		return nil, &Error{Kind: CodeCloud, Model: c.Model}
	case model.Embedding:
		return nil, &Error{Kind: CodeEmbedding, Model: c.Model}
	}
	b := &bench{Config: c, tokens: map[Kind]int{}, base: map[Kind]*Spread{}}
	if build, err := fit.Read(model.Show); err == nil {
		b.build = &build
	}
	b.watch = observe(ctx, c.Watch, model.Name)
	defer b.watch.stop()
	began := c.Clock.Awake()
	b.result = &Result{
		Taken: c.Clock.Now(), Prompts: PromptSet, Server: about, Model: model,
		Options: Options{Output: c.Plan.Output, Seed: c.Plan.Seed, Temperature: temperature, Runs: c.Plan.Runs},
	}
	err = b.look(ctx)
	if err == nil {
		err = b.measure(ctx)
	}
	b.leave(ctx)
	r := b.result
	r.Seconds = (c.Clock.Awake() - began).Seconds()
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		r.Interrupted = true
	default:
		r.Failure = err.Error()
	}
	if err != nil && !r.Measured() {
		return nil, err
	}
	return r, err
}

// Measured reports whether anything was measured at all.
func (r *Result) Measured() bool {
	for _, t := range r.Tests {
		if t.Decode != nil {
			return true
		}
	}
	return r.Load != nil || r.Sustained != nil && len(r.Sustained.Minutes) > 0
}

// look notes the state of the machine before, and refuses to disturb somebody
// else's request.
func (b *bench) look(ctx context.Context) error {
	if !b.watch.after(ctx, b.Clock, 0) {
		b.result.Unobserved = true
		return ctx.Err()
	}
	for s := b.watch.latest(); len(s.Backends) == 0 && b.Watch != nil; s = b.watch.latest() {
		if !b.watch.after(ctx, b.Clock, b.watch.mark()) { // a monitor that has only just begun
			break
		}
	}
	s := b.watch.latest()
	b.result.Simulated = s.Simulated
	b.result.Before, b.result.Machine = b.watch.conditions(), b.watch.machine()
	if b.Plan.Anyway {
		return ctx.Err()
	}
	// What an agent says of a server may be a poll old: it is given time to see
	// that the last request has ended.
	for began := b.Clock.Awake(); ; {
		model := busy(b.watch.latest())
		switch {
		case model == "":
			return ctx.Err()
		case b.Clock.Awake()-began > busyFor || !b.watch.after(ctx, b.Clock, b.watch.mark()):
			return &Error{Kind: CodeBusy, Model: model}
		}
	}
}

// busyFor is how long a model must be at work for somebody to be waiting for it.
const busyFor = 6 * time.Second

// busy names a model that is at work, "" when none is.
func busy(s *monitor.Snapshot) string {
	for _, r := range s.Residents {
		if !r.Cloud && r.Activity == monitor.ActivityBusy {
			return r.Model
		}
	}
	return ""
}

// measure carries out the plan.
func (b *bench) measure(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	depths := b.depths()
	b.result.Options.Context = b.context(depths)
	b.all = b.parts(depths)
	if err := b.load(ctx); err != nil {
		return err
	}
	if !b.Plan.SustainedOnly {
		for _, t := range texts {
			err := b.test(ctx, Test{Kind: t.kind}, b.Plan.Output, func() string { return t.text })
			if err != nil {
				return err
			}
		}
		for _, t := range depths {
			if t.Skipped != nil {
				b.result.Tests = append(b.result.Tests, t)
				continue
			}
			if err := b.deep(ctx, t); err != nil {
				return err
			}
		}
	}
	if b.Plan.Sustained > 0 {
		return b.sustain(ctx)
	}
	return nil
}

// calibrate finds how many tokens the fixed prompts are for this model, and how
// many characters of English make one.
func (b *bench) calibrate(ctx context.Context) error {
	for _, t := range texts {
		b.tell(Progress{Step: StepPrepare})
		a, err := b.Server.Ask(ctx, b.prompt(t.text, 1, 0), nil)
		if err != nil {
			return err
		}
		if a.PromptTokens != nil {
			b.tokens[t.kind] = *a.PromptTokens
		}
	}
	b.letters = perToken(english, b.tokens[English])
	return nil
}

// prompt makes a request that nobody has sent before.
func (b *bench) prompt(text string, output, context int) Prompt {
	system, prefix := opening(b.Unique())
	return Prompt{
		Model: b.result.Model.Name, System: system, Text: prefix + text, Output: output, Context: context,
		Seed: b.Plan.Seed, Temperature: temperature, Keep: stay,
	}
}

// context is the context length that all requests of a benchmark share: another
// one would make the server load the model again.
func (b *bench) context(depths []Test) int {
	tokens := 0
	for _, n := range b.tokens {
		tokens = max(tokens, n+b.Plan.Output)
	}
	for _, t := range depths {
		if t.Skipped == nil && !b.Plan.SustainedOnly {
			tokens = max(tokens, t.Depth+b.Plan.DeepOutput)
		}
	}
	tokens = (tokens + margin + 255) / 256 * 256
	if trained := b.result.Model.Trained; trained != nil {
		tokens = min(tokens, *trained)
	}
	return tokens
}

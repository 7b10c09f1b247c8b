package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// load drops the model and loads it again.
func (b *bench) load(ctx context.Context) error {
	b.tell(Progress{Step: StepLoad})
	model := b.result.Model.Name
	err := b.Server.Unload(ctx, model)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err == nil {
		err = b.gone(ctx, model)
	}
	if err != nil {
		return err
	}
	context := b.result.Options.Context
	a, err := b.Server.Ask(ctx, b.prompt(english, 1, context), nil)
	if err != nil {
		return err
	}
	l := &Load{Seconds: a.Load.Seconds(), Wall: a.Wall.Seconds(), Context: context, Bytes: b.result.Model.SizeBytes}
	if l.Bytes != nil && l.Seconds > 0 {
		l.Rate = new(float64(*l.Bytes) / l.Seconds)
	}
	b.result.Load = l
	if b.Watch != nil && b.watch.after(ctx, b.Clock, b.watch.mark()) {
		l.From = b.watch.volume()
	}
	b.done++
	return nil
}

// unloadWait is how long a model may take to leave the server's list.
const unloadWait = 30 * time.Second

// gone waits until the model is no longer listed.
func (b *bench) gone(ctx context.Context, model string) error {
	for began := b.Clock.Awake(); ; {
		_, listed, err := b.Server.Listed(ctx, model)
		switch {
		case err != nil || !listed:
			return err
		case b.Clock.Awake()-began > unloadWait:
			return &Error{Kind: CodeBusy, Model: model, cause: fmt.Errorf("it is still in memory %v after an unload", unloadWait)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.Clock.After(100 * time.Millisecond):
		}
	}
}

// leave gives the memory back: the model is in it with the benchmark's own context,
// which is of no use to anybody else. One that was to stay for ever is loaded again.
func (b *bench) leave(ctx context.Context) {
	m := b.result.Model
	limit := finish
	if m.Pinned {
		limit = reload
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	b.result.After = b.watch.conditions()
	if b.Server.Unload(ctx, m.Name) == nil {
		b.gone(ctx, m.Name) //nolint:errcheck // the result stands all the same
	}
	if m.Pinned {
		b.Server.Keep(ctx, m.Name, -1) //nolint:errcheck
	}
}

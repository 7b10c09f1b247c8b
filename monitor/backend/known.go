package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"plimsoll/monitor/request"
)

// Kind is a kind of model server.
type Kind struct {
	Name string
	// Env is the environment variable that holds its address.
	Env string
	// New watches a server of this kind at an address, "" for the usual one.
	New func(server string, opts ...Option) (Backend, error)
}

// Known are the kinds of server there is a Backend for. Where an address may be of
// any kind they are tried in this order.
var Known = []Kind{
	{Name: "ollama", Env: "OLLAMA_HOST", New: NewOllama},
	{Name: llamaServer, Env: "PLIMSOLL_LLAMA_SERVER", New: NewLlamaServer},
}

// SlotReader tells the counters of one process that runs a model: Slots.
type SlotReader interface {
	Read(context.Context) ([]request.Slot, error)
	Totals(context.Context) (request.Totals, error)
	io.Closer
}

// SlotTeller is a Backend whose server may tell its slots itself.
type SlotTeller interface {
	// Slots is nil when it does not. Each call makes a reader, for one question at a
	// time; the caller closes it.
	Slots() SlotReader
}

// New watches whatever kind of server is at an address, in any form of OLLAMA_HOST;
// "" is DefaultServer. It counts as the first of Known until another kind answers.
// The error, which wraps ErrAddress, means that the address cannot be used.
func New(server string, opts ...Option) (Backend, error) {
	if server == "" {
		server = DefaultServer
	}
	d := &detected{}
	for _, kind := range Known {
		b, err := kind.New(server, opts...)
		if err != nil {
			return nil, err
		}
		d.kinds = append(d.kinds, b)
	}
	return d, nil
}

// detected is a server of a kind that is found out.
type detected struct {
	kinds []Backend

	mu sync.Mutex
	is int // index of the kind that answered last
}

func (d *detected) now() Backend {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kinds[d.is]
}

func (d *detected) Name() string    { return d.now().Name() }
func (d *detected) Address() string { return d.now().Address() }

// Poll implements Backend. Where something answers that is not of the kind it was,
// the other kinds are tried.
func (d *detected) Poll(ctx context.Context) Answer {
	was := d.now()
	a := was.Poll(ctx)
	if a.Status.State != Failed {
		return a
	}
	for i, b := range d.kinds {
		if b == was {
			continue
		}
		if other := b.Poll(ctx); other.Status.State == Running {
			d.mu.Lock()
			d.is = i
			d.mu.Unlock()
			return other
		}
	}
	return a
}

func (d *detected) Unload(ctx context.Context, model string) error { return d.now().Unload(ctx, model) }

func (d *detected) Keep(ctx context.Context, model string, keep time.Duration) error {
	return d.now().Keep(ctx, model, keep)
}

// Describe implements Describer where the server does.
func (d *detected) Describe(ctx context.Context, model string) ([]byte, error) {
	if b, ok := d.now().(Describer); ok {
		return b.Describe(ctx, model)
	}
	return nil, fmt.Errorf("describing %s: %s does not tell: %w", model, d.Name(), ErrNotFound)
}

// Slots implements SlotTeller.
func (d *detected) Slots() SlotReader {
	if t, ok := d.now().(SlotTeller); ok {
		return t.Slots()
	}
	return nil
}

// Close implements io.Closer.
func (d *detected) Close() error {
	var errs []error
	for _, b := range d.kinds {
		if c, ok := b.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/bench"
	"plimsoll/monitor/store"
)

// benchMeasure measures a model and keeps the result.
func (p *program) benchMeasure(ctx context.Context, f benchFlags, model string) error {
	r, err := p.measured(ctx, f, model)
	if r == nil {
		return err
	}
	if r.Interrupted {
		p.say(p.errs, "bench.interrupted")
	} else if err != nil {
		p.complain(p.words.Error(err))
	}
	if err := p.benchPrint(f, r); err != nil {
		return err
	}
	if r.Interrupted || err != nil || !sound(r) {
		return told(exitFailed)
	}
	return nil
}

// sound reports a result in which nothing is void.
func sound(r *bench.Result) bool {
	for _, t := range r.Tests {
		if len(t.Void) > 0 {
			return false
		}
	}
	return r.Sustained == nil || len(r.Sustained.Void) == 0
}

// measured carries out a benchmark and keeps what came of it. The result may be
// there in spite of an error.
func (p *program) measured(ctx context.Context, f benchFlags, model string) (*bench.Result, error) {
	s, end, err := p.source(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	update, err := firstAnswered(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := p.benchConfig(f, model, s, update)
	if err != nil {
		return nil, err
	}
	progress := &benchProgress{program: p, screen: p.terminal(p.errs)}
	c.Progress = progress.show
	r, err := bench.Run(ctx, c)
	progress.end()
	if r != nil {
		p.keepResult(r)
	}
	return r, err
}

// benchConfig says whom to measure, and who looks on.
func (p *program) benchConfig(f benchFlags, model string, s source, update monitor.Update) (bench.Config, error) {
	var server *backend.Status
	for i, b := range update.Snapshot.Backends {
		if b.Kind == "ollama" && (server == nil || server.State != backend.Running) {
			server = &update.Snapshot.Backends[i]
		}
	}
	if server == nil {
		return bench.Config{}, failed("bench.no_server", nil)
	}
	simulated := update.Snapshot.Simulated
	ask, err := bench.NewOllama(p.withUser(server.Address), p.clock, simulated)
	if err != nil {
		return bench.Config{}, err
	}
	c := bench.Config{Server: ask, Clock: p.clock, Model: model, Plan: f.plan, Unique: rand.Text, Own: []int{os.Getpid()}}
	if !onThisMachine(server.Address) {
		return c, nil // what goes on here says nothing of it
	}
	c.Watch = s
	if local, err := p.machine(); err == nil && !simulated {
		c.Programs = func() ([]metal.Process, error) { return local.Processes() }
	}
	return c, nil
}

// withUser is an address with the user and password that the settings have for it:
// nobody else is told them.
func (p *program) withUser(address string) string {
	for _, configured := range []string{p.serverFlag, p.storedSettings().Server, p.getenv("OLLAMA_HOST")} {
		base, err := backend.ParseHost(configured)
		if err != nil || configured == "" {
			continue
		}
		plain := *base
		plain.User = nil
		if strings.TrimSuffix(plain.String(), "/") == address {
			return base.String()
		}
	}
	return address
}

// onThisMachine reports an address of the loopback.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return ip.IsLoopback()
	}
	return u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")
}

// keepResult puts a result into the history, and says where it is. One of a simulated
// machine is not of this one.
func (p *program) keepResult(r *bench.Result) {
	if r.Simulated {
		p.say(p.errs, "bench.not_kept_simulated")
		return
	}
	err := p.addResult(r)
	if err != nil {
		p.say(p.errs, "bench.not_kept", view.Args{"Reason": p.words.Error(err)})
		return
	}
	p.say(p.errs, "bench.kept", view.Args{"ID": r.ID})
}

func (p *program) addResult(r *bench.Result) error {
	path, err := store.Path(p.goos, p.home, p.getenv)
	if err != nil {
		return err
	}
	h, err := store.Open(path)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err == nil {
		// Whoever pressed Ctrl-C wants what there is.
		r.ID, err = h.AddBenchmark(context.Background(), store.Benchmark{
			Taken: r.Taken, Backend: r.Server.Address, Model: r.Model.Name, Digest: r.Model.Digest,
			Engine: r.Server.Engine, Version: r.Server.Version, Result: text,
		})
	}
	return errors.Join(err, h.Close())
}

// readHistory opens the history for a command that only reads.
func (p *program) readHistory() (*store.History, error) {
	path, err := store.Path(p.goos, p.home, p.getenv)
	if err != nil {
		return nil, err
	}
	return store.Read(path)
}

// decodeResult is a result as the history keeps it.
func decodeResult(b store.Benchmark) (*bench.Result, error) {
	var r bench.Result
	if err := json.Unmarshal(b.Result, &r); err != nil {
		return nil, fmt.Errorf("reading the result %d: %w", b.ID, err)
	}
	r.ID = b.ID
	return &r, nil
}

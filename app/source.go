package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/backend/serverlog"
)

// source is where a command has its facts from: the agent, or a monitor of its own.
type source interface {
	Watch(context.Context, monitor.Options, func(monitor.Update) error) error
	Models(context.Context) ([]backend.Model, error)
	Do(context.Context, monitor.Command) error
}

// helloPatience is how long the agent may take to say that it is there.
const helloPatience = 3 * time.Second

// reconnectAfter is the time between two tries to reach an agent that went away.
const reconnectAfter = 500 * time.Millisecond

// source finds the agent. Where none runs, this process reads machine and server
// itself and says so, unless the person named the agent (--socket): then the
// answer must be that agent's. A server named with --server is asked directly.
// The caller calls end when done.
func (p *program) source(ctx context.Context) (s source, end func(), err error) {
	path, named, err := p.socket()
	if err != nil {
		return nil, nil, err
	}
	if p.serverFlag == "" {
		client := api.Dial(path)
		hello, cancel := context.WithTimeout(ctx, helloPatience)
		defer cancel()
		_, err = client.Health(hello)
		if err == nil {
			return client, func() {}, nil
		}
		if named || !errors.Is(err, api.ErrNoAgent) {
			return nil, nil, err
		}
		p.say(p.errs, "cli.source.self")
	}
	return p.self(ctx)
}

// self is a monitor in this process, which ends with end.
func (p *program) self(ctx context.Context) (source, func(), error) {
	local, err := p.machine()
	if err != nil {
		return nil, nil, err
	}
	settings := p.storedSettings()
	server, err := p.server(settings)
	if err != nil {
		return nil, nil, err
	}
	backends := p.servers(server)
	config := monitor.Config{
		Local: local, Backends: backends, Clock: p.clock, EndProcess: metal.EndProcess, Hot: settings.HotCelsius,
		Log: slog.New(slog.DiscardHandler),
	}
	if limits := p.thisMachine(local, func() api.Settings { return settings }); limits != nil {
		config.Limiter = limits
	}
	m := monitor.New(config)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	return &self{monitor: m, servers: len(backends)}, func() { cancel(); <-done }, nil
}

// storedSettings are those of the file, or the defaults where it cannot be read.
func (p *program) storedSettings() api.Settings {
	path, err := settingsPath(p.goos, p.home, p.getenv)
	if err != nil {
		return api.Settings{}
	}
	settings, _, err := readSettings(path)
	if err != nil {
		return api.Settings{} // the agent says what is wrong with it
	}
	return settings
}

// server makes the backend for the address in force: the flag's, the settings',
// OLLAMA_HOST's or the default.
func (p *program) server(settings api.Settings) (backend.Backend, error) {
	address := p.serverFlag
	if address == "" {
		address = settings.Server
	}
	if address == "" {
		address = p.getenv("OLLAMA_HOST")
	}
	b, err := backend.New(address, backend.WithLog(p.serverLog(settings)))
	if err != nil && p.serverFlag != "" {
		return nil, usage("cli.usage.server", view.Args{"Value": backend.WithoutUser(address), "Reason": err.Error()})
	}
	if err != nil {
		return unusable{kind: "ollama", address: backend.WithoutUser(address), cause: err}, nil
	}
	return b, nil
}

// servers are the one in force and those that the environment names beside it, a
// variable for each kind.
func (p *program) servers(first backend.Backend) []backend.Backend {
	all := []backend.Backend{first}
	if p.serverFlag != "" {
		return all // that one was asked for
	}
	for _, kind := range backend.Known[1:] {
		address := p.getenv(kind.Env)
		if address == "" {
			continue
		}
		name := kind.Name
		if base, err := backend.ParseHost(address); err == nil {
			name += ":" + base.Port() // the first may be of that kind too
		}
		b, err := kind.New(address, backend.WithName(name))
		if err != nil {
			b = unusable{kind: kind.Name, address: backend.WithoutUser(address), cause: err}
		}
		if b.Address() != first.Address() {
			all = append(all, b)
		}
	}
	return all
}

// serverLog follows the log of a server on this machine: the flag's, the settings'
// or that in the usual places; nil where it is not to be read.
func (p *program) serverLog(settings api.Settings) *serverlog.Follower {
	switch path := cmp.Or(p.logFlag, settings.Log); path {
	case api.LogOff:
		return nil
	case "":
		return serverlog.NewFollower(serverlog.Places(p.goos, p.home), serverlog.HasJournal())
	default:
		return serverlog.NewFollower([]string{path}, false)
	}
}

// unusable stands for a server whose address makes no sense. The monitor goes on
// with the machine's own facts, and the server's row says what is wrong.
type unusable struct {
	kind, address string
	cause         error
}

func (u unusable) Name() string    { return u.kind }
func (u unusable) Address() string { return u.address }
func (u unusable) Poll(context.Context) backend.Answer {
	return backend.Answer{Status: backend.Status{
		Name: u.Name(), Kind: u.kind, Address: u.address,
		State: backend.Failed, Cause: "bad_address", Detail: u.cause.Error(),
	}}
}
func (u unusable) Unload(context.Context, string) error              { return u.cause }
func (u unusable) Keep(context.Context, string, time.Duration) error { return u.cause }

// self answers as an agent does, from a monitor in this process.
type self struct {
	monitor *monitor.Monitor
	servers int
}

// answered says whether every server was heard of, with an answer or with why
// there is none. An agent's updates are always taken as such.
func answered(s source, u monitor.Update) bool {
	own, ok := s.(*self)
	return u.Snapshot != nil && (!ok || len(u.Snapshot.Backends) >= own.servers)
}

// freshness tells when an update knows what the servers said after a command
// began. An agent's newest update may be a poll old, and what it lacks may have
// come since.
type freshness struct{ first map[string]time.Time }

// is reports whether every server in u that runs has answered since the first
// call. A monitor of this process has only just asked.
func (f *freshness) is(s source, u monitor.Update) bool {
	if _, own := s.(*self); own {
		return true
	}
	begin := f.first == nil
	if begin {
		f.first = map[string]time.Time{}
	}
	fresh := true
	for _, b := range u.Snapshot.Backends {
		if b.State != backend.Running || b.Answered == nil {
			continue
		}
		if begin {
			f.first[b.Name] = *b.Answered
		}
		fresh = fresh && b.Answered.After(f.first[b.Name])
	}
	return fresh
}

func (s *self) Do(ctx context.Context, c monitor.Command) error { return s.monitor.Do(ctx, c) }

func (s *self) Watch(ctx context.Context, options monitor.Options, each func(monitor.Update) error) error {
	return s.monitor.Watch(ctx, options, each)
}

// errEnough ends a Watch that has seen what it wanted.
var errEnough = errors.New("enough")

// Models waits for the servers' first answers.
func (s *self) Models(ctx context.Context) ([]backend.Model, error) {
	err := s.Watch(ctx, monitor.Options{}, func(u monitor.Update) error {
		if answered(s, u) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		return nil, err
	}
	return s.monitor.Models(), nil
}

// follow watches like Watch, and past an agent that ends: it waits for the next
// one. gone is told when the connection breaks, before anything else comes.
func (p *program) follow(ctx context.Context, s source, options monitor.Options, each func(monitor.Update) error, gone func() error) error {
	broken := false
	for {
		err := s.Watch(ctx, options, each)
		switch {
		case errors.Is(err, api.ErrGone), broken && errors.Is(err, api.ErrNoAgent):
		default:
			return err
		}
		if errors.Is(err, api.ErrGone) {
			if err := gone(); err != nil {
				return err
			}
		}
		broken = true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.clock.After(reconnectAfter):
		}
	}
}

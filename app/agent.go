package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll"
	"plimsoll/app/notify"
	"plimsoll/app/tray"
	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
	"plimsoll/monitor/store"
)

// agentConfig is what differs between an agent on this machine and the demo.
type agentConfig struct {
	socket    string
	settings  *settingsFile
	local     metal.Reader
	clock     monitor.Clock
	simulated bool
	// server makes the backend for the settings in force.
	server     func(api.Settings) (backend.Backend, error)
	endProcess func(pid int, started uint64) error
	// history is the file that keeps what the agent saw, "" for none.
	history string
	// limiter changes the GPU's limit; nil where nothing can.
	limiter monitor.Limiter
	tray    bool
	// silent keeps the log off standard error, unless --verbose asks for it.
	silent bool
	// listening is told once clients can connect; nil tells nobody.
	listening func(*agent)
}

// servers are the one of the settings and those that the environment names beside
// it. The demo has its own alone.
func (c *agentConfig) servers(p *program, first backend.Backend) []backend.Backend {
	if c.simulated {
		return []backend.Backend{first}
	}
	return p.servers(first)
}

// agentConfig is the configuration on this machine. A settings file that could
// not be read is reported here and does not keep the agent from starting.
func (p *program) agentConfig() (agentConfig, error) {
	socket, _, err := p.socket()
	if err != nil {
		return agentConfig{}, err
	}
	path, err := settingsPath(p.goos, p.home, p.getenv)
	if err != nil {
		path = "" // kept in memory alone
	}
	settings, aside, problem := openSettings(path)
	switch {
	case path == "":
		p.say(p.errs, "cli.settings.no_home")
	case aside != "":
		p.complain(p.words.Text("cli.settings.aside", view.Args{"Path": path, "Aside": aside, "Reason": problem.Error()}))
	case problem != nil:
		p.complain(p.words.Text("cli.settings.unreadable", view.Args{"Path": path, "Reason": problem.Error()}))
	}
	local, err := p.machine()
	if err != nil {
		return agentConfig{}, err
	}
	history, err := store.Path(p.goos, p.home, p.getenv)
	if err != nil {
		history = "" // as for the settings, HOME is not set
	}
	c := agentConfig{
		socket: socket, history: history, settings: settings, local: local, clock: p.clock,
		server: p.server, endProcess: metal.EndProcess,
	}
	if limits := p.thisMachine(local, settings.get); limits != nil {
		c.limiter = limits
	}
	return c, nil
}

// agent is the running program behind the API, the tray and the notifications.
type agent struct {
	program  *program
	config   agentConfig
	monitor  *monitor.Monitor
	past     past
	windows  *windows
	started  time.Time
	log      *slog.Logger
	words    atomic.Pointer[view.Renderer]
	changed  chan struct{} // another language is in force
	notifier notify.Notifier
	inTray   atomic.Bool
}

// runAgent is the agent from its socket to its end: by ctx, or by Quit in the
// tray. It fails with api.ErrAgentRunning when the socket is another's. On macOS
// a tray makes it the main goroutine's work.
func (p *program) runAgent(ctx context.Context, c agentConfig) error {
	l, err := api.Listen(c.socket)
	if err != nil {
		return err
	}
	a, err := p.newAgent(c)
	if err != nil {
		l.Close()
		return err
	}
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	parts, ctx := errgroup.WithContext(ctx)
	if a.past.recorder != nil {
		box := a.monitor.Subscribe(monitor.Options{Lossless: true})
		parts.Go(func() error { a.past.record(ctx, box, a.log); return nil })
	}
	parts.Go(func() error { return orEnded(ctx, a.monitor.Run(ctx)) })
	parts.Go(func() error { return api.Serve(ctx, l, a, a.health) })
	a.log.Info("agent started", "version", plimsoll.Version, "socket", c.socket)
	if c.listening != nil {
		c.listening(a)
	}
	if c.tray {
		a.showTray(ctx, quit, parts)
	} else {
		parts.Go(func() error { return a.feed(ctx, a.monitor.Subscribe(monitor.Options{}), nil) })
	}
	err = parts.Wait()
	a.log.Info("agent ended")
	return err
}

func orEnded(ctx context.Context, err error) error {
	if ended(ctx, err) {
		return nil
	}
	return err
}

func (p *program) newAgent(c agentConfig) (*agent, error) {
	settings := c.settings.get()
	server, err := c.server(settings)
	if err != nil {
		return nil, err
	}
	level := slog.LevelInfo
	if p.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(p.errs, &slog.HandlerOptions{Level: level}))
	if c.silent && !p.verbose {
		log = slog.New(slog.DiscardHandler)
	}
	past := p.openPast(c, log)
	a := &agent{
		program: p, config: c, log: log, past: past, started: time.Now(), changed: make(chan struct{}, 1),
		windows: newWindows(p.getenv, c.socket, log),
		monitor: monitor.New(monitor.Config{
			Local: c.local, Backends: c.servers(p, server), Clock: c.clock,
			Simulated: c.simulated, Hot: settings.HotCelsius, EndProcess: c.endProcess,
			Limiter: c.limiter, ConfirmLimit: true, Log: log,
			SwapDay: past.swapDay, PostMortem: past.postMortem,
		}),
	}
	a.monitor.Restore(past.efficiencies)
	a.words.Store(p.words)
	return a, nil
}

// noticeIcon is the size in pixels of the icon in a notification: the 48 points
// of the freedesktop servers, doubled.
const noticeIcon = 96

// showTray runs the tray here and the notifications beside it, until ctx ends or
// the person quits. Should the tray fail, the agent goes on without.
func (a *agent) showTray(ctx context.Context, quit func(), parts *errgroup.Group) {
	a.notifier = notify.New(plimsoll.Name, tray.Icon(view.IconNormal, "", noticeIcon, false), func(c monitor.Command) { a.click(ctx, c) }, a.log)
	box := a.monitor.Subscribe(monitor.Options{})
	views := make(chan view.View, 1)
	a.inTray.Store(true)
	defer a.inTray.Store(false)
	parts.Go(func() error {
		defer a.notifier.Close()
		return a.feed(ctx, box, views)
	})
	err := tray.Run(ctx, tray.Config{
		Name: plimsoll.Name, ID: plimsoll.ID, Words: a.words.Load(), Log: a.log,
		Do:    func(c monitor.Command) { a.click(ctx, c) },
		Open:  func(page string) { a.tell(a.OpenWindow(page)) },
		Quit:  quit,
		Watch: box.SetWatch,
	}, views)
	switch {
	case ctx.Err() != nil || err == nil:
		quit()
	case !errors.Is(err, tray.ErrNoBus): // which the tray has told already
		a.log.Error("tray ended", "error", err)
	}
}

func (a *agent) health() api.Health {
	return api.Health{
		Version: plimsoll.Version, PID: os.Getpid(), Uptime: time.Since(a.started).Seconds(),
		Simulated: a.config.simulated, Tray: a.inTray.Load(),
	}
}

// Subscribe, Do, Models, Settings, SetSettings and OpenWindow make the agent an
// api.Agent.
func (a *agent) Subscribe(o monitor.Options) *monitor.Mailbox    { return a.monitor.Subscribe(o) }
func (a *agent) Do(ctx context.Context, c monitor.Command) error { return a.monitor.Do(ctx, c) }
func (a *agent) Models() []backend.Model                         { return a.monitor.Models() }
func (a *agent) Builds() []monitor.Build                         { return a.monitor.Builds() }
func (a *agent) Plans() []monitor.Plan                           { return a.monitor.Plans() }
func (a *agent) Advise(t monitor.Task) monitor.Advice            { return a.monitor.Advise(t) }
func (a *agent) Settings() api.Settings                          { return a.config.settings.get() }

// Plan says what a model on disk comes to.
func (a *agent) Plan(ctx context.Context, r monitor.PlanRequest) (monitor.Plan, error) {
	return a.monitor.Plan(ctx, r)
}

// Observe takes what a meter says of a request.
func (a *agent) Observe(r request.Request) { a.monitor.Observe(r) }

// SetSettings stores settings and puts them in force: the language of the tray
// and of notifications, the temperature that is an alert, and the server.
func (a *agent) SetSettings(s api.Settings) error {
	if err := checkSettings(s); err != nil {
		return err
	}
	before := a.config.settings.get()
	if err := a.config.settings.set(s); err != nil {
		return err
	}
	a.monitor.SetHot(s.HotCelsius)
	if s.Language != before.Language {
		tag := s.Language
		if tag == "" {
			tag = view.SystemLanguage(a.program.getenv)
		}
		a.words.Store(view.In(tag))
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
	if s.Server == before.Server && s.Log == before.Log {
		return nil
	}
	server, err := a.config.server(s)
	if err != nil {
		return api.Failure("bad_settings", "the server's address", err)
	}
	a.monitor.SetBackends(a.config.servers(a.program, server))
	return nil
}

// OpenWindow starts the window program, or sends a running window to a page.
func (a *agent) OpenWindow(page string) error {
	if page != "" && !slices.Contains(windowPages, page) {
		return api.Failure("bad_request", fmt.Sprintf("the window has no page %q", page), nil)
	}
	return a.windows.open(page)
}

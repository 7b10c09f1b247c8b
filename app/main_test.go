package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/sim"
)

var update = flag.Bool("update", false, "write the golden files anew")

// deadline is how long a test waits for what must come.
const deadline = 30 * time.Second

// TestMain makes the test binary plimsoll itself when it is asked to: the tests
// that need processes of their own run main as it is.
func TestMain(m *testing.M) {
	if os.Getenv("PLIMSOLL_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// world is a simulated Mac with its server, and a home folder with nothing in it.
type world struct {
	t     *testing.T
	mac   *sim.Mac
	clock *sim.Clock
	home  string
	env   map[string]string
	// socket is the running agent's, "" without one.
	socket string
}

// newWorld starts a Mac whose time runs fast, so that minutes pass in a test.
func newWorld(t *testing.T) *world {
	t.Helper()
	const speed = 30
	w := &world{t: t, clock: sim.NewClock(time.Now(), speed), home: shortFolder(t)}
	w.mac = sim.New(sim.Config{Clock: w.clock, Seed: 1})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.mac.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-done })
	w.env = map[string]string{"OLLAMA_HOST": l.Addr().String(), "LANG": "en_US.UTF-8"}
	return w
}

// shortFolder is a folder for sockets: paths of tests are too long for them.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// program is one run in this world: no terminal, and what it prints is kept.
func (w *world) program(out, errs *output) *program {
	return &program{
		in: strings.NewReader(""), out: out, errs: errs,
		getenv: func(name string) string { return w.env[name] }, home: w.home, goos: "linux", euid: 501,
		terminal: func(any) bool { return false }, size: func() (int, int) { return 0, 0 },
		machine: func() (metal.Reader, error) { return w.mac, nil }, clock: w.clock,
	}
}

// output is what a program prints. Reading and writing at once is fine.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// run carries out one command line and returns what came of it.
func (w *world) run(args ...string) (code int, out, errs string) {
	w.t.Helper()
	return w.runWith(nil, args...)
}

func (w *world) runWith(change func(*program), args ...string) (code int, out, errs string) {
	w.t.Helper()
	var o, e output
	p := w.program(&o, &e)
	if change != nil {
		change(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	code = p.run(ctx, args)
	if ctx.Err() != nil {
		w.t.Fatalf("plimsoll %q did not end; it printed\n%s%s", args, o.String(), e.String())
	}
	return code, o.String(), e.String()
}

// load makes a model resident.
func (w *world) load(model string) {
	w.t.Helper()
	job, err := w.mac.Load(model)
	if err != nil {
		w.t.Fatal(err)
	}
	select {
	case <-job.Done():
	case <-time.After(deadline):
		w.t.Fatalf("%s was not loaded", model)
	}
}

// resident waits until the running agent, if there is one, knows of n models.
func (w *world) resident(n int) {
	w.t.Helper()
	if w.socket != "" {
		w.await(w.socket, "the models", func(u monitor.Update) bool { return len(u.Snapshot.Residents) == n })
	}
}

// agent runs an agent on the Mac until stop, at the path it returns.
func (w *world) agent() (socket string, stop func()) {
	w.t.Helper()
	socket = filepath.Join(w.home, "agent.sock")
	w.socket = socket
	p := w.program(&output{}, &output{})
	p.words = view.In("en")
	ctx, cancel := context.WithCancel(context.Background())
	listening := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- p.runAgent(ctx, agentConfig{
			socket: socket, settings: &settingsFile{}, local: w.mac, clock: w.clock, simulated: true,
			server:     func(api.Settings) (backend.Backend, error) { return p.server(api.Settings{}) },
			endProcess: w.mac.EndProcess, limiter: newDemoLimit(w.mac),
			listening: func(*agent) { close(listening) },
		})
	}()
	select {
	case <-listening:
	case err := <-ended:
		w.t.Fatalf("the agent did not start: %v", err)
	case <-time.After(deadline):
		w.t.Fatal("the agent did not start")
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Errorf("the agent ended with %v", err)
			}
		})
	}
	w.t.Cleanup(stop)
	w.await(socket, "the server's first answer", func(u monitor.Update) bool { return len(u.Snapshot.Backends) > 0 })
	return socket, stop
}

// await watches an agent until an update is as wanted.
func (w *world) await(socket, what string, wanted func(monitor.Update) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := api.Dial(socket).Watch(ctx, monitor.Options{}, func(u monitor.Update) error {
		if u.Snapshot != nil && wanted(u) {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		w.t.Fatalf("%s did not come: %v", what, err)
	}
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test ./app -update writes it anew. Got:\n%s\nwant:\n%s", path, got, want)
	}
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// contextOf is a context that ends with the test, and its end by hand.
func contextOf(t *testing.T) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func chmod(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// code is an error's code, "" if it has none.
func code(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return coded.Code()
	}
	return ""
}

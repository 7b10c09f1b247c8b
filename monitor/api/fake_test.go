package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

// deadline is how long a test waits for an event that must come.
const deadline = 20 * time.Second

// machine is a metal.Reader with memory that a test can make as big to print as
// it likes.
type machine struct{ chip string }

func (m machine) Machine() (*metal.Machine, error) { return &metal.Machine{Chip: m.chip}, nil }
func (machine) Memory() (*metal.Memory, error)     { return &metal.Memory{Used: new(uint64(1 << 30))}, nil }
func (machine) Swap() (*metal.Swap, error)         { return nil, metal.ErrUnsupported }
func (machine) GPU() (*metal.GPU, error)           { return nil, metal.ErrUnsupported }
func (machine) Thermal() (*metal.Thermal, error)   { return nil, metal.ErrUnsupported }
func (machine) Power() (*metal.Power, error)       { return nil, metal.ErrUnsupported }
func (machine) Processes() ([]metal.Process, error) {
	return []metal.Process{{PID: 1, Name: "big", Footprint: new(uint64(2 << 30))}}, nil
}
func (machine) Process(int) (*metal.Process, error) { return nil, metal.ErrNoProcess }

// handClock ticks when a test says so.
type handClock struct {
	mu    sync.Mutex
	now   time.Duration
	ticks chan time.Time
}

var epoch = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func (c *handClock) Awake() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}
func (c *handClock) Now() time.Time                       { return epoch.Add(c.Awake()) }
func (c *handClock) After(time.Duration) <-chan time.Time { return c.ticks }

// tick makes the monitor tick once. It returns when the monitor has begun to.
func (c *handClock) tick(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	c.now += time.Second
	c.mu.Unlock()
	select {
	case c.ticks <- c.Now():
	case <-time.After(deadline):
		t.Fatal("the monitor does not tick: somebody holds it")
	}
}

// fakeAgent is a monitor with a hand clock and settings in memory.
type fakeAgent struct {
	*monitor.Monitor
	clock *handClock

	mu       sync.Mutex
	settings Settings
	pages    []string
	did      []monitor.Command
	err      error
}

func newFakeAgent(t *testing.T, chip string) *fakeAgent {
	clock := &handClock{ticks: make(chan time.Time)}
	a := &fakeAgent{clock: clock, Monitor: monitor.New(monitor.Config{Local: machine{chip}, Clock: clock})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); a.Monitor.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return a
}

func (a *fakeAgent) Do(_ context.Context, c monitor.Command) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.did = append(a.did, c)
	return a.err
}

func (a *fakeAgent) Builds() []monitor.Build {
	return []monitor.Build{{Backend: "ollama", Model: "tiny", Build: fit.Model{Architecture: "llama", Weights: new(uint64(1e9)),
		Layers: []fit.Layers{{Kind: fit.Full, Count: 2, KVHeads: 2, Key: 16, Value: 16}}}}}
}

func (a *fakeAgent) Models() []backend.Model {
	return []backend.Model{{Backend: "ollama", Model: "a", Size: new(uint64(5))}}
}

func (a *fakeAgent) Settings() Settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.settings
}

func (a *fakeAgent) SetSettings(s Settings) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Language == "xx" {
		return Failure("bad_settings", "no such language", nil)
	}
	a.settings = s
	return nil
}

func (a *fakeAgent) OpenWindow(page string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pages = append(a.pages, page)
	return a.err
}

// fail makes Do and OpenWindow fail.
func (a *fakeAgent) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// folder is a folder that only this user can open, with a short path.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start serves a at path until stop, which waits for the end.
func start(t *testing.T, a Agent, path string, stuck time.Duration) (stop func()) {
	t.Helper()
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, a, l, stuck)
}

func serving(t *testing.T, a Agent, l net.Listener, stuck time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	health := func() Health { return Health{Version: "1.2.3", PID: os.Getpid(), Uptime: 4} }
	go func() { ended <- serve(ctx, l, &server{agent: a, health: health, stuck: stuck}) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("Serve ended with %v", err)
				}
			case <-time.After(deadline):
				t.Error("Serve did not end")
			}
		})
	}
	t.Cleanup(stop)
	return stop
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

// TestMain can be an agent that gets killed: with PLIMSOLL_TEST_LISTEN it takes
// that socket, says so, and waits. With PLIMSOLL_TEST_ASK it is a client of that
// socket, another user's if PLIMSOLL_TEST_USER names one.
func TestMain(m *testing.M) {
	if path := os.Getenv("PLIMSOLL_TEST_LISTEN"); path != "" {
		if _, err := Listen(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("listening")
		select {}
	}
	if path := os.Getenv("PLIMSOLL_TEST_ASK"); path != "" {
		fmt.Println(askAs(path, os.Getenv("PLIMSOLL_TEST_USER")))
		return
	}
	os.Exit(m.Run())
}

func agentPath(t *testing.T) string { return filepath.Join(folder(t), "agent.sock") }

func long(n int) string { return strings.Repeat("x", n) }

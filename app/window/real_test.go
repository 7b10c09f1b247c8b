package main

import (
	"context"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
)

// limit is how long the real window may take to do one thing on a busy machine.
const limit = 60 * time.Second

// TestRealWindow starts the real program on a display of its own, against a real
// agent's API: it draws, a click arrives, a second start brings it forward, it
// ends when it is closed, and Fyne has nothing to complain of.
func TestRealWindow(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL_WINDOW") == "" {
		t.Skip("set PLIMSOLL_REAL_WINDOW=1 to start the real window under Xvfb")
	}
	for _, tool := range []string{"Xvfb", "openbox", "import", "xdotool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	program, err := filepath.Abs("../../bin/plimsoll-window")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("bin/plimsoll-window is not built")
	}
	agent, socket := serve(t)
	display := startDisplay(t)
	home := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"--socket", socket}, args...)...)
		cmd.Env = append(os.Environ(), "DISPLAY="+display, "HOME="+home, "LANG=en_US.UTF-8", "LC_ALL=", "FYNE_THEME=light",
			"XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "DBUS_SESSION_BUS_ADDRESS=unix:path="+home+"/none")
		return cmd
	}
	var log output
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the window's log:\n%s", log.String())
		}
	})
	cmd := command()
	cmd.Stderr, cmd.Stdout = &log, &log
	ended := run(t, cmd)
	agent.wait(t, "a watcher", func() bool { return agent.watchers > 0 })
	window := find(t, display)

	img := eventually(t, "something is drawn", func() (image.Image, bool) {
		img := screenshot(t, display, window)
		return img, colours(img) > 200
	})
	keepPicture(t, "real-overview.png", img)

	// The button stands where the software renderer draws it too.
	x, y := buttonAt(t, agent.update(t))
	tool(t, display, "xdotool", "mousemove", "--window", window, fmt.Sprint(x), fmt.Sprint(y), "click", "1")
	agent.wait(t, "the click's command", func() bool { return len(agent.commands) > 0 })
	if c := agent.commands[0]; c.Kind != monitor.CommandUnload || c.Model != "qwen3:14b" {
		t.Errorf("the click sent %+v", c)
	}

	second := command("--page", "settings")
	if out, err := second.CombinedOutput(); err != nil {
		t.Errorf("a second start: %v\n%s", err, out)
	}
	settings := eventually(t, "the settings are shown", func() (image.Image, bool) {
		now := screenshot(t, display, window)
		return now, different(img, now) > 0.05
	})
	keepPicture(t, "real-settings.png", settings)

	tool(t, display, "xdotool", "key", "ctrl+w")
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the closed window ended with %v", err)
		}
	case <-time.After(limit):
		t.Error("Ctrl-W does not end the window")
	}
	for _, bad := range []string{"Error in Fyne call thread", "panic", "Fyne error", "DATA RACE"} {
		if strings.Contains(log.String(), bad) {
			t.Errorf("the window's log has %q:\n%s", bad, log.String())
		}
	}
}

// served is an agent behind the real API: a monitor over facts that stand still.
type served struct {
	*monitor.Monitor
	mu       sync.Mutex
	watchers int
	commands []monitor.Command
	settings api.Settings
}

func (s *served) Subscribe(o monitor.Options) *monitor.Mailbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers++
	return s.Monitor.Subscribe(o)
}

func (s *served) Do(_ context.Context, c monitor.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, c)
	return nil
}

func (s *served) Settings() api.Settings         { return s.settings }
func (s *served) SetSettings(api.Settings) error { return nil }
func (s *served) OpenWindow(string) error        { return nil }
func (s *served) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	eventually(t, what, func() (struct{}, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return struct{}{}, done()
	})
}

// update is what the window is shown.
func (s *served) update(t *testing.T) monitor.Update {
	t.Helper()
	box := s.Monitor.Subscribe(monitor.Options{})
	defer box.Close()
	return eventually(t, "an update with a model", func() (monitor.Update, bool) {
		u, ok := box.Take()
		return u, ok && u.Snapshot != nil && len(u.Snapshot.Residents) > 0
	})
}

func serve(t *testing.T) (*served, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{Monitor: monitor.New(monitor.Config{Local: stillMachine{}, Backends: []backend.Backend{stillMachine{}}, Clock: monitor.SystemClock()})}
	socket := filepath.Join(shortFolder(t), "agent.sock")
	l, err := api.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { s.Run(ctx) })
	all.Go(func() { api.Serve(ctx, l, s, func() api.Health { return api.Health{Version: "0.1.0"} }) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return s, socket
}

// shortFolder is a private folder whose path a socket can have.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "plw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// stillMachine is a machine and a server that never change.
type stillMachine struct{}

func (stillMachine) Machine() (*metal.Machine, error) { return calm().Snapshot.Machine, nil }
func (stillMachine) Memory() (*metal.Memory, error)   { return calm().Snapshot.Memory, nil }
func (stillMachine) Swap() (*metal.Swap, error)       { return &calm().Snapshot.Swap.Swap, nil }
func (stillMachine) GPU() (*metal.GPU, error)         { return calm().Snapshot.GPU, nil }
func (stillMachine) Thermal() (*metal.Thermal, error) { return calm().Snapshot.Thermal, nil }
func (stillMachine) Power() (*metal.Power, error)     { return nil, metal.ErrUnsupported }
func (stillMachine) Processes() ([]metal.Process, error) {
	return []metal.Process{{PID: 7, Name: "Safari", App: "Safari", Footprint: gibs(2.6)}}, nil
}
func (stillMachine) Process(int) (*metal.Process, error)               { return nil, metal.ErrNoProcess }
func (stillMachine) Name() string                                      { return "ollama" }
func (stillMachine) Address() string                                   { return "http://127.0.0.1:11434" }
func (stillMachine) Unload(context.Context, string) error              { return nil }
func (stillMachine) Keep(context.Context, string, time.Duration) error { return nil }
func (stillMachine) Poll(context.Context) backend.Answer {
	s := calm().Snapshot
	r := s.Residents[0].Resident
	r.Expires = new(time.Now().Add(time.Hour))
	status := s.Backends[0]
	status.Answered = new(time.Now())
	return backend.Answer{Status: status, Residents: []backend.Resident{r}}
}

// buttonAt is the middle of the first model's Unload button in the window's pixels.
func buttonAt(t *testing.T, u monitor.Update) (x, y int) {
	t.Helper()
	w := stage(t, false, nil)
	w.apply(pictureOf(u, "en"))
	button := w.overview.models.all[0].buttons[0]
	at := place(button)
	return int(at.X + button.Size().Width/2), int(at.Y + button.Size().Height/2)
}

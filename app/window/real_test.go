package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
)

// limit is how long the real window may take to do one thing on a busy machine.
const limit = 60 * time.Second

// The real program, on a display of its own, against a real agent's API: it
// draws, a click arrives, a second start brings it forward, and Fyne finds
// nothing to complain about its threads.
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
	cmd := command()
	cmd.Stderr, cmd.Stdout = &log, &log
	run(t, cmd)
	agent.wait(t, "a watcher", func() bool { return agent.watchers > 0 })
	window := find(t, display)

	img := eventually(t, "something is drawn", func() (image.Image, bool) {
		img := screenshot(t, display, window)
		return img, colours(img) > 200
	})
	keepPicture(t, "real-overview.png", img)

	// The button stands where the software renderer draws it too.
	x, y := place(t, agent.update(t))
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

	cmd.Process.Signal(syscall.SIGTERM)
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

// place is the middle of the first model's Unload button in the window's pixels.
func place(t *testing.T, u monitor.Update) (x, y int) {
	t.Helper()
	w := stage(t, false, nil)
	w.apply(pictureOf(u, "en"))
	button := w.overview.models.all[0].buttons[0]
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(button)
	return int(at.X + button.Size().Width/2), int(at.Y + button.Size().Height/2)
}

// startDisplay starts Xvfb on a display that it chooses, and a window manager.
func startDisplay(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "900x760x24", "-nolisten", "tcp", "+extension", "GLX")
	x.ExtraFiles = []*os.File{write}
	run(t, x)
	write.Close()
	number := make([]byte, 16)
	n, err := read.Read(number)
	if err != nil {
		t.Fatalf("Xvfb tells no display: %v", err)
	}
	display := ":" + strings.TrimSpace(string(number[:n]))
	wm := exec.Command("openbox")
	wm.Env = append(os.Environ(), "DISPLAY="+display, "HOME="+t.TempDir())
	run(t, wm)
	return display
}

// run starts a program and ends it with the test.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// find is the number of the window once the window manager has placed it.
func find(t *testing.T, display string) string {
	t.Helper()
	return eventually(t, "the window is on the screen", func() (string, bool) {
		cmd := exec.Command("xdotool", "search", "--onlyvisible", "--name", "^Plimsoll$")
		cmd.Env = append(os.Environ(), "DISPLAY="+display)
		out, _ := cmd.Output()
		id := strings.TrimSpace(string(out))
		return id, regexp.MustCompile(`^\d+$`).MatchString(id)
	})
}

func tool(t *testing.T, display, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "DISPLAY="+display)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errs.String())
	}
	return out
}

func screenshot(t *testing.T, display, window string) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(tool(t, display, "import", "-window", window, "png:-")))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// colours is how many different colours a picture has.
func colours(img image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

// different is the share of the pixels that differ.
func different(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	n := 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return float64(n) / float64(a.Bounds().Dx()*a.Bounds().Dy())
}

// eventually asks until it is so.
func eventually[T any](t *testing.T, what string, ask func() (T, bool)) T {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(limit); ; {
		if value, ok := ask(); ok {
			return value
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// keepPicture leaves a picture where PLIMSOLL_PICTURES says, for people to see.
func keepPicture(t *testing.T, name string, img image.Image) {
	t.Helper()
	if folder := os.Getenv("PLIMSOLL_PICTURES"); folder != "" {
		if err := write(filepath.Join(folder, name), img); err != nil {
			t.Error(err)
		}
	}
}

// output collects what a program says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

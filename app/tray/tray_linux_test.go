//go:build !headless && !race

// Race runs leave these tests out: systray itself reads its menu's version while
// it writes it.

package tray

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/app/tray/traytest"
	"plimsoll/app/view"
	"plimsoll/monitor"
)

// childEnv makes this test binary run as a program with a tray: it shows the
// views that come on its standard input, one JSON line each, and prints what
// its clicks lead to. systray works once in a process, so each test has its own.
const childEnv = "PLIMSOLL_TRAY_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

func child() int {
	ctx, cancel := context.WithCancel(context.Background())
	var mutex sync.Mutex
	say := func(kind string, what any) {
		mutex.Lock()
		defer mutex.Unlock()
		text, _ := json.Marshal(what)
		fmt.Printf("%s %s\n", kind, text)
	}
	views := make(chan view.View)
	go func() {
		defer cancel()
		in := json.NewDecoder(os.Stdin)
		for {
			var v view.View
			if in.Decode(&v) != nil {
				return
			}
			views <- v
			say("shown", nil) // the one before is on the desktop
		}
	}()
	err := Run(ctx, Config{
		Name: os.Getenv(childEnv), ID: "dev.plimsoll.test", Words: view.In("en"),
		Do:    func(c monitor.Command) { say("do", c) },
		Open:  func(page string) { say("open", page) },
		Quit:  func() { say("quit", nil) },
		Watch: func(open bool) { say("watch", open) },
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, views)
	if err != nil {
		say("error", err.Error())
		if errors.Is(err, ErrNoBus) {
			return 3
		}
		return 1
	}
	return 0
}

// program is a child.
type program struct {
	t     testing.TB
	host  *traytest.Host
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	log   strings.Builder // readable after the end
	ended chan error
}

func run(t testing.TB, h *traytest.Host, id string, env ...string) *program {
	t.Helper()
	p := &program{t: t, host: h, lines: make(chan string, 10000), ended: make(chan error, 1)}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = h.Env(append(env, childEnv+"="+id)...)
	p.cmd.Stderr = &p.log
	p.in, _ = p.cmd.StdinPipe()
	out, _ := p.cmd.StdoutPipe()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
		close(p.lines)
		p.ended <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.in.Close(); p.cmd.Process.Kill() })
	return p
}

func (p *program) show(v view.View) {
	p.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		p.t.Fatalf("showing a view: %v\n%s", err, p.log.String())
	}
}

// expect waits for a line that begins so.
func (p *program) expect(begin string) string {
	p.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the program ended (%v) before it said %q:\n%s", <-p.ended, begin, p.log.String())
			}
			if strings.HasPrefix(line, begin) {
				return line
			}
		case <-deadline:
			p.t.Fatalf("the program did not say %q", begin)
		}
	}
}

// end closes the program's input, which ends its tray, and gives its exit code.
func (p *program) end() int {
	p.t.Helper()
	p.in.Close()
	for range p.lines { // until it closes its output
	}
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		p.t.Fatal("the program did not end")
		return -1
	}
}

// item waits until the program has an icon in the panel.
func (p *program) item(id string) *traytest.Item {
	p.t.Helper()
	var found *traytest.Item
	p.host.Wait(p.t, "the tray icon of "+id, func() bool {
		for _, item := range p.host.Items() {
			if item.ID() == id {
				found = item
				return true
			}
		}
		return false
	})
	return found
}

func TestTrayOnABus(t *testing.T) {
	h := traytest.New(t)
	p := run(t, h, "plimsoll-a")
	v := models("qwen3:14b", "llama_3:3b")
	v.Badge, v.Icon, v.Tooltip = "14", view.IconWarning, "14 GiB left"
	p.show(v)
	item := p.item("plimsoll-a")
	h.Wait(t, "both models", func() bool { return item.Has("qwen3:14b", "Unload") && item.Has("llama_3:3b", "Unload") })
	want := decode(t, Icon(view.IconWarning, "14", panelSize, false))
	h.Wait(t, "name, tooltip and the icon's pixels", func() bool {
		icon, err := item.Icon()
		return err == nil && furthest(icon, want) == 0 &&
			item.Title() == "plimsoll-a" && item.Tooltip() == "14 GiB left"
	})
	if err := item.Click("qwen3:14b", "Unload"); err != nil {
		t.Fatal(err)
	}
	if got, want := p.expect("do "), `do {"kind":"unload","backend":"ollama","model":"qwen3:14b"}`; got != want {
		t.Errorf("the click sent %s, want %s", got, want)
	}
	p.show(models("llama_3:3b"))
	h.Wait(t, "the row to go", func() bool { return !item.Has("qwen3:14b") })
	if err := item.Click("Settings"); err != nil {
		t.Fatal(err)
	}
	p.expect(`open "settings"`)
	// A second program of the same kind is another icon, with rows of its own.
	q := run(t, h, "plimsoll-b")
	q.show(models("other"))
	second := q.item("plimsoll-b")
	h.Wait(t, "the second program's model", func() bool { return second.Has("other", "Pin") })
	if item.Has("other") || second.Has("llama_3:3b") {
		t.Error("two programs share rows")
	}
	if err := second.Click("Quit"); err != nil {
		t.Fatal(err)
	}
	q.expect("quit")
	if code := q.end(); code != 0 {
		t.Errorf("the second program ended with %d", code)
	}
	h.Wait(t, "the second icon to go", func() bool { return len(h.Items()) == 1 })
	if code := p.end(); code != 0 {
		t.Errorf("the program ended with %d:\n%s", code, p.log.String())
	}
}

func TestLanguageChangesOnABus(t *testing.T) {
	h := traytest.New(t)
	p := run(t, h, "language")
	p.show(view.View{Language: "en"})
	item := p.item("language")
	english := []string{"No model in memory", "No alerts", "Open window", "Settings…", "Quit"}
	h.Wait(t, "the English rows", func() bool { return hasAll(item, english) })
	p.show(view.View{Language: "zh"})
	chinese := []string{"内存中没有模型", "没有警报", "打开窗口", "设置…", "退出"}
	h.Wait(t, "the Chinese rows", func() bool { return hasAll(item, chinese) })
	for _, row := range english {
		if item.Has(row) {
			t.Errorf("%q is still there", row)
		}
	}
	if err := item.Click("设置…"); err != nil {
		t.Fatal(err)
	}
	p.expect(`open "settings"`)
	p.end()
}

func hasAll(item *traytest.Item, rows []string) bool {
	for _, row := range rows {
		if !item.Has(row) {
			return false
		}
	}
	return true
}

func TestOpenedMenuIsWatched(t *testing.T) {
	h := traytest.New(t)
	for name, open := range map[string]func(*traytest.Item) error{
		"KDE and GNOME": (*traytest.Item).Open, "libdbusmenu": (*traytest.Item).OpenGroup,
		"libdbusmenu, submenu": func(i *traytest.Item) error { return i.OpenSub(1) },
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, h, "watch")
			item := p.item("watch")
			// The bus may still be making the monitor; a person opens a menu again too.
			stop := make(chan struct{})
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(200 * time.Millisecond):
						open(item)
					}
				}
			}()
			p.expect("watch true")
			close(stop)
			p.end()
		})
	}
}

func TestNoClickIsLostUnderUpdates(t *testing.T) {
	h := traytest.New(t)
	p := run(t, h, "busy")
	p.show(models("a", "b"))
	item := p.item("busy")
	h.Wait(t, "the models", func() bool { return item.Has("a", "Unload") && item.Has("b", "Pin") })
	menu, err := item.Menu()
	if err != nil {
		t.Fatal(err)
	}
	id := menu.Find("b", "Unload").ID
	if err := item.Open(); err != nil { // every number follows now
		t.Fatal(err)
	}
	p.expect("watch true")
	done := make(chan error, 1)
	go func() {
		for range 20 {
			if err := item.ClickID(id); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for n := range 500 {
		v := models("a", "b")
		v.Memory = view.Row{Label: "Memory", Text: fmt.Sprintf("%d of 32 GiB", n%32)}
		v.Models[1].Text = fmt.Sprint("update ", n)
		p.show(v)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got := p.expect("do "); !strings.Contains(got, `"kind":"unload"`) || !strings.Contains(got, `"model":"b"`) {
			t.Fatalf("a click sent %s", got)
		}
	}
	h.Wait(t, "the last update", func() bool { return item.Has("b · update 499") })
}

func TestPanelMayComeLateAndRestart(t *testing.T) {
	h := traytest.New(t)
	h.StopPanel()
	p := run(t, h, "late")
	p.show(models("a"))
	p.show(models("a"))
	p.expect("shown") // runs without a panel
	for round := range 3 {
		if err := h.StartPanel(); err != nil {
			t.Fatal(err)
		}
		item := p.item("late")
		h.Wait(t, fmt.Sprint("the model, round ", round), func() bool { return item.Has("a", "Unload") })
		h.StopPanel()
	}
	if code := p.end(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if strings.Contains(p.log.String(), "level=WARN") {
		t.Errorf("a panel that came in time was missed:\n%s", p.log.String())
	}
}

func TestNoBus(t *testing.T) {
	h := traytest.New(t)
	for name, address := range map[string]string{
		"none": "DBUS_SESSION_BUS_ADDRESS=", "dead": "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/bus",
	} {
		p := run(t, h, "nobus", address, "PATH=/nonexistent") // nothing is started to get one
		p.expect("error")
		if code := p.end(); code != 3 {
			t.Errorf("%s: ended with %d", name, code)
		}
		if got := strings.Count(p.log.String(), "level=WARN"); got != 1 || !strings.Contains(p.log.String(), "no desktop session") {
			t.Errorf("%s: said %d times what is missing:\n%s", name, got, p.log.String())
		}
	}
}

func TestBusGoesAway(t *testing.T) {
	h := traytest.New(t)
	p := run(t, h, "lost")
	p.item("lost")
	done := make(chan struct{})
	go func() { // icons change while it happens
		defer close(done)
		for n := 0; ; n++ {
			if json.NewEncoder(p.in).Encode(view.View{Badge: fmt.Sprint(n % 100)}) != nil {
				return // it ended
			}
		}
	}()
	p.expect("shown")
	h.StopBus()
	p.expect("error")
	if code := p.end(); code != 3 {
		t.Errorf("ended with %d:\n%s", code, p.log.String())
	}
	<-done
}

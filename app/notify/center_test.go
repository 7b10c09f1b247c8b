package notify

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/metal/objc"
	"plimsoll/monitor"
)

// text is a log, or a list of commands, that may be read while it is written.
type text struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.Buffer.Write(p)
}

func (t *text) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.Buffer.String()
}

func logTo(t *text) *slog.Logger {
	return slog.New(slog.NewTextHandler(t, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// fakeMac is the runtime in C of package objc's tests. It is a fresh copy for
// each test: a class name is taken once per runtime.
type fakeMac struct {
	t                    *testing.T
	runtime              *objc.Runtime
	journal, bad         func() string
	badCalls, live, jobs func() int32
	completed            func() int32
	bundle               func(id string)
	authorize            func(yes, failure int32)
	answer               func(action, id string)
	releaseCategories    func()
}

func newFakeMac(t *testing.T) *fakeMac {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("gcc is not installed")
		}
		t.Skip("gcc is not installed; it builds the runtime for this test")
	}
	path := filepath.Join(t.TempDir(), "libfake.so")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-pthread", "-Wl,-Bsymbolic", "-o", path, "../../metal/objc/testdata/fake.c").CombinedOutput(); err != nil {
		t.Fatalf("building the runtime: %v\n%s", err, out)
	}
	l, err := objc.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeMac{t: t}
	if f.runtime, err = objc.Open(objc.Paths{ObjC: path, System: path}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		l.Func(&f.journal, "fake_journal"), l.Func(&f.bad, "fake_bad"), l.Func(&f.badCalls, "fake_bad_calls"),
		l.Func(&f.live, "fake_live"), l.Func(&f.jobs, "fake_jobs"), l.Func(&f.completed, "fake_completed"),
		l.Func(&f.bundle, "fake_bundle"), l.Func(&f.authorize, "fake_authorize"), l.Func(&f.answer, "fake_answer"),
		l.Func(&f.releaseCategories, "fake_release_categories"),
	); err != nil {
		t.Fatal(err)
	}
	return f
}

// wait waits for what happens on the runtime's threads.
func (f *fakeMac) wait(what string, seen func() bool) {
	f.t.Helper()
	waitFor(f.t, what, seen)
}

func waitFor(t *testing.T, what string, seen func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !seen() {
		select {
		case <-deadline:
			t.Fatalf("waiting for %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// settle ends a test: all blocks were called, nothing was done wrong, and all
// objects are gone.
func (f *fakeMac) settle() {
	f.t.Helper()
	f.releaseCategories()
	f.wait("the runtime's threads", func() bool { return f.jobs() == 0 })
	if n := f.badCalls(); n != 0 {
		f.t.Errorf("%d wrong calls, the first: %s", n, f.bad())
	}
	if n := f.live(); n != 0 {
		f.t.Errorf("%d objects were left", n)
	}
}

func swapping() view.Notice {
	return view.Notice{
		ID: "swapping", Title: "Swapping 45 MB/s", Text: "qwen3:14b takes 9.3 GiB", Severity: monitor.SeverityCritical,
		Action: &view.Action{Label: "Unload qwen3:14b", Enabled: true, Command: monitor.Command{Kind: monitor.CommandUnload, Model: "qwen3:14b"}},
	}
}

func TestCenterShowsAndActs(t *testing.T) {
	f := newFakeMac(t)
	f.bundle("dev.plimsoll.agent")
	acted := make(chan monitor.Command, 10)
	log := &text{}
	c, err := newCenter(f.runtime, options{name: "Plimsoll", log: logTo(log), words: view.In("en"), act: func(c monitor.Command) { acted <- c }}, plain{logTo(log)})
	if err != nil {
		t.Fatal(err)
	}
	// Shown before the person answered: it waits, and comes then.
	if err := c.Show(swapping()); err != nil {
		t.Fatal(err)
	}
	f.wait("the notice", func() bool { return strings.Contains(f.journal(), "add swapping|") })
	if err := c.Show(view.Notice{ID: "freed", Title: "Unloaded", Text: "9.3 GiB given back \xff", Severity: monitor.SeverityInfo}); err != nil {
		t.Fatal(err)
	}
	end := view.Notice{ID: "held", Title: "Still held", Severity: monitor.SeverityWarning,
		Action: &view.Action{Label: "End it", Enabled: true, Command: monitor.Command{Kind: monitor.CommandEndRunner, PID: new(7)}}}
	c.Show(end)
	c.Show(swapping()) // again: the same identifier and category
	want := `authorize options 6
categories [plimsoll.Unload qwen3:14b act Unload qwen3:14b]
add swapping|Swapping 45 MB/s|qwen3:14b takes 9.3 GiB|plimsoll.Unload qwen3:14b|sound
add freed|Unloaded|9.3 GiB given back ` + "\uFFFD" + `||
categories [plimsoll.Unload qwen3:14b act Unload qwen3:14b][plimsoll.End it act End it]
add held|Still held||plimsoll.End it|
add swapping|Swapping 45 MB/s|qwen3:14b takes 9.3 GiB|plimsoll.Unload qwen3:14b|sound
`
	if got := f.journal(); got != want {
		t.Errorf("the center got\n%s\nwant\n%s", got, want)
	}
	f.answer("com.apple.UNNotificationDefaultActionIdentifier", "swapping") // a click on the text
	f.answer(button, "swapping")
	if got := <-acted; got.Model != "qwen3:14b" || got.Kind != monitor.CommandUnload {
		t.Errorf("the button sent %+v", got)
	}
	f.answer(button, "swapping") // answered already
	f.answer(button, "freed")    // has no button
	if got := f.completed(); got != 4 {
		t.Errorf("%d of 4 answers were completed", got)
	}
	f.answer("", "held") // about to be shown while the program is in front
	if got := f.completed(); got != 1000+presentBanner+presentList+presentSound {
		t.Errorf("presentation options %d", got-1000)
	}
	c.Show(view.Notice{ID: "held", Withdraw: true})
	f.answer(button, "held")
	if len(acted) != 0 {
		t.Errorf("%d commands too many", len(acted))
	}
	if got := f.journal(); !strings.HasSuffix(got, "cancel held\nremove held\n") {
		t.Errorf("taking back sent\n%s", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.Show(swapping()) // after the end: nothing
	f.settle()
}

func TestCenterKeepsToTheAnswer(t *testing.T) {
	for _, test := range []struct {
		name        string
		yes, failed int32
		rest        bool   // shown by other means
		says        string // in the log
	}{
		{"no", 0, 0, false, "switched off"},
		{"unsigned", 0, 1, true, "not allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeMac(t)
			f.bundle("dev.plimsoll.agent")
			f.authorize(test.yes, test.failed)
			log := &text{}
			c, err := newCenter(f.runtime, options{log: logTo(log), words: view.In("en")}, plain{logTo(log)})
			if err != nil {
				t.Fatal(err)
			}
			f.wait("the answer", func() bool { return strings.Contains(log.String(), test.says) })
			c.Show(swapping())
			if got := strings.Contains(log.String(), "Swapping 45 MB/s"); got != test.rest {
				t.Errorf("shown by other means: %v, want %v\n%s", got, test.rest, log)
			}
			if strings.Contains(f.journal(), "add ") {
				t.Error("the center got a notice that was not allowed")
			}
			c.Close()
			f.settle()
		})
	}
}

func TestNoCenterWithoutABundle(t *testing.T) {
	f := newFakeMac(t)
	log := &text{}
	if _, err := newCenter(f.runtime, options{log: logTo(log)}, plain{logTo(log)}); err == nil || !strings.Contains(err.Error(), "bundle") {
		t.Errorf("without a bundle: %v", err)
	}
	f.settle() // also that the center was not touched, which would end the program
}

func TestScriptGetsTextsAsArguments(t *testing.T) {
	folder := t.TempDir()
	path, out := filepath.Join(folder, "osascript"), filepath.Join(folder, "out")
	shell := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"<$a>\"; done > " + out + "\n"
	if err := os.WriteFile(path, []byte(shell), 0o755); err != nil {
		t.Fatal(err)
	}
	s := script{path: path, rest: plain{logTo(&text{})}}
	n := view.Notice{ID: "x", Title: `-e "quit"`, Text: "$(rm -rf /) `x` \" & do shell script \"y\x00"}
	if err := s.Show(n); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := "<-e>\n<on run argv\n\tdisplay notification (item 2 of argv) with title (item 1 of argv)\nend run\n>\n<-->\n" +
		"<-e \"quit\">\n<$(rm -rf /) `x` \" & do shell script \"y >\n"
	if string(got) != want {
		t.Errorf("osascript got\n%s\nwant\n%s", got, want)
	}
	log := &text{}
	if err := (script{path: filepath.Join(folder, "none"), rest: plain{logTo(log)}}).Show(n); err == nil || !strings.Contains(log.String(), "rm -rf") {
		t.Errorf("without osascript: %v, log %s", err, log)
	}
}

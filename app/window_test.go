package main

import (
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/monitor/api"
)

// TestAWindowThatStaysIsClosedWithTheDemo starts a window program that would
// stay for a minute.
func TestAWindowThatStaysIsClosedWithTheDemo(t *testing.T) {
	dir := t.TempDir()
	fake, pidFile := filepath.Join(dir, "plimsoll-window"), filepath.Join(dir, "pid")
	write(t, fake, "#!/bin/sh\necho $$ > "+pidFile+"\nexec sleep 60\n")
	chmod(t, fake)
	w := newWindows(func(string) string { return fake }, filepath.Join(dir, "agent.sock"), slog.New(slog.DiscardHandler))
	w.close() // nothing is open yet
	if err := w.open(""); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, pidFile)))
	if err != nil {
		t.Fatal(err)
	}
	if session, err := syscall.Getpgid(pid); err != nil || session != pid {
		t.Errorf("the window is in the process group %d, %v: Ctrl-C at the agent would end it", session, err)
	}
	w.close()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the window outlived its demo")
	}
	w.close()
}

func TestASecondStart(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	code, out, _ := w.runWith(func(p *program) { p.terminal = func(any) bool { return true } }, "--socket", socket)
	if code != 0 {
		t.Errorf("at a terminal: exit code %d", code)
	}
	has(t, "at a terminal", out, "running already", socket, "plimsoll status --watch")
	if code, _, errs := w.run("--socket", socket, "serve"); code != exitFailed || !strings.Contains(errs, "already") {
		t.Errorf("serve: exit code %d, %s", code, errs)
	}
	opened := filepath.Join(w.home, "opened")
	fake := filepath.Join(w.home, "window")
	write(t, fake, "#!/bin/sh\necho \"$@\" > "+opened+"\n")
	chmod(t, fake)
	w.env["PLIMSOLL_WINDOW"] = fake
	if code, _, errs := w.run("--socket", socket); code != 0 {
		t.Errorf("from a desktop: exit code %d, %s", code, errs)
	}
	if text := readFile(t, opened); text != "--socket "+socket+"\n" {
		t.Errorf("the window was started with %q", text)
	}
	if err := api.Dial(socket).OpenWindow(t.Context(), "settings"); err != nil {
		t.Error(err)
	}
	if text := readFile(t, opened); text != "--socket "+socket+" --page settings\n" {
		t.Errorf("the window was started with %q", text)
	}
	w.env["DISPLAY"] = ":7"
	for script, says := range map[string]string{
		"exit 1":                               "(window ended at once: exit status 1). The same facts in a terminal: plimsoll status --watch",
		"echo first >&2; echo why >&2; exit 1": "The window did not open (why). The same",
	} {
		write(t, fake, "#!/bin/sh\n"+script+"\n")
		code, _, errs := w.run("--socket", socket)
		if code != exitFailed {
			t.Errorf("a window that cannot open: exit code %d", code)
		}
		has(t, script, errs, says)
	}
	if runtime.GOOS == "linux" {
		delete(w.env, "DISPLAY")
		code, _, errs := w.run("--socket", socket)
		if code != exitFailed {
			t.Errorf("without a display: exit code %d", code)
		}
		has(t, "without a display", errs, "There is no display for the window", "plimsoll status --watch")
	}
	delete(w.env, "PLIMSOLL_WINDOW")
	if code, _, errs := w.run("--socket", socket, "window"); code != exitFailed || !strings.Contains(errs, "PLIMSOLL_WINDOW") {
		t.Errorf("no window program: exit code %d, %s", code, errs)
	}
}

func TestWindowProgram(t *testing.T) {
	dir := t.TempDir()
	none := func(string) string { return "" }
	agent := filepath.Join(dir, "Plimsoll.app", "Contents", "MacOS", "plimsoll")
	write(t, agent, "")
	if _, err := windowProgram(none, agent); code(err) != "no_window" {
		t.Errorf("nothing installed: %v", err)
	}
	bundled := filepath.Join(dir, "Plimsoll.app", "Contents", "Helpers", "Plimsoll Window.app", "Contents", "MacOS", "plimsoll-window")
	write(t, bundled, "")
	if _, err := windowProgram(none, agent); code(err) != "no_window" {
		t.Errorf("a file that cannot be run: %v", err)
	}
	chmod(t, bundled)
	if got, err := windowProgram(none, agent); err != nil || got != bundled {
		t.Errorf("in the bundle: %q, %v", got, err)
	}
	beside := filepath.Join(filepath.Dir(agent), "plimsoll-window")
	write(t, beside, "")
	chmod(t, beside)
	if got, err := windowProgram(none, agent); err != nil || got != beside {
		t.Errorf("beside the agent: %q, %v", got, err)
	}
	if got, _ := windowProgram(func(string) string { return "/named" }, agent); got != "/named" {
		t.Errorf("named: %q", got)
	}
}

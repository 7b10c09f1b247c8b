package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/monitor/api"
)

// child is plimsoll as a process of its own, on this machine.
type child struct {
	*exec.Cmd
	out, errs output
	done      chan error
}

// start runs a command line with a home of its own and no session bus.
func (w *world) start(t *testing.T, socket string, args ...string) *child {
	t.Helper()
	c := w.prepare(socket, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.Wait() }()
	t.Cleanup(func() { c.Process.Kill() })
	return c
}

// prepare makes a process that has not started.
func (w *world) prepare(socket string, args ...string) *child {
	c := &child{Cmd: exec.Command(os.Args[0], args...), done: make(chan error, 1)}
	c.Env = []string{"PLIMSOLL_TEST_MAIN=1", "PLIMSOLL_SOCKET=" + socket, "HOME=" + w.home, "OLLAMA_HOST=" + w.env["OLLAMA_HOST"],
		"LANG=en_US.UTF-8", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(w.home, "nobus"), "PATH=" + os.Getenv("PATH")}
	c.Stdout, c.Stderr = &c.out, &c.errs
	return c
}

// end waits for the process and returns its exit code, −1 for a signal.
func (c *child) end(t *testing.T) int {
	t.Helper()
	select {
	case err := <-c.done:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		}
		if err != nil {
			t.Fatal(err)
		}
		return 0
	case <-time.After(deadline):
		t.Fatalf("%q did not end; it printed\n%s%s", c.Args, c.out.String(), c.errs.String())
		return 0
	}
}

func listening(t *testing.T, socket string) {
	t.Helper()
	eventually(t, "an agent at "+socket, func() bool {
		_, err := api.Dial(socket).Health(t.Context())
		return err == nil
	})
}

func TestSignalsEndTheAgentInGoodOrder(t *testing.T) {
	w := newWorld(t)
	socket := filepath.Join(w.home, "state", "agent.sock")
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !ossignal.Ignored(syscall.SIGHUP) { // nohup turns it off, for children too
		signals = append(signals, syscall.SIGHUP)
	}
	for _, signal := range signals {
		for _, args := range [][]string{{"serve"}, {}} { // without a bus, both run without a tray
			agent := w.start(t, socket, args...)
			listening(t, socket)
			agent.Process.Signal(signal)
			if code := agent.end(t); code != 0 {
				t.Errorf("%q after %v: exit code %d\n%s", args, signal, code, agent.errs.String())
			}
			if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q after %v: the socket is still there: %v", args, signal, err)
			}
			if len(args) == 0 {
				has(t, "standard error", agent.errs.String(), "no tray icon")
			}
		}
	}
}

func TestCommandsOfARunningAgent(t *testing.T) {
	w := newWorld(t)
	socket := filepath.Join(w.home, "state", "agent.sock")
	agent := w.start(t, socket, "serve")
	listening(t, socket)
	if second := w.start(t, socket, "serve"); second.end(t) != exitFailed || !strings.Contains(second.errs.String(), "already") {
		t.Errorf("a second serve said %q", second.errs.String())
	}
	status := w.start(t, socket, "status", "--json")
	if status.end(t) != 0 || !strings.HasPrefix(status.out.String(), `{"snapshot":{"taken":`) || status.errs.String() != "" {
		t.Errorf("status said %q and %q", status.out.String(), status.errs.String())
	}
	if unload := w.start(t, socket, "unload", "nothing"); unload.end(t) != exitNoModel {
		t.Errorf("unload of nothing said %q", unload.errs.String())
	}
	agent.Process.Kill()
	agent.end(t)
	alone := w.start(t, socket, "status")
	if alone.end(t) != 0 {
		t.Errorf("status without an agent failed: %s", alone.errs.String())
	}
	has(t, "status without an agent", alone.errs.String(), "No agent is running")
	next := w.start(t, socket, "serve") // takes over what the killed one left
	listening(t, socket)
	next.Process.Signal(os.Interrupt)
	if code := next.end(t); code != 0 {
		t.Errorf("the next agent ended with %d: %s", code, next.errs.String())
	}
}

func TestABrokenPipeEndsQuietly(t *testing.T) {
	w := newWorld(t)
	socket := filepath.Join(w.home, "state", "agent.sock")
	w.start(t, socket, "serve")
	listening(t, socket)
	c := exec.Command("sh", "-c", os.Args[0]+" status --watch --json | head -n 1")
	c.Env = []string{"PLIMSOLL_TEST_MAIN=1", "PLIMSOLL_SOCKET=" + socket, "HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil || strings.Count(string(out), "\n") != 1 || errs.Len() > 0 {
		t.Errorf("%v, %.80q, %q", err, out, errs.String())
	}
}

func TestDemoEndsByItselfWhereNobodyLooks(t *testing.T) {
	w := newWorld(t)
	window := filepath.Join(w.home, "plimsoll-window")
	// The window program is another package's; this one keeps to what it is asked.
	write(t, window, "#!/bin/sh\n[ \"$1 $3\" = '--socket --picture' ] && [ -S \"$2\" ] && echo picture > \"$4\"\n")
	chmod(t, window)
	c := &child{Cmd: exec.Command(os.Args[0], "demo", "--for", "2s", "--speed", "30", "--lang", "zh"), done: make(chan error, 1)}
	c.Dir = w.home
	c.Env = []string{"PLIMSOLL_TEST_MAIN=1", "HOME=" + w.home, "PLIMSOLL_WINDOW=" + window, "TMPDIR=" + w.home}
	c.Stdout, c.Stderr = &c.out, &c.errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.Wait() }()
	if code := c.end(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, c.errs.String())
	}
	out := c.out.String()
	has(t, "the demo", out, "Plimsoll [演示]", "Apple M5", "qwen2.5", "图片：")
	pictures := filepath.Join(w.home, "demo-pictures")
	for _, name := range []string{"terminal.txt", "window.png"} {
		path := filepath.Join(pictures, name)
		has(t, "the demo", out, path)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.home, "plimsoll-demo-*")); len(left) > 0 {
		t.Errorf("the demo left %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(w.home, ".config", "*")); len(left) > 0 {
		t.Errorf("the demo touched %q", left)
	}
}

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestSecondWindowBringsTheFirstForward(t *testing.T) {
	path := filepath.Join(shortFolder(t), "agent.sock")
	pages := make(chan string, 1)
	first, err := claim(path, "", func(page string) { pages <- page })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(path, pageSettings, nil); !errors.Is(err, errShown) {
		t.Fatalf("the second claim: %v, want errShown", err)
	}
	if page := <-pages; page != pageSettings {
		t.Errorf("the first window was asked for page %q", page)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := claim(path, "", nil)
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	again.Close()
}

// A window that was killed leaves its socket behind.
func TestDeadWindowIsReplaced(t *testing.T) {
	path := filepath.Join(shortFolder(t), "agent.sock")
	if err := os.WriteFile(windowSocket(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := claim(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := os.Stat(windowSocket(path))
	if err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
}

func TestWindowSocket(t *testing.T) {
	for agent, want := range map[string]string{
		"/run/user/1000/plimsoll/agent.sock": "/run/user/1000/plimsoll/window.sock",
		"/home/agent/demo.sock":              "/home/agent/demo.sock.window",
		"/tmp/demo-agent.sock":               "/tmp/demo-window.sock",
	} {
		if got := windowSocket(agent); got != want {
			t.Errorf("the window of %s listens at %s, want %s", agent, got, want)
		}
	}
}

func TestFindAgent(t *testing.T) {
	root := t.TempDir()
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	program := func(path string, mode os.FileMode) string {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inner := filepath.Join(root, "Plimsoll.app/Contents/Helpers/Plimsoll Window.app/Contents/MacOS/plimsoll-window")
	if _, err := findAgent(inner, none); err == nil {
		t.Error("an agent was found where none is")
	}
	outer := program("Plimsoll.app/Contents/MacOS/plimsoll", 0o755)
	if got, err := findAgent(inner, none); err != nil || got != outer {
		t.Errorf("in the bundle: %s, %v; want %s", got, err, outer)
	}
	beside := program("bin/plimsoll", 0o644)
	self := filepath.Join(root, "bin", "plimsoll-window")
	if _, err := findAgent(self, none); err == nil {
		t.Error("a file that cannot be run was taken")
	}
	if err := os.Chmod(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findAgent(self, none); err != nil || got != beside {
		t.Errorf("beside: %s, %v; want %s", got, err, beside)
	}
	if got, err := findAgent(filepath.Join(root, "x", "w"), func(string) (string, error) { return "/usr/bin/plimsoll", nil }); err != nil || got != "/usr/bin/plimsoll" {
		t.Errorf("in PATH: %s, %v", got, err)
	}
}

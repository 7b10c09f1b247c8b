package main

import (
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
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

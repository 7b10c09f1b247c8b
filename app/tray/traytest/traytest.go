// Package traytest is a desktop for tests: a private session bus with a panel
// that shows tray icons and menus and a service that shows notifications. A
// test or a measurement starts the program under test with Env and then looks
// and clicks as a person would.
package traytest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// Host is a session bus with a panel and a notification service, each of which
// can be taken away and brought back.
type Host struct {
	// Address is the bus's address for DBUS_SESSION_BUS_ADDRESS.
	Address string

	folder string
	daemon *exec.Cmd
	exited chan struct{}

	mutex   sync.Mutex
	changed chan struct{} // closed and renewed whenever something happened
	panel   *panel
	notices *notices
}

// config is a bus without service files: nothing of the machine's own desktop
// is started on it.
const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

// New starts a Host with a panel and a notification service, and ends it with
// the test. Without dbus-daemon the test is skipped, except in CI.
func New(t testing.TB) *Host {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("dbus-daemon is not installed (package dbus-daemon)")
		}
		t.Skip("dbus-daemon is not installed (package dbus-daemon)")
	}
	h, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// Start is New without a test. The caller calls Close.
func Start() (*Host, error) {
	h, err := StartBus()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(h.StartPanel(), h.StartNotifications()); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// StartBus starts a Host with nothing on its bus.
func StartBus() (*Host, error) {
	folder, err := os.MkdirTemp("", "traytest")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the bus: %w", err)
	}
	h := &Host{folder: folder, changed: make(chan struct{})}
	socket := filepath.Join(folder, "bus")
	h.Address = "unix:path=" + socket
	if err := os.WriteFile(filepath.Join(folder, "bus.conf"), fmt.Appendf(nil, config, socket), 0o600); err != nil {
		h.Close()
		return nil, fmt.Errorf("writing the bus's configuration: %w", err)
	}
	if err := h.startDaemon(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// startDaemon starts dbus-daemon and waits until it listens.
func (h *Host) startDaemon() error {
	daemon := exec.Command("dbus-daemon", "--config-file="+filepath.Join(h.folder, "bus.conf"), "--nofork", "--print-address=1")
	out, err := daemon.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting dbus-daemon: %w", err)
	}
	if err := daemon.Start(); err != nil {
		return fmt.Errorf("starting dbus-daemon: %w", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		daemon.Process.Kill()
		daemon.Wait()
		return fmt.Errorf("waiting for dbus-daemon's address: %w", err)
	}
	exited := make(chan struct{})
	go func() { daemon.Wait(); close(exited) }()
	h.daemon, h.exited = daemon, exited
	return nil
}

// StopBus ends the bus, as at the end of a desktop session.
func (h *Host) StopBus() {
	h.StopPanel()
	h.StopNotifications()
	if h.daemon != nil {
		h.daemon.Process.Kill()
		<-h.exited
		h.daemon = nil
		os.Remove(filepath.Join(h.folder, "bus"))
	}
}

// RestartBus starts a new bus at the same address, with nothing on it.
func (h *Host) RestartBus() error {
	h.StopBus()
	return h.startDaemon()
}

// Close ends everything.
func (h *Host) Close() {
	h.StopBus()
	os.RemoveAll(h.folder)
}

// Env is the environment of this process with the Host's bus in it and no other
// desktop: no display, and no runtime folder to find another bus in.
func (h *Host) Env(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP", "DISPLAY", "WAYLAND_DISPLAY":
			continue
		}
		env = append(env, v)
	}
	return append(append(env, "DBUS_SESSION_BUS_ADDRESS="+h.Address), more...)
}

// connect opens one more connection to the bus.
func (h *Host) connect() (*dbus.Conn, error) {
	conn, err := dbus.Connect(h.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the test's bus: %w", err)
	}
	return conn, nil
}

// happened wakes whoever waits.
func (h *Host) happened() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
}

// WaitFor asks until the answer is true: now, whenever something happened on
// the bus, and now and then in case what it asks about is elsewhere. The error
// says what was not seen in time.
func (h *Host) WaitFor(ctx context.Context, what string, seen func() bool) error {
	for {
		h.mutex.Lock()
		changed := h.changed
		h.mutex.Unlock()
		if seen() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-changed:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Wait is WaitFor in a test, for at most 20 seconds.
func (h *Host) Wait(t testing.TB, what string, seen func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.WaitFor(ctx, what, seen); err != nil {
		var menus strings.Builder
		for _, item := range h.Items() {
			menu, _ := item.Menu()
			fmt.Fprintf(&menus, "\n%s %s:\n%s", item.Sender, item.ID(), menu)
		}
		t.Fatalf("%v%s", err, menus.String())
	}
}

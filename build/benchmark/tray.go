package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// tray is a message bus of its own with a desktop's tray on it, as little of one
// as an icon needs: it takes registrations and asks for nothing.
type tray struct {
	address string
	daemon  *exec.Cmd
	conn    *dbus.Conn
	items   chan string
}

const watcherName = "org.kde.StatusNotifierWatcher"

// newTray starts the bus and the tray. The caller closes it.
func newTray() (*tray, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting a bus: %w", err)
	}
	defer r.Close()
	t := &tray{daemon: exec.Command("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=3"), items: make(chan string, 8)}
	t.daemon.ExtraFiles = []*os.File{w}
	t.daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = t.daemon.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("starting a bus: %w", err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err == nil {
		t.address = strings.TrimSpace(line)
		err = t.serve()
	}
	if err != nil {
		t.close()
		return nil, fmt.Errorf("starting a bus with a tray: %w", err)
	}
	return t, nil
}

func (t *tray) serve() error {
	conn, err := dbus.Connect(t.address)
	if err != nil {
		return err
	}
	t.conn = conn
	const path = "/StatusNotifierWatcher"
	if err := conn.Export(watcher{t.items}, path, watcherName); err != nil {
		return err
	}
	_, err = prop.Export(conn, path, prop.Map{watcherName: {
		"IsStatusNotifierHostRegistered": {Value: true},
		"ProtocolVersion":                {Value: int32(0)},
		"RegisteredStatusNotifierItems":  {Value: []string{}},
	}})
	if err != nil {
		return err
	}
	reply, err := conn.RequestName(watcherName, dbus.NameFlagDoNotQueue)
	if err == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		err = errors.New("the tray's name is taken")
	}
	return err
}

// watcher is what an icon registers with.
type watcher struct{ items chan string }

// RegisterStatusNotifierItem takes an icon.
func (w watcher) RegisterStatusNotifierItem(item string) *dbus.Error {
	select {
	case w.items <- item:
	default:
	}
	return nil
}

// await waits for an icon.
func (t *tray) await(ctx context.Context) error {
	select {
	case <-t.items:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return errors.New("the agent did not register its tray icon")
	}
}

func (t *tray) close() {
	if t.conn != nil {
		t.conn.Close()
	}
	_ = syscall.Kill(-t.daemon.Process.Pid, syscall.SIGTERM)
	_ = t.daemon.Wait()
}

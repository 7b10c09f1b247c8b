package tray

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"plimsoll/app/tray/traytest"
	"plimsoll/app/view"
)

// lines is a log that may be read while it is written.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(text string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Count(l.text.String(), text)
}

// A desktop without a panel is told once, and once that there is one; an item
// that the panel does not have is registered.
func TestMissingPanelIsSaidOnce(t *testing.T) {
	h := traytest.New(t)
	h.StopPanel()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", h.Address)
	item, err := dbus.Connect(h.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer item.Close()
	ctx, cancel := context.WithCancel(t.Context())
	log, done := &lines{}, make(chan struct{})
	go func() {
		defer close(done)
		(&panels{
			item: item, words: view.In("en"), log: slog.New(slog.NewTextHandler(log, nil)),
			desktop: "ubuntu:GNOME", grace: time.Millisecond,
		}).watch(ctx)
	}()
	h.Wait(t, "the missing extension's name", func() bool { return log.has("gnome-shell-extension-appindicator") == 1 })
	for range 2 {
		if err := h.StartPanel(); err != nil {
			t.Fatal(err)
		}
		h.Wait(t, "the item in the panel", func() bool { return len(h.Items()) == 1 })
		h.StopPanel()
	}
	cancel()
	<-done
	if warned, back := log.has("level=WARN"), log.has("shows tray icons now"); warned != 1 || back != 1 {
		t.Errorf("warned %d times and said %d times that a panel is there, want once each", warned, back)
	}
}

func TestMissingNamesTheDesktopsExtension(t *testing.T) {
	for desktop, want := range map[string]string{
		"GNOME": "tray.no_watcher.gnome", "ubuntu:GNOME": "tray.no_watcher.gnome", "MATE": "tray.no_watcher.mate",
		"": "tray.no_watcher", "i3": "tray.no_watcher", "GNOME-Flashback:Unity": "tray.no_watcher",
	} {
		if got := missing(desktop); got != want {
			t.Errorf("missing(%q) = %s, want %s", desktop, got, want)
		}
	}
}

func TestListed(t *testing.T) {
	names := []string{":1.5", "org.kde.StatusNotifierItem-7-1"}
	for item, want := range map[string]bool{
		":1.5/StatusNotifierItem": true, ":1.5@/StatusNotifierItem": true, ":1.55/StatusNotifierItem": false,
		"org.kde.StatusNotifierItem-7-1": true, "org.kde.StatusNotifierItem-7-12": false, "": false,
	} {
		if got := listed([]string{":1.9/X", item}, names); got != want {
			t.Errorf("listed(%q) = %v", item, got)
		}
	}
}

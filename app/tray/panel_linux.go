package tray

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"plimsoll/app/bus"
	"plimsoll/app/view"
)

// watcher is the name that a panel with tray icons owns, whatever desktop it
// belongs to.
const watcher = "org.kde.StatusNotifierWatcher"

// panelGrace is how long a panel may take after login before its absence is
// worth a word.
const panelGrace = 5 * time.Second

// settle is how long a new panel gets for systray's own registration to arrive.
const settle = time.Second

// panels looks after what systray does not: it says once, in words, what is
// missing when no panel shows tray icons, and once that it is there; and it
// registers the item where systray, which looks for a panel first and listens
// for one only then, missed one that came in between.
type panels struct {
	item    *dbus.Conn // the item's connection
	words   *view.Renderer
	log     *slog.Logger
	desktop string
	grace   time.Duration
}

func (p *panels) watch(ctx context.Context) {
	conn, err := bus.Connect(dbus.WithContext(ctx))
	if err != nil {
		p.log.Debug("watching for a panel", "error", err)
		return
	}
	defer conn.Close()
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	if err := conn.AddMatchSignal(
		dbus.WithMatchInterface("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, watcher),
	); err != nil {
		p.log.Debug("watching for a panel", "error", err)
		return
	}
	var there, said bool
	if err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, watcher).Store(&there); err != nil {
		p.log.Debug("looking for a panel", "error", err)
		return
	}
	patience, settled := time.NewTimer(p.grace), time.NewTimer(settle)
	defer patience.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-patience.C:
			if !there {
				said = true
				p.log.Warn(p.words.Text(missing(p.desktop)))
			}
		case <-settled.C:
			if there {
				p.register(conn)
			}
		case s, ok := <-signals:
			if !ok {
				return // the bus is gone, which ends the tray as well
			}
			if s.Name != "org.freedesktop.DBus.NameOwnerChanged" || len(s.Body) < 3 || s.Body[0] != watcher {
				continue
			}
			if there = s.Body[2] != ""; !there {
				continue
			}
			settled.Reset(settle)
			if said {
				said = false
				p.log.Info(p.words.Text("tray.watcher_back"))
			}
		}
	}
}

// register registers the item with the panel if the panel does not have it.
func (p *panels) register(conn *dbus.Conn) {
	panel := conn.Object(watcher, "/StatusNotifierWatcher")
	items, err := panel.GetProperty(watcher + ".RegisteredStatusNotifierItems")
	if err != nil {
		p.log.Debug("asking the panel for its items", "error", err)
		return
	}
	list, _ := items.Value().([]string)
	if listed(list, p.item.Names()) {
		return
	}
	// The call must come from the item's own connection: the panel takes the
	// sender as the item.
	err = p.item.Object(watcher, "/StatusNotifierWatcher").
		Call(watcher+".RegisterStatusNotifierItem", 0, "/StatusNotifierItem").Err
	p.log.Debug("registering with the panel again", "error", err)
}

// listed tells whether one of a panel's items is named by one of the names. An
// item is a bus name, with or without an object path after it, which begins
// with "/" and in some panels with "@".
func listed(items, names []string) bool {
	for _, item := range items {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(item, name); ok && (rest == "" || rest[0] == '/' || rest[0] == '@') {
				return true
			}
		}
	}
	return false
}

// missing is the message that names what this desktop lacks. desktop is a list
// such as "ubuntu:GNOME".
func missing(desktop string) string {
	for name := range strings.SplitSeq(strings.ToLower(desktop), ":") {
		switch name {
		case "gnome", "mate":
			return "tray.no_watcher." + name
		}
	}
	return "tray.no_watcher"
}

//go:build !headless

package tray

import (
	"context"
	"fmt"
	"os"
	"strings"

	"fyne.io/systray"
	"github.com/godbus/dbus/v5"

	"plimsoll/app/bus"
)

// rowTooltips: no panel shows them, and each would be two signals.
const rowTooltips = false

// desk is the session bus that the tray is shown on.
type desk struct {
	shared *dbus.Conn // systray's; it lives for as long as the tray
	cancel context.CancelFunc
}

// reach connects to the session bus and looks after what systray does not: that
// a panel is missing, and that a menu was opened.
func reach(ctx context.Context, c Config, opened chan<- struct{}) (*desk, error) {
	if _, err := bus.Address(os.Getenv); err != nil {
		c.Log.Warn(c.Words.Text("tray.no_bus"))
		return nil, fmt.Errorf("showing the tray: %w", err)
	}
	// systray uses godbus's shared connection and says nothing if it fails. Made
	// here, its failure is known. Nothing else may use it: systray takes a
	// signal that is not the one it asked for as the end.
	shared, err := dbus.SessionBus()
	if err != nil {
		c.Log.Warn(c.Words.Text("tray.no_bus"))
		return nil, fmt.Errorf("showing the tray: %w: %w", ErrNoBus, err)
	}
	// Before its start systray only keeps the title, which becomes the item's id
	// as well. Set later, the id would depend on who is faster.
	systray.SetTitle(clean(c.Name, titleLimit))
	ctx, cancel := context.WithCancel(ctx)
	go (&panels{
		item: shared, words: c.Words, log: c.Log,
		desktop: os.Getenv("XDG_CURRENT_DESKTOP"), grace: panelGrace,
	}).watch(ctx)
	go watchMenu(ctx, shared.Names()[0], opened, c.Log)
	return &desk{shared: shared, cancel: cancel}, nil
}

func (d *desk) leave() { d.cancel() }

// lost is closed when the bus goes away.
func (d *desk) lost() <-chan struct{} { return d.shared.Context().Done() }

// template: panels want a coloured icon.
func (*desk) template() bool { return false }

// pool: there is nothing to drain on Linux.
func (*desk) pool(do func()) { do() }

// label doubles underscores: a menu over D-Bus takes a single one as the mark
// of an access key and does not show it.
func (*desk) label(title string) string { return strings.ReplaceAll(title, "_", "__") }

// picture survives the end of the bus, at which systray panics; lost tells of it.
func (*desk) picture(png []byte) {
	defer func() { recover() }()
	systray.SetIcon(png)
}

// title: panels show no text beside an icon; what they call title is the
// program's name, which stays.
func (*desk) title(string) {}

// Package tray shows a View in the menu bar or the panel: an icon whose shape
// is the state, and a menu of fixed rows. It is the only user of
// fyne.io/systray, and it decides nothing: the words come from package view,
// and a click becomes a monitor.Command.
//
//	views ─► menu (rows compared with what is shown) ─► Tray ─► systray ─► panel
//	click ─► what the row meant when it was aimed at ─► Config.Do
//
// Rows are made once, because systray can only append them, and are then
// renamed, shown and hidden. A model keeps its row while it is resident, and a
// row that has just changed its meaning still does what it did for half a
// second, so a click never hits a model that took the place of another.
//
// On macOS the text beside the icon is Title and the icon is a template in
// every state; on Linux the number is drawn into the icon. What only a Mac can
// prove: that the menu changes while it is open, that the title keeps its
// width, that the icon follows light and dark bars, and that nothing grows over
// days. systray offers no way to make a status item again that macOS lost.
package tray

import (
	"log/slog"

	"plimsoll/app/bus"
	"plimsoll/app/view"
	"plimsoll/monitor"
)

// ErrNoBus means that there is no desktop to show a tray on (Linux). Run has
// said so in the log when it returns it; the program goes on without.
var ErrNoBus = bus.ErrNone

// Config is what a tray needs. Every function may be nil.
type Config struct {
	// Name is the program's name, which a panel also takes as the item's id.
	Name string
	// ID is the program's identifier. systray has no place for it yet.
	ID string
	// Words are the rows that no View has ("Quit"), until a View comes in another
	// language.
	Words *view.Renderer
	// Do gets the commands of clicks, in their order, from one goroutine.
	Do func(monitor.Command)
	// Open shows the window on a page: "", "limit" or "settings".
	Open func(page string)
	// Quit ends the program.
	Quit func()
	// Watch tells that the menu was opened, and, half a minute after it was
	// opened last, that nobody looks any more.
	Watch func(open bool)
	// Log gets what a developer or an administrator wants to know.
	Log *slog.Logger
}

// Tray is what a menu needs from a desktop. Rows can only be appended.
type Tray interface {
	// Row appends a visible, enabled row to the menu, or to the submenu of
	// parent when that is not nil. clicked is called for each click, returns at
	// once, and is nil for rows that only tell.
	Row(parent Row, title string, clicked func()) Row
	Separator()
	// Picture sets the icon from a PNG.
	Picture(png []byte)
	// Title sets the text beside the icon, where a desktop has one.
	Title(text string)
	Tooltip(text string)
}

// Row is one row of a menu.
type Row interface {
	Title(text string)
	Tooltip(text string)
	Enable(enabled bool)
	Show(visible bool)
}

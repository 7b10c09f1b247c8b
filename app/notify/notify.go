// Package notify shows notices as the desktop's own notifications, with a
// button that does something about it.
//
//	Linux   org.freedesktop.Notifications on the session bus
//	macOS   the notification center, when the program runs from a bundle; the
//	        center ends a program that has none. Else osascript, which can show
//	        but has no button
//	else    a line in the log
//
// A later notice of the same ID takes the place of the earlier one, and a notice
// can be taken back. A machine that shows no notifications is told once; its
// notices are lines in the log.
//
// What only a Mac can prove: that the center accepts the bundle's signature,
// asks the person, shows the button's words, and calls the delegate. The calls
// themselves run in the tests against a runtime in C, see package objc.
package notify

import (
	"log/slog"
	"os"
	"strings"
	"unicode"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// Notifier shows notices. Its methods may be called from any goroutine.
type Notifier interface {
	// Show shows a notice, or takes one back if it says so. It may take as long
	// as a slow desktop does, three seconds at most. The error says why this
	// notice was not shown; a machine without notifications is no error.
	Show(view.Notice) error
	// Close takes back what has a button, since nobody would answer it, and ends
	// the Notifier.
	Close() error
}

// Option is a choice that New's callers rarely make.
type Option func(*options)

// In makes the notifier's own words those of a Renderer; without it they are in
// the system's language.
func In(words *view.Renderer) Option { return func(o *options) { o.words = words } }

// options is what every kind of Notifier is made of.
type options struct {
	name  string
	icon  []byte
	act   func(monitor.Command)
	log   *slog.Logger
	words *view.Renderer
}

// New makes this system's Notifier. name is the program's name and icon its
// picture, a square PNG; without one the desktop shows its own. act gets the
// command of a button that was pressed, in a goroutine of its own.
func New(name string, icon []byte, act func(monitor.Command), log *slog.Logger, more ...Option) Notifier {
	o := options{name: name, icon: icon, act: act, log: log}
	for _, option := range more {
		option(&o)
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	if o.act == nil {
		o.act = func(monitor.Command) {}
	}
	if o.words == nil {
		o.words = view.In(view.SystemLanguage(os.Getenv))
	}
	return native(o)
}

// plain shows notices as lines in the log. It is the last resort.
type plain struct{ log *slog.Logger }

func (p plain) Show(n view.Notice) error {
	if !n.Withdraw {
		p.log.Warn(clean(n.Title), "notice", n.ID, "text", clean(n.Text))
	}
	return nil
}

func (plain) Close() error { return nil }

// clean makes text that a bus and a C library take: UTF-8 without control
// characters other than the end of a line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

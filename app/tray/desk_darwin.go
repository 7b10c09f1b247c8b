//go:build !headless

package tray

import (
	"context"

	"fyne.io/systray"

	"plimsoll/metal/objc"
)

// rowTooltips: macOS shows them.
const rowTooltips = true

// desk is the menu bar.
type desk struct{ runtime *objc.Runtime }

func reach(_ context.Context, c Config, _ chan<- struct{}) (*desk, error) {
	runtime, err := objc.Open(objc.System())
	if err != nil {
		// The tray works without; only some memory is not given back, and opening
		// the application once more shows no window.
		c.Log.Debug("opening the Objective-C runtime", "error", err)
		return &desk{}, nil
	}
	if c.Open != nil {
		windows := new(queue) // the main thread must not wait for a program's start
		if err := onReopen(runtime, delegateClass, func() { windows.add(func() { c.Open("") }) }); err != nil {
			c.Log.Debug("opening the window from Finder", "error", err)
		}
	}
	return &desk{runtime: runtime}, nil
}

func (*desk) leave() {}

// lost: a menu bar stays.
func (*desk) lost() <-chan struct{} { return nil }

// template: macOS colours the icon after the bar.
func (*desk) template() bool { return true }

// pool gives back what systray's calls leave on this thread, which has no
// autorelease pool of its own.
func (d *desk) pool(do func()) {
	if d.runtime == nil {
		do()
		return
	}
	d.runtime.Pool(do)
}

func (*desk) label(title string) string { return title }

func (*desk) picture(png []byte) { systray.SetTemplateIcon(png, png) }

func (*desk) title(text string) { systray.SetTitle(text) }

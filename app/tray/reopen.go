//go:build !headless

package tray

import (
	"errors"
	"fmt"

	"plimsoll/metal/objc"
)

// delegateClass is systray's delegate of the application (systray_darwin.m). It
// answers no reopen event itself.
const delegateClass = "SystrayAppDelegate"

// onReopen makes the application's delegate call open when a person opens the
// application once more: from Finder, Spotlight or Launchpad macOS then starts
// no second program but sends this one an event. open is called on the main
// thread and must return at once. A class that answers the event already keeps
// its answer, which is an error here.
//
// It must come before the delegate is set, as AppKit may look only then at what
// a delegate answers. That Finder's event arrives here only a Mac can prove; the
// rest runs in tests against a runtime in C.
func onReopen(r *objc.Runtime, delegate string, open func()) error {
	class := r.Class(delegate)
	if class == 0 {
		return fmt.Errorf("listening for the application's reopening: there is no class %s", delegate)
	}
	added := r.AddMethod(class, objc.Method{
		Name: "applicationShouldHandleReopen:hasVisibleWindows:",
		// BOOL is bool on Apple silicon and signed char on Intel; the encoding only
		// describes, both come back in the low byte.
		Types: "B@:@B",
		Func: func(objc.ID, objc.SEL, objc.ID, uintptr) uintptr {
			open()
			return 0 // NO: AppKit has nothing left to do
		},
	})
	if !added {
		return errors.New("listening for the application's reopening: its delegate listens already")
	}
	return nil
}

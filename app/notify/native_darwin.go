package notify

import (
	"os/exec"

	"plimsoll/metal/objc"
)

// native is the notification center for a program in a bundle, and osascript
// for one without, such as a program that is being developed.
func native(o options) Notifier {
	rest := Notifier(plain{o.log})
	if path, err := exec.LookPath("osascript"); err == nil {
		rest = script{path: path, rest: rest}
	}
	runtime, err := objc.Open(objc.System("Foundation", "UserNotifications"))
	if err != nil {
		o.log.Debug("loading the notification center", "error", err)
		return rest
	}
	center, err := newCenter(runtime, o, rest)
	if err != nil {
		o.log.Debug("using the notification center", "error", err)
		return rest
	}
	return center
}

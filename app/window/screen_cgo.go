//go:build cgo

package main

import (
	"os"
	"runtime"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"

	"plimsoll/monitor/api"
)

// newScreen is Fyne on the system's display.
func newScreen(id string) (fyne.App, error) {
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil, api.Failure("no_display", "neither DISPLAY nor WAYLAND_DISPLAY is set", nil)
	}
	return app.NewWithID(id), nil
}

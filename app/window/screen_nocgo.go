//go:build !cgo

package main

import (
	"fyne.io/fyne/v2"

	"plimsoll/monitor/api"
)

// newScreen fails: Fyne reaches a display through cgo alone.
func newScreen(string) (fyne.App, error) {
	return nil, api.Failure("no_screen", "this build draws pictures only", nil)
}

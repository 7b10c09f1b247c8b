//go:build cgo

package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
)

// newScreen is Fyne on the system's display.
func newScreen(id string) (fyne.App, error) { return app.NewWithID(id), nil }

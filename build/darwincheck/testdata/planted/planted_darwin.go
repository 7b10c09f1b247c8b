// Command planted holds mistakes that a build on a Mac would refuse. Each line
// names the error that the checker has to report there.
package main

import (
	"strings" // want "imported and not used"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/driver"
	"fyne.io/fyne/v2/widget"
	"fyne.io/systray"
)

func main() {
	a := app.NewWithID("planted")
	w := a.NewWindow("planted")
	w.SetColour(1)                               // want "w.SetColour undefined"
	a.SendNotification("swap is full")           // want "cannot use"
	systray.SetTooltip("a", "b")                 // want "too many arguments"
	systray.SetTemplateIcon([]byte{1})           // want "not enough arguments"
	item := systray.AddMenuItem("unload", "")    // want "declared and not used"
	var icon string = systray.SetIcon([]byte{1}) // want "used as value"
	w.SetContent(widget.NewLabel(42))            // want "cannot use 42"
	var context driver.MacWindowContext          // the type that only a Mac build has a use for
	_ = context.NSWindows                        // want "context.NSWindows undefined"
	fyne.Do(func() error { return nil })         // want "as func() value in argument to fyne.Do"
	systray.Run(func() {}, func() {}).Wait()     // want "used as value"
	_ = icon
}

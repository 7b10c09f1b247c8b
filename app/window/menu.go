package main

import (
	"runtime"

	"fyne.io/fyne/v2"

	"plimsoll"
	"plimsoll/app/view"
)

// menu makes the menu bar where the system has one at the top of the screen. In
// the window itself it would take the room of a fact.
func (w *window) menu() {
	if runtime.GOOS != "darwin" {
		return
	}
	w.SetMainMenu(w.menus())
}

// menus are File and Help in the window's language. Fyne moves "About" and adds
// "Quit" to the program's own menu.
func (w *window) menus() *fyne.MainMenu {
	t := w.shown.words.Text
	overview := fyne.NewMenuItem(t("window.menu.overview"), func() { w.show(pageOverview) })
	settings := fyne.NewMenuItem(t("window.menu.settings"), func() { w.show(pageSettings) })
	limit := fyne.NewMenuItem(t("window.menu.limit"), func() { w.show(pageLimit) })
	planner := fyne.NewMenuItem(t("planner.title"), func() { w.openPlanner("", "") })
	shut := fyne.NewMenuItem(t("window.menu.close"), w.Close)
	about := fyne.NewMenuItem(t("window.menu.about", view.Args{"Name": plimsoll.Name}), w.about)
	return fyne.NewMainMenu(
		fyne.NewMenu(t("window.menu.file"), overview, planner, limit, settings, fyne.NewMenuItemSeparator(), shut),
		fyne.NewMenu(t("window.menu.help"), about),
	)
}

// about tells name and version.
func (w *window) about() {
	if w.open {
		return
	}
	w.open = true
	t := w.shown.words.Text
	w.message = newMessage(w.Canvas(), view.Normal, t("window.menu.about", view.Args{"Name": plimsoll.Name}),
		w.settings.aboutText(w.shown), t("window.close"), func() { w.open = false })
}

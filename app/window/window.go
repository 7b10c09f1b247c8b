// Command plimsoll-window is the window: it shows what the agent knows and sends
// it the clicks. It is a program of its own, opened by a click and ended when it
// is closed, because a Fyne program polls 60 times a second for as long as it
// lives.
//
//	agent ── updates ──► session ── picture ──► handover ── fyne.Do ──► window: overview, settings
//	agent ◄── command ── goroutine ◄── click ───────────────────────────┘
//
// Only the window's own goroutine touches widgets, and it never waits for the
// agent. Built without cgo the program can only draw pictures of the window
// (--picture), with Fyne's software renderer and without a display.
package main

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll"
	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// The pages.
const (
	pageOverview = ""
	pagePlanner  = "planner"
	pageLimit    = "limit"
	pageSettings = "settings"
)

var pages = []string{pageOverview, pagePlanner, pageLimit, pageSettings}

// windowSize is compact: it stands beside other work.
var windowSize = fyne.NewSize(420, 640)

// window is the window's content. It belongs to Fyne's goroutine.
type window struct {
	fyne.Window
	agent    agent
	shown    picture
	page     string
	open     bool         // a message is being shown
	message  *message     // the last one
	work     func(func()) // runs what waits for the agent: in a goroutine
	do       func(func()) // runs what touches widgets: fyne.Do
	save     func(context.Context, api.Settings) error
	overview *overview
	limit    *limitPage
	planner  *plannerPage
	planning newest[planQuestion]
	builds   []monitor.Build // as the servers told, for what fits under a limit
	building newest[struct{}]
	settings *settingsPage

	machine *words
	demo    *tag
	plans   *widget.Button
	gear    *widget.Button
	status  *banner
	veil    *canvas.Rectangle
	waiting *waiting
	pages   *fyne.Container
	content *fyne.Container
}

// newWindow fills w. save stores settings.
func newWindow(w fyne.Window, a agent, save func(context.Context, api.Settings) error) *window {
	win := &window{Window: w, agent: a, save: save, machine: caption(), demo: newTag(), status: newBanner(), waiting: newWaiting()}
	win.work = func(f func()) { go f() }
	win.do = fyne.Do
	win.overview = newOverview(win.command, func() { win.show(pageLimit) }, win.openPlanner)
	win.limit = newLimitPage(win.command, func() { win.show(pageOverview) })
	win.limit.explain = win.limitChange
	win.planner = newPlannerPage(win.ask, func() { win.show(pageOverview) })
	win.planning = newest[planQuestion]{run: win.plan, work: func(f func()) { win.work(f) }}
	win.building = newest[struct{}]{run: win.askBuilds, work: func(f func()) { win.work(f) }}
	win.plans = widget.NewButton("", func() { win.openPlanner("", "") })
	win.plans.Importance = widget.LowImportance
	win.settings = newSettingsPage(win.store, func() { win.show(pageOverview) })
	win.gear = widget.NewButtonWithIcon("", theme.SettingsIcon(), func() { win.show(pageSettings) })
	win.gear.Importance = widget.LowImportance
	win.veil = canvas.NewRectangle(nil)
	win.pages = container.NewStack(win.overview.scroll, win.limit.scroll, win.planner.scroll, win.veil, win.waiting.box, win.settings.scroll)
	top := newColumn(0, win.head(), container.New(padded{margin, 3}, win.status))
	win.content = container.NewBorder(top, nil, nil, nil, win.pages)
	w.SetPadded(false)
	w.SetContent(container.NewStack(win.content, win.overview.tips.layer))
	w.Resize(windowSize)
	win.keys()
	win.show(pageOverview)
	return win
}

// head is the machine's name, the mark of the demo, and the way to the settings.
func (w *window) head() *fyne.Container {
	return container.New(arrange{
		func(float32) float32 { return w.gear.MinSize().Height + 6 },
		func(size fyne.Size) {
			button := w.gear.MinSize()
			right := size.Width - margin - button.Width + 4
			put(w.gear, right, 3, button.Width, button.Height)
			plans := w.plans.MinSize()
			right -= plans.Width
			put(w.plans, right, 3, plans.Width, plans.Height)
			if mark := w.demo.size(); mark.Width > 0 {
				right -= mark.Width + 4
				put(w.demo.box, right, (size.Height-mark.Height)/2, mark.Width, mark.Height)
			}
			h := w.machine.lineHeight()
			put(w.machine, margin+2, (size.Height-h)/2, max(0, right-margin-10), h)
		},
	}, w.machine, w.demo.box, w.plans, w.gear)
}

// keys closes the window as other windows are closed.
func (w *window) keys() {
	for _, key := range []fyne.KeyName{fyne.KeyW, fyne.KeyQ} {
		shortcut := &desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierShortcutDefault}
		w.Canvas().AddShortcut(shortcut, func(fyne.Shortcut) { w.Close() })
	}
}

// show changes the page.
func (w *window) show(page string) {
	w.page = page
	w.arrange()
	switch page {
	case pagePlanner:
		w.planner.open("", "")
	case pageLimit:
		w.building.ask(struct{}{})
	}
}

// arrange shows what belongs to the page and the link.
func (w *window) arrange() {
	settings, limit, planner := w.page == pageSettings, w.page == pageLimit, w.page == pagePlanner
	started := w.shown.link != linkNew
	show(w.settings.scroll, settings)
	show(w.limit.scroll, limit && started)
	show(w.planner.scroll, planner && started)
	show(w.overview.scroll, w.page == pageOverview && started)
	show(w.waiting.box, !settings && !started)
	show(w.veil, !settings && w.shown.link == linkLost)
	show(w.gear, w.page == pageOverview)
	show(w.plans, w.page == pageOverview)
	w.veil.FillColor = faded(colour(theme.ColorNameBackground))
	w.veil.Refresh()
}

// apply shows a picture.
func (w *window) apply(p picture) {
	again := p.words != w.shown.words
	relinked := p.link != w.shown.link || again
	w.shown = p
	if again {
		w.Window.SetTitle(plimsoll.Name)
		w.menu()
		w.plans.SetText(p.words.Text("planner.open"))
	}
	if relinked || p.err != nil {
		w.status.set(w.linkText(p), view.Warning, colourWarningTint)
		w.waiting.set(p)
	}
	if w.demo.set(p.view.Demo) {
		w.content.Refresh()
	}
	if p.link != linkNew {
		w.machine.set(p.view.Machine.Text)
		w.overview.set(p)
		w.limit.set(p.words, p.view.Limit)
		w.planner.set(p.words)
	}
	switch {
	case p.link != linkLive:
	case w.page == pagePlanner:
		w.planner.open("", "") // by what is free now
	case w.page == pageLimit && w.builds == nil:
		w.building.ask(struct{}{})
	}
	w.settings.set(p)
	if relinked {
		w.arrange()
		w.content.Refresh() // the notice takes room, or gives it back
	}
}

// limitChange says what another limit would mean, by the newest facts.
func (w *window) limitChange(to uint64) *view.LimitChange {
	var fits view.LimitFits
	if w.page == pageLimit { // nobody looks elsewhere
		fits = w.shown.words.FitsUnder(w.shown.snapshot, w.builds)
	}
	return w.shown.words.LimitChange(w.shown.snapshot, to, fits)
}

// linkText says that the picture is an old one.
func (w *window) linkText(p picture) string {
	if p.link != linkLost {
		return ""
	}
	return p.words.Text("window.link.lost")
}

// command sends what a button asks for. The button changes nothing by itself:
// its effect is seen in the next update, and a refusal in a dialog.
func (w *window) command(action view.Action) {
	w.work(func() {
		if err := w.agent.Do(context.Background(), action.Command); err != nil {
			w.do(func() { w.fail(action.Label, err) })
		}
	})
}

// store saves settings; done gets the outcome on Fyne's goroutine.
func (w *window) store(settings api.Settings, done func(error)) {
	w.work(func() {
		err := w.save(context.Background(), settings)
		w.do(func() { done(err) })
	})
}

// fail shows why something did not work, and what to do next. One dialog at a
// time: a second failure while one is open says nothing new.
func (w *window) fail(what string, err error) {
	if w.open {
		return
	}
	w.open = true
	t := w.shown.words.Text
	w.message = newMessage(w.Canvas(), view.Critical, t("window.failed", view.Args{"What": what}),
		w.shown.words.Error(err), t("window.close"), func() { w.open = false })
}

package main

import (
	"reflect"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"plimsoll/app/view"
)

// overview is the page that shows a View. It decides no word: those come with
// the View, and the page's own titles from area window.
type overview struct {
	words *view.Renderer
	shown picture // what is on screen, to touch only what changed
	tips  *tips
	plan  func(server, model string)

	stale     *banner
	alerts    *pool[*alertCard]
	line      *headline
	bar       *memoryBar
	facts     *pool[*factRow]
	curves    [2]*chart
	servers   *pool[*serverRow]
	models    *pool[*modelRow]
	none      *words
	unloadAll *commandButton
	limit     *limitCard
	consumers *pool[*factRow]
	recent    *pool[*factRow]
	requests  *requestsCard

	titles struct{ servers, models, consumers, recent *words }
	cards  struct{ servers, models, consumers, recent *card }

	charts *fyne.Container
	column *fyne.Container
	scroll *container.Scroll
}

// factName is the most that the column of names may take.
const factName float32 = 136

func newOverview(do func(view.Action), openLimit func(), plan func(server, model string)) *overview {
	o := &overview{tips: newTips(), plan: plan, stale: newBanner(), none: caption().wrapped()}
	o.alerts = newPool(8, func() *alertCard { return newAlertCard(do) })
	o.line = newHeadline(o.tips)
	o.bar = newMemoryBar()
	o.facts = newPool(line, func() *factRow { return newTableRow(o.tips) })
	o.curves = [2]*chart{newChart(colourHeadroom, false), newChart(colourSwap, true)}
	o.servers = newPool(line+2, func() *serverRow { return newServerRow(o.tips) })
	o.models = newPool(12, func() *modelRow { return newModelRow(o.tips, do, plan) })
	o.unloadAll = newCommandButton(do)
	o.limit = newLimitCard(do, openLimit)
	o.consumers = newPool(line, func() *factRow { return newListRow(o.tips) })
	o.recent = newPool(line, func() *factRow { return newEventRow(o.tips) })
	o.requests = newRequestsCard(o.tips)
	o.titles.servers, o.titles.models, o.titles.consumers, o.titles.recent = heading(), heading(), heading(), heading()
	o.cards.servers = titled(o.titles.servers, nil, o.servers.box)
	o.cards.models = titled(o.titles.models, o.unloadAll, newColumn(6, o.none, o.models.box))
	o.cards.consumers = titled(o.titles.consumers, nil, o.consumers.box)
	o.cards.recent = titled(o.titles.recent, nil, o.recent.box)

	o.charts = o.pair()
	memory := newCard(newColumn(12, o.line, o.bar.box, o.facts.box, o.charts))
	o.column = newColumn(gap, o.stale, o.alerts.box, memory,
		o.cards.models, o.requests.card, o.limit, o.cards.servers, o.cards.consumers, o.cards.recent)
	o.scroll = container.NewVScroll(container.New(padded{margin, 2}, o.column))
	o.column.Layout.(*column).change = o.scroll.Refresh
	return o
}

// pair puts the two curves side by side.
func (o *overview) pair() *fyne.Container {
	left, right := o.curves[0].box, o.curves[1].box
	return container.New(arrange{
		func(width float32) float32 { return heightFor(left, width/2) },
		func(size fyne.Size) {
			half := (size.Width - 14) / 2
			put(left, 0, 0, half, size.Height)
			put(right, half+14, 0, half, size.Height)
		},
	}, left, right)
}

// set shows a picture. A part that is as it was is not touched, so that a quiet
// machine costs no drawing.
func (o *overview) set(p picture) {
	again := o.words != p.words
	o.words = p.words
	old, v := o.shown, p.view
	o.shown = p
	touched := false
	part := func(before, now any, set func()) {
		if again || !reflect.DeepEqual(before, now) {
			set()
			touched = true
		}
	}
	if again {
		o.translate()
	}
	part(old.view.Stale, v.Stale, func() { o.stale.set(v.Stale, view.Warning, colourWarningTint) })
	part(old.view.Alerts, v.Alerts, func() {
		for i, card := range o.alerts.take(len(v.Alerts)) {
			card.set(v.Alerts[i])
		}
	})
	part(old.view.Line, v.Line, func() { o.line.set(v.Line) })
	part(old.view.Bar, v.Bar, func() { o.bar.set(v.Bar) })
	part(facts(old.view), facts(v), func() { o.setFacts(facts(v)) })
	if again || !sameCurves(old.curves, p.curves) {
		o.setCurves(p.curves)
	}
	part([]any{old.view.Models, old.view.UnloadAll}, []any{v.Models, v.UnloadAll}, func() { o.setModels(v) })
	part(old.view.Limit, v.Limit, func() {
		if v.Limit != nil {
			o.limit.set(o.words, v.Limit)
		}
	})
	part([]any{old.view.Requests}, []any{v.Requests}, func() { o.requests.set(o.words, v.Requests) })
	part(old.view.Servers, v.Servers, func() {
		for i, row := range o.servers.take(len(v.Servers)) {
			row.set(v.Servers[i])
		}
	})
	part(old.view.Consumers, v.Consumers, func() { setList(o.consumers, v.Consumers) })
	part(old.view.Recent, v.Recent, func() { setList(o.recent, v.Recent) })
	if touched {
		show(o.cards.models, len(v.Models) > 0 || answering(v.Servers))
		show(o.limit, v.Limit != nil)
		show(o.cards.servers, len(v.Servers) > 0)
		show(o.cards.consumers, len(v.Consumers) > 0)
		show(o.cards.recent, len(v.Recent) > 0)
		relayout(o.scroll.Content) // heights may be others
		o.scroll.Refresh()
		o.tips.check()
	}
}

// translate sets what the page says itself.
func (o *overview) translate() {
	o.titles.servers.set(o.words.Text("window.title.servers"))
	o.titles.models.set(o.words.Text("window.title.models"))
	o.titles.consumers.set(o.words.Text("window.title.consumers"))
	o.requests.title.set(o.words.Text("window.title.requests"))
	o.titles.recent.set(o.words.Text("window.title.recent"))
	o.none.set(o.words.Text("window.models.none"))
}

// facts are the rows of the table that are known.
func facts(v view.View) []view.Row {
	rows := []view.Row{v.Largest, v.Speed, v.Diagnosis, v.Memory, v.Pressure, v.Swap, v.Heat, v.Throttle, v.GPU, v.Background}
	return slices.DeleteFunc(rows, func(r view.Row) bool { return r.Text == "" })
}

func (o *overview) setFacts(rows []view.Row) {
	widest := float32(0)
	facts := o.facts.take(len(rows))
	for i, f := range facts {
		f.name.set(rows[i].Label)
		widest = max(widest, f.name.natural())
	}
	for i, f := range facts {
		f.nameWidth = min(widest+14, factName)
		f.set(rows[i])
		f.link(nil)
		if s := o.shown.snapshot; s != nil && s.LargestFit != nil && rows[i] == o.shown.view.Largest {
			f.link(func() { o.plan(s.LargestFit.Backend, s.LargestFit.Model) })
		}
	}
}

func (o *overview) setModels(v view.View) {
	rows := o.models.take(len(v.Models))
	for i, row := range rows {
		row.set(v.Models[i], o.words.Text("planner.open"))
	}
	show(o.none, len(rows) == 0)
	if v.UnloadAll != nil {
		o.unloadAll.set(*v.UnloadAll)
	}
	show(o.unloadAll, v.UnloadAll != nil)
}

func (o *overview) setCurves(c curves) {
	minutes := view.Args{"Count": c.minutes}
	o.curves[0].set(o.words.Text("window.curve.headroom", minutes), c.headroom)
	o.curves[1].set(o.words.Text("window.curve.swap", minutes), c.swap)
	o.requests.setCurve(o.words, c)
}

func setList(list *pool[*factRow], rows []view.Row) {
	for i, f := range list.take(len(rows)) {
		f.set(rows[i])
	}
}

// answering reports that a server is well. Without one nobody knows whether a
// model is in memory, and the page does not say that there is none.
func answering(servers []view.Server) bool {
	return slices.ContainsFunc(servers, func(s view.Server) bool { return s.Level == view.Normal })
}

func show(object fyne.CanvasObject, visible bool) {
	if visible {
		object.Show()
	} else {
		object.Hide()
	}
}

// headline is the line that gave the program its name: what is free as large as
// it fits, and below it the limit that says so.
type headline struct {
	hover
	label, text, why *words
	mark             *sign
}

func newHeadline(tips *tips) *headline {
	h := &headline{label: heading(), text: newWords(theme.SizeNameHeadingText, theme.ColorNameForeground), why: body().wrapped(), mark: newSign()}
	h.text.bold = true
	h.why.colour = theme.ColorNamePlaceHolder
	h.tips, h.content = tips, container.New(arrange{h.height, h.place}, h.label, h.mark.image, h.text, h.why)
	h.ExtendBaseWidget(h)
	return h
}

func (h *headline) set(row view.Row) {
	text, why, _ := strings.Cut(row.Text, between)
	h.label.set(row.Label)
	h.text.set(text)
	h.why.set(why)
	h.detail = row.Detail
	h.mark.set(row.Level)
	if row.Level == view.Unknown {
		h.text.setColour(theme.ColorNamePlaceHolder)
	} else {
		h.text.setColour(levelColour(row.Level))
	}
	relayout(h.content)
}

// fit chooses the largest size at which the text fits on one line, and wraps at
// the smallest.
func (h *headline) fit(width float32) {
	size, wrap := theme.SizeNameSubHeadingText, true
	for _, larger := range []fyne.ThemeSizeName{theme.SizeNameHeadingText, sizeLine, theme.SizeNameSubHeadingText} {
		if fyne.MeasureText(h.text.text, h.Theme().Size(larger), h.text.style()).Width+1 <= width {
			size, wrap = larger, false
			break
		}
	}
	if size != h.text.size || wrap != h.text.wrap {
		h.text.size, h.text.wrap = size, wrap
		h.text.Refresh()
	}
}

func (h *headline) height(width float32) float32 {
	if h.text.text == "" {
		return 0
	}
	h.fit(width)
	return h.label.lineHeight() + h.text.heightFor(width) + h.why.heightFor(width)
}

func (h *headline) place(size fyne.Size) {
	y := h.label.lineHeight()
	left := float32(0)
	show(h.mark.image, h.mark.level >= view.Warning)
	if h.mark.level >= view.Warning {
		put(h.mark.image, 0, (y-glyph)/2, glyph, glyph)
		left = gutter
	}
	put(h.label, left, 0, size.Width-left, y)
	h.fit(size.Width)
	put(h.text, 0, y, size.Width, h.text.heightFor(size.Width))
	y += h.text.heightFor(size.Width)
	put(h.why, 0, y, size.Width, h.why.heightFor(size.Width))
}

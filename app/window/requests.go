package main

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"plimsoll/app/view"
)

// requestsListed is how many requests the page lists.
const requestsListed = 12

// requestRow is one request: its model and what it does, when it came, and its
// numbers below.
type requestRow struct {
	hover
	mark              *sign
	name, state, when *words
	numbers, notes    *words
}

func newRequestRow(tips *tips) *requestRow {
	r := &requestRow{mark: newSign(), name: strong(), state: body(), when: caption().trailing(), numbers: caption().wrapped(), notes: caption().wrapped()}
	r.numbers.colour = theme.ColorNameForeground
	r.tips, r.content = tips, container.New(arrange{r.height, r.place}, r.mark.image, r.name, r.state, r.when, r.numbers, r.notes)
	r.ExtendBaseWidget(r)
	return r
}

// set shows a request. The numbers stand in the order in which they come about; one
// that nobody told leaves no hole.
func (r *requestRow) set(words *view.Renderer, q view.Request) {
	fact := func(id, value string) string {
		if value == "" {
			return ""
		}
		return words.Text(id, view.Args{"Value": value, "Cached": q.Cached})
	}
	r.mark.set(q.Level)
	r.name.set(q.Model)
	r.state.set(q.State)
	r.state.setColour(theme.ColorNamePlaceHolder)
	if q.InFlight {
		r.state.setColour(theme.ColorNamePrimary)
	}
	r.when.set(q.When)
	r.numbers.set(facted(
		fact("window.request.prompt", q.Prompt), fact("window.request.output", q.Output), fact("window.request.ttft", q.TTFT),
		fact("window.request.prefill", q.Prefill), fact("window.request.decode", q.Decode), fact("window.request.live", q.Live),
		fact("window.request.session", q.Session)))
	r.notes.set(facted(q.Notes, q.Source))
	r.detail = q.Detail
	relayout(r.content)
}

// facted joins the facts that are there.
func facted(facts ...string) string {
	var there []string
	for _, f := range facts {
		if f != "" {
			there = append(there, f)
		}
	}
	return strings.Join(there, between)
}

func (r *requestRow) height(width float32) float32 {
	return r.name.lineHeight() + r.numbers.heightFor(width) + r.notes.heightFor(width)
}

func (r *requestRow) place(size fyne.Size) {
	h := r.name.lineHeight()
	left := float32(0)
	show(r.mark.image, r.mark.level >= view.Warning)
	if r.mark.level >= view.Warning {
		put(r.mark.image, 0, (h-glyph)/2, glyph, glyph)
		left = gutter
	}
	when := r.when.natural()
	right := size.Width - when - 8
	state := min(r.state.natural(), (right-left)/2)
	name := min(r.name.natural(), right-left-state-8)
	put(r.name, left, 0, name, h)
	put(r.state, left+name+8, 0, max(0, right-left-name-8), h)
	put(r.when, size.Width-when, (h-r.when.lineHeight())/2, when, r.when.lineHeight())
	numbers := r.numbers.heightFor(size.Width)
	put(r.numbers, 0, h, size.Width, numbers)
	put(r.notes, 0, h+numbers, size.Width, r.notes.heightFor(size.Width))
}

// requestsCard is the decode rate over the last minutes and the requests behind it.
type requestsCard struct {
	*card
	title *words
	curve *chart
	rows  *pool[*requestRow]
}

func newRequestsCard(tips *tips) *requestsCard {
	c := &requestsCard{title: heading(), curve: newChart(colourHeadroom, false)}
	c.rows = newPool(8, func() *requestRow { return newRequestRow(tips) })
	c.card = titled(c.title, nil, newColumn(8, c.curve.box, c.rows.box))
	return c
}

// set shows requests, newest first after those in flight.
func (c *requestsCard) set(words *view.Renderer, list []view.Request) {
	list = list[:min(len(list), requestsListed)]
	for i, row := range c.rows.take(len(list)) {
		row.set(words, list[i])
	}
	show(c.card, len(list) > 0)
}

// setCurve shows the decode rate. Its top is said, for it has no fixed one.
func (c *requestsCard) setCurve(words *view.Renderer, curves curves) {
	c.curve.set(words.Text("window.curve.decode", view.Args{"Count": curves.minutes, "Top": curves.top}), curves.decode)
	show(c.curve.box, curves.top != "")
}

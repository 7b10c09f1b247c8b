package main

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
)

func joinLines(texts []string) string { return strings.Join(texts, "\n") }

// contextSlider chooses a context in steps. Until a person has moved it, it stands
// where the server would run the model.
type contextSlider struct {
	boxed
	words  *view.Renderer
	slider *widget.Slider
	label  *words
	value  *words
	ends   [2]*words
	reset  *widget.Button
	steps  []int
	at     int  // the context that is shown, in tokens
	moved  bool // by the person
	busy   bool
	change func()
}

func newContextSlider(change func()) *contextSlider {
	c := &contextSlider{change: change, slider: widget.NewSlider(0, 1), label: caption(), value: strong(), ends: [2]*words{caption(), caption().trailing()}}
	c.slider.OnChanged = c.slid
	c.reset = widget.NewButtonWithIcon("", theme.ContentUndoIcon(), func() {
		c.moved = false
		c.show()
		c.change()
	})
	c.reset.Importance = widget.LowImportance
	c.box = container.New(arrange{c.height, c.place}, c.label, c.value, c.reset, c.slider, c.ends[0], c.ends[1])
	c.ExtendBaseWidget(c)
	return c
}

func (c *contextSlider) translate(words *view.Renderer) {
	c.words = words
	c.label.set(words.Text("planner.context"))
	c.reset.SetText(words.Text("planner.reset"))
	c.show()
}

// chosen is the context that the person chose, 0 for none.
func (c *contextSlider) chosen() int {
	if !c.moved {
		return 0
	}
	return c.at
}

// follow shows the context of a plan. Steps are those of its model; nil begins with
// another model.
func (c *contextSlider) follow(at int, steps []int) {
	if steps == nil {
		c.moved = false
	}
	if !c.moved {
		c.at = at
	}
	c.steps = steps
	c.show()
}

// slid is told by the slider.
func (c *contextSlider) slid(at float64) {
	if i := int(at); !c.busy && i >= 0 && i < len(c.steps) {
		c.at, c.moved = c.steps[i], true
		c.show()
		c.change()
	}
}

// show puts slider and words to where the context is.
func (c *contextSlider) show() {
	c.busy = true
	defer func() { c.busy = false }()
	text := ""
	if c.words != nil && c.at > 0 {
		text = c.words.Text("fit.tokens", view.Args{"Tokens": c.words.Count(c.at)})
	}
	c.value.set(text)
	show(c.reset, c.moved)
	show(c.slider, len(c.steps) > 1)
	for _, end := range c.ends {
		show(end, len(c.steps) > 1)
	}
	if n := len(c.steps); n > 1 {
		nearest := 0
		for i, step := range c.steps {
			if step <= c.at {
				nearest = i
			}
		}
		c.slider.Max = float64(n - 1)
		if c.slider.Value != float64(nearest) {
			c.slider.Value = float64(nearest)
		}
		c.slider.Refresh()
		c.ends[0].set(c.words.Count(c.steps[0]))
		c.ends[1].set(c.words.Count(c.steps[n-1]))
	}
	relayout(c.box)
}

func (c *contextSlider) height(float32) float32 {
	h := max(c.value.lineHeight(), c.reset.MinSize().Height) + c.label.lineHeight()
	if c.slider.Visible() {
		h += c.slider.MinSize().Height + c.ends[0].lineHeight()
	}
	return h
}

func (c *contextSlider) place(size fyne.Size) {
	y := c.label.lineHeight()
	put(c.label, 0, 0, size.Width, y)
	least := c.reset.MinSize()
	h := max(c.value.lineHeight(), least.Height)
	put(c.value, 0, y+(h-c.value.lineHeight())/2, max(0, size.Width-least.Width), c.value.lineHeight())
	put(c.reset, size.Width-least.Width, y+(h-least.Height)/2, least.Width, least.Height)
	y += h
	// The slider keeps an inset of its own at both ends.
	put(c.slider, -5, y, size.Width+10, c.slider.MinSize().Height)
	y += c.slider.MinSize().Height
	put(c.ends[0], 0, y, size.Width/2, c.ends[0].lineHeight())
	put(c.ends[1], size.Width/2, y, size.Width/2, c.ends[1].lineHeight())
}

// plannedRow is a model on disk with its verdict. A tap, or Enter and Space while it
// has the focus, looks at it.
type plannedRow struct {
	widget.BaseWidget
	box               *fyne.Container
	ground            *canvas.Rectangle
	mark              *sign
	name, needs, text *words
	model             view.PlannedModel
	chosen, focused   bool
	over              bool
	pick              func(view.PlannedModel)
}

func newPlannedRow(pick func(view.PlannedModel)) *plannedRow {
	r := &plannedRow{pick: pick, ground: canvas.NewRectangle(nil), mark: newSign(), name: strong(), needs: body().trailing(), text: caption().wrapped()}
	r.ground.CornerRadius = 5
	inner := container.New(arrange{
		func(width float32) float32 { return r.name.lineHeight() + r.text.heightFor(width-gutter) },
		func(size fyne.Size) {
			h := r.name.lineHeight()
			put(r.mark.image, 0, (h-glyph)/2, glyph, glyph)
			needs := r.needs.natural()
			put(r.name, gutter, 0, max(0, size.Width-gutter-needs-8), h)
			put(r.needs, size.Width-needs, 0, needs, h)
			put(r.text, gutter, h, size.Width-gutter, size.Height-h)
		},
	}, r.mark.image, r.name, r.needs, r.text)
	r.box = container.New(backed{}, r.ground, container.New(padded{6, 4}, inner))
	r.ExtendBaseWidget(r)
	return r
}

func (r *plannedRow) set(m view.PlannedModel, chosen bool) {
	r.model, r.chosen = m, chosen
	r.mark.set(m.Level)
	r.name.set(m.Name)
	r.needs.set(m.Needs)
	r.text.set(m.Text)
	r.tint()
	relayout(r.box)
}

// tint shows that the row is looked at, has the focus, or lies below the pointer.
func (r *plannedRow) tint() {
	name := theme.ColorNameBackground
	switch {
	case r.focused:
		name = theme.ColorNameFocus
	case r.chosen:
		name = theme.ColorNameSelection
	case r.over:
		name = theme.ColorNameHover
	default:
		name = colourCard
	}
	if c := colour(name); r.ground.FillColor != c {
		r.ground.FillColor = c
		r.ground.Refresh()
	}
}

// Tapped implements fyne.Tappable.
func (r *plannedRow) Tapped(*fyne.PointEvent) { r.pick(r.model) }

// FocusGained implements fyne.Focusable.
func (r *plannedRow) FocusGained() { r.focused = true; r.tint() }

// FocusLost implements fyne.Focusable.
func (r *plannedRow) FocusLost() { r.focused = false; r.tint() }

// TypedRune implements fyne.Focusable.
func (r *plannedRow) TypedRune(rune) {}

// TypedKey implements fyne.Focusable.
func (r *plannedRow) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeySpace:
		r.pick(r.model)
	}
}

// MouseIn implements desktop.Hoverable.
func (r *plannedRow) MouseIn(*desktop.MouseEvent) { r.over = true; r.tint() }

// MouseMoved implements desktop.Hoverable.
func (r *plannedRow) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements desktop.Hoverable.
func (r *plannedRow) MouseOut() { r.over = false; r.tint() }

func (r *plannedRow) inner() fyne.CanvasObject        { return r.box }
func (r *plannedRow) heightFor(width float32) float32 { return heightFor(r.box, width) }

// Refresh also takes the theme's colours anew.
func (r *plannedRow) Refresh() {
	r.tint()
	r.box.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (r *plannedRow) CreateRenderer() fyne.WidgetRenderer {
	r.tint()
	return widget.NewSimpleRenderer(r.box)
}

// verdictRow is a model, and below it whether it fits.
type verdictRow struct {
	boxed
	mark       *sign
	name, text *words
}

func newVerdictRow() *verdictRow {
	r := &verdictRow{mark: newSign(), name: strong(), text: caption().wrapped()}
	r.box = container.New(arrange{
		func(width float32) float32 { return r.name.lineHeight() + r.text.heightFor(width-gutter) },
		func(size fyne.Size) {
			h := r.name.lineHeight()
			put(r.mark.image, 0, (h-glyph)/2, glyph, glyph)
			put(r.name, gutter, 0, size.Width-gutter, h)
			put(r.text, gutter, h, size.Width-gutter, size.Height-h)
		},
	}, r.mark.image, r.name, r.text)
	r.ExtendBaseWidget(r)
	return r
}

func (r *verdictRow) set(row view.Row) {
	r.mark.set(row.Level)
	r.name.set(row.Label)
	r.text.set(row.Text)
	relayout(r.box)
}

// sumRow is one part and the sum behind it, to be checked by hand.
type sumRow struct {
	boxed
	label, sum *words
}

func newSumRow() *sumRow {
	r := &sumRow{label: caption(), sum: caption().wrapped()}
	r.sum.mono, r.sum.colour = true, theme.ColorNameForeground
	r.box = newColumn(0, r.label, r.sum)
	r.ExtendBaseWidget(r)
	return r
}

func (r *sumRow) set(row view.Row) {
	r.label.set(row.Label)
	r.sum.set(row.Text)
	relayout(r.box)
}

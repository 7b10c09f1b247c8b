package main

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
)

// pool keeps as many widgets of one kind as there are things to show, and gives
// them out again in order, so that nothing that stays is built anew.
type pool[W fyne.CanvasObject] struct {
	box  *fyne.Container
	make func() W
	all  []W
}

func newPool[W fyne.CanvasObject](space float32, make func() W) *pool[W] {
	return &pool[W]{box: newColumn(space), make: make}
}

// take shows n widgets and hides the rest.
func (p *pool[W]) take(n int) []W {
	for len(p.all) < n {
		w := p.make()
		p.all = append(p.all, w)
		p.box.Add(w)
	}
	for i, w := range p.all {
		if i < n {
			w.Show()
		} else {
			w.Hide()
		}
	}
	return p.all[:n]
}

// sign is the shape of a level.
type sign struct {
	image *canvas.Image
	level view.Level
}

func newSign() *sign {
	m := &sign{image: canvas.NewImageFromResource(shapes[view.Unknown])}
	m.image.FillMode = canvas.ImageFillContain
	return m
}

func (m *sign) set(level view.Level) {
	if m.level != level {
		m.level = level
		m.image.Resource = shapes[level]
		m.image.Refresh()
	}
}

// factRow is one Row: name, value, and a thin bar where it is a part of a whole.
type factRow struct {
	hover
	name, value *words
	mark        *sign
	track, fill *canvas.Rectangle
	share       float32
	nameWidth   float32 // 0: as wide as the name
	open        func()  // what a tap shows; nil for nothing
}

const (
	shareWidth  float32 = 48
	shareHeight float32 = 5
)

func newFactRow(tips *tips, nameWidth float32) *factRow {
	f := &factRow{name: body(), value: body(), mark: newSign(), nameWidth: nameWidth, share: -1,
		track: canvas.NewRectangle(nil), fill: canvas.NewRectangle(nil)}
	f.name.colour = theme.ColorNamePlaceHolder
	f.track.CornerRadius, f.fill.CornerRadius = shareHeight/2, shareHeight/2
	f.tips, f.content = tips, container.New(arrange{f.height, f.place}, f.name, f.mark.image, f.value, f.track, f.fill)
	f.ExtendBaseWidget(f)
	return f
}

// newTableRow is a row of the table of facts, whose names share a column.
func newTableRow(tips *tips) *factRow {
	f := newFactRow(tips, 100)
	f.value.wrap = true
	return f
}

// newListRow is a row of a list: the name is what counts, the value stands at the
// right.
func newListRow(tips *tips) *factRow {
	f := newFactRow(tips, 0)
	f.name.colour = theme.ColorNameForeground
	f.value.trailing()
	return f
}

// newEventRow is a line of what happened: the time, and a text that may need
// several lines.
func newEventRow(tips *tips) *factRow {
	f := newFactRow(tips, 62)
	f.name.size, f.value.size = theme.SizeNameCaptionText, theme.SizeNameCaptionText
	f.value.wrap = true
	return f
}

// set shows a row; one whose text is empty is not known and takes no room.
func (f *factRow) set(row view.Row) {
	f.name.set(row.Label)
	f.value.set(row.Text)
	f.value.setColour(levelColour(row.Level))
	f.detail = row.Detail
	f.mark.set(row.Level)
	f.share = float32(row.Share)
	f.tint()
	relayout(f.content)
}

// link lets a tap show more of the fact.
func (f *factRow) link(open func()) {
	f.open = open
	if open != nil && !f.loud() {
		f.value.setColour(theme.ColorNameHyperlink)
	}
}

// Tapped implements fyne.Tappable.
func (f *factRow) Tapped(*fyne.PointEvent) {
	if f.open != nil {
		f.open()
	}
}

// Cursor implements desktop.Cursorable.
func (f *factRow) Cursor() desktop.Cursor {
	if f.open != nil {
		return desktop.PointerCursor
	}
	return desktop.DefaultCursor
}

func (f *factRow) loud() bool { return f.mark.level >= view.Warning }

func (f *factRow) height(width float32) float32 {
	if f.value.text == "" {
		return 0
	}
	if !f.value.wrap {
		return f.value.lineHeight()
	}
	left, right := f.room(width)
	return f.value.heightFor(right - left)
}

// room is where a wrapped value stands.
func (f *factRow) room(width float32) (left, right float32) {
	left, right = f.nameWidth, width
	if f.loud() {
		left += gutter
	}
	if f.share >= 0 {
		right -= shareWidth + 10
	}
	return left, right
}

func (f *factRow) place(size fyne.Size) {
	h := f.value.lineHeight()
	right := size.Width
	f.track.Hide()
	f.fill.Hide()
	if f.share >= 0 {
		right -= shareWidth + 10
		y := (h - shareHeight) / 2
		put(f.track, size.Width-shareWidth, y, shareWidth, shareHeight)
		put(f.fill, size.Width-shareWidth, y, max(shareHeight, shareWidth*f.share), shareHeight)
		f.track.Show()
		if f.share > 0 {
			f.fill.Show()
		}
	}
	left := f.nameWidth
	if left == 0 { // a list: the value takes what it needs, the name what is left
		left = max(0, right-f.value.natural()-10)
	}
	put(f.name, 0, 0, left-6, h)
	f.mark.image.Hide()
	if f.loud() {
		put(f.mark.image, left, (h-glyph)/2, glyph, glyph)
		f.mark.image.Show()
		left += gutter
	}
	put(f.value, left, 0, max(0, right-left), max(h, size.Height))
}

// Refresh also takes the theme's colours anew.
func (f *factRow) Refresh() {
	f.tint()
	f.hover.Refresh()
}

func (f *factRow) tint() {
	f.track.FillColor = colour(colourFree)
	f.fill.FillColor = colour(colourWired)
	switch f.mark.level {
	case view.Warning, view.Critical:
		f.fill.FillColor = colour(levelColour(f.mark.level))
	}
	f.track.Refresh()
	f.fill.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (f *factRow) CreateRenderer() fyne.WidgetRenderer {
	f.tint()
	return f.hover.CreateRenderer()
}

// between joins facts in the texts of a View.
const between = " · "

// without takes one fact out of a text of several.
func without(text, fact string) string {
	facts := strings.Split(text, between)
	return strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == fact }), between)
}

// commandButton sends a command when it is tapped. The widget stays the same
// while its words change, so that no click falls between two pictures.
type commandButton struct {
	widget.Button
	action view.Action
}

func newCommandButton(do func(view.Action)) *commandButton {
	b := &commandButton{}
	b.OnTapped = func() { do(b.action) }
	b.ExtendBaseWidget(b)
	return b
}

func (b *commandButton) set(action view.Action) {
	b.action = action
	if b.Text != action.Label {
		b.SetText(action.Label)
	}
	switch {
	case action.Enabled && b.Disabled():
		b.Enable()
	case !action.Enabled && !b.Disabled():
		b.Disable()
	}
}

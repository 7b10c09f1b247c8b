package main

import (
	"reflect"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
)

// changeCard is what a change of the limit means, and the button that makes it.
type changeCard struct {
	card
	shown  *view.LimitChange
	title  *words
	rows   *pool[*beforeAfterRow]
	notes  *pool[*noteRow]
	fits   *words
	fit    *pool[*verdictRow]
	hands  *pool[*handRow]
	button *commandButton
}

func newChangeCard(do func(view.Action)) *changeCard {
	c := &changeCard{title: strong().wrapped(), fits: heading(), button: newCommandButton(do)}
	c.title.size = theme.SizeNameSubHeadingText
	c.rows = newPool(4, newBeforeAfterRow)
	c.notes = newPool(6, newNoteRow)
	c.fit = newPool(6, newVerdictRow)
	c.hands = newPool(6, newHandRow)
	c.button.Importance = widget.HighImportance
	button := container.New(arrange{
		func(float32) float32 { return c.button.MinSize().Height },
		func(size fyne.Size) {
			least := c.button.MinSize()
			width := min(least.Width+16, size.Width)
			put(c.button, size.Width-width, 0, width, least.Height)
		},
	}, c.button)
	c.fill(newColumn(10, c.title, c.rows.box, c.notes.box, newColumn(4, c.fits, c.fit.box), button, c.hands.box))
	c.ExtendBaseWidget(c)
	return c
}

// set shows a change, and tells whether it is another one.
func (c *changeCard) set(change *view.LimitChange) bool {
	if reflect.DeepEqual(c.shown, change) {
		return false
	}
	c.shown = change
	c.title.set(change.Title)
	for i, row := range c.rows.take(len(change.Rows)) {
		row.set(change.Rows[i])
	}
	loud := slices.ContainsFunc(change.Notes, func(n view.LimitNote) bool { return n.Level >= view.Warning })
	for i, row := range c.notes.take(len(change.Notes)) {
		row.set(change.Notes[i], loud)
	}
	c.fits.set(change.FitsTitle)
	for i, row := range c.fit.take(len(change.Fits)) {
		row.set(change.Fits[i])
	}
	var hands []view.ByHand
	for _, h := range []view.ByHand{change.Pin, change.Hand} {
		if h.Command != "" {
			hands = append(hands, h)
		}
	}
	for i, row := range c.hands.take(len(hands)) {
		row.set(hands[i])
	}
	c.button.set(change.Action)
	return true
}

// beforeAfterRow is one fact now and then.
type beforeAfterRow struct {
	boxed
	label, value *words
	gain         *words
	mark         *sign
}

func newBeforeAfterRow() *beforeAfterRow {
	r := &beforeAfterRow{label: caption(), value: strong(), gain: caption().trailing(), mark: newSign()}
	r.box = container.New(arrange{r.height, r.place}, r.label, r.mark.image, r.value, r.gain)
	r.ExtendBaseWidget(r)
	return r
}

func (r *beforeAfterRow) set(f view.BeforeAfter) {
	r.label.set(f.Label)
	text := f.Before + " → " + f.After
	if f.Before == f.After {
		text = f.After
	}
	r.value.set(text)
	r.value.setColour(levelColour(f.Level))
	r.gain.set(f.Gain)
	r.mark.set(f.Level)
	relayout(r.box)
}

func (r *beforeAfterRow) height(float32) float32 { return r.label.lineHeight() + r.value.lineHeight() }

func (r *beforeAfterRow) place(size fyne.Size) {
	h := r.label.lineHeight()
	put(r.label, 0, 0, size.Width, h)
	left := float32(0)
	show(r.mark.image, r.mark.level >= view.Warning)
	if r.mark.level >= view.Warning {
		put(r.mark.image, 0, h+(r.value.lineHeight()-glyph)/2, glyph, glyph)
		left = gutter
	}
	gain := r.gain.natural()
	put(r.value, left, h, max(0, size.Width-left-gain-6), r.value.lineHeight())
	put(r.gain, size.Width-gain, h+(r.value.lineHeight()-h)/2, gain, h)
}

// noteRow is one consequence with the shape of its level.
type noteRow struct {
	boxed
	mark *sign
	text *words
	left float32 // where the text begins
}

func newNoteRow() *noteRow {
	n := &noteRow{mark: newSign(), text: body().wrapped()}
	n.box = container.New(arrange{
		func(width float32) float32 { return n.text.heightFor(width - n.left) },
		func(size fyne.Size) {
			put(n.mark.image, 0, (n.text.lineHeight()-glyph)/2, glyph, glyph)
			put(n.text, n.left, 0, size.Width-n.left, size.Height)
		},
	}, n.mark.image, n.text)
	n.ExtendBaseWidget(n)
	return n
}

// set shows a note. Where any of them is loud, the texts of all stand below each
// other.
func (n *noteRow) set(note view.LimitNote, loud bool) {
	if n.left = 0; loud {
		n.left = gutter
	}
	n.mark.set(note.Level)
	show(n.mark.image, note.Level >= view.Warning)
	n.text.set(note.Text)
	relayout(n.box)
}

// handRow is a command for a terminal, with a button that copies it.
type handRow struct {
	boxed
	intro, command *words
	copy           *widget.Button
}

func newHandRow() *handRow {
	r := &handRow{intro: caption().wrapped(), command: body().wrapped()}
	r.command.mono = true
	r.copy = widget.NewButtonWithIcon("", theme.ContentCopyIcon(), func() {
		fyne.CurrentApp().Clipboard().SetContent(r.command.text)
	})
	r.copy.Importance = widget.LowImportance
	r.box = container.New(arrange{
		func(width float32) float32 {
			if r.command.text == "" {
				return 0
			}
			button := r.copy.MinSize()
			return r.intro.heightFor(width) + max(button.Height, r.command.heightFor(width-button.Width-4))
		},
		func(size fyne.Size) {
			button := r.copy.MinSize()
			y := r.intro.heightFor(size.Width)
			put(r.intro, 0, 0, size.Width, y)
			h := r.command.heightFor(size.Width - button.Width - 4)
			put(r.command, 0, y+max(0, (button.Height-h)/2), size.Width-button.Width-4, h)
			put(r.copy, size.Width-button.Width, y, button.Width, button.Height)
		},
	}, r.intro, r.command, r.copy)
	r.ExtendBaseWidget(r)
	return r
}

func (r *handRow) set(h view.ByHand) {
	r.intro.set(h.Intro)
	r.command.set(h.Command)
	show(r.copy, h.Command != "")
	relayout(r.box)
}

// boxed is a widget that is one container, whose height follows from its width.
type boxed struct {
	widget.BaseWidget
	box *fyne.Container
}

func (b *boxed) inner() fyne.CanvasObject        { return b.box }
func (b *boxed) heightFor(width float32) float32 { return heightFor(b.box, width) }

// CreateRenderer implements fyne.Widget.
func (b *boxed) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(b.box) }

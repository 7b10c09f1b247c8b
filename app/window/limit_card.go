package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
)

// limitCard is the GPU's limit on the overview: how it stands, what waits for a
// person, and the way to its page.
type limitCard struct {
	card
	title, text *words
	mark        *sign
	open        *widget.Button
	actions     []*commandButton
	row         *fyne.Container
}

func newLimitCard(do func(view.Action), open func()) *limitCard {
	c := &limitCard{title: heading(), text: body().wrapped(), mark: newSign(), open: widget.NewButton("", open)}
	for range 3 {
		c.actions = append(c.actions, newCommandButton(do))
	}
	head := container.New(arrange{
		func(float32) float32 { return max(c.title.lineHeight(), c.open.MinSize().Height) },
		func(size fyne.Size) {
			least := c.open.MinSize()
			h := c.title.lineHeight()
			put(c.title, 0, (size.Height-h)/2, size.Width-least.Width-10, h)
			put(c.open, size.Width-least.Width-8, (size.Height-least.Height)/2, least.Width+8, least.Height)
		},
	}, c.title, c.open)
	text := container.New(arrange{
		func(width float32) float32 { return c.text.heightFor(width - c.left()) },
		func(size fyne.Size) {
			show(c.mark.image, c.left() > 0)
			put(c.mark.image, 0, (c.text.lineHeight()-glyph)/2, glyph, glyph)
			put(c.text, c.left(), 0, size.Width-c.left(), size.Height)
		},
	}, c.mark.image, c.text)
	c.row = container.New(arrange{c.actionsHeight, c.placeActions})
	for _, b := range c.actions {
		c.row.Add(b)
	}
	c.fill(newColumn(6, head, text, c.row))
	c.ExtendBaseWidget(c)
	return c
}

func (c *limitCard) left() float32 {
	if c.mark.level >= view.Warning {
		return gutter
	}
	return 0
}

// placeActions puts the buttons beside each other, on as many lines as they need.
func (c *limitCard) placeActions(size fyne.Size) { c.flow(size.Width, true) }

func (c *limitCard) actionsHeight(width float32) float32 { return c.flow(width, false) }

func (c *limitCard) flow(width float32, place bool) (height float32) {
	x, y := float32(0), float32(0)
	for _, b := range c.actions {
		if !b.Visible() {
			continue
		}
		least := b.MinSize().AddWidthHeight(8, 0)
		if x > 0 && x+least.Width > width {
			x, y = 0, y+least.Height+6
		}
		if place {
			put(b, x, y, min(least.Width, width), least.Height)
		}
		x += least.Width + 6
		height = y + least.Height
	}
	return height
}

func (c *limitCard) set(words *view.Renderer, v *view.Limit) {
	c.title.set(v.Row.Label)
	c.text.set(v.Row.Text)
	c.text.setColour(levelColour(v.Row.Level))
	c.mark.set(v.Row.Level)
	c.open.SetText(words.Text("window.limit.change"))
	actions := []*view.Action{v.Keep, v.Back}
	if len(v.Restarts) > 0 {
		actions = append(actions, &v.Restarts[0].Action)
	}
	for i, b := range c.actions {
		var action *view.Action
		if i < len(actions) {
			action = actions[i]
		}
		show(b, action != nil)
		if action != nil {
			b.set(*action)
		}
	}
	c.actions[0].Importance = widget.HighImportance
	if v.Keep == nil {
		c.actions[0].Importance = widget.MediumImportance
	}
	c.actions[0].Refresh()
	relayout(c.box)
}

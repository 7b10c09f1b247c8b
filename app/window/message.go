package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
)

// message is a box over the window with a title, a text and one button.
type message struct {
	popup *widget.PopUp
	title *words
	text  *words
	close *widget.Button
}

// newMessage shows the box. closed is called when it goes.
func newMessage(c fyne.Canvas, level view.Level, title, text, button string, closed func()) *message {
	m := &message{title: strong().wrapped(), text: body().wrapped()}
	m.title.size = theme.SizeNameSubHeadingText
	m.title.set(title)
	m.text.set(text)
	m.close = widget.NewButton(button, func() {
		m.popup.Hide()
		closed()
	})
	m.close.Importance = widget.HighImportance
	shape := newSign()
	shape.set(level)
	left := float32(0)
	if level >= view.Warning {
		left = gutter
	} else {
		shape.image.Hide()
	}
	box := container.New(arrange{
		func(width float32) float32 {
			return m.title.heightFor(width-left) + 8 + m.text.heightFor(width-left) + 14 + m.close.MinSize().Height
		},
		func(size fyne.Size) {
			width := size.Width - left
			put(shape.image, 0, (m.title.lineHeight()-glyph)/2, glyph, glyph)
			y := m.title.heightFor(width)
			put(m.title, left, 0, width, y)
			put(m.text, left, y+8, width, m.text.heightFor(width))
			button := m.close.MinSize().AddWidthHeight(16, 0)
			put(m.close, size.Width-button.Width, size.Height-button.Height, button.Width, button.Height)
		},
	}, shape.image, m.title, m.text, m.close)
	outer := container.New(padded{14, 12}, box)
	m.popup = widget.NewModalPopUp(outer, c)
	width := min(c.Size().Width-2*margin, 360)
	m.popup.Resize(fyne.NewSize(width, heightFor(outer, width-2*theme.InnerPadding())+2*theme.InnerPadding()))
	m.popup.Show()
	return m
}

package main

import (
	"image/color"
	"reflect"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"plimsoll/app/view"
)

// waiting is shown in place of the overview until the first update is there.
type waiting struct {
	box  *fyne.Container
	mark *sign
	text *words
	next *words
}

func newWaiting() *waiting {
	w := &waiting{mark: newSign(), text: strong().wrapped(), next: caption().wrapped()}
	text := newColumn(4, w.text, w.next)
	inner := container.New(arrange{
		func(width float32) float32 { return heightFor(text, width-gutter) },
		func(size fyne.Size) {
			put(w.mark.image, 0, (w.text.lineHeight()-glyph)/2, glyph, glyph)
			put(text, gutter, 0, size.Width-gutter, size.Height)
		},
	}, w.mark.image, text)
	w.box = container.New(padded{margin, 2}, newColumn(0, newCard(inner)))
	return w
}

func (w *waiting) set(p picture) {
	w.text.set(p.words.Text("window.link.new"))
	next := ""
	if p.err != nil {
		next = p.words.Error(p.err)
		w.mark.set(view.Warning)
	}
	w.next.set(next)
	w.box.Refresh()
}

// faded is the veil over a picture that is no longer true.
func faded(c color.NRGBA) color.NRGBA {
	c.A = 0x96
	return c
}

// sameCurves compares curves bit by bit, as a gap is unequal to itself.
func sameCurves(a, b curves) bool {
	return a.minutes == b.minutes && len(a.headroom) == len(b.headroom) &&
		reflect.ValueOf(a.headroom).Pointer() == reflect.ValueOf(b.headroom).Pointer()
}

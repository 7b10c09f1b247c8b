package main

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// tips shows the long form of a fact while the pointer is over it. It is a layer
// above the page that takes no clicks.
type tips struct {
	layer  *fyne.Container
	ground *canvas.Rectangle
	text   *words
	owner  *hover
	at     fyne.Position // of the pointer
	stood  fyne.Position // of the owner when its tip was shown
	// later runs a function on Fyne's goroutine after a moment: a tip is for who
	// rests the pointer, not for who passes by.
	later func(func())
}

// tipDelay is that moment.
const tipDelay = 450 * time.Millisecond

func newTips() *tips {
	t := &tips{ground: canvas.NewRectangle(nil), text: caption().wrapped()}
	t.later = func(f func()) { time.AfterFunc(tipDelay, func() { fyne.Do(f) }) }
	t.text.colour = theme.ColorNameForeground
	t.ground.CornerRadius, t.ground.StrokeWidth = 5, 1
	t.layer = container.NewWithoutLayout(t.ground, t.text)
	t.layer.Hide()
	return t
}

// moved says that the pointer moves within owner. A window that opens or scrolls
// below a pointer that rests asks for no tip.
func (t *tips) moved(owner *hover, at fyne.Position) {
	t.at = at
	if owner.detail == "" || t.owner == owner {
		return
	}
	t.owner = owner
	t.later(func() {
		if t.owner == owner {
			t.show(owner)
		}
	})
}

// check brings a tip up to date after the page has changed below it.
func (t *tips) check() {
	switch {
	case t.owner == nil || !t.layer.Visible():
	case t.owner.detail == "" || !t.owner.Visible() || place(t.owner.content) != t.stood:
		t.leave(t.owner)
	case t.owner.detail != t.text.text:
		t.show(t.owner)
	}
}

func place(o fyne.CanvasObject) fyne.Position {
	return fyne.CurrentApp().Driver().AbsolutePositionForObject(o)
}

func (t *tips) show(owner *hover) {
	at := t.at
	t.stood = place(owner.content)
	t.text.set(owner.detail)
	room := t.layer.Size()
	width := min(room.Width-2*margin, 300)
	widest := float32(0)
	for _, line := range t.text.lines(width - 20) {
		widest = max(widest, t.text.width(line)+1)
	}
	height := t.text.heightFor(width-20) + 12
	width = widest + 20
	x := max(margin, min(at.X+8, room.Width-width-margin))
	y := at.Y + 18
	if y+height > room.Height-margin { // above the pointer when there is no room below
		y = max(margin, at.Y-height-8)
	}
	t.ground.FillColor, t.ground.StrokeColor = colour(theme.ColorNameOverlayBackground), colour(theme.ColorNameInputBorder)
	put(t.ground, x, y, width, height)
	put(t.text, x+10, y+6, width-20, height-12)
	t.text.Refresh()
	t.layer.Show()
}

// leave says that the pointer is no longer over owner.
func (t *tips) leave(owner *hover) {
	if t.owner == owner {
		t.owner = nil
		t.layer.Hide()
	}
}

// hover is a region with a long form. Who embeds it sets tips and content, and
// extends itself.
type hover struct {
	widget.BaseWidget
	content fyne.CanvasObject
	tips    *tips
	detail  string
}

func (h *hover) inner() fyne.CanvasObject { return h.content }

func (h *hover) heightFor(width float32) float32 { return heightFor(h.content, width) }

// MouseIn implements desktop.Hoverable.
func (h *hover) MouseIn(*desktop.MouseEvent) {}

// MouseMoved implements desktop.Hoverable.
func (h *hover) MouseMoved(e *desktop.MouseEvent) { h.tips.moved(h, e.AbsolutePosition) }

// MouseOut implements desktop.Hoverable.
func (h *hover) MouseOut() { h.tips.leave(h) }

// Refresh also lays the content out anew: its texts may have other widths.
func (h *hover) Refresh() {
	h.content.Refresh()
	h.BaseWidget.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (h *hover) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(h.content) }

package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// The measures of the window, in Fyne's units.
const (
	margin  float32 = 14 // window edge to cards
	inset   float32 = 12 // card edge to content
	gap     float32 = 10 // between cards
	line    float32 = 4  // between lines of a card
	gutter  float32 = 20 // a level's shape and the space after it
	glyph   float32 = 14 // a level's shape
	minimum float32 = 300
)

// tall is what knows its height only when its width is known.
type tall interface {
	heightFor(width float32) float32
}

// heightFor is the height of any object at a width.
func heightFor(object fyne.CanvasObject, width float32) float32 {
	if t, ok := object.(tall); ok {
		return t.heightFor(width)
	}
	if c, ok := object.(*fyne.Container); ok {
		if t, ok := c.Layout.(interface {
			heightOf([]fyne.CanvasObject, float32) float32
		}); ok {
			return t.heightOf(c.Objects, width)
		}
	}
	return object.MinSize().Height
}

// column lays objects out below each other, each as wide as the column and as
// high as it needs at that width. Hidden ones, and those without height, take
// no room.
type column struct {
	space  float32
	width  float32 // as of the last Layout
	change func()  // called when Layout found another width
}

func newColumn(space float32, objects ...fyne.CanvasObject) *fyne.Container {
	return container.New(&column{space: space}, objects...)
}

func (c *column) heightOf(objects []fyne.CanvasObject, width float32) float32 {
	total := float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		if h := heightFor(o, width); h > 0 {
			if total > 0 {
				total += c.space
			}
			total += h
		}
	}
	return total
}

// MinSize implements fyne.Layout.
func (c *column) MinSize(objects []fyne.CanvasObject) fyne.Size {
	width := c.width
	if width == 0 {
		width = minimum
	}
	return fyne.NewSize(minimum, c.heightOf(objects, width))
}

// Layout implements fyne.Layout.
func (c *column) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	y := float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		h := heightFor(o, size.Width)
		if h > 0 && y > 0 {
			y += c.space
		}
		o.Move(fyne.NewPos(0, y))
		o.Resize(fyne.NewSize(size.Width, h))
		y += h
	}
	if c.width != size.Width {
		c.width = size.Width
		if c.change != nil {
			c.change()
		}
	}
}

// padded surrounds one object.
type padded struct{ x, y float32 }

func (p padded) heightOf(objects []fyne.CanvasObject, width float32) float32 {
	h := heightFor(objects[0], width-2*p.x)
	if h == 0 {
		return 0
	}
	return h + 2*p.y
}

// MinSize implements fyne.Layout.
func (p padded) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return objects[0].MinSize().AddWidthHeight(2*p.x, 2*p.y)
}

// Layout implements fyne.Layout.
func (p padded) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	objects[0].Move(fyne.NewPos(p.x, p.y))
	objects[0].Resize(fyne.NewSize(max(0, size.Width-2*p.x), max(0, size.Height-2*p.y)))
}

// backed lays the last object over the others, which fill the same room.
type backed struct{}

func (backed) heightOf(objects []fyne.CanvasObject, width float32) float32 {
	return heightFor(objects[len(objects)-1], width)
}

// MinSize implements fyne.Layout.
func (backed) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return objects[len(objects)-1].MinSize()
}

// Layout implements fyne.Layout.
func (backed) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		o.Move(fyne.Position{})
		o.Resize(size)
	}
}

// arrange is a layout of fixed parts, written where it is used.
type arrange struct {
	height func(width float32) float32
	place  func(size fyne.Size)
}

func (a arrange) heightOf(_ []fyne.CanvasObject, width float32) float32 { return a.height(width) }

// MinSize implements fyne.Layout.
func (a arrange) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(minimum-2*(margin+inset), a.height(minimum))
}

// Layout implements fyne.Layout.
func (a arrange) Layout(_ []fyne.CanvasObject, size fyne.Size) { a.place(size) }

// relayout lays out anew all that a widget or container holds, without drawing
// again what stays as it was; Refresh would draw everything.
func relayout(o fyne.CanvasObject) {
	switch o := o.(type) {
	case *fyne.Container:
		if o.Layout != nil {
			o.Layout.Layout(o.Objects, o.Size())
		}
		for _, child := range o.Objects {
			relayout(child)
		}
	case interface{ inner() fyne.CanvasObject }:
		relayout(o.inner())
	}
}

// put moves and resizes in one call.
func put(o fyne.CanvasObject, x, y, width, height float32) {
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(width, height))
}

// card is a ground with rounded corners that holds one object.
type card struct {
	widget.BaseWidget
	ground *canvas.Rectangle
	tint   fyne.ThemeColorName
	box    *fyne.Container
}

func newCard(content fyne.CanvasObject) *card {
	c := &card{}
	c.fill(content)
	c.ExtendBaseWidget(c)
	return c
}

// fill gives a card its content. A widget that is a card extends itself.
func (c *card) fill(content fyne.CanvasObject) {
	c.tint = colourCard
	c.ground = canvas.NewRectangle(nil)
	c.ground.CornerRadius = 8
	c.box = container.New(backed{}, c.ground, container.New(padded{inset, 10}, content))
}

func (c *card) setTint(name fyne.ThemeColorName) {
	if c.tint != name {
		c.tint = name
		c.Refresh()
	}
}

func (c *card) inner() fyne.CanvasObject { return c.box }

func (c *card) heightFor(width float32) float32 { return heightFor(c.box, width) }

// Refresh also takes the theme's colours anew.
func (c *card) Refresh() {
	c.ground.FillColor = colour(c.tint)
	c.box.Refresh()
	c.BaseWidget.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (c *card) CreateRenderer() fyne.WidgetRenderer {
	c.ground.FillColor = colour(c.tint)
	return widget.NewSimpleRenderer(c.box)
}

// heading is the title of a card.
func heading() *words {
	w := newWords(theme.SizeNameCaptionText, theme.ColorNamePlaceHolder)
	w.bold = true
	return w
}

// pageHead is the head of a page that one comes back from: a way back and its title.
func pageHead(back fyne.CanvasObject, title *words) fyne.CanvasObject {
	return container.New(arrange{
		func(float32) float32 { return back.MinSize().Height },
		func(size fyne.Size) {
			button := back.MinSize()
			put(back, -4, 0, button.Width, button.Height)
			h := title.lineHeight()
			put(title, button.Width+2, (size.Height-h)/2, size.Width-button.Width, h)
		},
	}, back, title)
}

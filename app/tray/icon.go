package tray

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"

	"plimsoll/app/view"
	"plimsoll/assets/mark"
)

// The sizes in which icons are drawn, in pixels. macOS shows the picture at
// 16 pt whatever its size, so 32 pixels are exact on a Retina bar and halve
// cleanly on a 1x bar. Linux panels are 22 or 24 pixels high, or twice that.
const (
	templateSize = 32
	panelSize    = 44
)

// Icon draws the tray's icon as a PNG of size × size pixels. A template is
// black with transparency, for macOS to colour after the bar; otherwise the
// icon is coloured, has outlines for light and dark panels and carries badge,
// a number of at most three digits. The states differ by shape, not only by
// colour: an open mark, a mark half under water, a full disc with an
// exclamation mark, a broken and crossed out ring.
func Icon(state view.Icon, badge string, size int, template bool) []byte {
	return encode(drawIcon(state, badge, size, template))
}

func drawIcon(state view.Icon, badge string, size int, template bool) *image.NRGBA {
	if template {
		return drawTemplate(state, size).Image
	}
	return drawPanel(state, badge, size).Image
}

func encode(picture image.Image) []byte {
	var out bytes.Buffer
	// Encoding into memory fails only for an empty picture.
	if err := png.Encode(&out, picture); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// drawTemplate draws on a grid of 16 units, one for each point.
func drawTemplate(state view.Icon, size int) *mark.Painter {
	const cx, cy, r, pen = 8.0, 8.0, 5.75, 1.5
	ink := color.NRGBA{A: 255}
	p := mark.NewPainter(size, 16)
	ring := mark.Ring(cx, cy, r, pen)
	line := mark.Box(cx, cy, 16, 2, 0.5)
	switch state {
	case view.IconWarning:
		p.Fill(mark.Either(ring, line, mark.Both(mark.Disc(cx, cy, r), mark.Below(cy))), ink)
	case view.IconCritical:
		p.Fill(mark.Either(mark.Disc(cx, cy, r+pen/2), line), ink)
		p.Cut(exclamation(cx, cy, 1))
	case view.IconNoServer:
		slash := mark.Stroke(2.4, 13.6, 13.6, 2.4, pen)
		p.Fill(mark.Both(ring, mark.Sectors(cx, cy, 6, 0.3, math.Pi/4)), ink)
		p.Cut(mark.Grown(slash, 1))
		p.Fill(slash, ink)
	default:
		p.Fill(mark.Either(ring, line), ink)
	}
	return p
}

// exclamation is a mark about 9 units high at scale 1.
func exclamation(cx, cy, scale float64) mark.Shape {
	return mark.Either(
		mark.Stroke(cx, cy-3.2*scale, cx, cy+0.5*scale, 2.2*scale),
		mark.Disc(cx, cy+3.4*scale, 1.25*scale),
	)
}

// The colours of a coloured icon. Each fill has an edge of the other
// brightness, so that it stands out on a light panel and on a dark one.
var (
	ink   = color.NRGBA{0x1a, 0x24, 0x2b, 0xff}
	paper = color.NRGBA{0xf7, 0xfa, 0xfb, 0xff}
	water = color.NRGBA{0x0b, 0x6b, 0x80, 0xff}
	amber = color.NRGBA{0xff, 0xb0, 0x20, 0xff}
	red   = color.NRGBA{0xc9, 0x1f, 0x1f, 0xff}
	grey  = color.NRGBA{0x5d, 0x68, 0x70, 0xff}
)

// drawPanel draws on a grid of 22 units, one for each pixel of a usual panel.
// The load line is wide enough to carry the number.
func drawPanel(state view.Icon, badge string, size int) *mark.Painter {
	const cx, cy, r, pen, edge = 11.0, 11.0, 8.4, 2.4, 1.0
	p := mark.NewPainter(size, 22)
	ring := mark.Ring(cx, cy, r, pen)
	disc := mark.Disc(cx, cy, r+pen/2)
	line := mark.Box(cx, cy, 22-2*edge, 4, 0.8)
	if badge != "" {
		line = mark.Box(cx, cy, 22-2*edge, 10, 1.5)
	}
	// body is what the line crosses. The line has an edge of its own.
	paint := func(body mark.Shape, fill, border color.NRGBA) {
		p.Fill(mark.Grown(body, edge), border)
		p.Fill(body, fill)
		p.Fill(mark.Grown(line, edge), border)
		p.Fill(line, fill)
	}
	digits := paper
	switch state {
	case view.IconWarning:
		paint(mark.Either(ring, mark.Both(disc, mark.Below(cy))), amber, ink)
		digits = ink
	case view.IconCritical:
		if badge == "" {
			p.Fill(mark.Grown(disc, edge), paper)
			p.Fill(disc, red)
			p.Fill(exclamation(cx, cy, 1.4), paper)
			return p
		}
		paint(disc, red, paper)
		badge += "!"
	case view.IconNoServer:
		dashes := mark.Both(ring, mark.Sectors(cx, cy, 6, 0.3, math.Pi/4))
		slash := mark.Stroke(3.6, 18.4, 18.4, 3.6, pen)
		p.Fill(mark.Grown(mark.Either(dashes, slash), edge), paper)
		p.Fill(mark.Either(dashes, slash), grey)
		return p
	default:
		paint(ring, water, paper)
	}
	if badge != "" {
		// The font is built in; if it cannot be read there is no number.
		_ = p.Number(badge, cx, cy, 8.2, 19, digits)
	}
	return p
}

// icons keeps drawn icons; there are few badges, and drawing one costs more
// than all other work of an update.
type icons struct{ drawn map[icon][]byte }

// icon is what tells one picture from another.
type icon struct {
	state    view.Icon
	badge    string
	template bool
}

// picture is the PNG of an icon in the size its place wants.
func (c *icons) picture(want icon) []byte {
	if png, ok := c.drawn[want]; ok {
		return png
	}
	if c.drawn == nil || len(c.drawn) >= 64 {
		c.drawn = map[icon][]byte{}
	}
	if want.template {
		c.drawn[want] = Icon(want.state, "", templateSize, true)
	} else {
		c.drawn[want] = encode(forPanel(drawIcon(want.state, want.badge, panelSize, false)))
	}
	return c.drawn[want]
}

// forPanel makes a picture arrive at a panel as it is. Panels read the colours
// of a pixmap as they are, but systray multiplies them with the transparency
// and then sends the low byte of each 16-bit product, noise along every edge.
// With 16 bits a channel the product can be chosen: its low byte is the colour
// and its high byte the multiplied one.
func forPanel(picture *image.NRGBA) *image.NRGBA64 {
	out := image.NewNRGBA64(picture.Rect)
	for i := 0; i < len(picture.Pix); i += 4 {
		alpha := uint32(picture.Pix[i+3])
		if alpha == 0 {
			continue
		}
		wide := alpha * 0x101
		for channel := range 3 {
			colour := uint32(picture.Pix[i+channel])
			product := colour*alpha/0xff<<8 | colour
			if product > wide {
				product -= 0x100
			}
			// The smallest value whose product, rounded down, is the one wanted.
			value := (product*0xffff + wide - 1) / wide
			out.Pix[i*2+channel*2], out.Pix[i*2+channel*2+1] = byte(value>>8), byte(value)
		}
		out.Pix[i*2+6], out.Pix[i*2+7] = byte(alpha), byte(alpha)
	}
	return out
}

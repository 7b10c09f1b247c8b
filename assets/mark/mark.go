// Package mark draws the Plimsoll mark, the circle with the load line through
// it, and whatever else the program's icons are made of. Shapes are signed
// distances, so one drawing serves every size with clean edges; nothing here
// knows what an icon means.
package mark

import (
	"image"
	"image/color"
	"math"
)

// Shape is the signed distance of a point from an outline, in grid units:
// negative inside.
type Shape func(x, y float64) float64

// Painter paints shapes on a square picture. Coordinates are grid units from
// the top left corner, whatever the number of pixels.
type Painter struct {
	Image *image.NRGBA
	scale float64 // pixels per grid unit
}

// NewPainter makes a transparent picture of size × size pixels, on which the
// grid is grid units wide.
func NewPainter(size int, grid float64) *Painter {
	return &Painter{
		Image: image.NewNRGBA(image.Rect(0, 0, size, size)),
		scale: float64(size) / grid,
	}
}

// Fill paints s in one colour over what is there.
func (p *Painter) Fill(s Shape, c color.NRGBA) {
	p.Paint(s, func(float64, float64) color.NRGBA { return c })
}

// Paint paints s in a colour that depends on the place.
func (p *Painter) Paint(s Shape, colour func(x, y float64) color.NRGBA) {
	p.each(s, func(i int, x, y, coverage float64) {
		c := colour(x, y)
		p.over(i, c, coverage*float64(c.A)/255)
	})
}

// Cut makes s transparent.
func (p *Painter) Cut(s Shape) {
	p.each(s, func(i int, _, _, coverage float64) {
		alpha := &p.Image.Pix[i+3]
		*alpha = uint8(math.Round(float64(*alpha) * (1 - coverage)))
	})
}

// each calls do for every pixel that s covers at least in part.
func (p *Painter) each(s Shape, do func(i int, x, y, coverage float64)) {
	size := p.Image.Rect.Dx()
	for row := range size {
		for column := range size {
			x, y := (float64(column)+0.5)/p.scale, (float64(row)+0.5)/p.scale
			coverage := min(1, max(0, 0.5-s(x, y)*p.scale))
			if coverage > 0 {
				do(row*p.Image.Stride+column*4, x, y, coverage)
			}
		}
	}
}

// over composes one pixel.
func (p *Painter) over(i int, c color.NRGBA, alpha float64) {
	pix := p.Image.Pix[i : i+4 : i+4]
	below := float64(pix[3]) / 255 * (1 - alpha)
	total := alpha + below
	if total <= 0 {
		return
	}
	blend := func(top, bottom uint8) uint8 {
		return uint8(math.Round((float64(top)*alpha + float64(bottom)*below) / total))
	}
	pix[0], pix[1], pix[2] = blend(c.R, pix[0]), blend(c.G, pix[1]), blend(c.B, pix[2])
	pix[3] = uint8(math.Round(total * 255))
}

// Disc is a filled circle.
func Disc(cx, cy, r float64) Shape {
	return func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) - r }
}

// Ring is a circle drawn with a pen of the given width.
func Ring(cx, cy, r, width float64) Shape {
	return func(x, y float64) float64 {
		return math.Abs(math.Hypot(x-cx, y-cy)-r) - width/2
	}
}

// Box is a rectangle around a centre with rounded corners.
func Box(cx, cy, width, height, corner float64) Shape {
	return func(x, y float64) float64 {
		dx := math.Abs(x-cx) - width/2 + corner
		dy := math.Abs(y-cy) - height/2 + corner
		return math.Hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - corner
	}
}

// Stroke is a line with round ends.
func Stroke(x0, y0, x1, y1, width float64) Shape {
	dx, dy := x1-x0, y1-y0
	return func(x, y float64) float64 {
		t := ((x-x0)*dx + (y-y0)*dy) / (dx*dx + dy*dy)
		t = min(1, max(0, t))
		return math.Hypot(x-x0-t*dx, y-y0-t*dy) - width/2
	}
}

// Below is everything under a horizontal line.
func Below(line float64) Shape {
	return func(_, y float64) float64 { return line - y }
}

// Sectors is every second one of 2n equal sectors around a centre; it cuts a
// ring into dashes. The gaps are as wide as share of a sector pair.
func Sectors(cx, cy float64, n int, share, turn float64) Shape {
	step := 2 * math.Pi / float64(n)
	return func(x, y float64) float64 {
		angle := math.Mod(math.Atan2(y-cy, x-cx)+turn+4*math.Pi, step)
		off := math.Abs(angle - step/2) // 0 in the middle of a dash
		return (off - step/2*(1-share)) * math.Hypot(x-cx, y-cy)
	}
}

// Both is where two shapes overlap.
func Both(a, b Shape) Shape {
	return func(x, y float64) float64 { return max(a(x, y), b(x, y)) }
}

// Either is two shapes together.
func Either(shapes ...Shape) Shape {
	return func(x, y float64) float64 {
		d := math.Inf(1)
		for _, s := range shapes {
			d = min(d, s(x, y))
		}
		return d
	}
}

// Without is a where b is not.
func Without(a, b Shape) Shape {
	return func(x, y float64) float64 { return max(a(x, y), -b(x, y)) }
}

// Grown is s with its outline moved outwards by a margin.
func Grown(s Shape, margin float64) Shape {
	return func(x, y float64) float64 { return s(x, y) - margin }
}

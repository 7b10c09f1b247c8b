package main

import (
	"image"
	"image/color"
	"math"

	"plimsoll/app/view"
)

// ink is what the painters draw with: colours by segment, and the others.
type ink struct {
	segments map[view.SegmentKind]color.NRGBA
	stripe   color.NRGBA // lines across the compressed segment
	mark     color.NRGBA
	ground   color.NRGBA // behind the bar, between its segments
}

// paintBar draws the memory bar into an image of w × h pixels: segments from
// the left with a gap between them, round at both ends, and a line for each
// mark. unit is the number of pixels of one unit of length. Compressed memory
// is striped, so that it is known without colours.
func paintBar(w, h int, unit float64, bar view.Bar, ink ink) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	if bar.Total == 0 || w == 0 || h == 0 {
		return img
	}
	over := int(math.Round(2 * unit)) // marks stand out by this much
	top, bottom := over, h-over
	radius := 4 * unit
	paint := func(x, y int, c color.NRGBA) {
		alpha := rounded(float64(x)+.5, float64(y-top)+.5, float64(w), float64(bottom-top), radius)
		c.A = uint8(float64(c.A) * alpha)
		img.SetNRGBA(x, y, c)
	}
	for _, part := range spans(bar, w, int(math.Max(1, math.Round(unit)))) {
		c := ink.segments[part.kind]
		for y := top; y < bottom; y++ {
			for x := part.from; x < part.to; x++ {
				paint(x, y, stripes(part.kind, x, y, unit, c, ink.stripe))
			}
		}
	}
	for i, mark := range bar.Marks {
		if mark.Minor {
			paintTick(img, at(mark.At, bar.Total, w), unit, i, ink.mark)
		} else {
			paintMark(img, at(mark.At, bar.Total, w), unit, ink)
		}
	}
	return img
}

// paintTick draws a thin broken line over the full height. The dashes of one that
// follows another are longer, so that they are told apart.
func paintTick(img *image.NRGBA, x int, unit float64, nth int, c color.NRGBA) {
	bounds := img.Bounds()
	width := max(1, int(math.Round(1.5*unit)))
	dash := max(1, int(math.Round(float64(2+2*(nth%2))*unit)))
	x = max(0, min(x-width/2, bounds.Dx()-width))
	for y := range bounds.Dy() {
		for dx := range width {
			if (y/dash)%2 == 0 {
				img.SetNRGBA(x+dx, y, c)
			}
		}
	}
}

// paintMark draws one line over the full height with a thin margin of ground.
func paintMark(img *image.NRGBA, x int, unit float64, ink ink) {
	half := int(math.Max(1, math.Round(unit)))
	bounds := img.Bounds()
	x = max(half, min(x, bounds.Dx()-half))
	for y := range bounds.Dy() {
		for dx := -2 * half; dx < 2*half; dx++ {
			c := ink.mark
			if dx < -half || dx >= half {
				c = ink.ground
			}
			if p := image.Pt(x+dx, y); p.In(bounds) {
				img.SetNRGBA(p.X, p.Y, c)
			}
		}
	}
}

// span is the pixels of one segment.
type span struct {
	kind     view.SegmentKind
	from, to int
}

// spans places the segments: their ends lie where their bytes add up to, so
// that rounding never adds up. Between two is a gap, taken from the right one;
// a segment that is there is at least a gap wide.
func spans(bar view.Bar, w, gap int) []span {
	var all []span
	sum, from := uint64(0), 0
	for _, segment := range bar.Segments {
		if segment.Bytes == 0 {
			continue
		}
		sum += segment.Bytes
		start := from
		if start > 0 {
			start += gap
		}
		to := max(at(sum, bar.Total, w), start+gap)
		to = min(to, w)
		if start < to {
			all = append(all, span{segment.Kind, start, to})
		}
		from = max(from, to)
	}
	return all
}

// at is the pixel where a number of bytes stands in a whole of w pixels.
func at(bytes, total uint64, w int) int {
	share := float64(bytes) / float64(total)
	return int(math.Round(math.Min(share, 1) * float64(w)))
}

// stripes gives the compressed segment its diagonal lines.
func stripes(kind view.SegmentKind, x, y int, unit float64, plain, stripe color.NRGBA) color.NRGBA {
	if kind == view.SegmentCompressed && hatch(x, y, 5*unit, 1.5*unit) {
		return stripe
	}
	return plain
}

// hatch tells whether a pixel is on one of the diagonal lines, width wide and
// period apart.
func hatch(x, y int, period, width float64) bool {
	return (x+y)%max(2, int(math.Round(period))) < max(1, int(math.Round(width)))
}

// rounded is how much of the pixel at x, y is inside a rectangle with round
// corners: 0 to 1.
func rounded(x, y, w, h, radius float64) float64 {
	radius = math.Min(radius, h/2)
	dx := math.Max(radius-x, x-(w-radius))
	dy := math.Max(radius-y, y-(h-radius))
	if dx <= 0 || dy <= 0 {
		return 1
	}
	return clamp(radius - math.Hypot(dx, dy) + .5)
}

func clamp(f float64) float64 { return math.Max(0, math.Min(1, f)) }

// curve is one measured value over time.
type curve struct {
	// values are from 0 to 1 at even steps; NaN is a gap, and stays one.
	values []float64
	colour color.NRGBA
	// hatched fills the area with lines instead of a tint.
	hatched bool
}

// paintCurve draws a curve as a line over its area into w × h pixels; the newest
// value is at the right edge. unit is as for paintBar.
func paintCurve(w, h int, unit float64, c curve, axis color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	if w < 2 || h < 2 {
		return img
	}
	width := 1.5 * unit
	room := float64(h) - width - unit // the line keeps inside at both ends
	height := func(v float64) float64 { return width/2 + (1-clamp(v))*room }
	base := float64(h) - unit
	for x := range w {
		fillColumn(img, x, base, float64(h), axis)
		v, low, high := sample(c.values, x, w)
		if math.IsNaN(v) {
			continue
		}
		paintArea(img, x, height(v), base, unit, c)
		// The line covers all that the curve passes within the column, so that
		// a steep one is not thinner, and a jump no gap.
		fillColumn(img, x, height(high)-width/2, math.Min(height(low)+width/2, base), c.colour)
	}
	return img
}

func paintArea(img *image.NRGBA, x int, from, to, unit float64, c curve) {
	tint, dark := c.colour, c.colour
	tint.A, dark.A = 0x38, 0xA0
	if !c.hatched {
		fillColumn(img, x, from, to, tint)
		return
	}
	for y := max(0, int(from)); float64(y) < to; y++ {
		if hatch(x, y, 4*unit, unit) {
			blend(img, x, y, dark, 1)
		} else {
			blend(img, x, y, tint, 1)
		}
	}
}

// sample is the value in the middle of the column x of w, and the least and the
// most within the column. Next to a gap the nearer value holds.
func sample(values []float64, x, w int) (middle, low, high float64) {
	if len(values) < 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	step := float64(len(values)-1) / float64(w-1)
	middle = value(values, float64(x)*step)
	low, high = middle, middle
	for _, side := range []float64{-.5, .5} {
		if v := value(values, (float64(x)+side)*step); !math.IsNaN(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	return middle, low, high
}

// value is the curve at a position between two values.
func value(values []float64, position float64) float64 {
	position = math.Max(0, math.Min(position, float64(len(values)-1)))
	i := min(int(position), len(values)-2)
	a, b, part := values[i], values[i+1], position-float64(i)
	if math.IsNaN(a) || math.IsNaN(b) {
		if part < .5 {
			return a
		}
		return b
	}
	return a + (b-a)*part
}

// fillColumn paints a column from top to bottom, each in pixels and each
// possibly in the middle of one.
func fillColumn(img *image.NRGBA, x int, top, bottom float64, c color.NRGBA) {
	for y := max(0, int(math.Floor(top))); float64(y) < bottom && y < img.Rect.Dy(); y++ {
		cover := math.Min(bottom, float64(y+1)) - math.Max(top, float64(y))
		blend(img, x, y, c, clamp(cover))
	}
}

// blend lays c over a pixel.
func blend(img *image.NRGBA, x, y int, c color.NRGBA, cover float64) {
	i := img.PixOffset(x, y)
	if img.Pix[i+3] == 0 || c.A == 0xFF && cover == 1 {
		img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = c.R, c.G, c.B, uint8(float64(c.A)*cover)
		return
	}
	over := float64(c.A) / 255 * cover
	under := float64(img.Pix[i+3]) / 255 * (1 - over)
	sum := over + under
	if sum == 0 {
		return
	}
	for k, v := range []uint8{c.R, c.G, c.B} {
		img.Pix[i+k] = uint8(math.Round((float64(v)*over + float64(img.Pix[i+k])*under) / sum))
	}
	img.Pix[i+3] = uint8(math.Round(sum * 255))
}

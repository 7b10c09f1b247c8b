package mark

import (
	"image"
	"image/color"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// bold is parsed at the first number that is drawn; a screen that never draws
// one does not pay for it.
var bold = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(gobold.TTF) })

// Number draws a short text of digits centred on (cx, cy), digits height units
// high, but never wider than width units.
func (p *Painter) Number(text string, cx, cy, height, width float64, c color.NRGBA) error {
	parsed, err := bold()
	if err != nil {
		return err
	}
	const digitPart = 0.7246 // height of a Go Bold digit, in ems
	size := height * p.scale / digitPart
	face, err := numberFace(parsed, size)
	if err != nil {
		return err
	}
	if wide := float64(font.MeasureString(face, text)) / 64; wide > width*p.scale {
		if face, err = numberFace(parsed, size*width*p.scale/wide); err != nil {
			return err
		}
	}
	bounds, _ := font.BoundString(face, text)
	center := func(at float64, low, high fixed.Int26_6) fixed.Int26_6 {
		return fixed.Int26_6(math.Round(at*p.scale*64)) - (low+high)/2
	}
	mask := image.NewAlpha(p.Image.Rect)
	drawer := font.Drawer{
		Dst: mask, Src: image.Opaque, Face: face,
		Dot: fixed.Point26_6{
			X: center(cx, bounds.Min.X, bounds.Max.X),
			Y: center(cy, bounds.Min.Y, bounds.Max.Y),
		},
	}
	drawer.DrawString(text)
	for i, alpha := range mask.Pix {
		if alpha > 0 {
			p.over(i*4, c, float64(alpha)/255*float64(c.A)/255)
		}
	}
	return nil
}

func numberFace(f *opentype.Font, pixels float64) (font.Face, error) {
	return opentype.NewFace(f, &opentype.FaceOptions{Size: pixels, DPI: 72, Hinting: font.HintingNone})
}

package mark

import (
	"image/color"
	"testing"
)

var black = color.NRGBA{A: 255}

// at draws a shape on a grid of 10 units, 10 pixels each, and gives the
// transparency at a point of the grid.
func at(s Shape, x, y float64) uint8 {
	p := NewPainter(100, 10)
	p.Fill(s, black)
	return p.Image.NRGBAAt(int(x*10), int(y*10)).A
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name    string
		shape   Shape
		in, out [2]float64
	}{
		{"disc", Disc(5, 5, 3), [2]float64{7.5, 5}, [2]float64{8.5, 5}},
		{"ring", Ring(5, 5, 3, 1), [2]float64{8, 5}, [2]float64{5, 5}},
		{"box", Box(5, 5, 4, 2, 0), [2]float64{6.8, 5.8}, [2]float64{7.2, 5}},
		{"box with round corners", Box(5, 5, 4, 4, 2), [2]float64{6.8, 5}, [2]float64{6.9, 6.9}},
		{"stroke", Stroke(2, 2, 8, 8, 1), [2]float64{5, 5}, [2]float64{5, 7}},
		{"below", Below(5), [2]float64{1, 6}, [2]float64{1, 4}},
		{"both", Both(Disc(5, 5, 3), Below(5)), [2]float64{5, 7}, [2]float64{5, 3}},
		{"either", Either(Disc(2, 2, 1), Disc(8, 8, 1)), [2]float64{8, 8}, [2]float64{5, 5}},
		{"without", Without(Disc(5, 5, 3), Disc(5, 5, 2)), [2]float64{7.5, 5}, [2]float64{5, 5}},
		{"grown", Grown(Disc(5, 5, 2), 1), [2]float64{7.5, 5}, [2]float64{8.5, 5}},
		{"sectors", Sectors(5, 5, 4, 0.5, 0), [2]float64{7, 7}, [2]float64{9, 5.05}},
	} {
		if a := at(c.shape, c.in[0], c.in[1]); a != 255 {
			t.Errorf("%s: inside is %d", c.name, a)
		}
		if a := at(c.shape, c.out[0], c.out[1]); a != 0 {
			t.Errorf("%s: outside is %d", c.name, a)
		}
	}
}

func TestPaintingMixesAndCuts(t *testing.T) {
	p := NewPainter(4, 4)
	everywhere := Box(2, 2, 10, 10, 0)
	p.Fill(everywhere, color.NRGBA{200, 0, 0, 255})
	p.Fill(everywhere, color.NRGBA{0, 100, 0, 128})
	if got := p.Image.NRGBAAt(1, 1); got.A != 255 || got.R < 98 || got.R > 101 || got.G < 49 || got.G > 51 {
		t.Errorf("half green on red is %v", got)
	}
	p.Cut(Box(0, 2, 4, 10, 0)) // the left half
	if left, right := p.Image.NRGBAAt(0, 1).A, p.Image.NRGBAAt(3, 1).A; left != 0 || right != 255 {
		t.Errorf("after the cut the halves are %d and %d", left, right)
	}
}

func TestNumberKeepsToItsPlace(t *testing.T) {
	for _, text := range []string{"7", "14", "128", "128!"} {
		p := NewPainter(100, 10)
		if err := p.Number(text, 5, 5, 5, 8, black); err != nil {
			t.Fatal(err)
		}
		left, right, top, bottom := 100, 0, 100, 0
		for y := range 100 {
			for x := range 100 {
				if p.Image.NRGBAAt(x, y).A > 128 {
					left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
				}
			}
		}
		if left < 9 || right > 91 || bottom-top > 52 {
			t.Errorf("%q takes x %d to %d and y %d to %d", text, left, right, top, bottom)
		}
		if off := left + right - 99; off < -4 || off > 4 {
			t.Errorf("%q is %d pixels off the centre", text, off/2)
		}
		if off := top + bottom - 99; off < -4 || off > 4 {
			t.Errorf("%q is %d pixels too low", text, off/2)
		}
	}
}

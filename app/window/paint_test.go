package main

import (
	"image/color"
	"math"
	"testing"

	"plimsoll/app/view"
)

var plain = ink{
	segments: map[view.SegmentKind]color.NRGBA{
		view.SegmentWired: rgb(1), view.SegmentApp: rgb(2), view.SegmentCompressed: rgb(3), view.SegmentCached: rgb(4), view.SegmentFree: rgb(5),
	},
	stripe: rgb(6), mark: rgb(7), ground: rgb(8),
}

func bar(bytes ...uint64) view.Bar {
	kinds := []view.SegmentKind{view.SegmentWired, view.SegmentApp, view.SegmentCompressed, view.SegmentCached, view.SegmentFree}
	var b view.Bar
	for i, n := range bytes {
		b.Total += n
		b.Segments = append(b.Segments, view.Segment{Kind: kinds[i], Bytes: n})
	}
	return b
}

func TestSpansFillTheBar(t *testing.T) {
	for name, b := range map[string]view.Bar{
		"usual": bar(11, 6, 1, 8, 6), "odd": bar(1, 1, 1, 1, 1), "tiny": bar(1, 1<<40, 1, 1<<20, 1), "alone": bar(7), "gaps": bar(0, 5, 0, 0, 3),
	} {
		for _, w := range []int{1, 7, 368, 736, 2000} {
			parts := spans(b, w, 2)
			if len(parts) == 0 {
				t.Fatalf("%s at %d: nothing", name, w)
			}
			if parts[0].from != 0 || w > 20 && parts[len(parts)-1].to != w {
				t.Errorf("%s at %d: from %d to %d", name, w, parts[0].from, parts[len(parts)-1].to)
			}
			for i := 1; i < len(parts); i++ {
				if parts[i].from < parts[i-1].to {
					t.Errorf("%s at %d: %v and %v overlap", name, w, parts[i-1], parts[i])
				}
			}
			for _, p := range parts {
				if p.from >= p.to {
					t.Errorf("%s at %d: %v has no width", name, w, p)
				}
			}
		}
	}
}

func TestPaintBar(t *testing.T) {
	b := bar(8, 8, 4, 4, 8)
	b.Marks = []view.Mark{{At: 24}}
	img := paintBar(320, 22, 1, b, plain)
	for x, want := range map[int]color.NRGBA{10: rgb(1), 120: rgb(2), 220: rgb(4), 300: rgb(5), 240: rgb(7), 237: rgb(4), 238: rgb(8)} {
		if got := img.NRGBAAt(x, 11); got != want {
			t.Errorf("column %d has %v, want %v", x, got, want)
		}
	}
	if got := img.NRGBAAt(0, 2); got.A > 0x80 {
		t.Errorf("the corner is not round: %v", got)
	}
	if got := img.NRGBAAt(240, 0); got != rgb(7) {
		t.Errorf("the mark does not stand out: %v", got)
	}
	striped := map[color.NRGBA]bool{}
	for x := 165; x < 195; x++ {
		striped[img.NRGBAAt(x, 11)] = true
	}
	if !striped[rgb(3)] || !striped[rgb(6)] || len(striped) != 2 {
		t.Errorf("compressed memory has the colours %v, want two in stripes", striped)
	}
}

// Whatever the numbers are, a picture comes out and nothing is written outside.
func TestPaintBarIsTotal(t *testing.T) {
	huge := bar(math.MaxUint64/2, math.MaxUint64/4)
	huge.Marks = []view.Mark{{At: math.MaxUint64}, {At: 0}}
	over := bar(5, 5)
	over.Total = 3
	for _, b := range []view.Bar{{}, huge, over, {Total: 1}} {
		for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 40}, {400, 2}} {
			paintBar(size[0], size[1], 1, b, plain)
		}
	}
}

func TestPaintCurve(t *testing.T) {
	values := make([]float64, 11)
	for i := range values {
		values[i] = float64(i) / 10
	}
	values[3], values[4] = math.NaN(), math.NaN()
	line := rgb(0x102030)
	img := paintCurve(110, 41, 1, curve{values: values, colour: line}, rgb(9))
	if got := img.NRGBAAt(109, 0); got.A == 0 {
		t.Error("the newest value, the most, is not at the upper right")
	}
	if got := img.NRGBAAt(109, 20); got.A == 0 || got.A == 0xFF {
		t.Errorf("below the line there is no tint: %v", got)
	}
	if got := img.NRGBAAt(38, 20); got.A != 0 {
		t.Errorf("a gap is painted: %v", got)
	}
	if got := img.NRGBAAt(38, 40); got != rgb(9) {
		t.Errorf("the base line is missing in a gap: %v", got)
	}
	for _, v := range [][]float64{nil, {1}, {math.NaN(), math.NaN()}, {math.Inf(1), -5}, {0, 1}} {
		for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {300, 40}} {
			paintCurve(size[0], size[1], 2, curve{values: v, colour: line, hatched: true}, rgb(9))
		}
	}
}

// A jump is one unbroken line: no column of it is empty between top and bottom.
func TestJumpIsUnbroken(t *testing.T) {
	img := paintCurve(100, 41, 1, curve{values: []float64{0, 0, 1, 1}, colour: rgb(0x102030)}, rgb(9))
	covered := 0
	for y := range 39 {
		for x := range 100 {
			if c := img.NRGBAAt(x, y); c.A > 0x60 {
				covered++
				break
			}
		}
	}
	if covered < 39 {
		t.Errorf("only %d of 39 rows have a part of the line", covered)
	}
}

func BenchmarkPaintCurve(b *testing.B) {
	values := make([]float64, curveSteps)
	for i := range values {
		values[i] = math.Abs(math.Sin(float64(i) / 9))
	}
	for b.Loop() {
		paintCurve(600, 160, 2, curve{values: values, colour: rgb(0x102030), hatched: true}, rgb(9))
	}
}

func BenchmarkPaintBar(b *testing.B) {
	m := bar(11, 6, 1, 8, 6)
	for b.Loop() {
		paintBar(736, 44, 2, m, plain)
	}
}

package tray

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/app/view"
)

var update = flag.Bool("update", false, "write the pictures in testdata again")

var states = map[string]view.Icon{
	"normal": view.IconNormal, "warning": view.IconWarning, "critical": view.IconCritical, "no_server": view.IconNoServer,
}

func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func TestIconsAreAsTheyWere(t *testing.T) {
	for name, state := range states {
		for file, data := range map[string][]byte{
			name + "_template": Icon(state, "", templateSize, true),
			name + "_panel":    Icon(state, "", panelSize, false),
			name + "_panel_14": Icon(state, "14", panelSize, false),
		} {
			path := filepath.Join("testdata", file+".png")
			if *update {
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if off := furthest(decode(t, data), decode(t, kept)); off > 4 {
				t.Errorf("%s differs from the kept picture by up to %d levels; look at it and run go test -update", file, off)
			}
		}
	}
}

// furthest is the largest difference of a channel, with room for another
// processor's rounding.
func furthest(a, b image.Image) int {
	if a.Bounds() != b.Bounds() {
		return 255
	}
	most := 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			r1, g1, b1, a1 := a.At(x, y).RGBA()
			r2, g2, b2, a2 := b.At(x, y).RGBA()
			for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}, {a1, a2}} {
				most = max(most, int(math.Abs(float64(pair[0])-float64(pair[1])))>>8)
			}
		}
	}
	return most
}

// A template has one colour: what macOS sees is its transparency, and so the
// states must differ in it.
func TestTemplatesDifferByShapeAlone(t *testing.T) {
	alpha := map[string]*image.Alpha{}
	for name, state := range states {
		picture := decode(t, Icon(state, "14", templateSize, true))
		if picture.Bounds().Dx() != templateSize {
			t.Errorf("%s is %v", name, picture.Bounds())
		}
		mask := image.NewAlpha(picture.Bounds())
		for y := range templateSize {
			for x := range templateSize {
				c := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
				if c.A > 0 && (c.R|c.G|c.B) != 0 {
					t.Fatalf("%s has the colour %v", name, c)
				}
				mask.SetAlpha(x, y, color.Alpha{A: c.A})
			}
		}
		alpha[name] = mask
	}
	for a, one := range alpha {
		for b, other := range alpha {
			if a >= b {
				continue
			}
			different := 0
			for i := range one.Pix {
				if math.Abs(float64(one.Pix[i])-float64(other.Pix[i])) > 128 {
					different++
				}
			}
			if different < 60 { // of 1024 pixels
				t.Errorf("%s and %s differ in %d pixels only", a, b, different)
			}
		}
	}
}

// On any bar the icon has parts that stand out from it.
func TestPanelIconsStandOut(t *testing.T) {
	for name, state := range states {
		for _, badge := range []string{"", "7", "14", "128"} {
			for _, bar := range []color.NRGBA{{0xf2, 0xf2, 0xf2, 255}, {0x20, 0x20, 0x20, 255}, {0x35, 0x84, 0xe4, 255}} {
				picture := decode(t, Icon(state, badge, panelSize, false))
				on := image.NewRGBA(picture.Bounds())
				draw.Draw(on, on.Rect, image.NewUniform(bar), image.Point{}, draw.Src)
				draw.Draw(on, on.Rect, picture, image.Point{}, draw.Over)
				seen := 0
				for i := 0; i < len(on.Pix); i += 4 {
					if contrast(on.Pix[i:i+3], bar) >= 3 { // WCAG's minimum for graphics
						seen++
					}
				}
				if seen < 100 {
					t.Errorf("%s with badge %q on %v: only %d pixels stand out", name, badge, bar, seen)
				}
			}
		}
	}
}

// contrast is WCAG 2's contrast ratio.
func contrast(pixel []byte, bar color.NRGBA) float64 {
	light := func(r, g, b byte) float64 {
		part := func(v byte) float64 {
			c := float64(v) / 255
			if c <= 0.04045 {
				return c / 12.92
			}
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
	}
	a, b := light(pixel[0], pixel[1], pixel[2]), light(bar.R, bar.G, bar.B)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

func TestBadgesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, state := range []view.Icon{view.IconNormal, view.IconWarning, view.IconCritical} {
		for _, badge := range []string{"", "0", "7", "14", "128"} {
			key := string(Icon(state, badge, panelSize, false))
			if other, ok := seen[key]; ok {
				t.Errorf("%d %q looks like %s", state, badge, other)
			}
			seen[key] = fmt.Sprintf("%d %q", state, badge)
		}
	}
}

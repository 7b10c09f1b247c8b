// Command icons draws the program's icon, assets/icon.png. Run it from the
// root of the tree after a change of the drawing:
//
//	go run ./build/icons                  writes assets/icon.png
//	go run ./build/icons -theme FOLDER    writes the sizes of a desktop's icon theme
//
// The bundle's icon file is made of assets/icon.png; a theme's sizes are each
// drawn, so that a small one is as sharp as it can be. The tray's icons are drawn
// by the program itself.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"

	"plimsoll"
	"plimsoll/assets/mark"
)

func main() {
	out := flag.String("o", "assets/icon.png", "the file to write")
	theme := flag.String("theme", "", "the folder of an icon theme to write to instead, such as share/icons/hicolor")
	flag.Parse()
	var err error
	if *theme != "" {
		err = writeTheme(*theme)
	} else {
		err = write(*out, 1024)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "icons:", err)
		os.Exit(1)
	}
}

// themeSizes are what desktops ask for: 48 is the one that every application must
// have (freedesktop.org, Icon Theme Specification, "Installing Application
// Icons"), the others are for docks, menus and overviews.
var themeSizes = []int{48, 64, 128, 256, 512}

// writeTheme writes each size into the folder that a theme has for it. A picture
// in the folder of another size is scaled as if it had that size, or left out.
func writeTheme(folder string) error {
	for _, size := range themeSizes {
		place := filepath.Join(folder, fmt.Sprintf("%dx%d", size, size), "apps")
		if err := os.MkdirAll(place, 0o755); err != nil {
			return fmt.Errorf("making the icon's folder: %w", err)
		}
		if err := write(filepath.Join(place, plimsoll.ID+".png"), size); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, size int) error {
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&file, drawIcon(size)); err != nil {
		return fmt.Errorf("encoding the icon: %w", err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the icon: %w", err)
	}
	return nil
}

// The colours, top to bottom of each part.
var (
	hullTop, hullBottom   = color.NRGBA{0x3d, 0x55, 0x63, 0xff}, color.NRGBA{0x23, 0x33, 0x3e, 0xff}
	waterTop, waterBottom = color.NRGBA{0x16, 0x9a, 0xaa, 0xff}, color.NRGBA{0x07, 0x4f, 0x66, 0xff}
	foam                  = color.NRGBA{0x8f, 0xe3, 0xe6, 0xff}
	paint                 = color.NRGBA{0xf7, 0xfa, 0xfb, 0xff}
)

// drawIcon draws the mark on a hull that lies in the water just below its line. The
// tile has the size and corners of Apple's icon grid: 824 of 1024 units, with
// room for a shadow around it.
func drawIcon(size int) *image.NRGBA {
	const centre, tile, corner = 512.0, 824.0, 185.0
	const top, bottom = centre - tile/2, centre + tile/2
	p := mark.NewPainter(size, 1024)
	hull := mark.Box(centre, centre, tile, tile, corner)
	shadow(p, mark.Box(centre, centre+12, tile, tile, corner))
	p.Paint(hull, gradient(top, bottom, hullTop, hullBottom))

	surface := func(x float64) float64 { return 628 + 15*math.Sin((x-100)/824*4*math.Pi) }
	water := mark.Both(hull, func(x, y float64) float64 { return surface(x) - y })
	p.Paint(water, gradient(600, bottom, waterTop, waterBottom))
	p.Fill(mark.Both(hull, func(x, y float64) float64 { return math.Abs(y-surface(x)) - 5 }), foam)

	sign := mark.Either(mark.Ring(centre, centre, 206, 56), mark.Box(centre, centre, 628, 64, 12))
	p.Fill(mark.Both(mark.Grown(sign, 10), hull), color.NRGBA{0x10, 0x1c, 0x24, 0x50})
	p.Fill(sign, paint)
	return p.Image
}

// shadow is soft: it fades over its last 24 units.
func shadow(p *mark.Painter, shape mark.Shape) {
	const soft = 24.0
	p.Paint(mark.Grown(shape, soft), func(x, y float64) color.NRGBA {
		depth := min(1, max(0, (soft-shape(x, y))/(2*soft)))
		return color.NRGBA{A: uint8(math.Round(70 * depth * depth))}
	})
}

// gradient runs from one colour at height a to another at b.
func gradient(a, b float64, from, to color.NRGBA) func(x, y float64) color.NRGBA {
	return func(_, y float64) color.NRGBA {
		t := min(1, max(0, (y-a)/(b-a)))
		mix := func(p, q uint8) uint8 { return uint8(math.Round(float64(p) + t*(float64(q)-float64(p)))) }
		return color.NRGBA{mix(from.R, to.R), mix(from.G, to.G), mix(from.B, to.B), 0xff}
	}
}

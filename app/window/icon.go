package main

import (
	"bytes"
	"image/png"

	"fyne.io/fyne/v2"

	"plimsoll/assets/mark"
)

// windowIcon is the Plimsoll mark for the window list of a Linux desktop. macOS
// takes the bundle's.
func windowIcon() fyne.Resource {
	const cx, cy, edge = 16, 16, 1
	p := mark.NewPainter(128, 32)
	shape := mark.Either(mark.Ring(cx, cy, 11, 3.4), mark.Box(cx, cy, 29, 5, 1))
	p.Fill(mark.Grown(shape, edge), rgb(0xF7FAFB))
	p.Fill(shape, rgb(0x0B6B80))
	var out bytes.Buffer
	if err := png.Encode(&out, p.Image); err != nil {
		return nil // only for a picture without pixels
	}
	return fyne.NewStaticResource("plimsoll.png", out.Bytes())
}

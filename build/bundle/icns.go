package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
)

// icnsTypes are the entries of an icon file that hold PNG pictures, with their
// size in pixels. The two smallest, ic11 and ic12, are the doubled 16 and 32
// points; older one-to-one types of these sizes do not take PNG reliably.
// Source: https://en.wikipedia.org/wiki/Apple_Icon_Image_format
var icnsTypes = []struct {
	name string
	size int
}{
	{"ic11", 32}, {"ic12", 64}, {"ic07", 128}, {"ic13", 256}, {"ic08", 256}, {"ic14", 512}, {"ic09", 512}, {"ic10", 1024},
}

// encodeICNS makes an icon file of one picture, halved again and again for the
// smaller sizes. Sizes above the picture's own are left out.
func encodeICNS(picture image.Image) ([]byte, error) {
	size := picture.Bounds().Dx()
	if size != picture.Bounds().Dy() || size < 512 || size&(size-1) != 0 {
		return nil, fmt.Errorf("the icon is %d × %d pixels: want a square of 512, 1024 or more, a power of two", size, picture.Bounds().Dy())
	}
	pngs := map[int][]byte{}
	for {
		var buffer bytes.Buffer
		if err := png.Encode(&buffer, picture); err != nil {
			return nil, fmt.Errorf("encoding the icon: %w", err)
		}
		pngs[size] = buffer.Bytes()
		if size == icnsTypes[0].size {
			break
		}
		picture = halved(picture)
		size /= 2
	}
	var entries []byte
	for _, t := range icnsTypes {
		if data, ok := pngs[t.size]; ok {
			entries = appendEntry(entries, t.name, data)
		}
	}
	return appendEntry(nil, "icns", entries), nil
}

// appendEntry appends a name, the length with name and length themselves, and data.
func appendEntry(to []byte, name string, data []byte) []byte {
	to = append(to, name...)
	to = binary.BigEndian.AppendUint32(to, uint32(len(data)+8))
	return append(to, data...)
}

// halved is a picture of half the size: each pixel the mean of four, weighted by
// their opacity, as RGBA values are premultiplied.
func halved(picture image.Image) image.Image {
	b := picture.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	for y := range b.Dy() / 2 {
		for x := range b.Dx() / 2 {
			var sum [4]uint32
			for i := range 4 {
				r, g, bl, a := picture.At(b.Min.X+2*x+i%2, b.Min.Y+2*y+i/2).RGBA()
				sum[0], sum[1], sum[2], sum[3] = sum[0]+r, sum[1]+g, sum[2]+bl, sum[3]+a
			}
			out.Set(x, y, color.RGBA64{uint16(sum[0] / 4), uint16(sum[1] / 4), uint16(sum[2] / 4), uint16(sum[3] / 4)})
		}
	}
	return out
}

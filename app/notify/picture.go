package notify

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	"golang.org/x/image/draw"
)

// pictureSize is in pixels. Desktops show notification pictures at 32 to 64.
const pictureSize = 64

// pixels is the "image-data" hint, (iiibiiay).
type pixels struct {
	Width, Height, Stride   int32
	Alpha                   bool
	BitsPerSample, Channels int32
	Data                    []byte
}

// scaled makes the hint from a PNG.
func scaled(icon []byte) (pixels, error) {
	whole, err := png.Decode(bytes.NewReader(icon))
	if err != nil {
		return pixels{}, fmt.Errorf("reading the icon: %w", err)
	}
	small := image.NewNRGBA(image.Rect(0, 0, pictureSize, pictureSize))
	draw.CatmullRom.Scale(small, small.Rect, whole, whole.Bounds(), draw.Src, nil)
	return pixels{pictureSize, pictureSize, int32(small.Stride), true, 8, 4, small.Pix}, nil
}

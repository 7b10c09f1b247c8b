package main

import (
	"image"
	"image/draw"
	"image/png"
	"os"
	"testing"
)

// The committed icon is the one that is drawn. Other processors may round
// another way, hence two levels of leeway.
func TestCommittedIconIsDrawn(t *testing.T) {
	file, err := os.Open("../../assets/icon.png")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	want := drawIcon(1024)
	if picture.Bounds() != want.Bounds() {
		t.Fatalf("the icon is %v, want %v", picture.Bounds(), want.Bounds())
	}
	got := image.NewNRGBA(want.Rect)
	draw.Draw(got, got.Rect, picture, image.Point{}, draw.Src)
	for i := range want.Pix {
		if off := int(got.Pix[i]) - int(want.Pix[i]); off < -2 || off > 2 {
			t.Fatalf("byte %d differs by %d: run go run ./build/icons and look at the picture", i, off)
		}
	}
}

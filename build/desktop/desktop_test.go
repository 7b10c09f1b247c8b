package main

import (
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"strings"
	"testing"
	"time"
)

func TestParsePlace(t *testing.T) {
	const told = `
xwininfo: Window id: 0xe00004 "Plimsoll: 1"

  Absolute upper-left X:  61
  Absolute upper-left Y:  -4
  Relative upper-left X:  1
  Relative upper-left Y:  20
  Width: 440
  Height: 800
  Depth: 24
  Corners:  +61+90  -779+90  -779-10  +61-10
  -geometry 440x800+60+70
`
	got, err := parsePlace(told)
	if want := image.Rect(61, -4, 501, 796); err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"", "Width: 4\nHeight: 5\n", strings.Replace(told, "440", "0", 1), strings.Replace(told, "800", "x", 1)} {
		if got, err := parsePlace(text); err == nil {
			t.Errorf("%q gave %v", text, got)
		}
	}
}

func TestColours(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	if n := colours(picture); n != 1 {
		t.Errorf("an empty picture has %d colours", n)
	}
	for i := range 64 {
		picture.Set(i%8, i/8, color.NRGBA{R: uint8(i), A: 255})
	}
	if n := colours(picture); n <= enoughColours {
		t.Errorf("a picture of 64 colours has %d", n)
	}
}

func TestAwaitTellsTheLastReason(t *testing.T) {
	err := await(t.Context(), "the moon", time.Millisecond, func() error { return errors.New("not full") })
	if err == nil || !strings.Contains(err.Error(), "the moon: not full") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tries := 0
	if err := await(ctx, "it", time.Hour, func() error { tries++; return errors.New("no") }); err == nil || tries != 1 {
		t.Errorf("after the end: %v, %d tries", err, tries)
	}
	looks := 0
	ctx, cancel = context.WithCancel(t.Context())
	err = await(ctx, "it", time.Hour, func() error {
		if looks++; looks == 2 {
			cancel()
			return ctx.Err()
		}
		return errors.New("no icon")
	})
	if err == nil || err.Error() != "waiting for it: no icon" {
		t.Errorf("cut short in a look: %v", err)
	}
	if err := await(t.Context(), "it", time.Hour, func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestPainted(t *testing.T) {
	fill := func(picture *image.NRGBA, area image.Rectangle, c color.Color) {
		draw.Draw(picture, area, image.NewUniform(c), image.Point{}, draw.Src)
	}
	page, empty := color.NRGBA{R: 19, G: 21, B: 25, A: 255}, color.White
	for _, c := range []struct {
		what  string
		drawn image.Rectangle
		want  bool
	}{
		{"all of it", image.Rect(0, 0, 480, 890), true},
		{"the size it had before", image.Rect(0, 0, 420, 620), false},
		{"all of its width", image.Rect(0, 0, 480, 889), false},
		{"all of its height", image.Rect(0, 0, 479, 890), false},
	} {
		picture := image.NewNRGBA(image.Rect(0, 0, 480, 890))
		fill(picture, picture.Bounds(), empty)
		fill(picture, c.drawn, page)
		fill(picture, image.Rect(14, 40, 400, 600), color.NRGBA{R: 200, A: 255})                                 // what is on the page
		fill(picture, image.Rect(0, 880, 480, 885).Intersect(c.drawn), color.NRGBA{R: 12, G: 14, B: 16, A: 255}) // a shadow
		if got := painted(picture); got != c.want {
			t.Errorf("%s drawn: %v", c.what, got)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	german := func(name string) string { return map[string]string{"LANG": "de_DE.UTF-8"}[name] }
	chinese := func(name string) string { return map[string]string{"LANG": "zh_CN.UTF-8"}[name] }
	for _, c := range []struct {
		options string
		getenv  func(string) string
		want    string
	}{
		{"--lang zh", german, "zh"}, {"--speed 3 --lang=en", chinese, "en"}, {"--speed 3", chinese, "zh"}, {"", german, "en"}, {"--lang", german, "en"},
	} {
		if got := languageOf(strings.Fields(c.options), c.getenv); got != c.want {
			t.Errorf("%q: %q, want %q", c.options, got, c.want)
		}
	}
}

func TestComplaints(t *testing.T) {
	const good = "time=… level=INFO msg=\"agent started\"\n"
	if err := complaints(good); err != nil {
		t.Errorf("a quiet log: %v", err)
	}
	if err := complaints(good + "2026/01/01 *** Error in Fyne call thread, this should have been called in fyne.Do ***\n"); err == nil {
		t.Error("a wrong thread was not found")
	}
}

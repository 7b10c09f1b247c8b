package main

import (
	"context"
	"errors"
	"image"
	"image/color"
	"strings"
	"testing"
	"time"
)

func TestParsePlace(t *testing.T) {
	got, err := parsePlace("WINDOW=4194307\nX=10\nY=-4\nWIDTH=640\nHEIGHT=480\nSCREEN=0\n")
	if want := image.Rect(10, -4, 650, 476); err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"", "X=1\nY=2\n", "WIDTH=0\nHEIGHT=5\n", "WIDTH=x\nHEIGHT=5\n"} {
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
	if err := await(t.Context(), "it", time.Hour, func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestBlank(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 50))
	picture.Set(20, 10, color.White)
	if !blank(picture) {
		t.Error("a picture with nothing in its lower part is not called blank")
	}
	picture.Set(20, 43, color.White)
	if blank(picture) {
		t.Error("a picture with something in its lower part is called blank")
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

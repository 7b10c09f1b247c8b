package main

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
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

// The name is the one that the desktop entry asks the theme for, and each
// picture has the size that its folder promises.
func TestThemeHasTheSizesOfItsFolders(t *testing.T) {
	entry, err := os.ReadFile("../linux/dev.plimsoll.agent.desktop")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(entry), "\nIcon=")
	name, _, _ := strings.Cut(rest, "\n")
	theme := t.TempDir()
	if err := writeTheme(theme); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(theme, "*", "apps", name+".png"))
	if err != nil || name == "" || len(found) != len(themeSizes) {
		t.Fatalf("icons named %q: %v, %v; want %d", name, found, err, len(themeSizes))
	}
	for _, path := range found {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		picture, err := png.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		size := picture.Bounds().Size()
		if folder := filepath.Base(filepath.Dir(filepath.Dir(path))); folder != fmt.Sprintf("%dx%d", size.X, size.Y) {
			t.Errorf("a picture of %v is in %s", size, folder)
		}
	}
}

// What is packed for Linux has its icon from there.
func TestPackageHasTheTheme(t *testing.T) {
	script, err := os.ReadFile("../package")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(script), `go run ./build/icons -theme "$tree/share/icons/hicolor"`) {
		t.Error("build/package does not draw the icon theme")
	}
}

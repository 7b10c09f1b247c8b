package main

import (
	"bytes"
	"encoding/json"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	"github.com/go-text/typesetting/font"

	"plimsoll/app/view"
	"plimsoll/assets"
)

// contrast is WCAG 2.1's ratio of two colours, 1 to 21.
func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + .05) / (math.Min(x, y) + .05)
}

func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= .04045 {
			return f / 12.92
		}
		return math.Pow((f+.055)/1.055, 2.4)
	}
	return .2126*linear(c.R) + .7152*linear(c.G) + .0722*linear(c.B)
}

func TestColoursCanBeRead(t *testing.T) {
	text := []fyne.ThemeColorName{theme.ColorNameForeground, theme.ColorNamePlaceHolder, theme.ColorNameWarning, theme.ColorNameError, theme.ColorNameSuccess}
	grounds := []fyne.ThemeColorName{colourCard, theme.ColorNameBackground}
	for i, variant := range []string{"light", "dark"} {
		check := func(a, b fyne.ThemeColorName, least float64) {
			if got := contrast(palette[a][i], palette[b][i]); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", variant, a, b, got, least)
			}
		}
		for _, a := range text {
			for _, b := range grounds {
				check(a, b, 4.5)
			}
		}
		for _, tint := range []fyne.ThemeColorName{colourWarningTint, colourCriticalTint} {
			check(theme.ColorNameForeground, tint, 4.5)
		}
		check(theme.ColorNameForeground, theme.ColorNameButton, 4.5)
		check(theme.ColorNameForegroundOnPrimary, theme.ColorNamePrimary, 4.5)
		// Neighbours in the bar are told apart by lightness alone, the striped
		// one by its stripes.
		check(colourWired, colourApp, 1.5)
		check(colourCached, colourFree, 1.4)
		check(colourApp, colourCached, 1.1)
		check(colourCompressed, colourCompressedLine, 1.5)
	}
}

// Every character of the Chinese words must be in the fonts that the program
// brings. assets/fonts/subset.py makes them anew.
func TestChineseHasGlyphs(t *testing.T) {
	latin := face(t, theme.DefaultTextFont().Content())
	for name, data := range map[string][]byte{"regular": assets.HanRegular, "bold": assets.HanBold} {
		han := face(t, data)
		missing := map[rune]string{}
		for file, text := range chinese(t) {
			for _, c := range text {
				_, known := han.NominalGlyph(c)
				_, plain := latin.NominalGlyph(c)
				if !known && !plain && !unicode.IsControl(c) {
					missing[c] = file
				}
			}
		}
		for c, file := range missing {
			t.Errorf("%s lacks %q of %s: run assets/fonts/subset.py", name, c, file)
		}
		if _, ok := han.NominalGlyph('A'); ok {
			t.Errorf("%s has letters, which are to come from Fyne's font", name)
		}
	}
}

func face(t *testing.T, data []byte) *font.Face {
	t.Helper()
	f, err := font.ParseTTF(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// chinese is all text of the Chinese translations but the doctor's, which only a
// terminal shows.
func chinese(t *testing.T) map[string]string {
	t.Helper()
	files, err := fs.Glob(assets.Locale, "locale/*.zh.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("translations: %v, %v", files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		if file == "locale/doctor.zh.json" {
			continue // for terminals, whose own fonts have its ≠ and ✓
		}
		data, err := fs.ReadFile(assets.Locale, file)
		if err != nil {
			t.Fatal(err)
		}
		var messages any
		if err := json.Unmarshal(data, &messages); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		plain, _ := json.Marshal(messages)
		all[file] = string(plain)
	}
	return all
}

// Every message that the window asks for exists, in each language in words of
// its own.
func TestWordsExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"(window\.[a-z_.]+[a-z])"`).FindAllSubmatch(source, -1) {
			ids[string(m[1])] = true
		}
		for _, m := range regexp.MustCompile(`text\("([a-z]+)"\)`).FindAllSubmatch(source, -1) {
			ids["window.flag."+string(m[1])] = true
		}
	}
	if len(ids) < 30 {
		t.Fatalf("only %d messages found in the source", len(ids))
	}
	args := view.Args{"Count": 10, "Name": "N", "Version": "1", "Agent": "2", "What": "W"}
	same := map[string]bool{"window.about": true}
	for id := range ids {
		en, zh := view.In("en").Text(id, args), view.In("zh").Text(id, args)
		if en == id || zh == id {
			t.Errorf("%s has no words: en %q, zh %q", id, en, zh)
		}
		if en == zh && !same[id] {
			t.Errorf("%s is %q in both languages", id, en)
		}
	}
}

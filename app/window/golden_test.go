package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// -update writes what the window shows, and the views that it is given, as they
// are now: go test ./app/window -run Golden -update. Look at the pictures then.
var update = flag.Bool("update", false, "write the goldens anew")

// scenes are the states of the window that are kept as pictures. Each view is
// kept as a file too, so that another word in package view does not change a
// picture: these tests are about the window.
var scenes = []struct {
	name   string
	update monitor.Update
	page   string
	link   link
	dark   bool
	lang   string
	high   bool
}{
	{name: "calm-en-light", update: calm(), lang: "en"},
	{name: "calm-en-dark", update: calm(), lang: "en", dark: true},
	{name: "calm-zh-light", update: calm(), lang: "zh"},
	{name: "swapping-en-light", update: swapping(), lang: "en", high: true},
	{name: "swapping-zh-dark", update: swapping(), lang: "zh", dark: true, high: true},
	{name: "hot-en-light", update: hot(), lang: "en", high: true},
	{name: "hot-zh-dark", update: hot(), lang: "zh", dark: true, high: true},
	{name: "working-en-light", update: atWork(), lang: "en", high: true},
	{name: "working-zh-dark", update: atWork(), lang: "zh", dark: true, high: true},
	{name: "away-en-light", update: away(), lang: "en"},
	{name: "away-zh-dark", update: away(), lang: "zh", dark: true},
	{name: "crowd-en-light", update: crowd(), lang: "en", high: true},
	{name: "lost-en-light", update: demo(calm()), lang: "en", link: linkLost},
	{name: "new-zh-light", lang: "zh", link: linkNew},
	{name: "settings-en-light", update: calm(), lang: "en", page: pageSettings},
	{name: "settings-zh-dark", update: calm(), lang: "zh", dark: true, page: pageSettings},
}

func demo(u monitor.Update) monitor.Update {
	s := *u.Snapshot
	s.Simulated = true
	u.Snapshot = &s
	return u
}

func TestGolden(t *testing.T) {
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			words := view.In(scene.lang)
			p := picture{words: words, link: scene.link, settings: api.Settings{Language: scene.lang}}
			if scene.link == 0 && scene.update.Snapshot != nil {
				p.link = linkLive
			}
			if scene.update.Snapshot != nil {
				p.snapshot = scene.update.Snapshot
				p.view = fixedView(t, scene.name, words, scene.update)
				var r ring
				for _, u := range course(scene.update) {
					r.add(u.Snapshot)
				}
				p.curves = r.curves()
			}
			if scene.link == linkNew && scene.update.Snapshot == nil {
				p.err = api.ErrNoAgent
			}
			w := stage(t, scene.dark, nil)
			w.apply(p)
			w.show(scene.page)
			if scene.high {
				w.Resize(fyne.NewSize(windowSize.Width, w.wholeHeight()))
			}
			golden(t, scene.name+".png", w)
		})
	}
}

// fixedView is the view of a scene as it was kept.
func fixedView(t *testing.T, name string, words *view.Renderer, u monitor.Update) view.View {
	t.Helper()
	file := filepath.Join("testdata", "views", name+".json")
	if *update {
		text, err := json.MarshalIndent(words.Render(u, noon), "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v view.View
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// golden compares the window with a picture in testdata.
func golden(t *testing.T, name string, w *window) {
	t.Helper()
	img := w.Canvas().Capture()
	if *update {
		if err := write(filepath.Join("testdata", name), img); err != nil {
			t.Fatal(err)
		}
	}
	test.AssertImageMatches(t, name, img)
}

// stage is a window without a display that talks to an agent. What waits for
// the agent runs at once.
func stage(t *testing.T, dark bool, a *fakeAgent) *window {
	t.Helper()
	variant := theme.VariantLight
	if dark {
		variant = theme.VariantDark
	}
	app := test.NewTempApp(t)
	app.Settings().SetTheme(appearance{forced: &variant})
	if a == nil {
		a = newFakeAgent()
	}
	w := newWindow(app.NewWindow(""), a, a.SetSettings)
	w.work = func(f func()) { f() }
	w.overview.tips.later = func(f func()) { f() }
	t.Cleanup(w.Close)
	return w
}

// pictureOf is what a live session shows of an update.
func pictureOf(u monitor.Update, lang string) picture {
	words := view.In(lang)
	return picture{words: words, link: linkLive, view: words.Render(u, noon), settings: api.Settings{Language: lang}}
}

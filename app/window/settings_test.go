package main

import (
	"context"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

// linked is a window with a session to a fake agent, all in the test's goroutine.
func linked(t *testing.T, a *fakeAgent) (*window, *session) {
	t.Helper()
	w := stage(t, false, a)
	s := newSession(a, nil, w.apply)
	s.language = "en"
	w.save = s.save
	s.change(func() { s.use(a.settings); s.take(calm()) })
	w.show(pageSettings)
	return w, s
}

func TestLanguageSwitchesAtOnce(t *testing.T) {
	a := newFakeAgent()
	w, _ := linked(t, a)
	if got := w.settings.language.Selected; got != view.In("en").Text("window.settings.system") {
		t.Fatalf("the language shown is %q, want the system's", got)
	}
	w.settings.language.SetSelectedIndex(2)
	if a.settings.Language != "zh" {
		t.Fatalf("stored %+v, want zh", a.settings)
	}
	zh := view.In("zh")
	if got, want := w.settings.title.text, zh.Text("window.settings.title"); got != want {
		t.Errorf("the page's title is %q, want %q", got, want)
	}
	if got, want := w.overview.titles.models.text, zh.Text("window.title.models"); got != want {
		t.Errorf("the overview's title is %q, want %q", got, want)
	}
	if w.settings.language.Selected != "中文" {
		t.Errorf("the choice shows %q", w.settings.language.Selected)
	}
	w.settings.language.SetSelectedIndex(0)
	if a.settings.Language != "" || w.settings.title.text != view.In("en").Text("window.settings.title") {
		t.Errorf("back to the system's language: stored %+v, title %q", a.settings, w.settings.title.text)
	}
}

func TestNotificationsSwitch(t *testing.T) {
	a := newFakeAgent()
	w, _ := linked(t, a)
	test.Tap(w.settings.notify)
	if !a.settings.Quiet {
		t.Errorf("stored %+v, want quiet", a.settings)
	}
	test.Tap(w.settings.notify)
	if a.settings.Quiet {
		t.Errorf("stored %+v, want notifications", a.settings)
	}
}

func TestServerAddress(t *testing.T) {
	a := newFakeAgent()
	w, _ := linked(t, a)
	page := w.settings
	if !page.server.apply.Disabled() {
		t.Error("an unchanged address can be applied")
	}
	a.refuse = api.Failure("bad_settings", "server: no host in the address", nil)
	test.Type(page.server.entry, "http://")
	test.Tap(page.server.apply)
	if page.server.trouble.text == "" || page.server.trouble.text != page.words.Error(a.refuse) {
		t.Errorf("a refused address says %q", page.server.trouble.text)
	}
	if page.server.entry.Text != "http://" {
		t.Errorf("what was typed became %q", page.server.entry.Text)
	}
	golden(t, "settings-refused-en-light.png", w)

	a.refuse = nil
	page.server.entry.SetText("192.168.1.20")
	page.server.entry.OnSubmitted(page.server.entry.Text)
	if a.settings.Server != "192.168.1.20" || page.server.trouble.text != "" || !page.server.apply.Disabled() {
		t.Errorf("stored %+v, trouble %q, apply disabled %v", a.settings, page.server.trouble.text, page.server.apply.Disabled())
	}
}

// An update must not take away what is being typed.
func TestTypingSurvivesUpdates(t *testing.T) {
	a := newFakeAgent()
	w, s := linked(t, a)
	test.Type(w.settings.server.entry, "mini")
	s.change(func() { s.take(swapping()) })
	if err := s.save(context.Background(), api.Settings{Quiet: true}); err != nil {
		t.Fatal(err)
	}
	if w.settings.server.entry.Text != "mini" {
		t.Errorf("the entry shows %q, want what was typed", w.settings.server.entry.Text)
	}
}

func TestRefusedChoiceIsTakenBack(t *testing.T) {
	a := newFakeAgent()
	w, _ := linked(t, a)
	a.refuse = api.ErrNoAgent
	w.settings.language.SetSelectedIndex(2)
	if w.settings.language.SelectedIndex() != 0 {
		t.Errorf("the choice shows %q although it was refused", w.settings.language.Selected)
	}
	if w.settings.server.trouble.text == "" {
		t.Error("a refusal says nothing")
	}
}

func enter(f *field) { f.entry.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn}) }

// The temperature to warn at, by keyboard alone: typed, refused, mended, taken away.
func TestTemperatureToWarnAt(t *testing.T) {
	a := newFakeAgent()
	w, s := linked(t, a)
	hot := w.settings.hot
	if hot.entry.Text != "" || !hot.apply.Disabled() {
		t.Errorf("at first it is %q", hot.entry.Text)
	}
	for w.Canvas().Focused() != hot.entry {
		before := w.Canvas().Focused()
		if w.Canvas().FocusNext(); w.Canvas().Focused() == before {
			t.Fatal("the Tab key does not reach it")
		}
	}
	for _, r := range "warm" {
		w.Canvas().Focused().TypedRune(r)
	}
	enter(hot)
	if want := view.In("en").Text("error.bad_hot"); a.settings.HotCelsius != nil || hot.trouble.text != want {
		t.Errorf("stored %+v, trouble %q, want %q", a.settings, hot.trouble.text, want)
	}
	a.refuse = api.Failure("bad_hot", "a temperature of 900 °C", nil)
	hot.entry.SetText("900")
	enter(hot)
	if hot.trouble.text == "" || hot.entry.Text != "900" {
		t.Errorf("a refused temperature says %q and shows %q", hot.trouble.text, hot.entry.Text)
	}
	golden(t, "settings-too-hot-en-light.png", w)
	a.refuse = nil
	test.Tap(w.settings.notify)
	if a.settings.HotCelsius != nil || !a.settings.Quiet || hot.entry.Text != "900" {
		t.Errorf("another choice stored %+v and left %q", a.settings, hot.entry.Text)
	}
	hot.entry.SetText("92,5 °C")
	enter(hot)
	if a.settings.HotCelsius == nil || *a.settings.HotCelsius != 92.5 || hot.entry.Text != "92.5" || hot.trouble.text != "" || !hot.apply.Disabled() {
		t.Errorf("stored %+v, shows %q, trouble %q", a.settings, hot.entry.Text, hot.trouble.text)
	}
	s.change(func() { s.use(api.Settings{HotCelsius: new(80.0)}) }) // of another window
	if hot.entry.Text != "80" {
		t.Errorf("it shows %q, want 80", hot.entry.Text)
	}
	hot.entry.SetText("")
	enter(hot)
	if a.settings.HotCelsius != nil || hot.entry.Text != "" {
		t.Errorf("emptied: stored %+v", a.settings)
	}
}

func TestTemperaturesAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"95": "95", "92.5": "92.5", "92,5": "92.5", "95°C": "95", " 95 ℃": "95", "95 c": "95", "": "", "  ": "",
		"°C": "?", "warm": "?", "NaN": "?", "Inf": "?", "1e999": "?", "1,2,3": "?",
	} {
		got, err := readCelsius(text)
		if (err != nil) != (want == "?") || err == nil && celsius(got) != want {
			t.Errorf("%q is %v, %v, want %s", text, celsius(got), err, want)
		}
	}
}

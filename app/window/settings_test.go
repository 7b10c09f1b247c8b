package main

import (
	"context"
	"testing"

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
	if !page.apply.Disabled() {
		t.Error("an unchanged address can be applied")
	}
	a.refuse = api.Failure("bad_settings", "server: no host in the address", nil)
	test.Type(page.server, "http://")
	test.Tap(page.apply)
	if page.trouble.text == "" || page.trouble.text != page.words.Error(a.refuse) {
		t.Errorf("a refused address says %q", page.trouble.text)
	}
	if page.server.Text != "http://" {
		t.Errorf("what was typed became %q", page.server.Text)
	}
	golden(t, "settings-refused-en-light.png", w)

	a.refuse = nil
	page.server.SetText("192.168.1.20")
	page.server.OnSubmitted(page.server.Text)
	if a.settings.Server != "192.168.1.20" || page.trouble.text != "" || !page.apply.Disabled() {
		t.Errorf("stored %+v, trouble %q, apply disabled %v", a.settings, page.trouble.text, page.apply.Disabled())
	}
}

// An update must not take away what is being typed.
func TestTypingSurvivesUpdates(t *testing.T) {
	a := newFakeAgent()
	w, s := linked(t, a)
	test.Type(w.settings.server, "mini")
	s.change(func() { s.take(swapping()) })
	if err := s.save(context.Background(), api.Settings{Quiet: true}); err != nil {
		t.Fatal(err)
	}
	if w.settings.server.Text != "mini" {
		t.Errorf("the entry shows %q, want what was typed", w.settings.server.Text)
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
	if w.settings.trouble.text == "" {
		t.Error("a refusal says nothing")
	}
}

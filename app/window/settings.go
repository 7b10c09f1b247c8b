package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll"
	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

// languages are the choices of the settings, in their own words; "" is the
// system's.
var languages = []struct{ tag, name string }{{"", ""}, {"en", "English"}, {"zh", "中文"}}

// settingsPage edits a person's choices. What is in force is what the agent
// says: a choice that it refuses is taken back and its reason is shown.
type settingsPage struct {
	store func(api.Settings, func(error))
	words *view.Renderer
	known api.Settings
	busy  bool // while widgets are being set, they report no choice

	back     *widget.Button
	title    *words
	language *widget.Select
	server   *field
	hot      *field // the temperature to warn at
	notify   *widget.Check
	labels   struct{ language, notify *words }
	about    *words
	scroll   *container.Scroll
}

func newSettingsPage(store func(api.Settings, func(error)), back func()) *settingsPage {
	s := &settingsPage{store: store, title: strong(), about: caption().wrapped()}
	s.title.size = theme.SizeNameSubHeadingText
	s.labels.language, s.labels.notify = strong(), strong()
	s.back = widget.NewButtonWithIcon("", theme.NavigateBackIcon(), back)
	s.back.Importance = widget.LowImportance
	s.language = widget.NewSelect(nil, func(string) { s.choose(nil) })
	s.server, s.hot = newField(s.choose), newField(s.choose)
	s.notify = widget.NewCheck("", func(bool) { s.choose(nil) })
	s.scroll = container.NewVScroll(container.New(padded{margin, 2}, s.content()))
	return s
}

func (s *settingsPage) content() fyne.CanvasObject {
	head := pageHead(s.back, s.title)
	page := newColumn(gap, head,
		newCard(newColumn(6, s.labels.language, s.language)),
		s.server.card(),
		newCard(newColumn(6, s.labels.notify, s.notify)),
		s.hot.card(),
		s.about)
	page.Layout.(*column).change = func() { s.scroll.Refresh() }
	return page
}

// set shows what is in force. A text that is being typed stays.
func (s *settingsPage) set(p picture) {
	if s.words != p.words {
		s.words = p.words
		s.translate()
	}
	s.about.set(s.aboutText(p))
	if s.known.Same(p.settings) && s.language.Selected != "" {
		return
	}
	s.known = p.settings
	s.fill()
}

// fill puts the known settings into the widgets.
func (s *settingsPage) fill() {
	s.busy = true
	defer func() { s.busy = false }()
	for i, l := range languages {
		if l.tag == s.known.Language {
			s.language.SetSelectedIndex(i)
		}
	}
	s.notify.SetChecked(!s.known.Quiet)
	s.server.set(s.known.Server)
	s.hot.set(celsius(s.known.HotCelsius))
}

func (s *settingsPage) translate() {
	s.busy = true
	defer func() { s.busy = false }()
	t := s.words.Text
	s.title.set(t("window.settings.title"))
	s.labels.language.set(t("window.settings.language"))
	s.server.label.set(t("window.settings.server"))
	s.server.hint.set(t("window.settings.server_hint"))
	s.hot.label.set(t("window.settings.hot"))
	s.hot.hint.set(t("window.settings.hot_hint"))
	s.labels.notify.set(t("window.settings.notify"))
	s.notify.SetText(t("window.settings.notify_on"))
	for _, f := range []*field{s.server, s.hot} {
		f.apply.SetText(t("window.settings.apply"))
	}
	s.server.entry.SetPlaceHolder(t("window.settings.server_default"))
	s.hot.entry.SetPlaceHolder(t("window.settings.hot_default"))
	names := []string{t("window.settings.system")}
	for _, l := range languages[1:] {
		names = append(names, l.name)
	}
	s.language.Options = names
	s.fill()
}

// chosen are the settings as the widgets have them, of the texts the submitted
// one alone: nobody asked for the others yet.
func (s *settingsPage) chosen(f *field) (api.Settings, error) {
	chosen := s.known
	if i := s.language.SelectedIndex(); i >= 0 {
		chosen.Language = languages[i].tag
	}
	chosen.Quiet = !s.notify.Checked
	var err error
	switch f {
	case s.server:
		chosen.Server = f.text()
	case s.hot:
		chosen.HotCelsius, err = readCelsius(f.text())
	}
	return chosen, err
}

// choose stores what was chosen; f is the text that was submitted, nil for none.
func (s *settingsPage) choose(f *field) {
	if s.busy || s.words == nil {
		return
	}
	chosen, err := s.chosen(f)
	submitted := ""
	if f != nil {
		submitted = f.text()
	}
	stored := func(err error) {
		at := f
		if at == nil {
			at = s.server
		}
		if err != nil {
			s.fail(at, s.words.Error(err))
			s.fill()
			return
		}
		s.known = chosen
		s.fail(at, "")
		switch f {
		case s.server:
			f.taken(submitted, chosen.Server)
		case s.hot:
			f.taken(submitted, celsius(chosen.HotCelsius))
		}
	}
	if err != nil || chosen.Same(s.known) {
		stored(err)
		return
	}
	s.store(chosen, stored)
}

func (s *settingsPage) fail(f *field, text string) {
	f.trouble.set(text)
	s.scroll.Content.Refresh()
	s.scroll.Refresh()
}

func (s *settingsPage) aboutText(p picture) string {
	args := view.Args{"Name": plimsoll.Name, "Version": plimsoll.Version, "Agent": p.health.Version}
	if p.health.Version == "" || p.health.Version == plimsoll.Version {
		return p.words.Text("window.about", args)
	}
	return p.words.Text("window.about_both", args)
}

package main

import (
	"strings"

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
	server   *widget.Entry
	apply    *widget.Button
	notify   *widget.Check
	labels   struct{ language, server, hint, notify *words }
	trouble  *words
	mark     *sign
	about    *words
	scroll   *container.Scroll
}

func newSettingsPage(store func(api.Settings, func(error)), back func()) *settingsPage {
	s := &settingsPage{store: store, title: strong(), trouble: caption().wrapped(), mark: newSign(), about: caption().wrapped()}
	s.title.size = theme.SizeNameSubHeadingText
	s.trouble.colour = theme.ColorNameError
	s.mark.set(view.Critical)
	s.labels.language, s.labels.server, s.labels.notify = strong(), strong(), strong()
	s.labels.hint = caption().wrapped()
	s.back = widget.NewButtonWithIcon("", theme.NavigateBackIcon(), back)
	s.back.Importance = widget.LowImportance
	s.language = widget.NewSelect(nil, func(string) { s.choose() })
	s.server = widget.NewEntry()
	s.server.OnSubmitted = func(string) { s.choose() }
	s.server.OnChanged = func(string) { s.changed() }
	s.apply = widget.NewButton("", s.choose)
	s.apply.Importance = widget.HighImportance
	s.notify = widget.NewCheck("", func(bool) { s.choose() })
	s.scroll = container.NewVScroll(container.New(padded{margin, 2}, s.content()))
	return s
}

func (s *settingsPage) content() fyne.CanvasObject {
	head := container.New(arrange{
		func(float32) float32 { return s.back.MinSize().Height },
		func(size fyne.Size) {
			button := s.back.MinSize()
			put(s.back, -4, 0, button.Width, button.Height)
			h := s.title.lineHeight()
			put(s.title, button.Width+2, (size.Height-h)/2, size.Width-button.Width, h)
		},
	}, s.back, s.title)
	address := container.NewBorder(nil, nil, nil, s.apply, s.server)
	trouble := container.New(arrange{
		func(width float32) float32 { return s.trouble.heightFor(width - gutter) },
		func(size fyne.Size) {
			show(s.mark.image, s.trouble.text != "")
			put(s.mark.image, 0, 1, glyph, glyph)
			put(s.trouble, gutter, 0, size.Width-gutter, size.Height)
		},
	}, s.mark.image, s.trouble)
	page := newColumn(gap, head,
		newCard(newColumn(6, s.labels.language, s.language)),
		newCard(newColumn(6, s.labels.server, address, trouble, s.labels.hint)),
		newCard(newColumn(6, s.labels.notify, s.notify)),
		s.about)
	page.Layout.(*column).change = func() { s.scroll.Refresh() }
	return page
}

// set shows what is in force. A server address that is being typed stays.
func (s *settingsPage) set(p picture) {
	if s.words != p.words {
		s.words = p.words
		s.translate()
	}
	s.about.set(s.aboutText(p))
	if s.known == p.settings && s.language.Selected != "" {
		return
	}
	typing := s.server.Text != s.known.Server
	s.known = p.settings
	s.fill(typing)
}

// fill puts the known settings into the widgets.
func (s *settingsPage) fill(typing bool) {
	s.busy = true
	defer func() { s.busy = false }()
	for i, l := range languages {
		if l.tag == s.known.Language {
			s.language.SetSelectedIndex(i)
		}
	}
	s.notify.SetChecked(!s.known.Quiet)
	if !typing {
		s.server.SetText(s.known.Server)
	}
	s.changed()
}

func (s *settingsPage) translate() {
	s.busy = true
	defer func() { s.busy = false }()
	t := s.words.Text
	s.title.set(t("window.settings.title"))
	s.labels.language.set(t("window.settings.language"))
	s.labels.server.set(t("window.settings.server"))
	s.labels.hint.set(t("window.settings.server_hint"))
	s.labels.notify.set(t("window.settings.notify"))
	s.notify.SetText(t("window.settings.notify_on"))
	s.apply.SetText(t("window.settings.apply"))
	s.server.SetPlaceHolder(t("window.settings.server_default"))
	names := []string{t("window.settings.system")}
	for _, l := range languages[1:] {
		names = append(names, l.name)
	}
	s.language.Options = names
	s.fill(true)
}

// chosen are the settings as the widgets have them.
func (s *settingsPage) chosen() api.Settings {
	chosen := s.known
	if i := s.language.SelectedIndex(); i >= 0 {
		chosen.Language = languages[i].tag
	}
	chosen.Server = strings.TrimSpace(s.server.Text)
	chosen.Quiet = !s.notify.Checked
	return chosen
}

// changed offers to apply an address that is not the one in force.
func (s *settingsPage) changed() {
	if strings.TrimSpace(s.server.Text) == s.known.Server {
		s.apply.Disable()
	} else {
		s.apply.Enable()
	}
}

// choose stores what was chosen.
func (s *settingsPage) choose() {
	if s.busy || s.words == nil {
		return
	}
	chosen := s.chosen()
	if chosen == s.known {
		return
	}
	s.store(chosen, func(err error) {
		if err == nil {
			s.known = chosen
			s.fail("")
			s.changed()
			return
		}
		s.fail(s.words.Error(err))
		s.fill(true)
	})
}

func (s *settingsPage) fail(text string) {
	s.trouble.set(text)
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

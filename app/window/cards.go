package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// alertCard is a standing alert: shape, title, text, and a button where a click
// can help.
type alertCard struct {
	card
	mark        *sign
	title, text *words
	button      *commandButton
}

func newAlertCard(do func(view.Action)) *alertCard {
	a := &alertCard{mark: newSign(), title: strong().wrapped(), text: body().wrapped(), button: newCommandButton(do)}
	a.button.Importance = widget.HighImportance
	a.fill(container.New(arrange{a.height, a.place}, a.mark.image, a.title, a.text, a.button))
	a.ExtendBaseWidget(a)
	return a
}

func (a *alertCard) set(alert view.Alert) {
	a.mark.set(alert.Level)
	a.title.set(alert.Title)
	a.text.set(alert.Text)
	switch {
	case alert.Level == view.Critical || alert.Severity == monitor.SeverityCritical:
		a.setTint(colourCriticalTint)
	case alert.Level == view.Warning:
		a.setTint(colourWarningTint)
	default:
		a.setTint(colourCard)
	}
	if alert.Action != nil {
		a.button.set(*alert.Action)
		a.button.Show()
	} else {
		a.button.Hide()
	}
	relayout(a.box)
}

func (a *alertCard) height(width float32) float32 {
	h := a.title.heightFor(width - gutter)
	if a.text.text != "" {
		h += 2 + a.text.heightFor(width-gutter)
	}
	if a.button.Visible() {
		h += 8 + a.button.MinSize().Height
	}
	return h
}

func (a *alertCard) place(size fyne.Size) {
	width := size.Width - gutter
	put(a.mark.image, 0, (a.title.lineHeight()-glyph)/2, glyph, glyph)
	y := a.title.heightFor(width)
	put(a.title, gutter, 0, width, y)
	y += 2
	put(a.text, gutter, y, width, a.text.heightFor(width))
	y += a.text.heightFor(width) + 8
	if a.button.Visible() {
		least := a.button.MinSize()
		put(a.button, gutter, y, min(least.Width+10, width), least.Height)
	}
}

// modelRow is a resident model: name and amount, facts, what a click may do.
type modelRow struct {
	hover
	do          func(view.Action)
	mark        *sign
	name, state *words
	facts       *words
	buttons     []*commandButton
	plan        *widget.Button
	model       monitor.Command // which it is
	box         *fyne.Container
}

func newModelRow(tips *tips, do func(view.Action), plan func(server, model string)) *modelRow {
	m := &modelRow{do: do, mark: newSign(), name: strong(), state: body().trailing(), facts: caption().wrapped()}
	m.plan = widget.NewButton("", func() {
		plan(m.model.Backend, m.model.Model)
	})
	m.plan.Importance = widget.LowImportance
	m.box = container.New(arrange{m.height, m.place}, m.mark.image, m.name, m.state, m.facts, m.plan)
	m.tips, m.content = tips, m.box
	m.ExtendBaseWidget(m)
	return m
}

func (m *modelRow) set(model view.Model, plan string) {
	m.plan.SetText(plan)
	show(m.plan, len(model.Actions) > 0) // not in the cloud
	if len(model.Actions) > 0 {
		m.model = model.Actions[0].Command
	}
	m.mark.set(model.Level)
	m.name.set(model.Name)
	m.state.set(model.State)
	m.state.setColour(levelColour(model.Level))
	m.facts.set(without(model.Text, model.State)) // which stands beside the name
	m.detail = model.Detail
	for len(m.buttons) < len(model.Actions) {
		b := newCommandButton(m.do)
		m.buttons = append(m.buttons, b)
		m.box.Add(b)
	}
	for i, b := range m.buttons {
		if i < len(model.Actions) {
			b.set(model.Actions[i])
			b.Show()
		} else {
			b.Hide()
		}
	}
	relayout(m.box)
}

// actions are the buttons in force.
func (m *modelRow) actions() (shown []*commandButton, height float32) {
	for _, b := range m.buttons {
		if b.Visible() {
			shown = append(shown, b)
			height = max(height, b.MinSize().Height)
		}
	}
	return shown, height
}

func (m *modelRow) height(width float32) float32 {
	h := m.name.lineHeight() + m.facts.heightFor(width)
	if _, buttons := m.actions(); buttons > 0 {
		h += 5 + buttons
	}
	if m.planBelow(width) {
		h += 5 + m.plan.MinSize().Height
	}
	return h
}

// planBelow tells whether the way to the planner has a line of its own, as there is
// no room beside the other buttons.
func (m *modelRow) planBelow(width float32) bool {
	buttons, _ := m.actions()
	x := m.plan.MinSize().Width
	for _, b := range buttons {
		x += b.MinSize().Width + 14
	}
	return m.plan.Visible() && len(buttons) > 0 && x > width
}

func (m *modelRow) place(size fyne.Size) {
	h := m.name.lineHeight()
	left := float32(0)
	m.mark.image.Hide()
	if m.mark.level >= view.Warning {
		put(m.mark.image, 0, (h-glyph)/2, glyph, glyph)
		m.mark.image.Show()
		left = gutter
	}
	state := min(m.state.natural(), size.Width/2)
	put(m.name, left, 0, max(0, size.Width-left-state-8), h)
	put(m.state, size.Width-state, 0, state, h)
	facts := m.facts.heightFor(size.Width)
	put(m.facts, 0, h, size.Width, facts)
	buttons, height := m.actions()
	x := float32(0)
	for _, b := range buttons {
		width := b.MinSize().Width + 8
		put(b, x, h+facts+5, width, height)
		x += width + 6
	}
	if least := m.plan.MinSize(); m.plan.Visible() {
		y := h + facts + 5
		if m.planBelow(size.Width) {
			y += height + 5
		}
		put(m.plan, max(0, size.Width-least.Width), y, least.Width, least.Height)
	}
}

// serverRow is a model server, and what to do when it is away.
type serverRow struct {
	hover
	mark       *sign
	name, text *words
	next       *words
}

func newServerRow(tips *tips) *serverRow {
	s := &serverRow{mark: newSign(), name: strong(), text: body().trailing(), next: caption().wrapped()}
	s.tips, s.content = tips, container.New(arrange{s.height, s.place}, s.mark.image, s.name, s.text, s.next)
	s.ExtendBaseWidget(s)
	return s
}

func (s *serverRow) set(server view.Server) {
	s.mark.set(server.Level)
	s.name.set(server.Name)
	s.text.set(server.Text)
	s.text.setColour(levelColour(server.Level))
	s.next.set(server.Next)
	s.detail = server.Row.Detail
	relayout(s.content)
}

func (s *serverRow) height(width float32) float32 {
	h := s.name.lineHeight()
	if s.next.text != "" {
		h += 2 + s.next.heightFor(width-gutter)
	}
	return h
}

func (s *serverRow) place(size fyne.Size) {
	h := s.name.lineHeight()
	put(s.mark.image, 0, (h-glyph)/2, glyph, glyph)
	name := min(s.name.natural(), size.Width*0.6)
	put(s.name, gutter, 0, name, h)
	put(s.text, gutter+name+8, 0, max(0, size.Width-gutter-name-8), h)
	put(s.next, gutter, h+2, size.Width-gutter, s.next.heightFor(size.Width-gutter))
}

// banner is a line on a tint: a lost connection, old figures.
type banner struct {
	card
	mark *sign
	text *words
}

func newBanner() *banner {
	b := &banner{mark: newSign(), text: body().wrapped()}
	b.fill(container.New(arrange{
		func(width float32) float32 {
			if b.text.text == "" {
				return 0
			}
			return b.text.heightFor(width - gutter)
		},
		func(size fyne.Size) {
			put(b.mark.image, 0, (b.text.lineHeight()-glyph)/2, glyph, glyph)
			put(b.text, gutter, 0, size.Width-gutter, size.Height)
		},
	}, b.mark.image, b.text))
	b.ExtendBaseWidget(b)
	b.Hide()
	return b
}

func (b *banner) set(text string, level view.Level, tint fyne.ThemeColorName) {
	b.mark.set(level)
	b.text.set(text)
	b.setTint(tint)
	if text == "" {
		b.Hide()
	} else {
		b.Show()
	}
	relayout(b.box)
}

// tag is a word on a coloured ground: the mark of the demo.
type tag struct {
	box    *fyne.Container
	ground *canvas.Rectangle
	text   *words
}

func newTag() *tag {
	t := &tag{ground: canvas.NewRectangle(nil), text: newWords(theme.SizeNameCaptionText, theme.ColorNameForegroundOnPrimary)}
	t.text.bold = true
	t.ground.CornerRadius = 4
	t.box = container.New(arrange{
		func(float32) float32 { return t.size().Height },
		func(size fyne.Size) {
			t.ground.FillColor = colour(theme.ColorNamePrimary)
			put(t.ground, 0, 0, size.Width, size.Height)
			put(t.text, 7, 1, max(0, size.Width-14), max(0, size.Height-2))
		},
	}, t.ground, t.text)
	t.box.Hide()
	return t
}

func (t *tag) set(text string) bool {
	show(t.box, text != "")
	return t.text.set(text)
}

func (t *tag) size() fyne.Size {
	if t.text.text == "" {
		return fyne.Size{}
	}
	return fyne.NewSize(t.text.natural()+14, t.text.lineHeight()+2)
}

// titled is a card with a heading and, at the right of it, one more object.
func titled(title *words, right fyne.CanvasObject, content fyne.CanvasObject) *card {
	head := container.New(arrange{
		func(float32) float32 {
			if right != nil && right.Visible() {
				return max(title.lineHeight(), right.MinSize().Height)
			}
			return title.lineHeight()
		},
		func(size fyne.Size) {
			h := title.lineHeight()
			put(title, 0, (size.Height-h)/2, size.Width, h)
			if right != nil {
				least := right.MinSize().AddWidthHeight(8, 0)
				put(right, size.Width-least.Width, (size.Height-least.Height)/2, least.Width, least.Height)
			}
		},
	}, title)
	if right != nil {
		head.Add(right)
	}
	return newCard(newColumn(6, head, content))
}

package main

import (
	"reflect"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
)

// limitPage is the GPU's limit: how it stands, what may be chosen, and what each
// choice would mean before it is made. Nothing changes before the button is tapped.
type limitPage struct {
	words *view.Renderer
	shown *view.Limit
	// explain says what a limit would mean, in bytes.
	explain func(to uint64) *view.LimitChange
	do      func(view.Action)

	to     uint64 // what is looked at
	picked bool   // by the person
	busy   bool   // while widgets are being set, they report no choice

	back  *widget.Button
	title *words
	none  *words

	now struct {
		text, trial, facts *words
		keep, back         *commandButton
	}
	restarts *pool[*restartRow]
	choices  *widget.RadioGroup
	nothing  *words
	custom   *field
	change   *changeCard
	cards    struct{ now, restarts, choices, custom fyne.CanvasObject }
	titles   struct{ choices, restarts *words }
	scroll   *container.Scroll
}

func newLimitPage(do func(view.Action), back func()) *limitPage {
	p := &limitPage{do: do, title: strong(), none: body().wrapped(), nothing: caption().wrapped()}
	p.explain = func(uint64) *view.LimitChange { return nil }
	p.title.size = theme.SizeNameSubHeadingText
	p.back = widget.NewButtonWithIcon("", theme.NavigateBackIcon(), back)
	p.back.Importance = widget.LowImportance
	p.now.text, p.now.trial, p.now.facts = strong().wrapped(), body().wrapped(), caption().wrapped()
	p.now.text.size = sizeLine
	p.now.keep, p.now.back = newCommandButton(do), newCommandButton(do)
	p.now.keep.Importance = widget.HighImportance
	p.restarts = newPool(10, func() *restartRow { return newRestartRow(do) })
	p.choices = widget.NewRadioGroup(nil, p.pick)
	p.custom = newField(p.enter)
	p.change = newChangeCard(do)
	p.titles.choices, p.titles.restarts = heading(), heading()
	p.cards.now = newCard(newColumn(4, p.now.text, p.now.trial, p.now.facts, p.buttons()))
	p.cards.restarts = newCard(newColumn(6, p.titles.restarts, p.restarts.box))
	p.cards.choices = newCard(newColumn(4, p.titles.choices, p.nothing, p.choices))
	p.cards.custom = p.custom.card()
	page := newColumn(gap, pageHead(p.back, p.title), p.none, p.cards.now, p.cards.restarts, p.cards.choices, p.cards.custom, p.change)
	p.scroll = container.NewVScroll(container.New(padded{margin, 2}, page))
	page.Layout.(*column).change = p.scroll.Refresh
	return p
}

// buttons are those about the limit that is set.
func (p *limitPage) buttons() fyne.CanvasObject {
	all := []*commandButton{p.now.keep, p.now.back}
	return container.New(arrange{
		func(float32) float32 {
			for _, b := range all {
				if b.Visible() {
					return 6 + b.MinSize().Height
				}
			}
			return 0
		},
		func(fyne.Size) {
			x := float32(0)
			for _, b := range all {
				if b.Visible() {
					least := b.MinSize()
					put(b, x, 6, least.Width+8, least.Height)
					x += least.Width + 14
				}
			}
		},
	}, p.now.keep, p.now.back)
}

// set shows a picture. What a person has chosen to look at stays.
func (p *limitPage) set(words *view.Renderer, v *view.Limit) {
	again := p.words != words
	p.words = words
	if again {
		p.translate()
	}
	touched := again || !reflect.DeepEqual(p.shown, v)
	old := p.shown
	p.shown = v
	for _, o := range []fyne.CanvasObject{p.cards.now, p.cards.choices, p.cards.custom} {
		show(o, v != nil)
	}
	show(p.none, v == nil)
	show(p.cards.restarts, v != nil && len(v.Restarts) > 0)
	if v == nil {
		p.change.Hide()
	} else {
		if touched {
			p.setNow(v)
			p.setChoices(old, v, again)
		}
		touched = p.setChange() || touched
	}
	if touched {
		p.relayout()
	}
}

func (p *limitPage) relayout() {
	relayout(p.scroll.Content) // heights may be others
	p.scroll.Refresh()
}

func (p *limitPage) translate() {
	t := p.words.Text
	p.title.set(t("wired.label"))
	p.none.set(t("error.limit_no_key"))
	p.titles.choices.set(t("window.limit.choose"))
	p.titles.restarts.set(t("window.limit.restart"))
	p.custom.label.set(t("window.limit.custom"))
	p.custom.hint.set(t("window.limit.custom_hint"))
	p.custom.entry.SetPlaceHolder(t("window.limit.custom_example"))
	p.custom.apply.SetText(t("window.limit.custom_show"))
	p.custom.changed()
}

func (p *limitPage) setNow(v *view.Limit) {
	text := v.Row.Text
	if v.Trial != "" {
		text = without(text, v.Trial)
	}
	p.now.text.set(text)
	p.now.text.setColour(levelColour(v.Row.Level))
	p.now.trial.set(v.Trial)
	p.now.facts.set(v.Row.Detail)
	for _, b := range []struct {
		button *commandButton
		action *view.Action
	}{{p.now.keep, v.Keep}, {p.now.back, v.Back}} {
		show(b.button, b.action != nil)
		if b.action != nil {
			b.button.set(*b.action)
		}
	}
	for i, row := range p.restarts.take(len(v.Restarts)) {
		row.set(p.words.Text("wired.restart.hand"), v.Restarts[i])
	}
}

// setChoices offers what there is to choose. Before a person has picked anything,
// what is set is looked at, and what is recommended where nothing is.
func (p *limitPage) setChoices(old, v *view.Limit, again bool) {
	p.busy = true
	defer func() { p.busy = false }()
	p.nothing.set(v.Nothing)
	if again || old == nil || !reflect.DeepEqual(old.Choices, v.Choices) {
		var labels []string
		for _, c := range v.Choices {
			labels = append(labels, choiceLabel(c))
		}
		p.choices.Options = labels
	}
	if !p.picked {
		p.to = v.Bytes
		for _, c := range v.Choices {
			if v.Bytes == 0 && c.Recommended {
				p.to = c.Bytes
			}
		}
	}
	selected := ""
	for _, c := range v.Choices {
		if c.Bytes == p.to {
			selected = choiceLabel(c)
		}
	}
	p.choices.Selected = selected
	p.choices.Refresh()
}

func choiceLabel(c view.LimitChoice) string {
	if c.Forbidden {
		return c.Label + between + c.Short
	}
	return c.Label
}

// setChange shows what the limit that is looked at would mean, and tells whether
// that is something new.
func (p *limitPage) setChange() bool {
	c := p.explain(p.to)
	if c == nil {
		p.change.Hide()
		return false
	}
	p.change.Show()
	return p.change.set(c)
}

// pick looks at one of the choices.
func (p *limitPage) pick(label string) {
	if p.busy || p.shown == nil {
		return
	}
	for _, c := range p.shown.Choices {
		if choiceLabel(c) == label {
			p.look(c.Bytes)
			return
		}
	}
	p.setChoices(p.shown, p.shown, false) // a second tap takes nothing away
}

// enter looks at the limit that was typed.
func (p *limitPage) enter(f *field) {
	if p.shown == nil {
		return
	}
	to, err := readLimit(f.text())
	f.trouble.set("")
	if err != nil {
		f.trouble.set(p.words.Error(err))
		p.relayout()
		return
	}
	f.set(f.text())
	p.look(to)
	p.scroll.ScrollToBottom()
}

func (p *limitPage) look(to uint64) {
	p.to, p.picked = to, true
	p.setChoices(p.shown, p.shown, false)
	p.setChange()
	p.relayout()
}

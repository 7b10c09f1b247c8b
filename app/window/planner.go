package main

import (
	"reflect"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// plannerPage tries models that are on disk: whether one fits with a context, a
// cache and a number of slots, and what it takes. Nothing is loaded, and nothing is
// worked out here: the agent plans, the view has the words.
type plannerPage struct {
	words *view.Renderer
	// ask asks for what is looked at now; its answer comes to take.
	ask func(monitor.PlanRequest)

	asked monitor.PlanRequest
	shown view.Planner
	list  []view.PlannedModel
	err   error
	known bool // shown is of the model that is asked for
	busy  bool // while widgets are being set, they report no choice

	back         *widget.Button
	title        *words
	name         *words
	mark         *sign
	head, why    *words
	bar          *memoryBar
	context      *contextSlider
	cache, slots *widget.Select
	labels       struct{ cache, slots *words }
	tools        *fyne.Container // what is tried
	facts        *pool[*factRow]
	notes        *words
	sumsTitle    *words
	sums         *pool[*sumRow]
	models       *pool[*plannedRow]
	modelsTitle  *words
	cards        struct{ plan, sums, models fyne.CanvasObject }
	scroll       *container.Scroll
}

// slotChoices are the numbers of requests at once that may be tried; 0 is as the
// server does it.
var slotChoices = []int{0, 1, 2, 4, 8}

func newPlannerPage(ask func(monitor.PlanRequest), back func()) *plannerPage {
	p := &plannerPage{ask: ask, title: strong(), name: heading(), mark: newSign(), head: strong().wrapped(), why: caption().wrapped(), bar: newMemoryBar(),
		notes: caption().wrapped(), sumsTitle: heading(), modelsTitle: heading()}
	p.title.size, p.head.size = theme.SizeNameSubHeadingText, sizeLine
	p.back = widget.NewButtonWithIcon("", theme.NavigateBackIcon(), back)
	p.back.Importance = widget.LowImportance
	p.context = newContextSlider(p.choose)
	p.cache = widget.NewSelect(nil, func(string) { p.choose() })
	p.slots = widget.NewSelect(nil, func(string) { p.choose() })
	p.labels.cache, p.labels.slots = caption(), caption()
	p.facts = newPool(line, func() *factRow { return newTableRow(newTips()) })
	p.sums = newPool(6, newSumRow)
	p.models = newPool(2, func() *plannedRow { return newPlannedRow(p.pick) })
	p.tools = newColumn(10, p.context, p.choices())
	p.cards.plan = newCard(newColumn(10, newColumn(4, p.name, p.verdict()), p.bar.box, p.tools, p.facts.box, p.notes))
	p.cards.models = newCard(newColumn(6, p.modelsTitle, p.models.box))
	p.cards.sums = newCard(newColumn(8, p.sumsTitle, p.sums.box))
	page := newColumn(gap, pageHead(p.back, p.title), p.cards.plan, p.cards.models, p.cards.sums)
	p.scroll = container.NewVScroll(container.New(padded{margin, 2}, page))
	page.Layout.(*column).change = p.scroll.Refresh
	return p
}

// verdict is the shape of the level, the verdict, and below it what says so.
func (p *plannerPage) verdict() fyne.CanvasObject {
	return container.New(arrange{
		func(width float32) float32 { return p.head.heightFor(width-gutter) + p.why.heightFor(width-gutter) },
		func(size fyne.Size) {
			put(p.mark.image, 0, (p.head.lineHeight()-glyph)/2, glyph, glyph)
			h := p.head.heightFor(size.Width - gutter)
			put(p.head, gutter, 0, size.Width-gutter, h)
			put(p.why, gutter, h, size.Width-gutter, size.Height-h)
		},
	}, p.mark.image, p.head, p.why)
}

// choices are cache and slots, side by side.
func (p *plannerPage) choices() fyne.CanvasObject {
	return container.New(arrange{
		func(float32) float32 { return p.labels.cache.lineHeight() + 3 + p.cache.MinSize().Height },
		func(size fyne.Size) {
			y, h := p.labels.cache.lineHeight()+3, p.cache.MinSize().Height
			left := (size.Width - 10) * 0.58
			put(p.labels.cache, 0, 0, left, y)
			put(p.cache, 0, y, left, h)
			put(p.labels.slots, left+10, 0, size.Width-left-10, y)
			put(p.slots, left+10, y, size.Width-left-10, h)
		},
	}, p.labels.cache, p.cache, p.labels.slots, p.slots)
}

// set puts the page into a language, and looks at what may have changed.
func (p *plannerPage) set(words *view.Renderer) {
	if p.words != words {
		p.words = words
		p.translate()
		p.fill()
	}
}

func (p *plannerPage) translate() {
	p.busy = true
	defer func() { p.busy = false }()
	t := p.words.Text
	p.title.set(t("planner.title"))
	p.modelsTitle.set(t("planner.model"))
	p.labels.cache.set(t("planner.cache"))
	p.labels.slots.set(t("planner.slots"))
	p.context.translate(p.words)
	caches := []string{t("planner.default")}
	for _, kind := range monitor.PlanCacheTypes {
		label := string(kind)
		if needsFlash(kind) {
			label = t("planner.flash", view.Args{"Cache": label})
		}
		caches = append(caches, label)
	}
	slots := []string{t("planner.default")}
	for _, n := range slotChoices[1:] {
		slots = append(slots, p.words.Count(n))
	}
	p.cache.Options, p.slots.Options = caches, slots
	p.cache.SetSelectedIndex(1 + slices.Index(monitor.PlanCacheTypes, p.asked.Cache))
	p.slots.SetSelectedIndex(max(0, slices.Index(slotChoices, p.asked.Slots)))
}

// needsFlash reports that a cache type is to be had with flash attention only.
func needsFlash(kind fit.CacheType) bool { return kind == fit.Q8 || kind == fit.Q4 }

// open looks at a model, "" for the one that was looked at last, by what is free now.
func (p *plannerPage) open(server, model string) {
	p.look(server, model)
	p.ask(p.asked)
}

func (p *plannerPage) look(server, model string) {
	if model != "" && (server != p.asked.Backend || model != p.asked.Model) {
		p.asked.Backend, p.asked.Model, p.asked.Context = server, model, 0
		p.known, p.err = false, nil
		p.context.follow(0, nil)
		p.fill()
	}
}

// pick looks at a model of the list.
func (p *plannerPage) pick(m view.PlannedModel) {
	p.open(m.Backend, m.Model)
	p.scroll.ScrollToTop()
}

// choose takes what the widgets say. The words of the slider change at once, the
// plan when it is there.
func (p *plannerPage) choose() {
	if p.busy || p.words == nil {
		return
	}
	p.asked.Context = p.context.chosen()
	p.asked.Cache, p.asked.Flash, p.asked.Slots = "", fit.FlashUnknown, 0
	if i := p.cache.SelectedIndex(); i > 0 {
		p.asked.Cache = monitor.PlanCacheTypes[i-1]
		if needsFlash(p.asked.Cache) {
			p.asked.Flash = fit.FlashOn
		}
	}
	if i := p.slots.SelectedIndex(); i > 0 {
		p.asked.Slots = slotChoices[i]
	}
	p.ask(p.asked)
}

// take shows an answer. One about a model that is no longer looked at brings its list
// alone.
func (p *plannerPage) take(a planAnswer) {
	if a.words != p.words {
		return // in another language by now; the next one is under way
	}
	changed := false
	if a.listed && (!reflect.DeepEqual(p.list, a.list) || len(a.list) == 0) {
		p.list, changed = a.list, true
	}
	if p.asked.Model == "" && a.first.Model != "" {
		p.list = a.list
		p.open(a.first.Backend, a.first.Model)
		return
	}
	if a.asked.Model == p.asked.Model && a.asked.Backend == p.asked.Backend {
		same := p.known && a.err == nil && p.err == nil && reflect.DeepEqual(p.shown, a.plan)
		p.err = a.err
		if a.err == nil && a.asked.Model != "" {
			p.shown, p.known = a.plan, true
			if a.asked.Context == p.asked.Context { // else it is being moved
				p.context.follow(a.plan.Context, a.plan.Contexts)
			}
		}
		changed = changed || !same
	}
	if changed {
		p.fill()
	}
}

// fill shows what is known.
func (p *plannerPage) fill() {
	if p.words == nil {
		return
	}
	p.name.set(p.asked.Model)
	show(p.tools, p.asked.Model != "")
	for i, row := range p.models.take(len(p.list)) {
		row.set(p.list[i], p.list[i].Model == p.asked.Model && p.list[i].Backend == p.asked.Backend)
	}
	show(p.cards.models, len(p.list) > 0)
	known := p.known && p.err == nil
	v := p.shown
	if !known {
		v = view.Planner{Head: p.words.Text("planner.working")}
		switch {
		case p.err != nil:
			v.Head, v.Why = p.words.Text("planner.head.unknown"), p.words.Error(p.err)
		case p.asked.Model == "" && len(p.list) == 0:
			v.Head = p.words.Text("planner.none")
		case p.asked.Model == "":
			v.Head = p.words.Text("planner.choose")
		}
	}
	p.mark.set(v.Level)
	p.head.set(v.Head)
	p.why.set(v.Why)
	p.bar.set(v.Bar)
	p.setFacts(v)
	p.notes.set(joinLines(v.Notes))
	p.sumsTitle.set(v.SumsTitle)
	for i, row := range p.sums.take(len(v.Sums)) {
		row.set(v.Sums[i])
	}
	show(p.cards.sums, len(v.Sums) > 0)
	relayout(p.scroll.Content)
	p.scroll.Refresh()
}

// setFacts shows the rows that say something.
func (p *plannerPage) setFacts(v view.Planner) {
	rows := slices.DeleteFunc(append([]view.Row{v.Loaded}, v.Rows...), func(r view.Row) bool { return r.Text == "" })
	facts := p.facts.take(len(rows))
	widest := float32(0)
	for i, f := range facts {
		f.name.set(rows[i].Label)
		widest = max(widest, f.name.natural())
	}
	for i, f := range facts {
		f.nameWidth = min(widest+14, factName)
		f.set(rows[i])
	}
}

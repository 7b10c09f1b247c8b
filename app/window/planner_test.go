package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// onDisk are models as their servers describe them.
func onDisk() []monitor.Build {
	dense := func(name string, weights float64, blocks, width, heads, kv int) monitor.Build {
		return monitor.Build{Backend: "ollama", Model: name, Build: fit.Model{
			Architecture: "qwen3", Format: "gguf", Blocks: blocks, Width: width, Heads: heads, Feed: 3 * width, Vocabulary: 151936, Trained: 40960,
			Quantization: "Q4_K_M", Weights: gibs(weights), Layers: []fit.Layers{{Kind: fit.Full, Count: blocks, KVHeads: kv, Key: 128, Value: 128}}}}
	}
	return []monitor.Build{
		dense("qwen3:14b", 8.6, 40, 5120, 40, 8), dense("qwen3:32b", 18.8, 64, 5120, 64, 8), dense("qwen3:8b", 4.9, 36, 4096, 32, 8),
		dense("deepseek-r1:70b", 39.6, 80, 8192, 64, 8), dense("gemma3:12b-it-qat", 9.6, 48, 3840, 16, 8),
		{Backend: "ollama", Model: "hf.co/unsloth/Newest-Architecture-30B-GGUF:UD-Q4_K_XL", Build: fit.Model{Unknown: fit.ReasonWindow, Weights: gibs(7)}},
		{Backend: "ollama", Model: "gpt-oss:120b-cloud", Build: fit.Model{Cloud: true}},
	}
}

// planner is an agent that plans the models on disk for the machine of an update.
func planner(u monitor.Update) *fakeAgent {
	a := newFakeAgent()
	s := u.Snapshot
	a.builds = onDisk()
	a.plan = func(r monitor.PlanRequest) (monitor.Plan, error) {
		for _, b := range a.builds {
			if b.Model == r.Model && (r.Backend == "" || r.Backend == b.Backend) {
				sub := s.Subject(b.Backend, b.Model, b.Build)
				sub.Options = fit.Options{Context: r.Context, Cache: r.Cache, Flash: r.Flash, Slots: r.Slots}
				plan := s.Place().Try(sub)
				plan.Backend = b.Backend
				return plan, nil
			}
		}
		return monitor.Plan{}, monitor.ErrNotInstalled
	}
	for _, b := range a.builds {
		plan, _ := a.plan(monitor.PlanRequest{Model: b.Model})
		a.plans = append(a.plans, plan)
	}
	monitor.SortPlans(a.plans)
	return a
}

// roomFor is the Mac of calm with a bandwidth, and with its model measured.
func roomFor() monitor.Update {
	u := calm()
	s := *u.Snapshot
	m := *s.Machine
	m.Bandwidth, m.BandwidthCertain = new(153.6e9), new(true)
	s.Machine = &m
	r := resident("qwen3:14b", 9.3, 9.3)
	r.Footprint, r.Planned, r.PlannedCache = gibs(10.2), gibs(9.9), gibs(1.25)
	s.Residents = []monitor.Resident{r}
	u.Snapshot = &s
	return u
}

// plannerScenes are pictures of the page of the planner.
var plannerScenes = []struct {
	name   string
	model  string
	change func(*plannerPage)
	lang   string
	dark   bool
	width  float32
}{
	{name: "planner-resident-en-light", model: "qwen3:14b", lang: "en"},
	{name: "planner-tried-en-dark", model: "qwen3:14b", lang: "en", dark: true, change: func(p *plannerPage) { p.context.slider.SetValue(8) }},
	{name: "planner-tight-zh-light", model: "qwen3:8b", lang: "zh", change: func(p *plannerPage) {
		p.context.slider.SetValue(8)
		p.cache.SetSelectedIndex(2)
		p.slots.SetSelectedIndex(3)
	}},
	{name: "planner-over-zh-dark", model: "deepseek-r1:70b", lang: "zh", dark: true},
	{name: "planner-unknown-en-light", model: "hf.co/unsloth/Newest-Architecture-30B-GGUF:UD-Q4_K_XL", lang: "en"},
	{name: "planner-narrow-en-light", model: "qwen3:32b", lang: "en", width: 340},
}

func TestPlannerGolden(t *testing.T) {
	for _, scene := range plannerScenes {
		t.Run(scene.name, func(t *testing.T) {
			u := roomFor()
			w := plannerStage(t, planner(u), u, scene.lang, scene.dark)
			w.openPlanner("ollama", scene.model)
			if scene.change != nil {
				scene.change(w.planner)
			}
			width := scene.width
			if width == 0 {
				width = windowSize.Width
			}
			w.planner.shown, w.planner.list = fixedPlan(t, scene.name, w.planner.shown, w.planner.list)
			w.planner.fill()
			w.Resize(fyne.NewSize(width, 640))
			w.Resize(fyne.NewSize(width, w.Canvas().Size().Height-w.planner.scroll.Size().Height+heightFor(w.planner.scroll.Content, width)+margin))
			golden(t, scene.name+".png", w)
		})
	}
}

// fixedPlan is a plan in words as it was kept, so that another word does not change a
// picture.
func fixedPlan(t *testing.T, name string, plan view.Planner, list []view.PlannedModel) (view.Planner, []view.PlannedModel) {
	t.Helper()
	type kept struct {
		Plan view.Planner
		List []view.PlannedModel
	}
	file := filepath.Join("testdata", "views", name+".json")
	if *update {
		text, err := json.MarshalIndent(kept{plan, list}, "", "  ")
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
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	return k.Plan, k.List
}

// plannerStage is a window that shows an update of an agent that plans.
func plannerStage(t *testing.T, a *fakeAgent, u monitor.Update, lang string, dark bool) *window {
	t.Helper()
	w := stage(t, dark, a)
	w.do = func(f func()) { f() }
	p := pictureOf(u, lang)
	p.snapshot = u.Snapshot
	w.apply(p)
	return w
}

// What will fit under another limit stands in its dialog, each name above its verdict.
func TestWhatFitsUnderALimitGolden(t *testing.T) {
	u := roomy(nil)
	w := plannerStage(t, newFakeAgent(), u, "en", false)
	w.limit.explain = func(to uint64) *view.LimitChange {
		return &view.LimitChange{Title: "Set the GPU limit to 26.0 GiB", FitsTitle: "What fits then", Fits: []view.Row{
			{Label: "qwen3:32b", Text: "does not fit, over by 4.2 GiB (memory the system can give up) · context 4,096 → 32,768, cache 8.0 GiB", Level: view.Critical, Share: -1},
			{Label: "hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-1M-GGUF:UD-Q4_K_XL", Text: "borderline, 1.0 GiB to spare (GPU limit)", Level: view.Warning, Share: -1},
			{Label: "qwen3:14b", Text: "fits, 9.0 GiB to spare (GPU limit)", Level: view.Normal, Share: -1}}}
	}
	w.show(pageLimit)
	w.limit.set(w.shown.words, w.shown.view.Limit)
	w.Resize(fyne.NewSize(windowSize.Width, w.wholeHeight()))
	golden(t, "limit-fits-en-light.png", w)
}

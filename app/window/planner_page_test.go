package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/fit"
)

// last is what the agent was asked for last.
func (f *fakeAgent) last(t *testing.T) monitor.PlanRequest {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		t.Fatal("the agent was asked for no plan")
	}
	return f.asked[len(f.asked)-1]
}

// While one question is being answered the newest waits, and those between are
// never asked.
func TestTheNewestQuestionWins(t *testing.T) {
	started, release := make(chan int), make(chan struct{})
	n := newest[int]{run: func(q int) { started <- q; <-release }, work: func(f func()) { go f() }}
	n.ask(1)
	if q := <-started; q != 1 {
		t.Errorf("answers %d", q)
	}
	for q := 2; q <= 5; q++ {
		n.ask(q)
	}
	release <- struct{}{}
	if q := <-started; q != 5 {
		t.Errorf("answers %d, want the newest", q)
	}
	n.ask(6)
	release <- struct{}{}
	if q := <-started; q != 6 {
		t.Errorf("answers %d, want the one asked meanwhile", q)
	}
	release <- struct{}{}
}

// The slider tells where it stands at once; its plans come one at a time.
func TestTheSliderDoesNotWait(t *testing.T) {
	u := roomFor()
	a := planner(u)
	w := plannerStage(t, a, u, "en", false)
	w.openPlanner("ollama", "qwen3:8b")
	page := w.planner
	if got := page.context.value.text; got != "4,096 tokens" || page.shown.Head == "" || page.context.moved {
		t.Fatalf("it begins with %q, %q", got, page.shown.Head)
	}
	before := page.head.text
	var waiting []func()
	w.work = func(f func()) { waiting = append(waiting, f) }
	asked := len(a.asked)
	for at := 3.0; at <= 9; at++ {
		page.context.slider.SetValue(at)
		if want := w.shown.words.Count(page.context.steps[int(at)]) + " tokens"; page.context.value.text != want {
			t.Errorf("at %v it says %q, want %q", at, page.context.value.text, want)
		}
	}
	if len(waiting) != 1 || len(a.asked) != asked || page.head.text != before {
		t.Fatalf("%d at work, %d asked", len(waiting), len(a.asked)-asked)
	}
	waiting[0]()
	if len(a.asked) != asked+1 || a.last(t).Context != 40960 || page.shown.Context != 40960 {
		t.Errorf("asked for %+v, shows %d", a.asked[asked:], page.shown.Context)
	}
	if page.context.at != 40960 || !page.context.reset.Visible() {
		t.Errorf("it stands at %d", page.context.at)
	}
	w.work = func(f func()) { f() }
	test.Tap(page.context.reset)
	if got := a.last(t).Context; got != 0 || page.context.value.text != "4,096 tokens" || page.context.reset.Visible() {
		t.Errorf("taken back it asks for %d and says %q", got, page.context.value.text)
	}
}

func TestWhatIsTriedIsAsked(t *testing.T) {
	u := roomFor()
	a := planner(u)
	w := plannerStage(t, a, u, "en", false)
	w.openPlanner("ollama", "qwen3:8b")
	page := w.planner
	page.cache.SetSelectedIndex(2)
	page.slots.SetSelectedIndex(3)
	if got, want := a.last(t), (monitor.PlanRequest{Backend: "ollama", Model: "qwen3:8b", Cache: fit.Q8, Flash: fit.FlashOn, Slots: 4}); got != want {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
	page.cache.SetSelectedIndex(1)
	if got := a.last(t); got.Cache != fit.F16 || got.Flash != fit.FlashUnknown {
		t.Errorf("asked for %+v", got)
	}
	// Another model keeps cache and slots, and begins with its own context.
	page.context.slider.SetValue(5)
	test.Tap(page.models.all[0])
	if got := a.last(t); got.Model != page.list[0].Model || got.Context != 0 || got.Slots != 4 || page.name.text != got.Model {
		t.Errorf("asked for %+v", got)
	}
	// Another language asks nothing anew, and says the same in other words.
	p := pictureOf(u, "zh")
	p.snapshot = u.Snapshot
	w.apply(p)
	if page.slots.Selected != "4" || page.cache.Selected != "f16" || page.title.text != p.words.Text("planner.title") || strings.Contains(page.head.text, "its") {
		t.Errorf("slots %q, cache %q, titled %q", page.slots.Selected, page.cache.Selected, page.title.text)
	}
}

// Whatever the pointer does the keyboard does too.
func TestThePlannerByKeyboard(t *testing.T) {
	u := roomFor()
	a := planner(u)
	w := plannerStage(t, a, u, "en", false)
	w.openPlanner("ollama", "qwen3:8b")
	page := w.planner
	var met []fyne.Focusable
	for range 30 {
		w.Canvas().FocusNext()
		if f := w.Canvas().Focused(); f != nil && !slices.Contains(met, f) {
			met = append(met, f)
		}
	}
	for name, f := range map[string]fyne.Focusable{"slider": page.context.slider, "cache": page.cache, "slots": page.slots, "model": page.models.all[1]} {
		if !slices.Contains(met, f) {
			t.Errorf("the keyboard does not reach the %s", name)
		}
	}
	w.Canvas().Focus(page.context.slider)
	page.context.slider.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	if got := a.last(t).Context; got != 6144 {
		t.Errorf("one to the right of 4,096 is %d", got)
	}
	row := page.models.all[1]
	w.Canvas().Focus(row)
	if row.ground.FillColor == colour(colourCard) {
		t.Error("the focus is not seen")
	}
	row.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if got := a.last(t); got.Model != row.model.Model {
		t.Errorf("Enter on %s asked for %+v", row.model.Model, got)
	}
}

func TestTheWaysToThePlanner(t *testing.T) {
	u := roomFor()
	s := *u.Snapshot
	s.LargestFit = &monitor.LargestFit{Backend: "ollama", Model: "qwen3:8b", Needs: 6 << 30, Context: 4096}
	u.Snapshot = &s
	for name, way := range map[string]struct {
		go_  func(*window)
		want string
	}{
		"the head":      {func(w *window) { test.Tap(w.plans) }, "qwen3:14b"}, // the one in memory
		"a model's row": {func(w *window) { test.Tap(w.overview.models.all[0].plan) }, "qwen3:14b"},
		"the menu":      {func(w *window) { w.menus().Items[0].Items[1].Action() }, "qwen3:14b"},
		"what fits now": {func(w *window) { test.Tap(w.overview.facts.all[0]) }, "qwen3:8b"},
	} {
		a := planner(u)
		w := plannerStage(t, a, u, "en", false)
		if len(a.asked) != 0 {
			t.Errorf("%s: asked before anybody looks: %+v", name, a.asked)
		}
		way.go_(w)
		if w.page != pagePlanner || !w.planner.scroll.Visible() || w.overview.scroll.Visible() || a.last(t).Model != way.want || w.planner.shown.Title != way.want {
			t.Errorf("%s opens %q with %q", name, w.page, w.planner.shown.Title)
		}
		asked := len(a.asked)
		w.apply(w.shown)
		if len(a.asked) != asked+1 {
			t.Errorf("%s: with what is free now it is asked %d times", name, len(a.asked)-asked)
		}
		test.Tap(w.planner.back)
		w.apply(w.shown)
		if w.page != pageOverview || len(a.asked) != asked+1 {
			t.Errorf("%s: nobody looks and it is asked: %d", name, len(a.asked)-asked)
		}
	}
	w := plannerStage(t, planner(u), u, "en", false)
	test.Tap(w.overview.facts.all[1]) // a fact that leads nowhere
	if w.page != pageOverview {
		t.Errorf("it opens %q", w.page)
	}
}

// What cannot be told is grey: no plan, no agent, no model.
func TestNoPlanIsNoAlarm(t *testing.T) {
	u := roomFor()
	a := planner(u)
	w := plannerStage(t, a, u, "en", false)
	grey := func(when, head, why string) {
		t.Helper()
		page := w.planner
		if page.mark.level != view.Unknown || !strings.Contains(page.head.text, head) || !strings.Contains(page.why.text, why) {
			t.Errorf("%s: level %d, %q, %q", when, page.mark.level, page.head.text, page.why.text)
		}
		if page.bar.bar.Total != 0 {
			t.Errorf("%s: a bar of %+v", when, page.bar.bar)
		}
	}
	w.openPlanner("ollama", "hf.co/unsloth/Newest-Architecture-30B-GGUF:UD-Q4_K_XL")
	grey("an unknown build", "Cannot estimate", "window")
	w.openPlanner("ollama", "gone")
	grey("a model that is gone", "Cannot estimate", "disk")
	a.plan = func(monitor.PlanRequest) (monitor.Plan, error) { return monitor.Plan{}, api.ErrNoAgent }
	w.openPlanner("ollama", "qwen3:8b")
	grey("without an agent", "Cannot estimate", w.shown.words.Error(api.ErrNoAgent))

	empty := plannerStage(t, newFakeAgent(), calm(), "en", false)
	empty.openPlanner("", "")
	w = empty
	grey("with nothing on disk", "No model on disk", "")
}

// An answer about what is no longer looked at changes nothing but the list.
func TestLateAnswers(t *testing.T) {
	u := roomFor()
	w := plannerStage(t, planner(u), u, "en", false)
	w.openPlanner("ollama", "qwen3:8b")
	page := w.planner
	head, words := page.head.text, w.shown.words
	late := planAnswer{words: words, asked: monitor.PlanRequest{Backend: "ollama", Model: "qwen3:32b"}, plan: view.Planner{Head: "late"}}
	page.take(late)
	if page.head.text != head {
		t.Errorf("it shows %q", page.head.text)
	}
	late.err = api.ErrGone
	page.take(late)
	late.asked.Model, late.words, late.err = "qwen3:8b", view.In("zh"), nil
	page.take(late)
	if page.head.text != head || page.err != nil {
		t.Errorf("it shows %q, %v", page.head.text, page.err)
	}
	// A plan of where the slider was a moment ago moves it nowhere.
	page.context.slider.SetValue(6)
	at := page.context.at
	page.take(planAnswer{words: words, asked: monitor.PlanRequest{Backend: "ollama", Model: "qwen3:8b", Context: 3072},
		plan: view.Planner{Head: "passing", Context: 3072, Contexts: []int{2048, 3072, 40960}}})
	if page.context.at != at || page.head.text != "passing" {
		t.Errorf("the slider stands at %d, want %d; %q", page.context.at, at, page.head.text)
	}
}

// Nothing stands outside the page or on something else.
func TestThePlannerHolds(t *testing.T) {
	u := roomFor()
	for _, lang := range []string{"en", "zh"} {
		for _, width := range []float32{340, 420, 800} {
			w := plannerStage(t, planner(u), u, lang, false)
			w.Resize(fyne.NewSize(width, 640))
			for _, b := range onDisk() {
				w.openPlanner("ollama", b.Model)
				page := w.planner.scroll.Content.(*fyne.Container).Objects[0].(*fyne.Container)
				checkColumn(t, fmt.Sprint(lang, " ", width, " ", b.Model), page, width-2*margin)
			}
		}
	}
}

// What will fit under a limit is asked for where a limit is looked at, and there
// alone.
func TestBuildsAreAskedForTheLimit(t *testing.T) {
	u := roomy(nil)
	w := plannerStage(t, planner(u), u, "en", false)
	if w.builds != nil || w.limitChange(26<<30).Fits != nil {
		t.Errorf("asked for before anybody looks")
	}
	w.show(pageLimit)
	c := w.limit.change.shown
	if len(w.builds) != len(onDisk()) || c == nil || c.FitsTitle == "" || len(c.Fits) != 5 {
		t.Fatalf("%d builds, %+v", len(w.builds), c)
	}
	if c.Fits[0].Label != "qwen3:32b" || !strings.Contains(c.Fits[0].Text, "context 4,096 → 32,768") {
		t.Errorf("first %+v, want the model whose verdict changes", c.Fits[0])
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// roomy is the calm Mac with a limit that can be adjusted.
func roomy(change func(*monitor.Limit)) monitor.Update {
	u := calm()
	s := *u.Snapshot
	s.Limit = &monitor.Limit{Key: "iogpu.wired_limit_mb", Effective: new(uint64(21845 << 20)), Default: new(uint64(21845 << 20)), Helper: monitor.HelperInstalled}
	m := *s.Memory
	m.Used = gibs(15.3)
	s.Memory = &m
	if change != nil {
		change(s.Limit)
	}
	g := *s.GPU
	if g.WorkingSet = s.Limit.Effective; *g.WorkingSet > 24<<30 { // then it binds no more
		s.Headroom = &monitor.Headroom{Bytes: *s.Headroom.Reclaimable, Binding: monitor.BindingReclaimable}
	}
	s.GPU = &g
	u.Snapshot = &s
	return u
}

// onTrial has a raised limit that waits to be confirmed, and a server that does
// not see it.
func onTrial(l *monitor.Limit) {
	l.Set, l.Effective = 26000<<20, new(uint64(26000<<20))
	l.Lease = &monitor.LimitLease{Value: 26000 << 20, Until: noon.Add(103 * time.Second)}
	l.Stale, l.Commands = []string{"ollama"}, map[string]string{"ollama": `osascript -e 'quit app "Ollama"' && sleep 3 && open -a Ollama`}
}

// limitScenes are pictures of the page of the limit, and of its card.
var limitScenes = []struct {
	name   string
	update monitor.Update
	page   string
	typed  string
	lang   string
	dark   bool
	high   bool
}{
	{name: "limit-en-light", update: roomy(nil), page: pageLimit, lang: "en", high: true},
	{name: "limit-zh-dark", update: roomy(nil), page: pageLimit, lang: "zh", dark: true, high: true},
	{name: "limit-trial-en-dark", update: roomy(onTrial), page: pageLimit, lang: "en", dark: true, high: true},
	{name: "limit-trial-zh-light", update: roomy(onTrial), page: pageLimit, lang: "zh", high: true},
	{name: "limit-forbidden-en-light", update: roomy(func(l *monitor.Limit) { l.Helper = monitor.HelperMissing }), page: pageLimit, typed: "28 GiB", lang: "en", high: true},
	{name: "limit-card-en-light", update: roomy(onTrial), lang: "en", high: true},
	{name: "limit-none-en-light", update: calm(), page: pageLimit, lang: "en"},
}

func TestLimitGolden(t *testing.T) {
	for _, scene := range limitScenes {
		t.Run(scene.name, func(t *testing.T) {
			words := view.In(scene.lang)
			w := stage(t, scene.dark, nil)
			w.limit.explain = func(to uint64) *view.LimitChange { return fixedChange(t, scene.name, words, scene.update, to) }
			p := pictureOf(scene.update, scene.lang)
			p.view = fixedView(t, scene.name, words, scene.update)
			w.apply(p)
			w.show(scene.page)
			if scene.typed != "" {
				w.limit.custom.entry.SetText(scene.typed)
				test.Tap(w.limit.custom.apply)
			}
			if scene.high {
				w.Resize(fyne.NewSize(windowSize.Width, w.wholeHeight()))
			}
			golden(t, scene.name+".png", w)
		})
	}
}

// fixedChange is the change that a scene looks at last, as it was kept.
func fixedChange(t *testing.T, name string, words *view.Renderer, u monitor.Update, to uint64) *view.LimitChange {
	t.Helper()
	file := filepath.Join("testdata", "views", name+".change.json")
	made := words.LimitChange(u.Snapshot, to, nil)
	if made == nil {
		return nil
	}
	if *update {
		text, err := json.MarshalIndent(made, "", "  ")
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
	var change view.LimitChange
	if err := json.Unmarshal(text, &change); err != nil {
		t.Fatal(err)
	}
	return &change
}

// limitStage is a window on the page of the limit.
func limitStage(t *testing.T, a *fakeAgent, u monitor.Update) *window {
	t.Helper()
	w := stage(t, false, a)
	p := pictureOf(u, "en")
	p.snapshot = u.Snapshot
	w.apply(p)
	w.show(pageLimit)
	return w
}

func TestTheLimitIsSetByTheButtonAlone(t *testing.T) {
	a := newFakeAgent()
	w := limitStage(t, a, roomy(nil))
	page := w.limit
	if !strings.Contains(page.choices.Selected, "recommended") || page.to != 26<<30 {
		t.Errorf("it begins with %q, want what is recommended", page.choices.Selected)
	}
	page.choices.SetSelected(page.choices.Options[1])
	if len(a.commands) != 0 || page.to != 22<<30 || !strings.Contains(page.change.title.text, "22.0 GiB") {
		t.Fatalf("a choice sent %+v and shows %q", a.commands, page.change.title.text)
	}
	page.custom.entry.SetText("26000")
	test.Tap(page.custom.apply)
	if page.choices.Selected != "" || page.to != 26000<<20 || len(a.commands) != 0 {
		t.Fatalf("26000 looks at %d, choice %q", page.to>>20, page.choices.Selected)
	}
	if got := page.change.hands.all[0].command.text; got != "launchctl setenv OLLAMA_CONTEXT_LENGTH 4096" {
		t.Errorf("the context is pinned by %q", got)
	}
	test.Tap(page.change.hands.all[1].copy)
	if got := fyne.CurrentApp().Clipboard().Content(); got != "sudo sysctl iogpu.wired_limit_mb=26000" {
		t.Errorf("copied %q", got)
	}
	test.Tap(page.change.button)
	wantCommand(t, a, monitor.Command{Kind: monitor.CommandSetLimit})
	if got := a.commands[0].Bytes; got == nil || *got != 26000<<20 {
		t.Errorf("sent %+v", a.commands[0])
	}
}

// What is looked at stays while numbers change, and a wrong amount says what to
// write.
func TestWhatIsLookedAtStays(t *testing.T) {
	a := newFakeAgent()
	w := limitStage(t, a, roomy(nil))
	page := w.limit
	page.choices.SetSelected(page.choices.Options[2])
	u := roomy(func(l *monitor.Limit) { l.Helper = monitor.HelperMissing })
	u.Snapshot.Memory.Used = gibs(20)
	p := pictureOf(u, "en")
	p.snapshot = u.Snapshot
	w.apply(p)
	if page.to != 24<<30 || !strings.HasPrefix(page.choices.Selected, "24.0 GiB · other programs use") || page.change.button.Disabled() == false {
		t.Errorf("it looks at %d, %q, button disabled %t", page.to>>20, page.choices.Selected, page.change.button.Disabled())
	}
	page.custom.entry.SetText("much")
	test.Tap(page.custom.apply)
	if !strings.Contains(page.custom.trouble.text, "25.5 GiB") || page.to != 24<<30 {
		t.Errorf("trouble %q, looks at %d", page.custom.trouble.text, page.to>>20)
	}
	page.custom.entry.SetText("25")
	test.Tap(page.custom.apply)
	if page.custom.trouble.text != "" || page.to != 25<<30 {
		t.Errorf("trouble %q, looks at %d", page.custom.trouble.text, page.to>>20)
	}
	test.Tap(page.change.button)
	if len(a.commands) != 0 {
		t.Errorf("a forbidden limit sent %+v", a.commands)
	}
}

func TestTrialButtons(t *testing.T) {
	a := newFakeAgent()
	w := limitStage(t, a, roomy(onTrial))
	test.Tap(w.limit.now.keep)
	wantCommand(t, a, monitor.Command{Kind: monitor.CommandConfirmLimit})
	test.Tap(w.limit.now.back)
	wantCommand(t, a, monitor.Command{Kind: monitor.CommandResetLimit})
	test.Tap(w.limit.restarts.all[0].button)
	wantCommand(t, a, monitor.Command{Kind: monitor.CommandRestartServer, Backend: "ollama"})
	w.show(pageOverview)
	for i, want := range []monitor.CommandKind{monitor.CommandConfirmLimit, monitor.CommandResetLimit, monitor.CommandRestartServer} {
		test.Tap(w.overview.limit.actions[i])
		if got := a.commands[len(a.commands)-1]; got.Kind != want {
			t.Errorf("the card's button %d sent %+v", i, got)
		}
	}
	test.Tap(w.overview.limit.open)
	if w.page != pageLimit {
		t.Errorf("the card opens %q", w.page)
	}
	p := pictureOf(roomy(nil), "en")
	w.apply(p)
	if w.limit.now.keep.Visible() || w.limit.now.back.Visible() || w.limit.cards.restarts.Visible() {
		t.Error("there is nothing to keep, to take back or to restart")
	}
}

func TestReadLimit(t *testing.T) {
	for text, want := range map[string]uint64{
		"25.5": 25<<30 + 1<<29, "25,5 GiB": 25<<30 + 1<<29, "26000": 26000 << 20, " 26000 mib ": 26000 << 20, "26G": 26 << 30, "27 gb": 25749 << 20,
		"": 0, "much": 0, "0": 0, "-3": 0, "NaN": 0, "1e99": 0, "GiB": 0, "0.0001": 0,
	} {
		got, err := readLimit(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d MiB, %v; want %d", text, got>>20, err, want>>20)
		}
	}
}

package main

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

func TestButtonsSendTheirCommands(t *testing.T) {
	a := newFakeAgent()
	w := stage(t, false, a)
	w.apply(pictureOf(swapping(), "en"))

	row := w.overview.models.all[0]
	for i, want := range []monitor.Command{
		{Kind: monitor.CommandUnload, Backend: "ollama", Model: "qwen3:14b"},
		{Kind: monitor.CommandKeep, Backend: "ollama", Model: "qwen3:14b", Keep: new(3600.0)},
		{Kind: monitor.CommandKeep, Backend: "ollama", Model: "qwen3:14b", Keep: new(-1.0)},
	} {
		test.Tap(row.buttons[i])
		wantCommand(t, a, want)
	}
	test.Tap(w.overview.alerts.all[0].button)
	wantCommand(t, a, monitor.Command{Kind: monitor.CommandUnload, Backend: "ollama", Model: "qwen3:32b"})
	test.Tap(w.overview.unloadAll)
	wantCommand(t, a, monitor.Command{Kind: monitor.CommandUnloadAll})
}

func wantCommand(t *testing.T, a *fakeAgent, want monitor.Command) {
	t.Helper()
	if len(a.commands) == 0 {
		t.Fatalf("no command was sent, want %s", want.Kind)
	}
	got := a.commands[len(a.commands)-1]
	same := got.Kind == want.Kind && got.Backend == want.Backend && got.Model == want.Model &&
		(got.Keep == nil) == (want.Keep == nil) && (got.Keep == nil || *got.Keep == *want.Keep)
	if !same {
		t.Errorf("sent %+v, want %+v", got, want)
	}
}

// A click that begins on one picture and ends on the next must reach the same
// button, so buttons outlive the words around them.
func TestRowsStayWhileTheirWordsChange(t *testing.T) {
	a := newFakeAgent()
	w := stage(t, false, a)
	u := calm()
	w.apply(pictureOf(u, "en"))
	before := w.overview.models.all[0].buttons[0]
	at := w.overview.models.all[0].state.text

	s := *u.Snapshot
	s.Residents = []monitor.Resident{resident("qwen3:14b", 9.3, 9.3)}
	s.Residents[0].Expires = new(noon.Add(2 * time.Minute))
	w.apply(pictureOf(monitor.Update{Snapshot: &s}, "en"))
	row := w.overview.models.all[0]
	if row.state.text == at {
		t.Errorf("the row still says %q", at)
	}
	if row.buttons[0] != before {
		t.Error("the button was made anew")
	}
}

func TestUnloadingDisablesTheRow(t *testing.T) {
	a := newFakeAgent()
	w := stage(t, false, a)
	u := calm()
	u.Snapshot.Residents[0].Unloading = true
	w.apply(pictureOf(u, "en"))
	test.Tap(w.overview.models.all[0].buttons[0])
	if len(a.commands) != 0 {
		t.Errorf("a model that is being unloaded was sent %v", a.commands)
	}
}

func TestRefusedCommandSaysWhatToDo(t *testing.T) {
	a := newFakeAgent()
	w := stage(t, false, a)
	p := pictureOf(calm(), "en")
	w.apply(p)
	a.refuse = api.Failure("no_model", "", monitor.ErrNoModel)
	unload := w.overview.models.all[0].buttons[0]

	test.Tap(unload)
	if w.Canvas().Overlays().Top() == nil {
		t.Fatal("no message is shown")
	}
	if want := p.words.Error(a.refuse); w.message.text.text != want {
		t.Errorf("the message says %q, want %q", w.message.text.text, want)
	}
	if !strings.Contains(w.message.title.text, unload.Text) {
		t.Errorf("the title %q does not name the button %q", w.message.title.text, unload.Text)
	}
	golden(t, "refused-en-light.png", w)
	first := w.message
	w.fail("again", a.refuse)
	if w.message != first {
		t.Error("a second message covers the first")
	}
	test.Tap(w.message.close)
	if w.Canvas().Overlays().Top() != nil {
		t.Fatal("the message does not go")
	}
	test.Tap(unload)
	if w.Canvas().Overlays().Top() == nil {
		t.Error("the next failure is not shown")
	}
}

func TestHiddenRowsAndCards(t *testing.T) {
	w := stage(t, false, nil)
	w.apply(pictureOf(calm(), "en"))
	if got := visible(w.overview.facts.all); got != 5 {
		t.Errorf("%d facts are shown for a Mac, want 5", got)
	}
	w.apply(pictureOf(away(), "en"))
	if got := visible(w.overview.facts.all); got != 3 {
		t.Errorf("%d facts are shown without GPU and heat, want 3", got)
	}
	if w.overview.cards.models.Visible() {
		t.Error("without a server the window says what is in memory")
	}
	if w.overview.cards.consumers.Visible() || w.overview.cards.recent.Visible() {
		t.Error("empty cards are shown")
	}
}

func visible(rows []*factRow) (n int) {
	for _, r := range rows {
		if r.Visible() {
			n++
		}
	}
	return n
}

// Nothing stands outside the page or on something else, whatever the names are.
func TestLayoutHolds(t *testing.T) {
	for name, u := range map[string]monitor.Update{"calm": calm(), "swapping": swapping(), "crowd": crowd(), "away": away()} {
		for _, lang := range []string{"en", "zh"} {
			for _, width := range []float32{340, 420, 800} {
				w := stage(t, false, nil)
				w.apply(pictureOf(u, lang))
				w.Resize(fyne.NewSize(width, 640))
				checkColumn(t, name+" "+lang, w.overview.column, width-2*margin)
				for _, m := range w.overview.models.all {
					if m.Visible() && m.name.Position().X+m.name.Size().Width > m.state.Position().X {
						t.Errorf("%s %s: name and state of %q overlap", name, lang, m.name.text)
					}
				}
			}
		}
	}
}

func checkColumn(t *testing.T, name string, column *fyne.Container, width float32) {
	t.Helper()
	bottom := float32(0)
	for i, o := range column.Objects {
		if !o.Visible() || o.Size().Height == 0 {
			continue
		}
		if o.Size().Width != width {
			t.Errorf("%s: part %d is %v wide, want %v", name, i, o.Size().Width, width)
		}
		if o.Position().Y < bottom {
			t.Errorf("%s: part %d begins at %v, above the end of the one before, %v", name, i, o.Position().Y, bottom)
		}
		if need := heightFor(o, width); o.Size().Height < need {
			t.Errorf("%s: part %d is %v high and needs %v", name, i, o.Size().Height, need)
		}
		bottom = o.Position().Y + o.Size().Height
	}
	if column.Size().Height < bottom {
		t.Errorf("%s: the page ends at %v, its last part at %v", name, column.Size().Height, bottom)
	}
}

func TestHoverShowsTheLongForm(t *testing.T) {
	w := stage(t, false, nil)
	w.apply(pictureOf(calm(), "en"))
	row := w.overview.models.all[0]
	tips := w.overview.tips
	row.MouseIn(nil)
	if tips.layer.Visible() {
		t.Error("a pointer that rests has a tip")
	}
	row.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{AbsolutePosition: fyne.NewPos(100, 630)}})
	if !tips.layer.Visible() || tips.text.text != row.detail || row.detail == "" {
		t.Fatalf("the tip says %q, want %q", tips.text.text, row.detail)
	}
	if end := tips.ground.Position().Y + tips.ground.Size().Height; end > 640 {
		t.Errorf("the tip ends at %v, below the window", end)
	}
	row.MouseOut()
	if tips.layer.Visible() {
		t.Error("the tip stays")
	}
	row.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{AbsolutePosition: fyne.NewPos(100, 300)}})
	w.apply(pictureOf(swapping(), "en")) // alerts push the row down
	if tips.layer.Visible() {
		t.Error("the tip stays where its row no longer is")
	}
}

func TestLostLinkKeepsTheLastPicture(t *testing.T) {
	w := stage(t, false, nil)
	p := pictureOf(calm(), "en")
	w.apply(p)
	p.link, p.err = linkLost, api.ErrGone
	w.apply(p)
	if !w.veil.Visible() || !w.status.Visible() || !w.overview.scroll.Visible() {
		t.Error("a lost link does not show over the last picture")
	}
	p.link, p.err = linkLive, nil
	w.apply(p)
	if w.veil.Visible() || w.status.Visible() {
		t.Error("the notice stays when the link is back")
	}
}

func TestMenusAreTranslated(t *testing.T) {
	w := stage(t, false, nil)
	w.apply(pictureOf(calm(), "zh"))
	for _, menu := range w.menus().Items {
		for _, item := range menu.Items {
			if !item.IsSeparator && strings.Contains(item.Label, "window.") {
				t.Errorf("menu item %q has no words", item.Label)
			}
		}
	}
	w.about()
	if w.message == nil || !strings.Contains(w.message.text.text, "Plimsoll") {
		t.Error("About says nothing of Plimsoll")
	}
}

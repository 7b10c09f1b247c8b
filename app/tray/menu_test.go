package tray

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

func TestMenuBeforeTheFirstView(t *testing.T) {
	s := newScene(t, "en")
	want := `(Reading this machine…)
-
(No model in memory)
-
(No alerts)
-
Open window
Settings…
Quit
`
	if got := s.tray.text(); got != want {
		t.Errorf("menu:\n%s\nwant:\n%s", got, want)
	}
	if len(s.tray.picture) == 0 {
		t.Error("there is no icon before the first view")
	}
}

func TestMenuShowsEverything(t *testing.T) {
	s := newScene(t, "en")
	v := models("qwen3:14b", "llama3.2:3b")
	v.Demo = "demo"
	v.Line = view.Row{Label: "Headroom", Text: "2.1 GiB (GPU limit)"}
	v.Largest = view.Row{Label: "Fits now", Text: "gemma3:4b · ~3.1 GiB · 4K"}
	v.Speed = view.Row{Label: "Decode", Text: "decoding · 11.2 tokens/s · qwen3:14b"}
	v.Diagnosis = view.Row{Label: "Pace of qwen3:14b", Text: "Slow: llama3.2:3b works at the same time"}
	v.DiagnosisAction = &view.Action{Label: "Unload llama3.2:3b", Enabled: true, Command: monitor.Command{Kind: monitor.CommandUnload, Model: "llama3.2:3b"}}
	v.Memory = view.Row{Label: "Memory", Text: "29.4 of 32 GiB"}
	v.Swap = view.Row{Label: "Swap", Text: "1.2 of 4 GiB"}
	v.Pressure = view.Row{Label: "Pressure", Text: "warning"}
	v.Heat = view.Row{Label: "Heat", Text: "72 °C"}
	v.Throttle = view.Row{Label: "Slowed by heat", Text: "1.0 of 1.4 GHz · 11 W"}
	v.GPU = view.Row{Label: "GPU memory", Text: "14.0 of 21.3 GiB"}
	v.Consumers = []view.Row{{Label: "Safari", Text: "3.1 GiB"}, {Label: "Xcode", Text: "2.0 GiB"}}
	v.Servers = []view.Server{{Name: "Ollama", Text: "running · 0.17.4", Level: view.Normal}}
	v.Models = append(v.Models, view.Model{Key: "cloud", Name: "kimi-k2:cloud", State: "cloud"})
	v.UnloadAll = &view.Action{Label: "Unload all", Enabled: true, Command: monitor.Command{Kind: monitor.CommandUnloadAll}}
	v.Alerts = []view.Alert{
		{ID: "swapping", Title: "Swapping 45 MB/s", Level: view.Critical, Action: &view.Action{Label: "Unload qwen3:14b", Enabled: true,
			Command: monitor.Command{Kind: monitor.CommandUnload, Model: "qwen3:14b"}}},
		{ID: "pressure", Title: "Memory pressure", Level: view.Warning},
	}
	s.show(v)
	want := `(demo)
(Headroom: 2.1 GiB (GPU limit))
(Fits now: gemma3:4b · ~3.1 GiB · 4K)
(Decode: decoding · 11.2 tokens/s · qwen3:14b)
(Pace of qwen3:14b: Slow: llama3.2:3b works at the same time)
→ Unload llama3.2:3b
(Memory: 29.4 of 32 GiB)
(Swap: 1.2 of 4 GiB)
(Pressure: warning)
(Heat: 72 °C)
(Slowed by heat: 1.0 of 1.4 GHz · 11 W)
(GPU memory: 14.0 of 21.3 GiB)
(Safari: 3.1 GiB)
-
(Ollama: running · 0.17.4)
qwen3:14b · 9.3 GiB · in 4 min
  Unload
  Keep 1 h
  Pin
llama3.2:3b · 9.3 GiB · in 4 min
  Unload
  Keep 1 h
  Pin
kimi-k2:cloud
  (cloud)
Unload all
-
‼ Swapping 45 MB/s
→ Unload qwen3:14b
⚠ Memory pressure
-
Open window
Settings…
Quit
`
	if got := s.tray.text(); got != want {
		t.Errorf("menu:\n%s\nwant:\n%s", got, want)
	}
	s.click("", "→ Unload qwen3:14b")
	s.wait(1)
	if got := s.last(); got.Kind != monitor.CommandUnload || got.Model != "qwen3:14b" {
		t.Errorf("the alert's action sent %+v", got)
	}
	s.click("", "Unload all")
	s.wait(1)
	if got := s.last(); got.Kind != monitor.CommandUnloadAll {
		t.Errorf("unload all sent %+v", got)
	}
	// All of it goes when it is not known any more, and Chinese is Chinese.
	s.show(view.View{Line: view.Row{Text: "14 GiB"}})
	if got := s.tray.text(); !strings.HasPrefix(got, "(14 GiB)\n-\n(No model in memory)\n-\n(No alerts)\n-\n") {
		t.Errorf("what is not known is still shown:\n%s", got)
	}
	zh := newScene(t, "zh")
	zh.show(v)
	if got := zh.tray.text(); !strings.Contains(got, "(Headroom：2.1 GiB (GPU limit))") || !strings.Contains(got, "打开窗口") {
		t.Errorf("Chinese menu:\n%s", got)
	}
}

// A View in another language changes all words at once, also in a closed menu
// whose numbers are still fresh.
func TestEveryRowFollowsTheLanguage(t *testing.T) {
	s := newScene(t, "en")
	v := view.View{Language: "en", Line: view.Row{Text: "14 GiB left"}, Memory: view.Row{Label: "Memory", Text: "20 of 32 GiB"}}
	s.menu.show(v, false)
	s.tray.calls = 0
	s.menu.show(v, false)
	if s.tray.calls != 0 {
		t.Errorf("the language that is in force made %d calls", s.tray.calls)
	}
	zh := view.View{Language: "zh", Line: view.Row{Text: "余量 14 GiB"}, Memory: view.Row{Label: "内存", Text: "20 / 32 GiB"}}
	s.pass(time.Second)
	s.menu.show(zh, false)
	want := `(余量 14 GiB)
(内存：20 / 32 GiB)
-
(内存中没有模型)
-
(没有警报)
-
打开窗口
设置…
退出
`
	if got := s.tray.text(); got != want {
		t.Errorf("menu:\n%s\nwant:\n%s", got, want)
	}
	var names []string
	for i := range modelRows + 2 {
		names = append(names, fmt.Sprint("m", i))
	}
	many := models(names...)
	many.Language = "zh"
	s.show(many)
	s.tray.find(t, "", view.In("zh").Text("tray.more", view.Args{"Count": 2}))
	s.show(v) // and back
	want = `(14 GiB left)
(Memory: 20 of 32 GiB)
-
(No model in memory)
-
(No alerts)
-
Open window
Settings…
Quit
`
	if got := s.tray.text(); got != want {
		t.Errorf("menu:\n%s\nwant:\n%s", got, want)
	}
	s.click("", "Quit")
	s.wait(1)
}

func TestOnlyChangesReachTheDesktop(t *testing.T) {
	s := newScene(t, "en")
	v := models("a", "b")
	v.Memory = view.Row{Label: "Memory", Text: "20 of 32 GiB"}
	v.Badge = "14"
	s.show(v)
	s.tray.calls = 0
	s.show(v)
	if s.tray.calls != 0 {
		t.Errorf("the same view made %d calls", s.tray.calls)
	}
	v.Memory.Text = "21 of 32 GiB"
	s.show(v)
	if s.tray.calls != 1 {
		t.Errorf("one changed row made %d calls", s.tray.calls)
	}
	s.tray.calls = 0
	pictures := s.tray.pictures
	v.Badge = "13"
	s.show(v)
	v.Icon = view.IconNoServer
	s.show(v)
	v.Badge = "12" // not drawn without a server
	s.show(v)
	if got := s.tray.pictures - pictures; got != 2 || s.tray.calls != 2 {
		t.Errorf("the icon was set %d times in %d calls, want 2 in 2", got, s.tray.calls)
	}
}

func TestModelKeepsItsRow(t *testing.T) {
	s := newScene(t, "en")
	s.show(models("a", "b", "c"))
	row := s.tray.find(t, "", "b · 9.3 GiB · in 4 min")
	unload := s.tray.find(t, "b", "Unload")
	s.pass(time.Second)
	s.show(models("b", "c")) // a goes: nobody moves
	if !row.visible || row.title != "b · 9.3 GiB · in 4 min" {
		t.Fatalf("b moved:\n%s", s.tray.text())
	}
	s.pass(time.Second)
	s.show(models("d", "c", "b")) // d comes, in another order
	if row.title != "b · 9.3 GiB · in 4 min" {
		t.Fatalf("b moved:\n%s", s.tray.text())
	}
	// a's row rests before another model may have it.
	if d := s.tray.find(t, "", "d · 9.3 GiB · in 4 min"); d == s.tray.rows[indexOf(s.tray, row)-1] {
		t.Error("a new model took the row that had just become free")
	}
	unload.clicked()
	s.wait(1)
	if got := s.last().Model; got != "b" {
		t.Errorf("a click on b unloaded %q", got)
	}
	s.pass(rest)
	s.show(models("c", "b", "d", "e"))
	if e := s.tray.find(t, "", "e · 9.3 GiB · in 4 min"); e != s.tray.rows[indexOf(s.tray, row)-1] {
		t.Errorf("the first row is not used again:\n%s", s.tray.text())
	}
}

func indexOf(f *fake, row *fakeRow) int {
	for i, r := range f.rows {
		if r == row {
			return i
		}
	}
	return -1
}

func TestClickMeansWhatStoodThere(t *testing.T) {
	s := newScene(t, "en")
	var names []string
	for i := range modelRows {
		names = append(names, fmt.Sprint("m", i))
	}
	s.show(models(names...))
	unload := s.tray.find(t, "m3", "Unload")
	s.pass(time.Minute)
	// Every row is in use, so the newcomer must take the row of the one that goes.
	names[3] = "newcomer"
	s.show(models(names...))
	if got := unload.parentTitle(); !strings.HasPrefix(got, "newcomer") {
		t.Fatalf("the row shows %q", got)
	}
	s.pass(aim - time.Millisecond)
	unload.clicked()
	s.wait(1)
	if got := s.last().Model; got != "m3" {
		t.Errorf("a click aimed at m3 unloads %q", got)
	}
	s.pass(time.Millisecond)
	unload.clicked()
	s.wait(1)
	if got := s.last().Model; got != "newcomer" {
		t.Errorf("a later click unloads %q", got)
	}
}

func (r *fakeRow) parentTitle() string { return r.parent.title }

func TestTargetKeepsWhatWasReadThroughQuickChanges(t *testing.T) {
	command := func(model string) *monitor.Command {
		return &monitor.Command{Kind: monitor.CommandUnload, Model: model}
	}
	start := time.Unix(0, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	var row target
	row.set(command("a"), at(0))
	if got := row.at(at(1)); got == nil || got.Model != "a" {
		t.Errorf("a row that was empty means %v at once", got)
	}
	row.set(command("a"), at(time.Second)) // nothing new
	row.set(command("b"), at(10*time.Second))
	row.set(command("c"), at(10*time.Second+100*time.Millisecond))
	if got := row.at(at(10*time.Second + 300*time.Millisecond)); got.Model != "a" {
		t.Errorf("after two quick changes a click means %q, want a", got.Model)
	}
	row.set(nil, at(20*time.Second))
	row.set(command("d"), at(30*time.Second))
	if got := row.at(at(30*time.Second + time.Millisecond)); got == nil || got.Model != "d" {
		t.Errorf("a row that was empty for long means %v, want d", got)
	}
}

func TestMoreModelsAndAlertsThanRows(t *testing.T) {
	s := newScene(t, "en")
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprint("m", i))
	}
	v := models(names...)
	for i := range 8 {
		v.Alerts = append(v.Alerts, view.Alert{ID: fmt.Sprint(i), Title: fmt.Sprint("alert ", i), Level: view.Warning})
	}
	s.show(v)
	s.click("", "2 more models…")
	s.wait(1)
	if len(s.opened) != 1 || s.opened[0] != "" {
		t.Errorf("opened %q", s.opened)
	}
	s.show(models(names[1:]...))
	s.tray.find(t, "", "1 more model…")
	s.tray.find(t, "", "m10 · 9.3 GiB · in 4 min")
}

func TestClicksDoNotWaitForCommands(t *testing.T) {
	s := newScene(t, "en")
	s.show(models("a"))
	release := make(chan struct{})
	s.menu.config.Do = func(monitor.Command) { <-release; s.arrived <- struct{}{} }
	for range 100 {
		s.click("a", "Unload") // would hang if a click waited for the one before
	}
	s.click("", "Settings…") // and the window does not wait for a server
	s.wait(1)
	close(release)
	s.wait(100)
	s.click("", "Quit")
	s.wait(1)
	<-s.menu.quit
	if s.quits != 1 || len(s.opened) != 1 || s.opened[0] != "settings" {
		t.Errorf("quits %d, opened %q", s.quits, s.opened)
	}
}

func TestDisabledActionSendsNothing(t *testing.T) {
	s := newScene(t, "en")
	v := models("a")
	v.Models[0].Actions[0].Enabled = false
	s.show(v)
	s.click("a", "Unload")
	s.click("a", "Pin")
	s.wait(1)
	if got := s.last(); len(s.commands) != 1 || got.Keep == nil || *got.Keep != -1 {
		t.Errorf("commands %+v", s.commands)
	}
}

func TestCleanText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"bad\xffbyte", "bad\uFFFDbyte"},
		{"nul\x00tab\tline\n", "nul tab line"},
		{"\u2007\u20077.4 tok/s", "\u2007\u20077.4 tok/s"},
		{strings.Repeat("余", 200), strings.Repeat("余", titleLimit-1) + "…"},
		{"   ", ""},
	} {
		if got := clean(c.in, titleLimit); got != c.want {
			t.Errorf("clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := cleanLines("one\ntwo\x00", 100); got != "one\ntwo " {
		t.Errorf("cleanLines: %q", got)
	}
}

// While nobody looks only what happens is shown at once; numbers wait.
func TestNumbersWaitForAnEye(t *testing.T) {
	s := newScene(t, "en")
	v := models("a")
	v.Memory = view.Row{Label: "Memory", Text: "20 of 32 GiB"}
	s.menu.show(v, false)
	first := s.tray.text()
	if !strings.Contains(first, "20 of 32 GiB") {
		t.Fatalf("the first view is not shown:\n%s", first)
	}
	s.tray.calls = 0
	v.Memory.Text, v.Tooltip, v.Models[0].Text = "21 of 32 GiB", "14 GiB left", "9.3 GiB · in 3 min"
	s.menu.show(v, false)
	if s.tray.calls != 0 {
		t.Errorf("numbers alone made %d calls:\n%s", s.tray.calls, s.tray.text())
	}
	v.Models[0].State = "busy"
	s.menu.show(v, false)
	if s.tray.calls != 1 {
		t.Errorf("a busy model made %d calls", s.tray.calls)
	}
	s.tray.find(t, "", "a · 9.3 GiB · in 3 min")
	s.menu.show(v, true)
	s.tray.find(t, "", "Memory: 21 of 32 GiB")
	v.Memory.Text = "22 of 32 GiB"
	s.pass(unseen)
	s.menu.show(v, false)
	s.tray.find(t, "", "Memory: 22 of 32 GiB")
	v.Memory.Text, v.Icon = "31 of 32 GiB", view.IconCritical
	s.menu.show(v, false)
	s.tray.find(t, "", "Memory: 31 of 32 GiB")
	s.menu.show(models(), false)
	if strings.Contains(s.tray.text(), "Unload") {
		t.Errorf("a model that went is still there:\n%s", s.tray.text())
	}
}

// BenchmarkShow is the comparison alone, without a desktop.
func BenchmarkShow(b *testing.B) {
	s := newScene(nil, "en")
	v := models("qwen3:14b", "llama3.2:3b", "gemma3:27b")
	v.Memory, v.Swap = view.Row{Label: "Memory", Text: "20 of 32 GiB"}, view.Row{Label: "Swap", Text: "none"}
	b.ReportAllocs()
	for b.Loop() {
		s.show(v)
	}
}

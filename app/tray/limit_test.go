package tray

import (
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// limited is a View of a limit of 26 GiB that was set, on trial if it says so.
func limited(trial string) view.View {
	set := func(n uint64, enabled bool) view.Action {
		return view.Action{Enabled: enabled, Command: monitor.Command{Kind: monitor.CommandSetLimit, Bytes: new(n << 30)}}
	}
	text := "26.0 GiB set"
	l := &view.Limit{Trial: trial, Choices: []view.LimitChoice{
		{Label: "Back to default (21.3 GiB)", Action: view.Action{Enabled: true, Command: monitor.Command{Kind: monitor.CommandResetLimit}}},
		{Bytes: 24 << 30, Label: "24.0 GiB, recommended", Detail: "leaves 8.0 GiB for macOS", Action: set(24, true)},
		{Bytes: 26 << 30, Label: "26.0 GiB", Detail: "leaves 6.0 GiB for macOS", Chosen: true, Action: set(26, false)},
		{Bytes: 28 << 30, Label: "28.0 GiB", Detail: "other programs use 5.5 GiB", Forbidden: true, Action: set(28, false)},
	}}
	if trial != "" {
		text += " · " + trial
		l.Keep = &view.Action{Label: "Keep this limit", Enabled: true, Command: monitor.Command{Kind: monitor.CommandConfirmLimit}}
		l.Restarts = []view.Restart{{Interrupts: "qwen3:14b leaves memory", Action: view.Action{Label: "Restart Ollama", Enabled: true,
			Command: monitor.Command{Kind: monitor.CommandRestartServer, Backend: "ollama"}}}}
	}
	l.Row = view.Row{Label: "GPU limit", Text: text, Level: view.Normal}
	return view.View{Line: view.Row{Text: "14 GiB"}, Limit: l}
}

func TestLimitMenu(t *testing.T) {
	s := newScene(t, "en")
	s.show(limited("on trial, 1:43 left"))
	want := `(14 GiB)
GPU limit: 26.0 GiB set · on trial, 1:43 left
  Back to default (21.3 GiB)
  24.0 GiB, recommended · leaves 8.0 GiB for macOS
  (✓ 26.0 GiB · leaves 6.0 GiB for macOS)
  (28.0 GiB · other programs use 5.5 GiB)
  Custom limit…
  Keep this limit
  Restart Ollama
  (qwen3:14b leaves memory)
-
`
	if got := s.tray.text(); !strings.HasPrefix(got, want) {
		t.Errorf("menu:\n%s\nwant:\n%s", got, want)
	}
	parent := "GPU limit: 26.0 GiB set · on trial, 1:43 left"
	for _, click := range []struct {
		row  string
		want monitor.CommandKind
		to   uint64
	}{
		{"Back to default (21.3 GiB)", monitor.CommandResetLimit, 0},
		{"24.0 GiB, recommended · leaves 8.0 GiB for macOS", monitor.CommandSetLimit, 24 << 30},
		{"Keep this limit", monitor.CommandConfirmLimit, 0},
		{"Restart Ollama", monitor.CommandRestartServer, 0},
	} {
		s.click(parent, click.row)
		s.wait(1)
		got := s.last()
		if got.Kind != click.want || click.to > 0 && (got.Bytes == nil || *got.Bytes != click.to) {
			t.Errorf("%s sent %+v", click.row, got)
		}
	}
	s.click(parent, "(28.0 GiB · other programs use 5.5 GiB)"[1:len("(28.0 GiB · other programs use 5.5 GiB)")-1])
	s.click(parent, "Custom limit…")
	s.wait(1)
	if len(s.commands) != 4 || len(s.opened) != 1 || s.opened[0] != "limit" {
		t.Errorf("commands %+v, opened %q", s.commands, s.opened)
	}
	s.show(limited(""))
	if got := s.tray.text(); strings.Contains(got, "Keep this limit") || strings.Contains(got, "Restart") || !strings.Contains(got, "GPU limit: 26.0 GiB set\n") {
		t.Errorf("after the trial:\n%s", got)
	}
	s.show(view.View{Line: view.Row{Text: "14 GiB"}})
	if got := s.tray.text(); strings.Contains(got, "GPU limit") {
		t.Errorf("without a limit:\n%s", got)
	}
}

// The time that is left is counted down while somebody looks; what happens shows
// at once.
func TestTheCountdownWaitsForAnEye(t *testing.T) {
	s := newScene(t, "en")
	s.menu.show(limited(""), false)
	s.menu.show(limited("on trial, 2:00 left"), false)
	s.tray.find(t, "", "GPU limit: 26.0 GiB set · on trial, 2:00 left")
	s.tray.calls = 0
	s.menu.show(limited("on trial, 1:59 left"), false)
	if s.tray.calls != 0 {
		t.Errorf("a second less made %d calls in a closed menu", s.tray.calls)
	}
	s.menu.show(limited("on trial, 1:58 left"), true)
	s.tray.find(t, "", "GPU limit: 26.0 GiB set · on trial, 1:58 left")
	s.menu.show(limited(""), false)
	s.tray.find(t, "", "GPU limit: 26.0 GiB set")
}

// Two limits are two commands: a click that was aimed at one never sets the other.
func TestAClickSetsTheLimitThatStoodThere(t *testing.T) {
	s := newScene(t, "en")
	v := limited("")
	s.show(v)
	row := s.tray.find(t, "GPU limit: 26.0 GiB set", "24.0 GiB, recommended · leaves 8.0 GiB for macOS")
	s.pass(time.Minute)
	v.Limit.Choices[1] = view.LimitChoice{Bytes: 25 << 30, Label: "25.0 GiB", Action: view.Action{Enabled: true,
		Command: monitor.Command{Kind: monitor.CommandSetLimit, Bytes: new(uint64(25 << 30))}}}
	s.show(v)
	s.pass(aim - time.Millisecond)
	row.clicked()
	s.wait(1)
	if got := *s.last().Bytes; got != 24<<30 {
		t.Errorf("a click aimed at 24 GiB sets %d", got>>30)
	}
	s.pass(time.Millisecond)
	row.clicked()
	s.wait(1)
	if got := *s.last().Bytes; got != 25<<30 {
		t.Errorf("a later click sets %d", got>>30)
	}
	v.Limit = nil
	s.show(v)
	s.pass(aim)
	row.clicked()
	s.show(limited(""))
	s.pass(aim)
	row.clicked()
	s.wait(1)
	if n := len(s.commands); n != 3 || *s.last().Bytes != 24<<30 {
		t.Errorf("%d commands, the last %+v", n, s.last())
	}
}

package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

const mib = uint64(mebibyte)

// roomy is a Mac of 32 GiB on which programs use 5.5 GiB and a model 9.8.
func roomy(change func(*monitor.Limit)) monitor.Update {
	u := zeroSwap()
	s := u.Snapshot
	s.Memory.Used = new(15*g + g*3/10)
	s.Residents = s.Residents[1:]
	s.Consumers = nil
	s.Limit = &monitor.Limit{Key: "iogpu.wired_limit_mb", Effective: new(21845 * mib), Default: new(21845 * mib), Helper: monitor.HelperInstalled}
	if change != nil {
		change(s.Limit)
	}
	if e := s.Limit.Effective; e != nil {
		s.GPU.WorkingSet = e
	}
	s.GPU.WiredLimit = new(s.Limit.Set)
	return u
}

func inForce(l *monitor.Limit, n uint64) { l.Set, l.Effective = n, &n }

// limitScenes are the states of the limit, and the changes that a person looks at
// in each.
var limitScenes = []struct {
	name    string
	make    func() monitor.Update
	changes []uint64
}{
	// Case 19: 26,000 MiB on 32 GB, where Ollama's default context flips.
	{"limit_default", func() monitor.Update { return roomy(nil) }, []uint64{26000 * mib, 22 * g, 0}},
	{"limit_trial", func() monitor.Update {
		return roomy(func(l *monitor.Limit) {
			inForce(l, 26000*mib)
			l.Lease = &monitor.LimitLease{Value: 26000 * mib, Until: at.Add(103 * time.Second)}
			l.Stale, l.Commands = []string{"ollama"}, map[string]string{"ollama": "brew services restart ollama"}
		})
	}, []uint64{26000 * mib, 24 * g, 27 * g, 0}},
	{"limit_kept", func() monitor.Update {
		return roomy(func(l *monitor.Limit) { inForce(l, 26000*mib); l.Remembered = new(26000 * mib) })
	}, []uint64{26000 * mib, 25 * g, 24 * g, 22 * g, 0}},
	{"limit_not_shown", func() monitor.Update {
		return roomy(func(l *monitor.Limit) { l.Set = 26000 * mib; l.Helper = monitor.HelperOutdated })
	}, []uint64{25 * g}},
	// Case 42: without Metal what is set counts, else an estimate with its mark.
	{"limit_no_metal", func() monitor.Update {
		u := roomy(func(l *monitor.Limit) {
			l.Set, l.Effective, l.Helper = 14000*mib, nil, monitor.HelperSilent
			l.Default, l.DefaultEstimated = new(11840e6/mib*mib), true
		})
		small(u)
		return u
	}, []uint64{0, 12000 * mib}},
	{"limit_estimate", func() monitor.Update {
		u := roomy(func(l *monitor.Limit) {
			l.Effective, l.Helper = nil, monitor.HelperMissing
			l.Default, l.DefaultEstimated = new(10922*mib), true
		})
		small(u)
		return u
	}, []uint64{12000 * mib, 13 * g}},
	// Measured use forbids a step that the bounds allow.
	{"limit_forbidden", func() monitor.Update {
		u := roomy(func(l *monitor.Limit) { l.Key = "debug.iogpu.wired_limit"; l.Helper = monitor.HelperMissing })
		u.Snapshot.Memory.Used = new(17 * g)
		u.Snapshot.Memory.Pressure = metal.PressureWarning
		return u
	}, []uint64{28672 * mib, 24 * g, 29000 * mib, 8 * g}},
	{"limit_busy", func() monitor.Update {
		u := roomy(func(l *monitor.Limit) {
			inForce(l, 24*g)
			l.Stale = []string{"ollama", "lmstudio"}
		})
		u.Snapshot.Requests = []request.Request{{Backend: "ollama", Model: "qwen3:14b", Phase: request.PhaseDecode}}
		u.Snapshot.GPU.InUse = new(23 * g)
		return u
	}, []uint64{22 * g}},
	{"limit_nothing_known", func() monitor.Update {
		return monitor.Update{Snapshot: &monitor.Snapshot{Taken: at, Limit: &monitor.Limit{}}}
	}, []uint64{26000 * mib, 0}},
}

// small makes it a Mac of 16 GiB.
func small(u monitor.Update) {
	u.Snapshot.Machine.RAMBytes, u.Snapshot.Memory.Total = new(16*g), new(16*g)
	u.Snapshot.Memory.Used = new(12 * g)
	u.Snapshot.GPU.InUse = new(g)
}

func TestLimitGoldens(t *testing.T) {
	for _, scene := range limitScenes {
		for _, language := range []string{"en", "zh"} {
			t.Run(scene.name+"/"+language, func(t *testing.T) {
				r, u := In(language), scene.make()
				var b strings.Builder
				printLimit(&b, r.Render(u, at).Limit)
				for _, to := range scene.changes {
					printChange(&b, to, r.LimitChange(u.Snapshot, to, nil))
				}
				compare(t, scene.name+"."+language+".txt", b.String())
			})
		}
	}
}

// compare holds a text against its golden.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./app/view -update and read the difference:\n%s", file, difference(string(want), got))
	}
}

func printLimit(b *strings.Builder, l *Limit) {
	printRow(b, l.Row)
	printLines(b, "nothing", l.Nothing)
	printAction(b, l.Keep)
	printAction(b, l.Back)
	for _, c := range l.Choices {
		fmt.Fprintf(b, "choice %d MiB [%s] %s recommended %t chosen %t forbidden %t enabled %t %s\n",
			c.Bytes>>20, c.Label, c.Detail, c.Recommended, c.Chosen, c.Forbidden, c.Action.Enabled, c.Action.Command.Kind)
	}
	for _, r := range l.Restarts {
		fmt.Fprintf(b, "restart %s\n  %s\n  by hand %q\n", r.Why, r.Interrupts, r.Command)
		printAction(b, &r.Action)
	}
}

func printChange(b *strings.Builder, to uint64, c *LimitChange) {
	fmt.Fprintf(b, "\n--- to %d MiB\n%s\n", to>>20, c.Title)
	for _, row := range c.Rows {
		fmt.Fprintf(b, "  %s: %s → %s %s (level %d)\n", row.Label, row.Before, row.After, row.Gain, row.Level)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(b, "  (%d) %s\n", n.Level, n.Text)
	}
	for _, h := range []ByHand{c.Hand, c.Pin} {
		if h.Command != "" {
			fmt.Fprintf(b, "  %s %s\n", h.Intro, h.Command)
		}
	}
	printAction(b, &c.Action)
}

// Case 19, in numbers: the cache grows by more than the limit does.
func TestTheContextStepEatsTheGain(t *testing.T) {
	u := roomy(nil)
	c := In("en").LimitChange(u.Snapshot, 26000*mib, nil)
	text := fmt.Sprint(c.Rows, c.Notes)
	for _, want := range []string{"21.3 GiB", "25.4 GiB", "+4.1 GiB", "4,096 tokens", "32,768 tokens", "160 KiB", "0.63 GiB", "5.0 GiB", "more than the 4.1 GiB gained"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if c.Pin.Command != "launchctl setenv OLLAMA_CONTEXT_LENGTH 4096" || c.Hand.Command != "sudo sysctl iogpu.wired_limit_mb=26000" {
		t.Errorf("commands %+v %+v", c.Pin, c.Hand)
	}
	// Without an Ollama there is no such step.
	u.Snapshot.Backends = []backend.Status{{Name: "lmstudio", Kind: "lmstudio", State: backend.Running}}
	c = In("en").LimitChange(u.Snapshot, 26000*mib, nil)
	if text := fmt.Sprint(c.Rows, c.Notes, c.Pin); strings.Contains(text, "Ollama") {
		t.Errorf("no Ollama runs: %s", text)
	}
	// On macOS 13 the key counts bytes.
	u.Snapshot.Limit.Key = "debug.iogpu.wired_limit"
	if c = In("en").LimitChange(u.Snapshot, 24*g, nil); c.Hand.Command != "sudo sysctl debug.iogpu.wired_limit=25769803776" {
		t.Errorf("by hand %q", c.Hand.Command)
	}
}

// Case 48: an untouched Mac of 64 GB.
func TestAnUntouchedMac(t *testing.T) {
	u := roomy(func(l *monitor.Limit) {
		l.Effective, l.Default = new(uint64(55662788608)), new(uint64(55662788608))
	})
	u.Snapshot.Machine.RAMBytes, u.Snapshot.Memory.Total = new(64*g), new(64*g)
	v := In("en").Render(u, at).Limit
	if v.Row.Text != "51.8 GiB, system default" || !strings.Contains(v.Row.Detail, "51.84 GiB (81 % of memory)") {
		t.Errorf("%q, %q", v.Row.Text, v.Row.Detail)
	}
	if v.Back != nil || v.Keep != nil || v.Choices[0].Action.Enabled {
		t.Errorf("there is nothing to go back to: %+v", v)
	}
}

func TestNoAdjustableLimit(t *testing.T) {
	u := zeroSwap()
	if v := In("en").Render(u, at); v.Limit != nil {
		t.Errorf("%+v", v.Limit)
	}
	if c := In("en").LimitChange(u.Snapshot, 26000*mib, nil); c != nil {
		t.Errorf("%+v", c)
	}
	if c := In("en").LimitChange(nil, 26000*mib, nil); c != nil {
		t.Errorf("%+v", c)
	}
}

// What fits then is a planner's to say.
func TestWhatFitsThen(t *testing.T) {
	u := roomy(nil)
	if c := In("en").LimitChange(u.Snapshot, 26000*mib, nil); c.FitsTitle != "" || c.Fits != nil {
		t.Errorf("without a planner: %+v", c.Fits)
	}
	asked := uint64(0)
	c := In("en").LimitChange(u.Snapshot, 26000*mib, func(limit uint64) []Row {
		asked = limit
		return []Row{{Label: "qwen3:32b", Text: "fits"}}
	})
	if asked != 26000*mib || len(c.Fits) != 1 || c.FitsTitle == "" {
		t.Errorf("asked for %d, %+v", asked, c)
	}
}

// The countdown is right at every moment, and never below nothing.
func TestCountdown(t *testing.T) {
	for _, test := range []struct {
		left time.Duration
		want string
	}{{103 * time.Second, "1:43"}, {2 * time.Minute, "2:00"}, {9600 * time.Millisecond, "0:10"}, {0, "0:00"}, {-time.Hour, "0:00"}, {1000 * time.Hour, "10:00"}} {
		u := roomy(func(l *monitor.Limit) {
			l.Lease = &monitor.LimitLease{Value: 26000 * mib, Until: at.Add(test.left)}
		})
		if got := In("en").Render(u, at).Limit.Trial; got != "on trial, "+test.want+" left" {
			t.Errorf("%v: %q", test.left, got)
		}
	}
}

// No choice that can be clicked is one that the helper refuses, or that measured
// use forbids, on any machine.
func TestChoicesAreSafe(t *testing.T) {
	for _, ram := range []uint64{8, 16, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512} {
		for _, used := range []uint64{0, 3, 6, 12, ram / 2, ram} {
			u := roomy(nil)
			s := u.Snapshot
			s.Machine.RAMBytes, s.Memory.Total, s.Residents = new(ram*g), new(ram*g), nil
			s.Memory.Used = new(used * g)
			s.Limit.Default = new(ram * g * 2 / 3)
			s.Limit.Effective = s.Limit.Default
			for _, c := range In("en").Render(u, at).Limit.Choices[1:] {
				if !c.Action.Enabled {
					continue
				}
				if err := wired.BoundsOf(ram * g).Check(wired.MiB(c.Bytes / mib)); err != nil || c.Bytes+used*g > ram*g {
					t.Errorf("%d GiB with %d in use: %s can be chosen (%v)", ram, used, c.Label, err)
				}
				if change := In("en").LimitChange(s, c.Bytes, nil); !change.Action.Enabled {
					t.Errorf("%d GiB: %s can be chosen and its dialog says no: %+v", ram, c.Label, change.Notes)
				}
			}
		}
	}
}

// A trial, its end and what was kept are announced, each in place of the one before.
func TestLimitNotices(t *testing.T) {
	for _, test := range []struct {
		state    string
		title    string
		action   monitor.CommandKind
		withdraw bool
	}{
		{monitor.LimitTrial, "GPU limit 25.4 GiB on trial", monitor.CommandConfirmLimit, false},
		{monitor.LimitKept, "GPU limit 25.4 GiB kept", "", false},
		{monitor.LimitEnded, "The trial of the GPU limit is over", "", false},
		{monitor.LimitDefault, "", "", true},
		{monitor.LimitSet, "", "", true},
		{"something_new", "", "", true},
	} {
		u := roomy(func(l *monitor.Limit) { inForce(l, 26000*mib) })
		u.Events = []monitor.Event{{Time: at, Kind: monitor.EventLimit, Evidence: monitor.Evidence{State: test.state, Bytes: new(26000 * mib), Seconds: new(120.0)}}}
		list := In("en").Notices(u)
		if len(list) != 1 || list[0].ID != "limit" || list[0].Withdraw != test.withdraw || list[0].Title != test.title {
			t.Fatalf("%s: %+v", test.state, list)
		}
		if a := list[0].Action; (a != nil) != (test.action != "") || a != nil && a.Command.Kind != test.action {
			t.Errorf("%s: action %+v", test.state, a)
		}
		if test.state == monitor.LimitTrial && list[0].Text != "For 2 min: it is kept after a minute of normal memory pressure, else the limit before comes back. Ollama must be restarted to notice. Ollama's default context is 32,768 tokens then." {
			t.Errorf("text %q", list[0].Text)
		}
	}
}

// The words of both alerts, of every event and notice, in both languages.
func TestLimitWords(t *testing.T) {
	u := roomy(nil)
	lost := func(cause string, action monitor.CommandKind) {
		c := &monitor.Command{Kind: action}
		if action == monitor.CommandSetLimit {
			c.Bytes = new(26000 * mib)
		}
		if action == "" {
			c = nil
		}
		e := monitor.Evidence{Cause: cause, Bytes: new(26000 * mib), Limit: new(21845 * mib)}
		if cause == wired.RefusedFile {
			e = monitor.Evidence{Cause: cause}
		}
		u.Alerts = append(u.Alerts, monitor.Alert{ID: "limit_lost", Rule: "limit_lost", Severity: monitor.SeverityWarning, Since: at, Evidence: e, Action: c})
	}
	lost("", monitor.CommandSetLimit)
	lost(wired.RefusedPending, monitor.CommandSetLimit)
	lost(wired.RefusedBounds, monitor.CommandResetLimit)
	lost(wired.RefusedRAM, monitor.CommandResetLimit)
	lost(wired.RefusedFile, "")
	for _, e := range []monitor.Evidence{{}, {Bytes: new(26000 * mib), Limit: new(21845 * mib), SwapOutRate: new(120e6), Pressure: "critical"}} {
		u.Alerts = append(u.Alerts, monitor.Alert{ID: "limit_pressure", Rule: "limit_pressure", Severity: monitor.SeverityCritical, Since: at, Evidence: e,
			Action: &monitor.Command{Kind: monitor.CommandResetLimit}})
	}
	for _, state := range []string{monitor.LimitTrial, monitor.LimitKept, monitor.LimitEnded, monitor.LimitDefault, monitor.LimitSet} {
		for _, bytes := range []*uint64{nil, new(26000 * mib)} {
			e := monitor.Evidence{State: state, Bytes: bytes}
			if bytes != nil && state == monitor.LimitTrial {
				e.Seconds = new(120.0)
			}
			u.Events = append(u.Events, monitor.Event{Time: at, Kind: monitor.EventLimit, Evidence: e})
		}
	}
	for _, language := range []string{"en", "zh"} {
		r := In(language)
		var b strings.Builder
		for _, a := range r.Render(u, at).Alerts {
			fmt.Fprintf(&b, "%s (level %d)\n  %s\n", a.Title, a.Level, a.Text)
			printAction(&b, a.Action)
		}
		for _, e := range u.Events {
			fmt.Fprintf(&b, "event %s\n", r.Event(e))
			b.WriteString(printNotices(r.Notices(monitor.Update{Snapshot: u.Snapshot, Events: []monitor.Event{e}})))
		}
		compare(t, "limit_words."+language+".txt", b.String())
	}
}

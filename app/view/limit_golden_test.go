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
	"plimsoll/monitor/request"
)

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

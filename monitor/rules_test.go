package monitor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// play runs hand-written lines through a Player and returns what came out.
func play(t *testing.T, lines ...string) []Update {
	t.Helper()
	p := NewPlayer()
	var out []Update
	for _, line := range lines {
		var u Update
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, p.Step(u))
	}
	return out
}

// times repeats a line.
func times(n int, line string) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = line
	}
	return lines
}

func standing(u Update, rule string) *Alert {
	return find(u.Alerts, func(a *Alert) bool { return a.Rule == rule })
}

// notices counts how often a rule was raised and cleared.
func notices(updates []Update, rule string) (raised, cleared int) {
	for _, u := range updates {
		for _, e := range u.Events {
			if e.Alert == nil || e.Alert.Rule != rule {
				continue
			}
			switch e.Kind {
			case EventAlertRaised:
				raised++
			case EventAlertCleared:
				cleared++
			}
		}
	}
	return raised, cleared
}

func swapLine(fields string) string { return `{"snapshot":{"swap":{` + fields + `}}}` }

func TestRules(t *testing.T) {
	const (
		pressureNormal  = `"memory":{"pressure":"normal","total_bytes":34359738368}`
		pressureWarning = `"memory":{"pressure":"warning","total_bytes":34359738368}`
	)
	for _, test := range []struct {
		name, rule string
		lines      []string
		want       Severity // "" for no alert at the end
	}{
		{"swap in use without traffic is no alarm, for hours", "swapping",
			times(30, swapLine(`"used_bytes":8000000000,"total_bytes":8200000000,"swap_out_bytes":500000000000,"swap_in_bytes":400000000000`)), ""},
		{"nor is it nearly full then", "swap_full",
			times(30, swapLine(`"used_bytes":30000000000,"total_bytes":30700000000,"swap_out_bytes":500000000000,"swap_in_bytes":400000000000`)), ""},
		{"traffic over two samples is", "swapping",
			times(3, swapLine(`"swap_out_bytes_per_second":5000000`)), SeverityWarning},
		{"one burst is not", "swapping",
			append(times(3, swapLine(`"swap_out_bytes_per_second":0`)), swapLine(`"swap_out_bytes_per_second":900000000`)), ""},
		{"counters make rates", "swapping",
			[]string{swapLine(`"swap_out_bytes":0`), swapLine(`"swap_out_bytes":100000000`), swapLine(`"swap_out_bytes":200000000`)}, SeverityWarning},
		{"a counter that goes back makes none", "swapping",
			[]string{swapLine(`"swap_out_bytes":900000000000`), swapLine(`"swap_out_bytes":0`), swapLine(`"swap_out_bytes":10`)}, ""},
		{"reading weights back for every token is critical", "swapping",
			times(3, swapLine(`"swap_in_bytes_per_second":700000000`)), SeverityCritical},
		{"growth with pressure is swapping", "swapping",
			[]string{`{"snapshot":{"swap":{"used_bytes":1000000000},` + pressureWarning + `}}`, `{"snapshot":{"swap":{"used_bytes":1300000000},` + pressureWarning + `}}`}, SeverityWarning},
		{"growth at normal pressure is not", "swapping",
			[]string{`{"snapshot":{"swap":{"used_bytes":1000000000},` + pressureNormal + `}}`, `{"snapshot":{"swap":{"used_bytes":1300000000},` + pressureNormal + `}}`}, ""},
		{"growth over more than a minute is not", "swapping",
			[]string{`{"snapshot":{"taken":"2026-01-01T00:00:00Z","swap":{"used_bytes":1000000000},` + pressureWarning + `}}`,
				`{"snapshot":{"taken":"2026-01-01T00:01:10Z","swap":{"used_bytes":1300000000},` + pressureWarning + `}}`}, ""},
		{"40.0 of 40.9 GB at normal pressure is critical", "swap_full",
			[]string{`{"snapshot":{"swap":{"used_bytes":42949672960,"total_bytes":43916042240},` + pressureNormal + `,"residents":[{"backend":"o","model":"m","size_bytes":21700000000}],"consumers":[{"name":"Blender","footprint_bytes":26000000000,"processes":1}]}}`}, SeverityCritical},
		{"a small full swap is not", "swap_full",
			times(3, `{"snapshot":{"swap":{"used_bytes":1000000000,"total_bytes":1024000000},`+pressureNormal+`}}`), ""},
		{"a small full swap under pressure is", "swap_full",
			times(1, `{"snapshot":{"swap":{"used_bytes":1000000000,"total_bytes":1024000000},`+pressureWarning+`}}`), SeverityCritical},
		{"a small full swap with traffic is a file about to be added", "swap_full",
			times(3, `{"snapshot":{"swap":{"used_bytes":1000000000,"total_bytes":1024000000,"swap_out_bytes_per_second":5000000},`+pressureNormal+`}}`), ""},
		{"a large one with traffic is", "swap_full",
			times(3, `{"snapshot":{"swap":{"used_bytes":10000000000,"total_bytes":10100000000,"swap_in_bytes_per_second":5000000},`+pressureNormal+`}}`), SeverityCritical},
		{"no swap at all divides nothing by zero", "swap_full", times(3, swapLine(`"used_bytes":0,"total_bytes":0`)), ""},
		{"pressure needs a moment", "pressure", times(2, `{"snapshot":{`+pressureWarning+`}}`), ""},
		{"and then warns", "pressure", times(4, `{"snapshot":{`+pressureWarning+`}}`), SeverityWarning},
		{"critical pressure warns at once", "pressure", []string{`{"snapshot":{"memory":{"pressure":"critical"}}}`}, SeverityCritical},
		{"unknown pressure never warns", "pressure", times(9, `{"snapshot":{"memory":{"total_bytes":1}}}`), ""},
		{"zero memory never warns", "pressure", times(9, `{"snapshot":{"memory":{"available_bytes":0,"used_bytes":0}}}`), ""},
		{"a server that went away", "server_down",
			times(4, `{"snapshot":{"backends":[{"name":"ollama","state":"not_running","answered":"2026-01-01T00:00:00Z"}]}}`), SeverityWarning},
		{"one that never ran is worth a line", "server_down",
			times(4, `{"snapshot":{"backends":[{"name":"ollama","state":"not_running"}]}}`), SeverityInfo},
		{"a silent one", "server_down", times(4, `{"snapshot":{"backends":[{"name":"ollama","state":"not_answering"}]}}`), SeverityWarning},
		{"a running one", "server_down", times(9, `{"snapshot":{"backends":[{"name":"ollama","state":"running"}]}}`), ""},
		{"an expiry eleven minutes past is stuck", "model_stuck",
			[]string{`{"snapshot":{"taken":"2026-02-22T12:11:00Z","residents":[{"backend":"ollama","model":"gpt-oss:120b","size_bytes":89000000000,"expires":"2026-02-22T12:00:00Z"}]}}`}, SeverityWarning},
		{"one just past is stopping", "model_stuck",
			[]string{`{"snapshot":{"taken":"2026-02-22T12:00:20Z","residents":[{"backend":"ollama","model":"gpt-oss:120b","expires":"2026-02-22T12:00:00Z"}]}}`}, ""},
		{"one in the future is not", "model_stuck",
			[]string{`{"snapshot":{"taken":"2026-02-22T12:00:20Z","residents":[{"backend":"ollama","model":"m","expires":"2026-02-22T12:05:00Z"}]}}`}, ""},
		{"a pinned one never", "model_stuck",
			[]string{`{"snapshot":{"taken":"2026-02-22T12:00:20Z","residents":[{"backend":"ollama","model":"m","pinned":true}]}}`}, ""},
		{"a cloud one never", "model_stuck",
			[]string{`{"snapshot":{"taken":"2026-02-22T12:11:00Z","residents":[{"backend":"ollama","model":"m","cloud":true,"expires":"2026-02-22T12:00:00Z"}]}}`}, ""},
		{"held memory", "memory_held",
			[]string{`{"snapshot":{"held":[{"backend":"ollama","model":"m","since":"2026-01-01T00:00:00Z","bytes":18000000000,"pid":4,"process":"ollama"}]}}`}, SeverityWarning},
	} {
		t.Run(test.name, func(t *testing.T) {
			updates := play(t, test.lines...)
			alert := standing(updates[len(updates)-1], test.rule)
			switch {
			case test.want == "" && alert != nil:
				t.Errorf("alert %+v, want none", alert)
			case test.want != "" && alert == nil:
				t.Errorf("no alert, want %s", test.want)
			case alert != nil && alert.Severity != test.want:
				t.Errorf("%s, want %s", alert.Severity, test.want)
			}
		})
	}
}

func TestAlertNamesTheBiggestUserModelOrNot(t *testing.T) {
	const line = `{"snapshot":{"swap":{"swap_out_bytes_per_second":50000000},"consumers":[{"name":"Blender","footprint_bytes":%,"processes":1}],` +
		`"residents":[{"backend":"ollama","model":"big","size_bytes":21700000000},{"backend":"ollama","model":"small","size_bytes":4000000000},{"backend":"ollama","model":"far","cloud":true,"size_bytes":900000000000}]}}`
	for footprint, want := range map[string]string{"26000000000": "Blender", "3000000000": "big"} {
		out := play(t, times(3, strings.ReplaceAll(line, "%", footprint))...)
		a := standing(out[2], "swapping")
		if a == nil || a.Evidence.Consumer != want || a.Evidence.ConsumerIsModel != (want == "big") {
			t.Errorf("alert %+v, want it to name %s", a, want)
		}
		if a.Action == nil || a.Action.Kind != CommandUnload || a.Action.Model != "big" {
			t.Errorf("action %+v, want to unload the biggest local model", a.Action)
		}
	}
}

func TestAlertKeepsTheNameItBeganWith(t *testing.T) {
	lines := append([]string{swapLine(`"swap_out_bytes_per_second":9000000`),
		`{"snapshot":{"swap":{"swap_out_bytes_per_second":9000000},"consumers":[{"name":"Blender","footprint_bytes":26000000000,"processes":1}]}}`},
		times(60, swapLine(`"swap_out_bytes_per_second":9000000`))...)
	out := play(t, lines...)
	if a := standing(out[len(out)-1], "swapping"); a == nil || a.Evidence.Consumer != "Blender" {
		t.Errorf("two minutes on the alert is %+v, want it to name Blender still", a)
	}
}

func TestNoFlapping(t *testing.T) {
	var lines []string
	for range 40 { // on for four seconds, off for four, for over five minutes
		lines = append(lines, times(2, swapLine(`"swap_out_bytes_per_second":9000000`))...)
		lines = append(lines, times(2, swapLine(`"swap_out_bytes_per_second":0`))...)
	}
	lines = append(lines, times(20, swapLine(`"swap_out_bytes_per_second":0,"used_bytes":9000000000,"total_bytes":9100000000`))...)
	out := play(t, lines...)
	if raised, cleared := notices(out, "swapping"); raised != 1 || cleared != 1 {
		t.Errorf("raised %d times and cleared %d times, want one of each", raised, cleared)
	}
	if len(out[len(out)-1].Alerts) != 0 {
		t.Error("the alert must go when the traffic stops, though swap stays in use")
	}
}

// TestAServerThatComesAndGoesIsToldSeldom: eight seconds away, four seconds there,
// for an hour.
func TestAServerThatComesAndGoesIsToldSeldom(t *testing.T) {
	server := func(second int, state string) string {
		return fmt.Sprintf(`{"snapshot":{"taken":%q,"awake_seconds":%d,"backends":[{"name":"ollama","state":%q,"answered":"2026-11-30T09:00:00Z"}]}}`,
			time.Date(2026, 11, 30, 10, 0, second, 0, time.UTC).Format(time.RFC3339), second, state)
	}
	var lines []string
	second := 0
	for range 300 {
		for i := range 12 {
			state := "not_running"
			if i >= 8 {
				state = "running"
			}
			lines = append(lines, server(second, state))
			second++
		}
	}
	updates := play(t, lines...)
	// The first time, and again when none was told for ten minutes.
	if raised, cleared := notices(updates, "server_down"); raised < 1 || raised > 6 || cleared != raised {
		t.Errorf("%d notices and %d all clear", raised, cleared)
	}
	// One that stays away is told nevertheless, and one that comes back at once.
	lines = nil
	for range 170 {
		lines = append(lines, server(second, "not_running"))
		second++
	}
	away := play(t, append(lines, server(second, "running"))...)
	if standing(away[169], "server_down") == nil || standing(away[170], "server_down") != nil {
		t.Error("an outage is not told, or the end of it is not")
	}
}

func TestSeverityRisesAtOnceAndFallsLate(t *testing.T) {
	warning, critical := `{"snapshot":{"memory":{"pressure":"warning"}}}`, `{"snapshot":{"memory":{"pressure":"critical"}}}`
	lines := append(append(times(5, warning), critical), times(3, warning)...)
	out := play(t, lines...)
	changed := out[5]
	if e := event(changed, EventAlertChanged); e == nil || e.Alert.Severity != SeverityCritical {
		t.Errorf("events %+v, want the alert to become critical", changed.Events)
	}
	if a := standing(out[8], "pressure"); a == nil || a.Severity != SeverityCritical {
		t.Errorf("six seconds later it is %+v, want critical still", a)
	}
	out = play(t, append(lines, times(20, warning)...)...)
	if a := standing(out[len(out)-1], "pressure"); a == nil || a.Severity != SeverityWarning {
		t.Errorf("later it is %+v, want a warning", a)
	}
	if raised, cleared := notices(out, "pressure"); raised != 1 || cleared != 0 {
		t.Errorf("raised %d and cleared %d, want one and none", raised, cleared)
	}
}

func TestAlertsOfSeveralServersAreApart(t *testing.T) {
	out := play(t, times(4, `{"snapshot":{"backends":[{"name":"a","state":"not_answering"},{"name":"b","state":"login_needed"}]}}`)...)
	ids := []string{}
	for _, a := range out[3].Alerts {
		ids = append(ids, a.ID)
	}
	if strings.Join(ids, " ") != "server_down:a server_down:b" {
		t.Errorf("alerts %v", ids)
	}
}

func snapshotOf(t *testing.T, text string) *Snapshot {
	t.Helper()
	var s Snapshot
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

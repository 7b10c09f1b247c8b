package view

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

func TestAmountsOfMemory(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 2411724: "2 MiB", 100 << 20: "100 MiB", 103 << 20: "0.1 GiB",
		1 << 30: "1.0 GiB", 15247150284: "14.2 GiB", 21845 << 20: "21.3 GiB", math.MaxUint64: "17179869184.0 GiB",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	if got := wholeSize(32 * g); got != "32 GiB" {
		t.Errorf("32 GiB of RAM is %q", got)
	}
}

func TestRatesThatAreNoNumbersAreAbsent(t *testing.T) {
	for _, f := range []*float64{nil, new(math.NaN()), new(math.Inf(1)), new(math.Inf(-1)), new(-1.0), new(0.0), new(0.4)} {
		if got := rate(f); got != "" {
			t.Errorf("rate %v says %q", f, got)
		}
	}
	for n, want := range map[float64]string{38e6: "36 MiB/s", 2.5e6: "2.4 MiB/s", 3e9: "2.8 GiB/s", 5000: "5 KiB/s", 12: "12 B/s"} {
		if got := rate(&n); got != want {
			t.Errorf("rate(%g) = %q, want %q", n, got, want)
		}
	}
}

func TestPercentKeepsAllAndNothingApart(t *testing.T) {
	for f, want := range map[float64]string{0: "0 %", 0.0001: "1 %", 0.62: "62 %", 0.9999: "99 %", 1: "100 %"} {
		if got := percent(f); got != want {
			t.Errorf("percent(%g) = %q, want %q", f, got, want)
		}
	}
}

func TestContextLengths(t *testing.T) {
	for n, want := range map[int]string{8192: "8K", 131072: "128K", 40960: "40K", 1 << 20: "1M", 10000: "10000", 100: "100", 0: "0"} {
		if got := tokens(n); got != want {
			t.Errorf("tokens(%d) = %q, want %q", n, got, want)
		}
	}
}

// Readings below 15 °C and above 125 °C are broken or sleeping sensors
// (github.com/vladkens/macmon/issues/12, github.com/exelban/stats/issues/2473).
func TestTemperaturesThatAreNoReadings(t *testing.T) {
	for _, n := range []float64{0, 5, 9.8, 10.4, 126, -3, math.NaN()} {
		if got := celsius(&n); got != "" {
			t.Errorf("%g °C is shown as %q", n, got)
		}
	}
	if got := celsius(new(58.47)); got != "58 °C" {
		t.Errorf("58.47 °C is shown as %q", got)
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 40 * time.Second: "40 s", 59600 * time.Millisecond: "1 min", 4*time.Minute + 10*time.Second: "4 min",
		59*time.Minute + 40*time.Second: "1 h", time.Hour: "1 h", 90 * time.Minute: "1 h 30 min", 23*time.Hour + 59*time.Minute + 50*time.Second: "1 d",
		52 * time.Hour: "2 d 4 h", -90 * time.Second: "2 min", math.MaxInt64: "3650 d", math.MinInt64: "3650 d",
	} {
		if got := In("en").duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	if got := In("zh").duration(52 * time.Hour); got != "2 天 4 小时" {
		t.Errorf("52 h in Chinese is %q", got)
	}
}

func TestNamesFromOutsideCannotSpoilARow(t *testing.T) {
	for in, want := range map[string]string{
		"qwen3:14b": "qwen3:14b", " a\n\tb ": "a b", "x\u202Egpj": "xgpj", "a\x1b[31m": "a[31m", "模型 甲": "模型 甲",
		"bad\xffutf": "badutf", strings.Repeat("x", 200): strings.Repeat("x", nameLength) + "…", "{{.Name}}": "{{.Name}}",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// The items to the left of a status item must stand still while its number
// changes (github.com/thijsvos/icecube/issues/165).
func TestTitleHasOneWidth(t *testing.T) {
	cells := map[int][]string{}
	for _, gib := range []float64{0, 0.04, 9.8, 10.2, 99.9, 100.0, 512.3, 999.9, 1024, 4096} {
		u := monitor.Update{Snapshot: &monitor.Snapshot{Headroom: &monitor.Headroom{Bytes: uint64(gib * gibibyte)}}}
		title := In("en").Render(u, at).Title
		cells[utf8.RuneCountInString(title)] = append(cells[utf8.RuneCountInString(title)], title)
		if strings.Contains(title, "  ") || strings.TrimLeft(title, figureSpace) == "" {
			t.Errorf("title for %g GiB is %q", gib, title)
		}
	}
	u := monitor.Update{Snapshot: &monitor.Snapshot{Memory: &metal.Memory{Used: new(g), Total: new(2 * g)}}}
	title := In("zh").Render(u, at).Title
	cells[utf8.RuneCountInString(title)] = append(cells[utf8.RuneCountInString(title)], title)
	if len(cells) != 1 {
		t.Errorf("titles have %d widths: %+q", len(cells), slices.Collect(maps.Values(cells)))
	}
	if !strings.HasSuffix(title, "50 %") {
		t.Errorf("without headroom the title is %q, want the used share", title)
	}
}

// Neither icon nor text leaves a click target that nobody sees
// (github.com/DaveyHert/Dishylink/pull/38): the title is there whenever there is
// any number to show, demo or not.
func TestTitleIsThereWithAnyNumber(t *testing.T) {
	for _, s := range []*monitor.Snapshot{
		{Headroom: &monitor.Headroom{}},
		{Memory: &metal.Memory{Used: new(g), Total: new(2 * g)}},
		{Simulated: true},
	} {
		if title := In("en").Render(monitor.Update{Snapshot: s}, at).Title; strings.Trim(title, figureSpace+" ") == "" {
			t.Errorf("the title of %+v is %q", s, title)
		}
	}
}

func TestBadgeHasAtMostThreeCharacters(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 10 * g / 9 * 10: "11", 14 * g: "14", 999 * g: "999", 1024 * g: "1T", math.MaxUint64: "99T"} {
		u := monitor.Update{Snapshot: &monitor.Snapshot{Headroom: &monitor.Headroom{Bytes: n}}}
		if got := In("en").Render(u, at).Badge; got != want {
			t.Errorf("badge of %d is %q, want %q", n, got, want)
		}
	}
}

func TestIconShowsTheWorst(t *testing.T) {
	down := []backend.Status{{Name: "ollama", State: backend.NotRunning}}
	login := []backend.Status{{Name: "ollama", State: backend.LoginNeeded}}
	for _, test := range []struct {
		name     string
		backends []backend.Status
		alerts   []monitor.Severity
		pressure metal.Pressure
		want     Icon
	}{
		{"nothing known", nil, nil, "", IconNormal},
		{"all well", nil, nil, metal.PressureNormal, IconNormal},
		{"a line, no warning", nil, []monitor.Severity{monitor.SeverityInfo}, "", IconNormal},
		{"warning", nil, []monitor.Severity{monitor.SeverityWarning}, metal.PressureNormal, IconWarning},
		{"pressure", nil, nil, metal.PressureWarning, IconWarning},
		{"critical", nil, []monitor.Severity{monitor.SeverityWarning, monitor.SeverityCritical}, "", IconCritical},
		{"no server", down, []monitor.Severity{monitor.SeverityWarning}, metal.PressureWarning, IconNoServer},
		{"no server and critical", down, nil, metal.PressureCritical, IconCritical},
		{"one of two servers", append(down, backend.Status{State: backend.Running}), nil, "", IconNormal},
		{"a server behind a login", login, nil, "", IconNormal},
		{"a server not asked yet", []backend.Status{{}}, nil, "", IconNormal},
	} {
		u := monitor.Update{Snapshot: &monitor.Snapshot{Backends: test.backends, Memory: &metal.Memory{Pressure: test.pressure}}}
		for _, s := range test.alerts {
			u.Alerts = append(u.Alerts, monitor.Alert{Severity: s})
		}
		if got := In("en").Render(u, at).Icon; got != test.want {
			t.Errorf("%s: icon %d, want %d", test.name, got, test.want)
		}
	}
}

// A zero total of swap is an answer and no failure
// (github.com/fastfetch-cli/fastfetch/pull/245).
func TestEmptySwapIsAnAnswer(t *testing.T) {
	row := In("en").Render(zeroSwap(), at).Swap
	if row.Text != "0 B, none in use" || row.Share != -1 || row.Level != Normal {
		t.Errorf("swap of 0 of 0 bytes is %+v", row)
	}
}

// Reported 31 GB, measured 19,963 MiB (github.com/ollama/ollama/issues/10553).
func TestEstimateAndMeasurementStandSideBySide(t *testing.T) {
	for _, m := range In("en").Render(models(), at).Models {
		both := strings.Contains(m.Detail, "Size (engine estimate): 28.9 GiB") && strings.Contains(m.Detail, "Footprint, measured: 19.5 GiB")
		if (m.Name == "estimate") != both {
			t.Errorf("%s: %s", m.Name, m.Detail)
		}
	}
}

func TestCloudModelsTakeNothingAndOfferNothing(t *testing.T) {
	v := In("en").Render(models(), at)
	for _, m := range v.Models {
		if m.Name == "big:cloud" && (m.Bytes != 0 || len(m.Actions) != 0 || m.State != "cloud") {
			t.Errorf("a cloud model is %+v", m)
		}
	}
	u := example()
	u.Snapshot.Residents[0].Cloud = true
	if all := In("en").Render(u, at).UnloadAll; all != nil {
		t.Errorf("unload all is offered for one local model: %+v", all)
	}
}

// Numbers read alike in every language: a comma in them breaks whoever reads
// them again.
func TestNumbersAreTheSameInEveryLanguage(t *testing.T) {
	digits := func(s string) string {
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c == '.' {
				return c
			}
			return -1
		}, s)
	}
	u := example()
	en, zh := In("en").Render(u, at), In("zh").Render(u, at)
	for i, rows := range [][2]Row{{en.Line, zh.Line}, {en.Memory, zh.Memory}, {en.Swap, zh.Swap}, {en.GPU, zh.GPU}, {en.Heat, zh.Heat}} {
		if a, b := digits(rows[0].Text), digits(rows[1].Text); a != b || a == "" {
			t.Errorf("row %d has numbers %q in English, %q in Chinese", i, a, b)
		}
	}
}

func TestNoticesAreOnePerTransition(t *testing.T) {
	alert := func(id string, s monitor.Severity) *monitor.Alert {
		return &monitor.Alert{ID: id, Rule: "pressure", Severity: s, Action: &monitor.Command{Kind: monitor.CommandUnload, Model: "m"}}
	}
	held := monitor.Alert{ID: "memory_held:ollama/m", Rule: "memory_held", Evidence: monitor.Evidence{Model: "m"}}
	u := monitor.Update{Snapshot: &monitor.Snapshot{Simulated: true}, Alerts: []monitor.Alert{held}, Events: []monitor.Event{
		{Kind: monitor.EventAlertRaised, Alert: alert("a", monitor.SeverityWarning)},
		{Kind: monitor.EventAlertChanged, Alert: alert("a", monitor.SeverityCritical)},
		{Kind: monitor.EventAlertRaised, Alert: alert("b", monitor.SeverityWarning)},
		{Kind: monitor.EventAlertCleared, Alert: alert("b", monitor.SeverityWarning)},
		{Kind: monitor.EventAlertRaised, Alert: alert("line", monitor.SeverityInfo)},
		{Kind: monitor.EventUnloadHeld, Evidence: monitor.Evidence{Model: "m"}},
		{Kind: monitor.EventUnloaded, Evidence: monitor.Evidence{Model: "n", Freed: new(g)}},
		{Kind: monitor.EventModelLoaded}, {Kind: monitor.EventSlept}, {Kind: monitor.EventAlertRaised},
	}}
	var got []string
	for _, n := range In("en").Notices(u) {
		text := n.ID + " " + string(n.Severity)
		if n.Withdraw {
			text += " withdrawn"
		} else if !strings.HasPrefix(n.Title, "demo · ") {
			t.Errorf("%s of a simulated Mac is not marked: %q", n.ID, n.Title)
		}
		if n.Action != nil {
			text += " " + n.Action.Label
		}
		got = append(got, text)
	}
	want := "a critical Unload m, b warning withdrawn, unload:n info"
	if strings.Join(got, ", ") != want {
		t.Errorf("notices are %q, want %q", got, want)
	}
}

func TestExampleIsOneLineThatReadsBack(t *testing.T) {
	line := Example()
	if strings.Contains(line, "\n") || Example() != line {
		t.Fatal("the example is more than one line, or differs from call to call")
	}
	var u monitor.Update
	if err := json.Unmarshal([]byte(line), &u); err != nil {
		t.Fatal(err)
	}
	if got, want := print(In("en").Render(u, at)), print(In("en").Render(example(), at)); got != want {
		t.Errorf("read back it shows something else:\n%s", difference(want, got))
	}
}

package monitor

import (
	"fmt"
	"strings"
	"testing"
)

// raisedEver is the most severe that an alert of a rule ever was, "" if it never stood.
func raisedEver(updates []Update, rule string) Severity {
	var worst Severity
	for _, u := range updates {
		if a := standing(u, rule); a != nil && rank(a.Severity) > rank(worst) {
			worst = a.Severity
		}
	}
	return worst
}

// swapCourse makes lines every two seconds: used and total swap in GB and what
// the counters say, at normal pressure on a Mac of 32 GiB.
func swapCourse(n int, used, total float64, counters func(i int) string) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"snapshot":{"swap":{"used_bytes":%.0f,"total_bytes":%.0f%s},"memory":{"pressure":"normal","total_bytes":34359738368}}}`,
			used*1e9, total*1e9, counters(i))
	}
	return lines
}

func still(int) string { return `,"swap_out_bytes":500000000000,"swap_in_bytes":400000000000` }

// Swap that is full of what nobody asks for makes no alert, not even for the
// moment in which there is only one reading of the counters.
func TestFullSwapOfAnIdleMachineIsSilentFromTheFirstTick(t *testing.T) {
	for _, share := range []float64{0.80, 0.95, 0.978, 0.999} {
		for _, total := range []float64{2, 18, 40.9, 100} {
			out := play(t, swapCourse(40, total*share, total, still)...)
			for _, rule := range []string{"swap_full", "swapping"} {
				if s := raisedEver(out, rule); s != "" {
					t.Errorf("%.1f of %.1f GB without traffic: %s stood as %s", total*share, total, rule, s)
				}
			}
		}
	}
	noRates := func(int) string { return `,"swap_out_bytes_per_second":0` }
	if s := raisedEver(play(t, swapCourse(40, 40, 40.9, noRates)...), "swap_full"); s != "" {
		t.Errorf("a rate of zero is no traffic, but swap_full stood as %s", s)
	}
}

// The same after a night's sleep: the counters make no rate for one tick, and
// that is no reason.
func TestFullSwapIsSilentAfterSleep(t *testing.T) {
	line := func(wall string, awake int, out string) string {
		return fmt.Sprintf(`{"snapshot":{"taken":"2026-03-0%sZ","awake_seconds":%d,"swap":{"used_bytes":31000000000,"total_bytes":32000000000,`+
			`"swap_out_bytes":%s,"swap_in_bytes":7},"memory":{"pressure":"normal","total_bytes":34359738368}}}`, wall, awake, out)
	}
	out := play(t, line("1T22:00:00", 100, "5000000000"), line("1T22:00:02", 102, "5000000000"),
		line("2T06:00:00", 104, "9000000000"), line("2T06:00:02", 106, "9000000000"), line("2T06:00:04", 108, "9000000000"))
	for _, rule := range []string{"swap_full", "swapping"} {
		if s := raisedEver(out, rule); s != "" {
			t.Errorf("%s stood as %s", rule, s)
		}
	}
	if out[2].Snapshot.Swap.OutRate != nil {
		t.Errorf("a rate of %v over the night, want none", *out[2].Snapshot.Swap.OutRate)
	}
}

// Full swap at normal pressure is critical as soon as traffic shows, and at once
// where the system counts none.
func TestFullSwapAtNormalPressure(t *testing.T) {
	moving := func(i int) string {
		return fmt.Sprintf(`,"swap_out_bytes":%d,"swap_in_bytes":%d`, 500000000000+i*40000000, 400000000000+i*160000000)
	}
	for _, test := range []struct {
		name        string
		used, total float64
		counters    func(int) string
		want        Severity
	}{
		{"the recorded case, with traffic", 40, 40.9, moving, SeverityCritical},
		{"the recorded case, traffic not counted", 40, 40.9, func(int) string { return "" }, SeverityCritical},
		{"a smaller one with traffic", 7.8, 8, moving, SeverityCritical},
		{"far from full", 20, 40.9, moving, ""},
		{"no swap", 0, 0, still, ""},
	} {
		out := play(t, swapCourse(4, test.used, test.total, test.counters)...)
		if s := raisedEver(out, "swap_full"); s != test.want {
			t.Errorf("%s: %q, want %q", test.name, s, test.want)
		}
	}
	for _, ram := range []string{"0", "68719476736", "549755813888"} { // unknown as zero, 64 and 512 GiB
		line := `{"snapshot":{"swap":{"used_bytes":40000000000,"total_bytes":40900000000},"memory":{"pressure":"normal","total_bytes":` + ram + `}}}`
		if a := standing(play(t, line)[0], "swap_full"); a == nil || a.Severity != SeverityCritical {
			t.Errorf("with %s bytes of RAM the alert is %+v, want critical", ram, a)
		}
	}
	small := `{"snapshot":{"swap":{"used_bytes":1000000000,"total_bytes":1024000000},"memory":{"pressure":"normal","total_bytes":0}}}`
	if a := standing(play(t, small)[0], "swap_full"); a != nil {
		t.Errorf("a total of zero bytes made an alert: %+v", a)
	}
}

// The alert is over soon after the traffic, though swap stays full for days.
func TestSwapAlertsEndWithTheTraffic(t *testing.T) {
	out := play(t, append(
		swapCourse(6, 39, 40.9, func(i int) string { return fmt.Sprintf(`,"swap_out_bytes":%d`, i*200000000) }),
		swapCourse(30, 39, 40.9, func(int) string { return `,"swap_out_bytes":1000000000` })...)...)
	for _, rule := range []string{"swap_full", "swapping"} {
		if raised, cleared := notices(out, rule); raised != 1 || cleared != 1 {
			t.Errorf("%s was raised %d times and cleared %d times, want one of each", rule, raised, cleared)
		}
	}
}

// The alert names the program that takes most, not the model, and its click
// unloads the model.
func TestFullSwapNamesTheOtherProgram(t *testing.T) {
	line := `{"snapshot":{"swap":{"used_bytes":40000000000,"total_bytes":40900000000},"memory":{"pressure":"normal"},` +
		`"residents":[{"backend":"ollama","model":"coder:32b","size_bytes":21700000000}],"consumers":[{"name":"Continuum","footprint_bytes":26000000000,"processes":2}]}}`
	a := standing(play(t, line)[0], "swap_full")
	if a == nil || a.Evidence.Consumer != "Continuum" || a.Evidence.ConsumerIsModel || a.Evidence.ConsumerBytes == nil || *a.Evidence.ConsumerBytes != 26e9 {
		t.Fatalf("alert %+v, want it to name Continuum and its 26 GB", a)
	}
	if a.Action == nil || a.Action.Model != "coder:32b" {
		t.Errorf("action %+v, want to unload coder:32b", a.Action)
	}
}

// Growth that came while the machine slept is none: the window begins after it.
func TestGrowthOverSleepIsNone(t *testing.T) {
	line := func(wall string, awake int, used string) string {
		return fmt.Sprintf(`{"snapshot":{"taken":"2026-03-0%sZ","awake_seconds":%d,"swap":{"used_bytes":%s},"memory":{"pressure":"warning"}}}`, wall, awake, used)
	}
	out := play(t, line("1T22:00:00", 10, "1000000000"), line("2T06:00:00", 12, "3000000000"), line("2T06:00:02", 14, "3000000000"))
	if s := raisedEver(out, "swapping"); s != "" {
		t.Errorf("growth of a night stood as %s", s)
	}
	out = play(t, line("1T22:00:00", 10, "1000000000"), line("2T06:00:00", 12, "3000000000"), line("2T06:00:20", 32, "3300000000"))
	a := standing(out[2], "swapping")
	if a == nil || a.Evidence.SwapGrowth == nil || *a.Evidence.SwapGrowth != 300e6 {
		t.Errorf("alert %+v, want growth of 300 MB since the sleep", a)
	}
}

// Lines a minute apart, as people write a course by hand, make rates; a night
// between two lines does not.
func TestLinesAMinuteApartMakeRates(t *testing.T) {
	const line = `{"snapshot":{"taken":"2026-03-01T10:%02d:00Z","swap":{"swap_out_bytes":%d}}}`
	var lines []string
	for i := range 4 {
		lines = append(lines, fmt.Sprintf(line, i, i*6000000000))
	}
	out := play(t, lines...)
	if r := out[1].Snapshot.Swap.OutRate; r == nil || *r != 1e8 {
		t.Errorf("rate %v, want 100 MB/s", r)
	}
	if a := standing(out[3], "swapping"); a == nil {
		t.Error("three minutes of swap-out made no alert")
	}
	night := strings.Replace(fmt.Sprintf(line, 4, 90000000000), "03-01T10", "03-01T18", 1)
	if r := play(t, append(lines, night)...)[4].Snapshot.Swap.OutRate; r != nil {
		t.Errorf("a rate of %v over eight hours, want none", *r)
	}
}

// The counters since the start are never an amount.
func TestSwapCountersAreNeverAnAmount(t *testing.T) {
	out := play(t, times(5, swapLine(`"swap_in_bytes":51539607552,"swap_out_bytes":91539607552`))...)
	s := out[4].Snapshot.Swap
	if s.Used != nil || s.Total != nil || len(out[4].Alerts) != 0 {
		t.Errorf("used %v, total %v, alerts %v: want none of them", s.Used, s.Total, out[4].Alerts)
	}
}

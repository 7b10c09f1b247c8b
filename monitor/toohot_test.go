package monitor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// degrees is a line for each temperature, two seconds apart.
func degrees(list ...float64) []string {
	var lines []string
	for _, t := range list {
		lines = append(lines, fmt.Sprintf(`{"snapshot":{"gpu":{"temperature_celsius":%v}}}`, t))
	}
	return lines
}

// playHot plays lines with a person's temperature in force, nil for none.
func playHot(t *testing.T, limit *float64, lines ...string) []Update {
	t.Helper()
	p := NewPlayer()
	p.SetHot(limit)
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

func TestAPersonsTemperature(t *testing.T) {
	const none = `{"snapshot":{"gpu":{"utilisation_ratio":0.5}}}`
	stuck := `{"snapshot":{"gpu":{"temperature_celsius":96,"temperature_stuck":true}}}`
	hot := times(6, degrees(91)[0]) // ten seconds from the first to the last
	for _, test := range []struct {
		name            string
		limit           *float64
		lines           []string
		standing        bool
		raised, cleared int
	}{
		{"none set", nil, times(60, degrees(119)[0]), false, 0, 0},
		{"below", new(90.0), times(60, degrees(89.9)[0]), false, 0, 0},
		{"not for a moment", new(90.0), hot[:5], false, 0, 0},
		{"for ten seconds", new(90.0), hot, true, 1, 0},
		{"exactly at it", new(91.0), hot, true, 1, 0},
		{"a dip starts the time again", new(90.0), append(degrees(91, 91, 91, 91, 89), hot[:5]...), false, 0, 0},
		{"it stays just below", new(90.0), append(slices.Clone(hot), degrees(89, 90, 88.5, 88, 89, 91)...), true, 1, 0},
		{"and goes two degrees below", new(90.0), append(slices.Clone(hot), degrees(87.9)...), false, 1, 1},
		{"then just below is below", new(90.0), append(slices.Clone(hot), degrees(87.9, 89, 89, 89, 89, 89, 89, 89)...), false, 1, 1},
		{"a stuck sensor is no heat", new(90.0), times(60, stuck), false, 0, 0},
		{"nor is a broken one", new(90.0), times(60, degrees(129)[0]), false, 0, 0},
		{"nor one that is asleep", new(40.0), times(60, degrees(0)[0]), false, 0, 0},
		{"a reading that is missing is not cool", new(90.0), append(slices.Clone(hot), none, stuck, none), true, 1, 0},
		{"for long it is nothing", new(90.0), append(slices.Clone(hot), times(70, none)...), false, 1, 1},
		{"a minute between lines says nothing about the minute", new(90.0), []string{
			`{"snapshot":{"taken":"2026-01-01T00:00:00Z","awake_seconds":10,"gpu":{"temperature_celsius":91}}}`,
			`{"snapshot":{"taken":"2026-01-01T00:01:00Z","awake_seconds":70,"gpu":{"temperature_celsius":91}}}`}, false, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := playHot(t, test.limit, test.lines...)
			a := standing(out[len(out)-1], "overheat")
			raised, cleared := notices(out, "overheat")
			if (a != nil) != test.standing || raised != test.raised || cleared != test.cleared {
				t.Errorf("standing %v, raised %d, cleared %d, want %v, %d, %d", a, raised, cleared, test.standing, test.raised, test.cleared)
			}
			if a != nil && (a.Severity != SeverityWarning || a.Evidence.Cause != CauseThreshold || *a.Evidence.TemperatureLimit != *test.limit || a.Evidence.Temperature == nil) {
				t.Errorf("%+v, want a warning with both temperatures", a)
			}
		})
	}
}

// One that is slowed too says so, in the same alert, with the limit beside it.
func TestAPersonsTemperatureAndASlowedGPU(t *testing.T) {
	low := gpuLine(`"clock_mhz":900,"top_clock_mhz":1620,"temperature_celsius":97`, atHeavy)
	out := playHot(t, new(90.0), times(10, low)...)
	a := standing(out[len(out)-1], "overheat")
	if a == nil || a.Evidence.Cause != string(CauseHeat) || a.Evidence.TemperatureLimit == nil || a.Evidence.Clock == nil {
		t.Errorf("%+v, want heat with its clock and the limit", a)
	}
	out = playHot(t, new(99.0), times(10, low)...)
	if a := standing(out[len(out)-1], "overheat"); a == nil || a.Evidence.TemperatureLimit != nil {
		t.Errorf("%+v, want no word of a limit that is not reached", a)
	}
	if raised, cleared := notices(out, "overheat"); raised != 1 || cleared != 0 {
		t.Errorf("raised %d and cleared %d times, want once", raised, cleared)
	}
}

// Another temperature is in force with the next line, judged from what was seen.
func TestAnotherTemperature(t *testing.T) {
	p, limits := NewPlayer(), []*float64{nil, new(80.0), new(80.0), new(90.0), new(85.0), nil}
	var got []string
	for _, limit := range limits {
		p.SetHot(limit)
		var u Update
		for range 6 {
			if err := json.Unmarshal([]byte(degrees(88)[0]), &u); err != nil {
				t.Fatal(err)
			}
			first := p.Step(u)
			if standing(first, "overheat") != nil {
				got = append(got, "hot")
			} else {
				got = append(got, "-")
			}
		}
	}
	want := strings.Repeat("- ", 6) + strings.Repeat("hot ", 12) + strings.Repeat("- ", 6) + strings.Repeat("hot ", 6) + strings.Repeat("- ", 6)
	if strings.Join(got, " ")+" " != want {
		t.Errorf("%q, want %q", got, want)
	}
}

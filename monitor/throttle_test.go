package monitor

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/metal"
)

// gpuLine is a line with a busy GPU, two seconds after the one before.
func gpuLine(fields string, more ...string) string {
	return `{"snapshot":{"gpu":{"utilisation_ratio":0.99,` + fields + `}` + strings.Join(more, "") + `}}`
}

const (
	atHeavy    = `,"thermal":{"pressure":"heavy"}`
	atModerate = `,"thermal":{"pressure":"moderate"}`
	atNominal  = `,"thermal":{"pressure":"nominal"}`
	modelBusy  = `,"residents":[{"backend":"ollama","model":"m","size_bytes":9000000000,"gpu_bytes":9000000000,"activity":"busy"}]`
	modelIdle  = `,"residents":[{"backend":"ollama","model":"m","size_bytes":9000000000,"gpu_bytes":9000000000,"activity":"idle"}]`
)

func reasons(v *Throttle) string {
	var list []string
	for _, s := range v.Evidence {
		list = append(list, string(s.Reason))
	}
	return strings.Join(list, " ")
}

func TestThrottle(t *testing.T) {
	const full, low = `"clock_mhz":1600,"top_clock_mhz":1620`, `"clock_mhz":1100,"top_clock_mhz":1620`
	watts := func(n int, w float64, more ...string) []string {
		return times(n, gpuLine(fmt.Sprintf(`"power_watts":%v`, w), more...))
	}
	for _, test := range []struct {
		name   string
		lines  []string
		want   string // "" nothing told, "no", or the cause
		signs  string
		before int // for how many of the last lines it must have been so
	}{
		{"full clock", times(20, gpuLine(full)), "no", "", 20},
		{"a requested full clock proves nothing", times(20, gpuLine(full+`,"clock_requested":true`, atNominal)), "", "", 20},
		{"nominal alone says nothing", times(20, `{"snapshot":{"thermal":{"pressure":"nominal"}}}`), "", "", 20},
		{"nothing known of a busy GPU", times(15, gpuLine(`"power_watts":20`, atNominal)), "", "", 15},
		{"an idle GPU at a low clock", times(20, `{"snapshot":{"gpu":{"utilisation_ratio":0.2,`+low+`},"thermal":{"pressure":"nominal"}}}`), "no", "", 20},
		{"low clock with pressure", times(4, gpuLine(low, atHeavy)), string(CauseHeat), "clock thermal_pressure", 1},
		{"a requested low clock is a sign", times(4, gpuLine(low+`,"clock_requested":true`, atModerate)), string(CauseHeat), "clock thermal_pressure", 1},
		{"just below the top with pressure", times(4, gpuLine(`"clock_mhz":1490,"top_clock_mhz":1620`, atModerate)), string(CauseHeat), "clock thermal_pressure", 1},
		{"just below the top without", times(20, gpuLine(`"clock_mhz":1490,"top_clock_mhz":1620`, atNominal)), "no", "", 20},
		{"low clock, nominal", times(6, gpuLine(low, atNominal)), string(CausePolicy), "clock", 1},
		{"low clock, nominal and hot", times(4, gpuLine(low+`,"temperature_celsius":104`, atNominal)), string(CauseHeat), "clock temperature", 1},
		{"low clock in low power mode", times(6, gpuLine(low, `,"power":{"low_power_mode":true}`)), string(CauseLowPower), "clock", 1},
		{"not for a moment", times(2, gpuLine(low, atHeavy)), "no", "", 2},
		{"heavy alone while busy", times(4, gpuLine(`"power_watts":20`, atHeavy)), string(CauseHeat), "thermal_pressure", 1},
		{"heavy with the full clock measured", times(9, gpuLine(full, atHeavy)), "no", "", 9},
		{"heavy with the full clock requested", times(9, gpuLine(full+`,"clock_requested":true`, atHeavy)), string(CauseHeat), "thermal_pressure", 1},
		{"hot alone is no sign", times(20, gpuLine(full+`,"temperature_celsius":110`, atNominal)), "no", "", 20},
		{"watts below the usual", slices.Concat(watts(20, 50), watts(16, 24)), string(CausePolicy), "power", 1},
		{"not before half a minute", slices.Concat(watts(20, 50), watts(14, 24)), "no", "", 1},
		{"watts with the full clock measured are other work", slices.Concat(times(20, gpuLine(full+`,"power_watts":50`)), times(30, gpuLine(full+`,"power_watts":24`))), "no", "", 30},
		{"watts of another model", slices.Concat(watts(20, 50, modelIdle), watts(20, 24, modelBusy)), "no", "", 1},
		{"a GPU that was never fast is not slow", watts(60, 24), "no", "", 1},
		{"a little less is not slow", slices.Concat(watts(20, 50), watts(30, 42)), "no", "", 30},
		{"no sensors", times(20, gpuLine(`"temperature_celsius":0,"power_watts":0,"clock_mhz":0,"top_clock_mhz":0`)), "", "", 20},
		{"a stuck sensor is no heat", times(20, gpuLine(`"clock_mhz":1490,"top_clock_mhz":1620,"temperature_celsius":99,"temperature_stuck":true`)), "no", "", 20},
		{"a sensor above 125 is no heat", times(20, gpuLine(`"clock_mhz":1490,"top_clock_mhz":1620,"temperature_celsius":140`)), "no", "", 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := play(t, test.lines...)
			for _, u := range out[len(out)-test.before:] {
				v := u.Snapshot.Throttle
				switch got := v; {
				case test.want == "" && got != nil:
					t.Fatalf("%+v, want nothing told", *v)
				case test.want == "":
				case got == nil:
					t.Fatalf("nothing told, want %s", test.want)
				case test.want == "no" && (got.Throttled || got.Since != nil || len(got.Evidence) > 0 || got.Cause != ""):
					t.Fatalf("%+v, want not throttled", *v)
				case test.want != "no" && (!got.Throttled || string(got.Cause) != test.want || reasons(v) != test.signs || v.Since == nil):
					t.Fatalf("%+v, want %s for %s", *v, test.want, test.signs)
				}
			}
		})
	}
}

// The clock is down by two thirds and every counter says nominal
// (github.com/feedback-assistant/reports/issues/830).
func TestSlowedByPolicyWhileNominal(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "shared", "cases", "114.json"))
	if err != nil {
		t.Skip("the recorded case is not here (../shared/cases/114.json)")
	}
	var regimes []struct {
		Watts  float64 `json:"w"`
		Util   float64 `json:"util"`
		State  string  `json:"state"`
		Speed  float64 `json:"rel_speed"`
		Expect string  `json:"expect"`
	}
	if err := json.Unmarshal(raw, &regimes); err != nil {
		t.Fatal(err)
	}
	for name, tell := range map[string]func(watts, speed float64) (fields string, rate float64){
		"watts":        func(w, _ float64) (string, float64) { return fmt.Sprintf(`"power_watts":%v`, w), 0 },
		"decode rates": func(_, speed float64) (string, float64) { return `"power_watts":0`, 20 * speed },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			var rates []float64
			e.throttle.decoding = func(s *Snapshot) (rate, usual float64, ok bool) {
				i := int(*s.Awake) / 2
				return rates[i], 20, rates[i] > 0
			}
			for _, r := range regimes {
				fields, rate := tell(r.Watts, r.Speed)
				var last *Throttle
				for range 20 {
					s := snapshotOf(t, fmt.Sprintf(`{"gpu":{"utilisation_ratio":%v,%s},"thermal":{"pressure":%q}}`, r.Util/100, fields, r.State))
					s.Awake = new(2 * float64(len(rates)))
					s.Taken = s.Taken.AddDate(2025, 0, 0).Add(seconds(*s.Awake))
					rates = append(rates, rate)
					e.complete(s)
					last = s.Throttle
				}
				if slowed := last != nil && last.Throttled; slowed != (r.Expect == "slowed") {
					t.Errorf("%v W, speed %v: %+v, want %s", r.Watts, r.Speed, last, r.Expect)
				} else if slowed && last.Cause != CausePolicy {
					t.Errorf("cause %s, want the policy that is not reported", last.Cause)
				}
			}
		})
	}
}

// A verdict does not come and go with single readings, begins when its signs
// did, and is over at once when the system says that its heat is.
func TestThrottleLatches(t *testing.T) {
	const full, low = `"clock_mhz":1600,"top_clock_mhz":1620`, `"clock_mhz":1100,"top_clock_mhz":1620`
	lines := times(3, gpuLine(full, atModerate))
	for range 20 {
		lines = append(lines, gpuLine(low, atModerate), gpuLine(low, atModerate), gpuLine(low, atModerate), gpuLine(low, atModerate), gpuLine(full, atModerate), gpuLine(full, atModerate))
	}
	on := len(lines)
	lines = append(lines, times(4, gpuLine(full, atNominal))...)
	out := play(t, lines...)
	changes := 0
	for i := 1; i < len(out); i++ {
		if out[i].Snapshot.Throttle.Throttled != out[i-1].Snapshot.Throttle.Throttled {
			changes++
		}
	}
	if changes != 2 {
		t.Errorf("the verdict changed %d times, want once on and once off", changes)
	}
	if v := out[on-1].Snapshot.Throttle; !v.Throttled || !v.Since.Equal(out[3].Snapshot.Taken) || len(v.Evidence) == 0 {
		t.Errorf("%+v, want it to hold since %v, with its last evidence", v, out[3].Snapshot.Taken)
	}
	if v := out[on].Snapshot.Throttle; v.Throttled {
		t.Errorf("%+v one reading after recovery", v)
	}
	if raised, cleared := notices(out, "overheat"); raised != 1 || cleared != 1 {
		t.Errorf("alert raised %d and cleared %d times", raised, cleared)
	}
}

// Requests with pauses between, on a machine that stays warm, are one episode;
// one that has nothing to do is not called slowed for ever.
func TestThrottleThroughPausesOfWork(t *testing.T) {
	const low = `"clock_mhz":1100,"top_clock_mhz":1620`
	const idle = `{"snapshot":{"gpu":{"utilisation_ratio":0.01,"clock_mhz":338,"top_clock_mhz":1620},"thermal":{"pressure":"moderate"}}}`
	lines := times(5, gpuLine(low, atModerate))
	for range 5 {
		lines = append(append(lines, times(10, idle)...), times(5, gpuLine(low, atModerate))...)
	}
	out := play(t, append(lines, times(31, idle)...)...)
	for i, u := range out[3 : len(out)-2] {
		if !u.Snapshot.Throttle.Throttled {
			t.Fatalf("line %d is not throttled", i+3)
		}
	}
	if last := out[len(out)-1].Snapshot.Throttle; last.Throttled {
		t.Errorf("%+v after a minute without work", last)
	}
}

func TestSleepEndsTheVerdict(t *testing.T) {
	line := func(awake, hour int) string {
		return fmt.Sprintf(`{"snapshot":{"taken":"2026-01-01T%02d:00:%02dZ","awake_seconds":%d,"gpu":{"utilisation_ratio":1,"clock_mhz":900,"top_clock_mhz":1620}%s}}`, hour, awake, awake, atHeavy)
	}
	out := play(t, line(0, 0), line(3, 0), line(6, 0), line(8, 5), line(10, 5))
	if !out[2].Snapshot.Throttle.Throttled || out[3].Snapshot.Throttle.Throttled || out[4].Snapshot.Throttle.Throttled {
		t.Error("want throttled before sleep and a new judgement after it")
	}
}

// 30 W, then 1 W for minutes in the middle of an answer
// (github.com/ml-explore/mlx-examples/pull/1078).
func TestPausedByHeat(t *testing.T) {
	line := func(watts, utilisation float64, more string) string {
		return fmt.Sprintf(`{"snapshot":{"gpu":{"utilisation_ratio":%v,"power_watts":%v}%s}}`, utilisation, watts, more)
	}
	for _, test := range []struct {
		name   string
		before string
		after  string
		want   bool
	}{
		{"busy all along", line(30, .98, modelBusy), line(1, .05, modelBusy), true},
		{"busy, utilisation stays", line(30, .98, modelBusy), line(1, .98, modelBusy), true},
		{"the answer is over", line(30, .98, modelBusy), line(1, .02, modelIdle), false},
		{"no model", line(30, .98, ""), line(1, .02, ""), false},
		{"it was light work", line(3, .4, modelBusy), line(.4, .02, modelBusy), false},
		{"no reading", line(30, .98, modelBusy), line(0, .02, modelBusy), false},
		{"a cool GPU does not stop for heat", strings.ReplaceAll(line(30, .98, modelBusy), `"power`, `"temperature_celsius":52,"power`), line(1, .02, modelBusy), false},
		{"the work of another model", line(30, .98, modelBusy), line(1, .02, strings.ReplaceAll(modelBusy, `"m"`, `"n"`)), false},
		{"a model on the processor", line(30, .98, strings.ReplaceAll(modelBusy, `"gpu_bytes":9000000000`, `"gpu_bytes":0`)),
			line(1, .02, strings.ReplaceAll(modelBusy, `"gpu_bytes":9000000000`, `"gpu_bytes":0`)), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := play(t, append(times(15, test.before), times(60, test.after)...)...)
			for n, want := range map[int]bool{15: false, 18: false, 20: test.want, 21: test.want, 60: test.want, 74: test.want} {
				v := out[n].Snapshot.Throttle
				if paused := v != nil && v.Cause == CausePaused; paused != want {
					t.Errorf("%d s after the fall: %+v, want paused %t", 2*(n-14), v, want)
				}
			}
			if a := standing(out[74], "overheat"); test.want != (a != nil) {
				t.Errorf("alert %+v", a)
			}
			if !test.want {
				return
			}
			out = play(t, slices.Concat(times(15, test.before), times(60, test.after), times(5, test.before))...)
			if v := out[79].Snapshot.Throttle; v != nil && v.Throttled {
				t.Errorf("%+v after it went on", v)
			}
		})
	}
}

// A model in the middle of its load watts is no pause in sight of one reading less.
func TestPauseNeedsItsTime(t *testing.T) {
	lines := times(15, gpuLine(`"power_watts":30`, modelBusy))
	for range 10 {
		lines = append(lines, append(times(3, gpuLine(`"power_watts":1`, modelBusy)), gpuLine(`"power_watts":30`, modelBusy))...)
	}
	for _, u := range play(t, lines...) {
		if v := u.Snapshot.Throttle; v != nil && v.Cause == CausePaused {
			t.Fatalf("%+v, want no pause of a load with gaps", v)
		}
	}
}

// Evidence carries its numbers, those before included.
func TestEvidenceOfHeat(t *testing.T) {
	before := gpuLine(`"clock_mhz":1610,"top_clock_mhz":1620,"power_watts":18,"temperature_celsius":88`, atNominal)
	after := gpuLine(`"clock_mhz":1010,"top_clock_mhz":1620,"power_watts":11,"temperature_celsius":101`, atHeavy)
	out := play(t, append(times(20, before), times(20, after)...)...)
	for _, u := range out[:20] {
		if len(u.Alerts) > 0 {
			t.Fatalf("alerts %+v at full speed", u.Alerts)
		}
	}
	u := out[len(out)-1]
	v := u.Snapshot.Throttle
	if reasons(v) != "clock power thermal_pressure temperature" {
		t.Fatalf("evidence %s", reasons(v))
	}
	clock, power, pressure, hot := v.Evidence[0], v.Evidence[1], v.Evidence[2], v.Evidence[3]
	if *clock.Clock != 1010 || *clock.TopClock != 1620 || *clock.UsualClock != 1610 || *power.Power != 11 || *power.UsualPower != 18 ||
		pressure.Pressure != metal.ThermalHeavy || *hot.Temperature != 101 {
		t.Errorf("numbers %+v", v.Evidence)
	}
	a := standing(u, "overheat")
	if a == nil || a.Severity != SeverityWarning || a.Action != nil {
		t.Fatalf("alert %+v", a)
	}
	if e := a.Evidence; *e.Temperature != 101 || *e.Clock != 1010 || *e.UsualClock != 1610 || *e.Power != 11 || *e.UsualPower != 18 || e.ThermalPressure != "heavy" || e.Cause != "heat" {
		t.Errorf("evidence %+v", e)
	}
}

func TestOverheat(t *testing.T) {
	thermal := func(word string) string { return `{"snapshot":{"thermal":{"pressure":"` + word + `"}}}` }
	for _, test := range []struct {
		name  string
		lines []string
		want  Severity
	}{
		{"nominal", times(9, thermal("nominal")), ""},
		{"moderate alone", times(9, thermal("moderate")), ""},
		{"heavy", times(9, thermal("heavy")), SeverityWarning},
		{"trapping", times(9, thermal("trapping")), SeverityCritical},
		{"sleeping", times(9, thermal("sleeping")), SeverityCritical},
		{"a word nobody knows", times(9, thermal("balmy")), ""},
		{"gone with the next reading", append(times(9, thermal("heavy")), thermal("nominal")), ""},
		{"never of degrees alone", times(90, gpuLine(`"temperature_celsius":112`, atNominal)), ""},
		{"never of degrees alone, clock at its top", times(90, gpuLine(`"temperature_celsius":112,"clock_mhz":1620,"top_clock_mhz":1620`, atModerate)), ""},
		{"low power mode is a choice", times(20, gpuLine(`"clock_mhz":700,"top_clock_mhz":1620`, `,"power":{"low_power_mode":true}`)), ""},
		{"slowed in low power mode under heat", times(20, gpuLine(`"clock_mhz":700,"top_clock_mhz":1620`, atHeavy, `,"power":{"low_power_mode":true}`)), SeverityWarning},
		{"a verdict written by hand", times(2, `{"snapshot":{"throttle":{"throttled":true,"cause":"heat"}}}`), SeverityWarning},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := play(t, test.lines...)
			a := standing(out[len(out)-1], "overheat")
			if (a == nil) != (test.want == "") || a != nil && a.Severity != test.want {
				t.Errorf("%+v, want %q", a, test.want)
			}
		})
	}
}

// What is made of a line can be written, whatever the line says.
func TestThrottleOfNonsense(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e308} {
		e := newEngine()
		for i := range 40 {
			s := snapshotOf(t, `{"gpu":{"utilisation_ratio":0.99,"clock_mhz":1,"top_clock_mhz":1,"power_watts":1,"temperature_celsius":1},"thermal":{"pressure":"heavy"}`+modelBusy+`}`)
			s.Awake = new(float64(i))
			*s.GPU.Clock, *s.GPU.Power, *s.GPU.Temperature = x, x, x
			if i%2 == 0 {
				*s.GPU.TopClock, *s.GPU.Utilisation = x, x
			}
			e.complete(s)
			if _, err := json.Marshal(s.Throttle); err != nil {
				t.Errorf("%v: %v", x, err)
			}
		}
	}
}

// A tick of an idle machine pays next to nothing for the verdict, and a busy one little.
func BenchmarkThrottle(b *testing.B) {
	for name, utilisation := range map[string]float64{"idle": 0.01, "busy": 0.99} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			e := newEngine()
			i := 0
			for b.Loop() {
				i++
				s := &Snapshot{Awake: new(float64(i)), GPU: &metal.GPU{Utilisation: &utilisation, Clock: new(1100.0), TopClock: new(1620.0), Power: new(20.0)}}
				e.history.add(s)
				s.Throttle = e.throttle.step(&e.history)
			}
		})
	}
}

package monitor

import (
	"fmt"
	"testing"
	"time"
)

// grown is a course of one model's footprint in GB, a reading every step.
func grown(step time.Duration, more string, footprints ...float64) []string {
	var lines []string
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, f := range footprints {
		lines = append(lines, fmt.Sprintf(`{"snapshot":{"taken":%q,"memory":{"total_bytes":137438953472,"pressure":"normal"},`+
			`"residents":[{"backend":"ollama","model":"m","footprint_bytes":%.0f%s}]}}`, at.Format(time.RFC3339), f*1e9, more))
		at = at.Add(step)
	}
	return lines
}

func ramp(n int, from, each float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = from + each*float64(i)
	}
	return list
}

func TestRunnerGrows(t *testing.T) {
	flat := func(n int, f float64) []float64 { return ramp(n, f, 0) }
	size := func(gb float64) string { return fmt.Sprintf(`,"size_bytes":%.0f`, gb*1e9) }
	for _, test := range []struct {
		name  string
		lines []string
		cause string
		want  Severity
	}{
		// github.com/jundot/omlx/issues/3065: 32 to 146 GB on 128 GB while pressure is normal
		{"overnight, by the hour", grown(time.Hour, "", ramp(4, 32, 12)...), causeGrowing, SeverityWarning},
		{"overnight, to the end", grown(time.Hour, "", ramp(10, 32, 12.7)...), causeOverRAM, SeverityCritical},
		{"15 GB an hour, by the minute", grown(time.Minute, "", ramp(15, 32, 0.25)...), causeGrowing, SeverityWarning},
		{"15 GB an hour, every two seconds", grown(2*time.Second, "", ramp(400, 32, 0.25/30)...), causeGrowing, SeverityWarning},
		{"5 GB an hour", grown(time.Minute, "", ramp(100, 32, 5./60)...), "", ""},
		{"loading is no growth", grown(2*time.Second, "", append(ramp(10, 0.1, 4), flat(600, 40)...)...), "", ""},
		{"a step is no trend", grown(time.Minute, "", append(flat(8, 30), flat(40, 36)...)...), "", ""},
		{"it stopped growing", grown(time.Minute, "", append(ramp(20, 30, 0.25), flat(60, 35)...)...), "", ""},
		{"above RAM", grown(2*time.Second, "", flat(2, 146)...), causeOverRAM, SeverityCritical},
		// github.com/ml-explore/mlx-lm/issues/1390: a 4B model with 26 GB of prompt cache
		{"past its model's size", grown(2*time.Second, size(4), flat(20, 26.28)...), causeOverSize, SeverityWarning},
		{"past its size for a moment", grown(2*time.Second, size(4), append(flat(10, 9), flat(10, 4.2)...)...), "", ""},
		{"buffers of a small model", grown(2*time.Second, size(0.3), flat(60, 0.9)...), "", ""},
		{"as large as it says", grown(2*time.Second, size(20), flat(60, 24)...), "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := play(t, test.lines...)
			a := standing(out[len(out)-1], "runner_grows")
			if (a == nil) != (test.want == "") || a != nil && (a.Severity != test.want || a.Evidence.Cause != test.cause) {
				t.Fatalf("%+v, want %s %s", a, test.want, test.cause)
			}
			if a == nil {
				return
			}
			if a.Action == nil || a.Action.Kind != CommandUnload || a.Action.Model != "m" || a.Evidence.Bytes == nil {
				t.Errorf("%+v, want to unload the model", a)
			}
			if test.cause == causeGrowing && (*a.Evidence.GrowthRate*3600 < 10e9 || *a.Evidence.GrowthRate*3600 > 16e9) {
				t.Errorf("grows %v GB an hour", *a.Evidence.GrowthRate*3600/1e9)
			}
		})
	}
}

func TestRunnerOverTheGPULimit(t *testing.T) {
	line := func(resident string) string {
		return `{"snapshot":{"memory":{"total_bytes":68719476736},"gpu":{"working_set_bytes":51539607552},"residents":[{"backend":"ollama","model":"m","footprint_bytes":55000000000` + resident + `}]}}`
	}
	if a := standing(play(t, times(8, line(""))...)[7], "runner_grows"); a == nil || a.Evidence.Cause != causeOverLimit || *a.Evidence.Limit != 51539607552 {
		t.Errorf("alert %+v, want one about the limit", a)
	}
	// A server that splits a model between GPU and processor means to.
	if a := standing(play(t, times(8, line(`,"size_bytes":54000000000,"gpu_bytes":45000000000`))...)[7], "runner_grows"); a != nil {
		t.Errorf("alert %+v of a model that is partly on the processor", a)
	}
}

// Another process is another footprint.
func TestGrowthFollowsOneProcess(t *testing.T) {
	var f footprints
	for i := range 30 {
		if rate := f.note(1+i/8, uint64(i)*gib, time.Duration(i)*time.Minute); rate != nil {
			t.Fatalf("%v within eight minutes of one process", *rate)
		}
	}
}

func TestSwapWear(t *testing.T) {
	line := func(clock string, out float64, more string) string {
		return fmt.Sprintf(`{"snapshot":{"taken":"2026-03-0%sZ","swap":{"swap_out_bytes":%.0f}%s}}`, clock, out*1e9, more)
	}
	up := func(seconds float64) string { return fmt.Sprintf(`,"machine":{"uptime_seconds":%v}`, seconds) }
	for _, test := range []struct {
		name  string
		lines []string
		today float64
		since string
		alert bool
	}{
		{"from the first reading", []string{line("1T10:00:00", 700, ""), line("1T12:00:00", 730, "")}, 30, "2026-03-01T10:00:00Z", false},
		{"too much", []string{line("1T10:00:00", 700, ""), line("1T12:00:00", 749, ""), line("1T18:00:00", 751, "")}, 51, "2026-03-01T10:00:00Z", true},
		{"a new day begins at nothing", []string{line("1T10:00:00", 700, ""), line("1T23:59:58", 800, ""), line("2T00:00:02", 800.5, "")}, 0.5, "2026-03-02T00:00:00Z", false},
		{"the system started today", []string{line("1T10:00:00", 60, up(7200)), line("1T10:00:02", 60, up(7202))}, 60, "2026-03-01T08:00:00Z", true},
		{"the system started yesterday", []string{line("1T10:00:00", 60, up(86400)), line("1T10:00:02", 61, up(86402))}, 1, "2026-03-01T10:00:00Z", false},
		{"the counter began again", []string{line("1T10:00:00", 60, ""), line("1T11:00:00", 70, ""), line("1T12:00:00", 2, "")}, 12, "2026-03-01T10:00:00Z", false},
		{"the clock was set back a day", []string{line("2T10:00:00", 60, ""), line("2T11:00:00", 70, ""), line("1T12:00:00", 71, "")}, 0, "2026-03-01T12:00:00Z", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := play(t, test.lines...)
			u := out[len(out)-1]
			s := u.Snapshot.Swap
			if got := float64(*s.OutToday) / 1e9; got < test.today-0.001 || got > test.today+0.001 || s.OutSince.Format(time.RFC3339) != test.since {
				t.Errorf("%v GB since %v, want %v since %s", got, s.OutSince, test.today, test.since)
			}
			if a := standing(u, "swap_wear"); (a != nil) != test.alert {
				t.Errorf("alert %+v", a)
			}
		})
	}
	if s := play(t, `{"snapshot":{"swap":{"used_bytes":5}}}`)[0].Snapshot.Swap; s.OutToday != nil {
		t.Error("a count without a counter")
	}
}

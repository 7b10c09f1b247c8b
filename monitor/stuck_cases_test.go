package monitor

import (
	"fmt"
	"strings"
	"testing"
)

// residentLine is a line with one model: wall time and time awake, and the fields of the model.
func residentLine(wall string, awake int, fields string) string {
	return fmt.Sprintf(`{"snapshot":{"taken":"2026-03-%sZ","awake_seconds":%d,"residents":[{"backend":"ollama","model":"m","size_bytes":89000000000,%s}]}}`, wall, awake, fields)
}

func activityOf(u Update) Activity { return u.Snapshot.Residents[0].Activity }

// A keep-alive that ran out while the machine slept leaves the model listed after
// waking: the server's timer stood still. That is no model that is stuck.
func TestWakingIsNotStuck(t *testing.T) {
	const expires = `"expires":"2026-03-01T22:05:00Z"`
	out := play(t, residentLine("01T22:00:00", 100, expires),
		residentLine("02T06:00:00", 102, expires), residentLine("02T06:02:00", 222, expires), residentLine("02T06:04:50", 392, expires),
		residentLine("02T06:05:30", 432, expires), residentLine("02T06:06:02", 464, expires))
	want := []Activity{ActivityIdle, ActivityStopping, ActivityStopping, ActivityStopping, ActivityStopping, ActivityStuck}
	for i, u := range out {
		if activityOf(u) != want[i] {
			t.Errorf("line %d: %s, want %s", i+1, activityOf(u), want[i])
		}
	}
	if a := standing(out[5], "model_stuck"); a == nil {
		t.Error("five minutes and one more after waking it is stuck, want the alert")
	}
	// Another request after waking sets a new expiry; what was slept before is nothing to it.
	const later = `"expires":"2026-03-02T06:10:00Z"`
	out = play(t, residentLine("01T22:00:00", 100, expires), residentLine("02T06:00:00", 102, expires),
		residentLine("02T06:05:00", 402, later), residentLine("02T06:10:30", 732, later), residentLine("02T06:11:00", 762, later))
	if activityOf(out[3]) != ActivityStopping || activityOf(out[4]) != ActivityStuck {
		t.Errorf("%s and %s, want stopping and stuck", activityOf(out[3]), activityOf(out[4]))
	}
}

// A clock set forward by an hour passes expiries too.
func TestClockSetForwardIsNotStuck(t *testing.T) {
	line := func(wall string, awake, uptime int) string {
		return strings.Replace(residentLine(wall, awake, `"expires":"2026-03-01T22:05:00Z"`), `"residents"`,
			fmt.Sprintf(`"machine":{"uptime_seconds":%d},"residents"`, uptime), 1)
	}
	out := play(t, line("01T22:00:00", 100, 1000), line("01T23:00:02", 102, 1002), line("01T23:02:00", 220, 1120))
	for i, u := range out[1:] {
		if activityOf(u) != ActivityStopping {
			t.Errorf("line %d: %s, want stopping", i+2, activityOf(u))
		}
	}
}

func TestStuck(t *testing.T) {
	for _, test := range []struct {
		name, fields string
		walls        []string
		want         []Activity
		seconds      float64 // that the alert says at the end
	}{
		{"the recorded case", `"context_tokens":131072,"expires":"2026-03-01T12:00:00Z"`,
			[]string{"01T12:11:00"}, []Activity{ActivityStuck}, 660},
		{"seen from before its expiry", `"expires":"2026-03-01T12:00:00Z"`,
			[]string{"01T11:59:50", "01T12:00:01", "01T12:00:03", "01T12:00:59", "01T12:01:00"},
			[]Activity{ActivityIdle, ActivityIdle, ActivityStopping, ActivityStopping, ActivityStuck}, 60},
		{"a runner that was never measured does not put it off", `"runner_pid":7,"expires":"2026-03-01T12:00:00Z"`,
			[]string{"01T12:00:30", "01T12:02:00"}, []Activity{ActivityStopping, ActivityStuck}, 120},
		{"unload asked, long before its expiry", `"unloading":true,"expires":"2026-03-01T13:00:00Z"`,
			[]string{"01T12:00:00", "01T12:00:40", "01T12:01:00", "01T12:01:30"},
			[]Activity{ActivityStopping, ActivityStopping, ActivityStuck, ActivityStuck}, 90},
		{"unload asked of a pinned one", `"unloading":true,"pinned":true`,
			[]string{"01T12:00:00", "01T12:01:00"}, []Activity{ActivityStopping, ActivityStuck}, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lines []string
			for _, wall := range test.walls {
				lines = append(lines, strings.Replace(residentLine(wall, 0, test.fields), `"awake_seconds":0,`, "", 1))
			}
			out := play(t, lines...)
			for i, u := range out {
				if activityOf(u) != test.want[i] {
					t.Errorf("at %s it is %s, want %s", test.walls[i], activityOf(u), test.want[i])
				}
			}
			a := standing(out[len(out)-1], "model_stuck")
			if a == nil || a.Evidence.Seconds == nil || *a.Evidence.Seconds != test.seconds || *a.Evidence.Bytes != 89e9 {
				t.Errorf("alert %+v, want one after %v s that tells 89 GB", a, test.seconds)
			}
		})
	}
}

// What a stuck model holds is still in use.
func TestStuckModelStillCounts(t *testing.T) {
	line := strings.Replace(residentLine("01T12:11:00", 0, `"expires":"2026-03-01T12:00:00Z"`), `"residents"`,
		`"memory":{"total_bytes":137438953472},"residents"`, 1)
	h := play(t, line)[0].Snapshot.Headroom
	if want := uint64(137438953472) - 16*gib - 89e9; h == nil || h.Bytes != want {
		t.Errorf("headroom %+v, want %d", h, want)
	}
}

// What is stuck stays so, in one alert, until it goes.
func TestStuckStaysStuck(t *testing.T) {
	looks := []look{{100, 0, 1}, {102, 0, 3}, {104, 0, 3}}
	for at := 106.0; at < 600; at += 2 {
		looks = append(looks, look{at, 0, 3})
	}
	got := strings.Trim(fmt.Sprint(activities(looks)), "[]")
	if n := strings.Count(got, "stuck stopping"); n > 0 || !strings.HasSuffix(got, "stuck") {
		t.Errorf("stuck was followed by stopping %d times, want never, and stuck at the end", n)
	}
	line := `{"snapshot":{"residents":[{"backend":"ollama","model":"m","pinned":true,"unloading":true}]}}`
	if raised, cleared := notices(play(t, times(300, line)...), "model_stuck"); raised != 1 || cleared != 0 {
		t.Errorf("raised %d times and cleared %d times, want once and never", raised, cleared)
	}
}

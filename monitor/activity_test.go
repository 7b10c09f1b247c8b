package monitor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor/backend"
)

// look is one look at a resident: seconds since the start, its expiry, and its
// runner's processor seconds (−1: no runner known).
type look struct{ at, expires, cpu float64 }

func activities(looks []look) []Activity {
	start := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	var st residentState
	var got []Activity
	for _, l := range looks {
		now := start.Add(seconds(l.at))
		r := Resident{Resident: backend.Resident{Model: "m", Expires: new(start.Add(seconds(l.expires)))}, Answered: &now}
		if l.cpu >= 0 {
			r.RunnerPID = new(7)
			st.measure(7, l.cpu, seconds(l.at))
		}
		st.judge(&r, false, now)
		got = append(got, r.Activity)
	}
	return got
}

func TestActivity(t *testing.T) {
	const idle, busy, stopping, stuck = ActivityIdle, ActivityBusy, ActivityStopping, ActivityStuck
	for _, test := range []struct {
		name  string
		looks []look
		want  []Activity
	}{
		{"idle", []look{{0, 300, 1}, {2, 300, 1}, {4, 300, 1}}, []Activity{idle, idle, idle}},
		{"its runner works", []look{{0, 300, 1}, {2, 300, 3}, {4, 300, 3}}, []Activity{idle, busy, idle}},
		{"the expiry moves at every poll", []look{{0, 300, -1}, {2, 302, -1}, {4, 304, -1}}, []Activity{idle, idle, busy}},
		{"one request ended", []look{{0, 300, -1}, {2, 302, -1}, {4, 302, -1}}, []Activity{idle, idle, idle}},
		{"a long answer past the expiry", []look{{0, -5, 1}, {2, -5, 3}, {90, -5, 60}, {92, -5, 62}}, []Activity{stopping, busy, stopping, busy}},
		{"stopping, then stuck", []look{{0, 0, 1}, {10, 0, 1}, {30, 0, 1}, {58, 0, 1}, {61, 0, 1}}, []Activity{idle, stopping, stopping, stopping, stuck}},
		{"the minute counts from the end of the answer", []look{{100, 0, 1}, {102, 0, 3}, {104, 0, 3}, {130, 0, 3}, {159, 0, 3}, {165, 0, 3}},
			[]Activity{stopping, busy, stopping, stopping, stopping, stuck}},
		{"no runner known: the expiry alone tells", []look{{30, 0, -1}, {61, 0, -1}}, []Activity{stopping, stuck}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := activities(test.looks)
			for i := range got {
				if got[i] != test.want[i] {
					t.Fatalf("%v, want %v", got, test.want)
				}
			}
		})
	}
}

// The recorded course of a request that outlives the model's keep-alive by
// seven seconds: the model is never called stuck, and once the request ends
// nothing is left of "stopping".
func TestActivityOverRecordedPolls(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "shared", "ollama-recorded", "*", "*-busy-beyond-expiry.ps-timeline.jsonl"))
	if len(files) == 0 {
		t.Skip("the recorded polls are not here (../shared/ollama-recorded)")
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var st residentState
			seen := map[Activity]int{}
			for line := range strings.Lines(string(raw)) {
				var p struct {
					At   time.Time
					Body struct {
						Models []struct {
							Name    string    `json:"name"`
							Expires time.Time `json:"expires_at"`
						}
					}
				}
				if err := json.Unmarshal([]byte(line), &p); err != nil {
					t.Fatal(err)
				}
				for _, m := range p.Body.Models {
					r := Resident{Resident: backend.Resident{Model: m.Name, Expires: &m.Expires}, Answered: &p.At}
					st.judge(&r, false, p.At)
					seen[r.Activity]++
				}
			}
			if seen[ActivityStuck] > 0 || len(seen) == 0 {
				t.Errorf("activities %v, want some and none stuck", seen)
			}
		})
	}
}

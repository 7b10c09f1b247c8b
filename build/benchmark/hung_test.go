package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

func TestFollowerFindsTheUpdateAndTheLongestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follower{updates: make(chan arrival, 16)}
		tell := func(after time.Duration, s backend.State) {
			time.Sleep(after)
			f.updates <- arrival{time.Now(), monitor.Update{Snapshot: &monitor.Snapshot{Backends: []backend.Status{{State: s}}}}}
		}
		begin := time.Now()
		tell(time.Second, backend.Running)
		tell(3*time.Second, backend.Running)
		tell(2*time.Second, backend.NotAnswering)
		tell(9*time.Second, backend.Running)
		silent := func(a arrival) bool { return state(a) == backend.NotAnswering }
		at, gap, err := f.until(t.Context(), "it is silent", silent)
		if err != nil || at.Sub(begin) != 6*time.Second || gap != 3*time.Second {
			t.Errorf("found after %v with a gap of %v, %v", at.Sub(begin), gap, err)
		}
		_, gap, err = f.until(t.Context(), "it runs", func(a arrival) bool { return state(a) == backend.Running })
		if err != nil || gap != 9*time.Second {
			t.Errorf("the gap before the next update is %v, %v", gap, err)
		}
		if _, _, err = f.until(t.Context(), "it is silent", silent); err == nil || !strings.Contains(err.Error(), "within 30s that it is silent") {
			t.Errorf("nothing came: %v", err)
		}
		close(f.updates)
		if _, _, err = f.until(t.Context(), "it is silent", silent); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("the agent ended: %v", err)
		}
	})
}

func TestMedian(t *testing.T) {
	if got := median([]time.Duration{5 * time.Second, time.Second, 3 * time.Second}); got != 3 {
		t.Errorf("median %g", got)
	}
}

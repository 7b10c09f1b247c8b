package main

import (
	"math"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
)

func at2(second int, headroom, swap float64) *monitor.Snapshot {
	return &monitor.Snapshot{Taken: noon.Add(time.Duration(second) * time.Second),
		Machine:  &metal.Machine{RAMBytes: gibs(32)},
		Headroom: &monitor.Headroom{Bytes: uint64(headroom * gib)}, Swap: &monitor.Swap{Swap: metal.Swap{Used: gibs(swap)}}}
}

func TestCurvesOfTheRing(t *testing.T) {
	var r ring
	for s := 0; s <= 600; s += 2 {
		if s > 200 && s < 320 {
			continue // the machine slept
		}
		r.add(at2(s, 16, 4))
	}
	c := r.curves()
	if len(c.headroom) != curveSteps || len(c.swap) != curveSteps || c.minutes != 10 {
		t.Fatalf("%d and %d steps over %d minutes", len(c.headroom), len(c.swap), c.minutes)
	}
	for i, v := range c.headroom {
		second := i * 5
		if asleep := second >= 200+45 && second < 320; asleep != math.IsNaN(v) {
			t.Errorf("at second %d the headroom is %v", second, v)
		}
		if !math.IsNaN(v) && math.Abs(v-.5) > 1e-9 {
			t.Errorf("at second %d the headroom is %v of the memory, want a half", second, v)
		}
	}
	if v := c.swap[120]; math.Abs(v-1/1.1) > 1e-9 {
		t.Errorf("the most swap stands at %v", v)
	}
}

func TestLittleSwapLooksLittle(t *testing.T) {
	var r ring
	r.add(at2(0, 16, 0))
	r.add(at2(5, 16, 0.01))
	if v := r.curves().swap[120]; v > .02 {
		t.Errorf("10 MiB of swap stand at %v", v)
	}
}

func TestAbsentIsAGap(t *testing.T) {
	var r ring
	r.add(&monitor.Snapshot{Taken: noon})
	c := r.curves()
	if !math.IsNaN(c.headroom[120]) || !math.IsNaN(c.swap[120]) {
		t.Errorf("nothing was measured, the curves show %v and %v", c.headroom[120], c.swap[120])
	}
	r.add(nil)
	r.add(&monitor.Snapshot{})
	if len(r.points) != 1 {
		t.Errorf("%d points after two without a time, want 1", len(r.points))
	}
}

func TestRingIsBoundedAndFollowsTheClock(t *testing.T) {
	var r ring
	for s := range 5000 {
		r.add(at2(s, 1, 1))
	}
	if n := len(r.points); n > 700 {
		t.Errorf("%d points are kept", n)
	}
	n := len(r.points)
	r.add(at2(4999, 2, 2))
	if len(r.points) != n || r.points[n-1].headroom != 2*gib {
		t.Error("a second snapshot of one moment does not replace the first")
	}
	r.add(at2(0, 3, 3))
	if len(r.points) != 1 {
		t.Errorf("after the clock went back %d points are left, want the new one", len(r.points))
	}
}

package sim

import (
	"reflect"
	"testing"
	"time"

	"plimsoll/metal"
)

// TestDeterministic: the course depends on seed and commands, not on who looks.
func TestDeterministic(t *testing.T) {
	course := func(seed uint64, look time.Duration) Truth {
		m, clock := still(t, Config{Seed: seed, Auto: true})
		for t := time.Duration(0); t < 30*time.Minute; t += look {
			clock.Advance(look)
			m.Memory()
		}
		truth := m.Truth()
		return truth
	}
	a, b, c := course(1, time.Second), course(1, 30*time.Minute), course(2, time.Second)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("looking changed the course:\n%+v\n%+v", a, b)
	}
	if reflect.DeepEqual(a, c) {
		t.Error("another seed, the same course")
	}
}

// TestLifeShowsTrouble: what a demo must show within its first seconds.
func TestLifeShowsTrouble(t *testing.T) {
	for seed := range uint64(20) {
		m, clock := still(t, Config{Seed: seed, Auto: true})
		clock.Advance(2900 * time.Millisecond)
		if truth := m.Truth(); len(truth.Models) != 1 || len(truth.Requests) != 1 || truth.Swapping {
			t.Fatalf("seed %d, after 2.9 s: %+v", seed, truth)
		}
		clock.Advance(6 * time.Second)
		if truth := m.Truth(); len(truth.Models) < 2 {
			t.Errorf("seed %d, after 9 s: %+v", seed, truth)
		}
		clock.Advance(7 * time.Second)
		if truth := m.Truth(); !truth.Swapping {
			t.Errorf("seed %d, after 16 s: %+v", seed, truth)
		}
		clock.Advance(20 * time.Second)
		truth := m.Truth()
		if !truth.Paging || truth.Over == 0 || truth.Pressure == metal.PressureNormal {
			t.Errorf("seed %d, after 38 s: %+v", seed, truth)
		}
		if seed%2 == 0 { // either model will do
			m.Unload(Model32B)
		} else {
			m.Unload(Model7B)
		}
		clock.Advance(15 * time.Second)
		if truth = m.Truth(); truth.Swapping || truth.Paging || truth.Over > 0 {
			t.Errorf("seed %d, after the unload: %+v", seed, truth)
		}
		if seed%2 == 0 && truth.Pressure != metal.PressureNormal { // the big one alone fills the machine
			t.Errorf("seed %d: pressure %s without the big model", seed, truth.Pressure)
		}
		clock.Advance(3 * time.Minute)
		if truth = m.Truth(); truth.Over > 0 || truth.Paging {
			t.Errorf("seed %d, three minutes later: %+v", seed, truth)
		}
	}
}

// TestLifeHeats: some time of the first half hour is hot.
func TestLifeHeats(t *testing.T) {
	m, clock := still(t, Config{Seed: 1, Auto: true})
	hot := until(t, clock, 40*time.Minute, "throttled", func() bool { return m.Truth().Throttled })
	if hot < 10*time.Minute {
		t.Errorf("throttled after %v", hot)
	}
}

// TestLunchLeavesRoom: while people are at lunch, others use little enough for a
// higher limit of the GPU; afterwards every process has a number of its own.
func TestLunchLeavesRoom(t *testing.T) {
	for seed := range uint64(10) {
		m, clock := still(t, Config{Seed: seed, Auto: true})
		clock.Advance(5 * time.Minute)
		memory, _ := m.Memory()
		if truth := m.Truth(); truth.Pressure != metal.PressureNormal || *memory.Used-truth.ResidentBytes > 8<<30 {
			t.Errorf("seed %d, at lunch: pressure %s, others use %.1f GiB", seed, truth.Pressure, float64(*memory.Used-truth.ResidentBytes)/gib)
		}
		clock.Advance(5 * time.Minute)
		pids := map[int]string{}
		processes, _ := m.Processes()
		for _, p := range processes {
			if other, twice := pids[p.PID]; twice {
				t.Errorf("seed %d: %s and %s are both process %d", seed, other, p.Name, p.PID)
			}
			pids[p.PID] = p.Name
		}
		if m.app("Xcode") == nil || m.app("Google Chrome") == nil {
			t.Errorf("seed %d: nobody came back from lunch", seed)
		}
	}
}

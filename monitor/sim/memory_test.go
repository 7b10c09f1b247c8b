package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/metal"
)

func TestOverTheLimitPagesAndUnloadGivesRelief(t *testing.T) {
	m, clock := still(t, Config{Seed: 3})
	load(t, m, clock, Model7B)
	before, _ := m.Swap()
	load(t, m, clock, Model32B)
	ask(t, m, Model32B, 200, 300)
	clock.Advance(30 * time.Second)
	truth := m.Truth()
	if r := truth.Requests[0].Rate; r < 0.5 || r > 1.5 {
		t.Errorf("over the limit %.2f token/s, want about 1", r)
	}
	if !truth.Paging || !truth.Swapping || truth.Over == 0 || truth.SwapOutRate < 0.5e9 || truth.SwapInRate < 0.5e9 || truth.SwapOutRate > 1.6e9 {
		t.Errorf("not swapping as it should: %+v", truth)
	}
	during, _ := m.Swap()
	if *during.Used < *before.Used+2e9 || *during.Total%swapFile != 0 || *during.Total < *during.Used {
		t.Errorf("swap used %d of %d, was %d", *during.Used, *during.Total, *before.Used)
	}
	gpu, _ := m.GPU()
	if *gpu.InUse <= *gpu.WorkingSet || *gpu.Utilisation > 0.5 {
		t.Errorf("GPU %d of %d, busy %.2f", *gpu.InUse, *gpu.WorkingSet, *gpu.Utilisation)
	}

	m.Unload(Model7B)
	took := until(t, clock, 10*time.Second, "relief", func() bool { return !m.Truth().Paging })
	clock.Advance(2 * time.Second)
	truth = m.Truth()
	if r := truth.Requests[0].Rate; r < 4.7 {
		t.Errorf("after the unload %.2f token/s, want 5 (%v later)", r, took)
	}
	if truth.Swapping || truth.Over != 0 {
		t.Errorf("still swapping after the unload: %+v", truth)
	}
	after, _ := m.Swap()
	if *after.Used == 0 || *after.Used >= *during.Used {
		t.Errorf("swap used %d after, %d during: want less, and not gone", *after.Used, *during.Used)
	}
}

func TestRaisingTheLimitHelps(t *testing.T) {
	m, clock := still(t, Config{Seed: 3})
	load(t, m, clock, Model7B, Model14B)
	m.SetWiredLimit(12 << 30)
	ask(t, m, Model14B, 10, 1000)
	clock.Advance(10 * time.Second)
	if truth := m.Truth(); !truth.Paging || truth.Requests[0].Rate > 1.5 || truth.GPULimit != 12<<30 {
		t.Fatalf("under a limit of 12 GiB: %+v", truth)
	}
	m.SetWiredLimit(0)
	clock.Advance(10 * time.Second)
	if truth := m.Truth(); truth.Paging || truth.Requests[0].Rate < 10.5 || truth.GPULimit != defaultGPULimit {
		t.Errorf("with the default limit: %+v", truth)
	}
}

// randomCourse does something at random, deterministic for the generator.
func randomCourse(m *Mac, r *rand.Rand) string {
	names := []string{Model7B, Model14B, Model32B, ModelEmbed}
	apps := []string{"Xcode", "Google Chrome", "Final Cut Pro", "Blender"}
	name := names[r.IntN(len(names))]
	switch r.IntN(9) {
	case 0, 1:
		m.Load(name)
		return "load " + name
	case 2, 3:
		m.Ask(name, 1+r.IntN(3000), 1+r.IntN(300))
		return "ask " + name
	case 4:
		m.Unload(name)
		return "unload " + name
	case 5:
		bytes := uint64(r.IntN(14e9))
		m.StartApp(apps[r.IntN(len(apps))], bytes)
		return fmt.Sprint("app ", bytes)
	case 6:
		m.QuitApp(apps[r.IntN(len(apps))])
		return "quit"
	case 7:
		limit := []uint64{0, 8 << 30, 16 << 30, 26 << 30, 31 << 30}[r.IntN(5)]
		m.SetWiredLimit(limit)
		return fmt.Sprint("limit ", limit)
	}
	m.HoldAfterUnload(name, uint64(r.IntN(9e9)))
	return "hold " + name
}

func TestMemoryAlwaysAddsUp(t *testing.T) {
	levels := map[metal.Pressure]int{}
	for seed := range uint64(40) {
		m, clock := still(t, Config{Seed: seed, Auto: seed%2 == 0})
		r := rand.New(rand.NewPCG(seed, 5))
		var last *metal.Swap
		course := ""
		for range 80 {
			course += randomCourse(m, r) + ", "
			clock.Advance(time.Duration(r.IntN(9000)) * time.Millisecond)
			mem, _ := m.Memory()
			swap, _ := m.Swap()
			sum := *mem.Wired + *mem.App + *mem.Compressed + *mem.Cached + *mem.Free
			if sum != ram || *mem.Free > ram || *mem.Total != ram {
				t.Fatalf("seed %d, after %s: parts add up to %d: %+v", seed, course, sum, m.memory)
			}
			if *mem.Used != *mem.App+*mem.Wired+*mem.Compressed || *mem.Available != *mem.Free+*mem.Cached || *mem.Free == 0 {
				t.Fatalf("seed %d, after %s: %v", seed, course, mem)
			}
			if *swap.Used > *swap.Total || last != nil && (*swap.In < *last.In || *swap.Out < *last.Out) {
				t.Fatalf("seed %d, after %s: swap %+v, before %+v", seed, course, swap, last)
			}
			for name, x := range map[string]float64{"plain": m.memory.plain, "held": m.memory.held, "swapped": m.memory.swapped,
				"modelsOut": m.memory.modelsOut, "wired models": m.memory.wiredModels(), "cached": m.memory.cached} {
				if x < -1 {
					t.Fatalf("seed %d, after %s: %s is %v", seed, course, name, x)
				}
			}
			levels[mem.Pressure]++
			last = swap
		}
	}
	if levels[metal.PressureNormal] == 0 || levels[metal.PressureWarning] == 0 || len(levels) > 3 {
		t.Errorf("levels seen: %v", levels)
	}
}

func TestModelsGoneLeaveNothing(t *testing.T) {
	m, clock := still(t, Config{})
	idle, _ := m.GPU()
	load(t, m, clock, Model7B, Model14B, ModelEmbed)
	for _, name := range []string{Model7B, Model14B, ModelEmbed} {
		m.Unload(name)
	}
	took := until(t, clock, 5*time.Second, "memory back", func() bool { return len(m.Truth().Models) == 0 })
	gpu, _ := m.GPU()
	if *gpu.InUse > *idle.InUse+1 || took < time.Second || took > 2*time.Second {
		t.Errorf("GPU has %d in use after %v, had %d", *gpu.InUse, took, *idle.InUse)
	}
}

package sim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"plimsoll/metal"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// still is a Mac on a frozen clock: it moves only when the test moves it.
func still(t testing.TB, c Config) (*Mac, *Clock) {
	t.Helper()
	clock := NewClock(noon, 0)
	c.Clock = clock
	return New(c), clock
}

// load brings models into memory and waits until they are there.
func load(t testing.TB, m *Mac, clock *Clock, names ...string) {
	t.Helper()
	for _, name := range names {
		job, err := m.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		until(t, clock, 2*time.Minute, "loading "+name, func() bool { return job.Result().Finished })
	}
}

func ask(t testing.TB, m *Mac, name string, prompt, tokens int) *Job {
	t.Helper()
	job, err := m.Ask(name, prompt, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// until steps the clock until it is so, at most for the simulated time given.
func until(t testing.TB, clock *Clock, most time.Duration, what string, so func() bool) time.Duration {
	t.Helper()
	began := clock.Awake()
	for !so() {
		if clock.Awake()-began > most {
			t.Fatalf("%s: not within %v", what, most)
		}
		clock.Advance(100 * time.Millisecond)
	}
	return clock.Awake() - began
}

func TestDecodeRates(t *testing.T) {
	for _, c := range []struct {
		model string
		rate  float64
		load  time.Duration
	}{{Model7B, 24, 1600 * time.Millisecond}, {Model14B, 11, 3400 * time.Millisecond}, {Model32B, 5, 7100 * time.Millisecond}} {
		m, clock := still(t, Config{Seed: 7})
		job := ask(t, m, c.model, 100, 120)
		until(t, clock, 2*time.Minute, c.model, func() bool { return job.Result().Finished })
		r := job.Result()
		if rate := r.Rate(); rate < 0.97*c.rate || rate > 1.03*c.rate {
			t.Errorf("%s decodes %.2f token/s, want about %v", c.model, rate, c.rate)
		}
		if r.Load < c.load*9/10 || r.Load > c.load*12/10 {
			t.Errorf("%s loads in %v, want about %v", c.model, r.Load, c.load)
		}
		if parts := r.Load + r.Prompt + r.Decode; r.Total < parts || r.Total > parts+50*time.Millisecond {
			t.Errorf("%s: total %v, parts %v", c.model, r.Total, parts)
		}
	}
}

func TestPrefillScalesWithParameters(t *testing.T) {
	rate := func(model string) float64 {
		m, clock := still(t, Config{})
		load(t, m, clock, model)
		job := ask(t, m, model, 2000, 2)
		until(t, clock, time.Minute, model, func() bool { return job.Result().Finished })
		return float64(2000) / job.Result().Prompt.Seconds()
	}
	if r := rate(Model7B); r < 440 || r > 460 {
		t.Errorf("7B prefill %.0f token/s, want 450", r)
	}
	if r := rate(Model14B); r < 225 || r > 240 {
		t.Errorf("14B prefill %.0f token/s, want 232", r)
	}
}

func TestRequestsOfTwoModelsShareTheBandwidth(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B, Model14B)
	a, b := ask(t, m, Model7B, 10, 400), ask(t, m, Model14B, 10, 400)
	clock.Advance(5 * time.Second)
	truth := m.Truth()
	if len(truth.Requests) != 2 || truth.Requests[0].Rate < 11.5 || truth.Requests[0].Rate > 12.5 ||
		truth.Requests[1].Rate < 5.2 || truth.Requests[1].Rate > 5.8 {
		t.Fatalf("rates %+v, want half of 24 and 11", truth.Requests)
	}
	a.Cancel()
	clock.Advance(time.Second)
	if r := m.Truth().Requests[0].Rate; r < 10.5 {
		t.Errorf("14B alone again decodes %.1f token/s, want 11", r)
	}
	b.Cancel()
	if n := len(m.Truth().Requests); n != 0 {
		t.Errorf("%d requests left after both were cancelled", n)
	}
}

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

func TestHeat(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B)
	level := func() metal.ThermalPressure {
		th, err := m.Thermal()
		if err != nil || th.Source != "simulator" {
			t.Fatal(th, err)
		}
		return th.Pressure
	}
	ask(t, m, Model7B, 10, 200000)
	clock.Advance(time.Minute)
	cool := m.Truth()
	if level() != metal.ThermalNominal || cool.Throttled {
		t.Fatalf("throttled after a minute: %+v", cool)
	}
	moderate := until(t, clock, 15*time.Minute, "moderate", func() bool { return level() == metal.ThermalModerate })
	heavy := moderate + until(t, clock, 10*time.Minute, "heavy", func() bool { return level() == metal.ThermalHeavy })
	if heavy += time.Minute; heavy < 10*time.Minute || heavy > 15*time.Minute {
		t.Errorf("heavy after %v, want 10 to 15 min", heavy)
	}
	clock.Advance(10 * time.Minute)
	hot := m.Truth()
	gpu, _ := m.GPU()
	if loss := 1 - hot.Requests[0].Rate/cool.Requests[0].Rate; loss < 0.28 || loss > 0.40 { // the longer cache costs some
		t.Errorf("lost %.0f %% of the decode rate, want 30", 100*loss)
	}
	if *gpu.Clock > 0.72*gpuFullClock || *gpu.Temperature < 85 || *gpu.Power > 15 || *gpu.Utilisation < 0.95 {
		t.Errorf("GPU %v MHz, %v °C, %v W, busy %v", *gpu.Clock, *gpu.Temperature, *gpu.Power, *gpu.Utilisation)
	}
	m.Unload(Model7B)
	for _, job := range m.open() {
		m.cancel(job)
	}
	cooled := until(t, clock, 10*time.Minute, "nominal", func() bool { return level() == metal.ThermalNominal })
	if cooled < 30*time.Second {
		t.Errorf("cooled within %v", cooled)
	}
	if gpu, _ = m.GPU(); *gpu.Clock > 500 || *gpu.Power > 1 {
		t.Errorf("idle at %v MHz and %v W", *gpu.Clock, *gpu.Power)
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
		m.Unload(Model32B)
		for _, r := range m.open() {
			if r.model.name == Model32B {
				m.cancel(r)
			}
		}
		clock.Advance(10 * time.Second)
		if truth = m.Truth(); truth.Swapping || truth.Paging || truth.Pressure != metal.PressureNormal {
			t.Errorf("seed %d, after the unload: %+v", seed, truth)
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

func TestSleep(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B)
	ask(t, m, Model7B, 10, 100000)
	clock.Advance(12 * time.Minute)
	before, machine := m.Truth(), mustMachine(t, m)
	clock.Sleep(2 * time.Hour)
	after, later := m.Truth(), mustMachine(t, m)
	if d := after.Now.Sub(before.Now); d != 2*time.Hour {
		t.Errorf("wall clock moved by %v", d)
	}
	if d := *later.Uptime - *machine.Uptime; d != 7200 {
		t.Errorf("uptime moved by %v s", d)
	}
	if after.Requests[0].Tokens != before.Requests[0].Tokens {
		t.Error("tokens were made in sleep")
	}
	if before.Temperature < 90 || after.Temperature > 36 {
		t.Errorf("%.1f °C before, %.1f °C after two hours of sleep", before.Temperature, after.Temperature)
	}
}

func mustMachine(t *testing.T, m *Mac) *metal.Machine {
	t.Helper()
	machine, err := m.Machine()
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

// BenchmarkIdle is a second of an idle machine as a monitor reads it.
func BenchmarkIdle(b *testing.B) {
	m, clock := still(b, Config{})
	b.ReportAllocs()
	for b.Loop() {
		clock.Advance(time.Second)
		m.Memory()
		m.Swap()
		m.GPU()
		m.Thermal()
	}
}

// BenchmarkDay is a whole day that nobody looked at.
func BenchmarkDay(b *testing.B) {
	m, clock := still(b, Config{Auto: true})
	for b.Loop() {
		clock.Advance(24 * time.Hour)
		m.Memory()
	}
}

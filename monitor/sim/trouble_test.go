package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/metal"
)

// rateUnder is the decode rate of the 7B model under some trouble, as a part of what
// it is without.
func rateUnder(t *testing.T, before, after func(*Mac)) (share float64, m *Mac) {
	t.Helper()
	var rates [2]float64
	for i := range rates {
		var clock *Clock
		m, clock = still(t, Config{Seed: 7, Slots: 1})
		if i == 1 && before != nil {
			before(m)
		}
		load(t, m, clock, Model7B)
		if i == 1 && after != nil {
			after(m)
		}
		clock.Advance(20 * time.Second)
		job := ask(t, m, Model7B, 100, 120)
		until(t, clock, 2*time.Minute, "the answer", func() bool { return job.Result().Finished })
		rates[i] = job.Result().Rate()
	}
	return rates[1] / rates[0], m
}

func TestWhatSlowsAModel(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after func(*Mac)
		share         float64
	}{
		{"nothing", nil, nil, 1},
		{"on battery", nil, func(m *Mac) { m.SetBattery(true) }, 0.7},
		{"low power", nil, func(m *Mac) { m.SetLowPower(true) }, 0.6},
		{"both, and back", nil, func(m *Mac) {
			m.SetBattery(true)
			m.SetLowPower(true)
			m.SetBattery(false)
			m.SetLowPower(false)
		}, 1},
		{"another program on the GPU", nil, func(m *Mac) { m.SetGPUWork("Blender", 0.5) }, 0.5},
		{"indexing", nil, func(m *Mac) { m.SetWork("mds_stores", 2.5) }, 1 / 1.5},
		{"an engine at half its pace", nil, func(m *Mac) { m.SetEngine(0.5) }, 0.5},
		{"a runner that has grown by half", nil, func(m *Mac) { m.SetGrown(Model7B, uint64(m.runners[0].bytes/2)) }, 1 / 1.6},
		{"a fifth on the processor", func(m *Mac) { m.SetGPUShare(Model7B, 0.8) }, nil, 1 / (0.8 + 0.2*4)},
	} {
		if share, _ := rateUnder(t, c.before, c.after); math.Abs(share-c.share) > 0.02 {
			t.Errorf("%s: %.3f of its rate, want %.3f", c.name, share, c.share)
		}
	}
}

func TestWhatShowsOfTrouble(t *testing.T) {
	_, m := rateUnder(t, func(m *Mac) { m.SetGPUShare(Model7B, 0.8) }, func(m *Mac) {
		m.SetGPUWork("Blender", 0.5)
		m.SetWork("backupd", 1.5)
		m.SetGrown(Model7B, 2e9)
		m.SetBattery(true)
		m.SetLowPower(true)
	})
	list, err := m.Processes()
	if err != nil {
		t.Fatal(err)
	}
	process := func(name string) metal.Process {
		i := slices.IndexFunc(list, func(p metal.Process) bool { return p.Name == name })
		if i < 0 {
			t.Fatalf("no process %s", name)
		}
		return list[i]
	}
	awake := m.now.Seconds() - 1.8 // less the load
	if p := process("Blender"); p.GPU == nil || *p.GPU < 0.45*awake || *p.GPU > 0.5*m.now.Seconds() {
		t.Errorf("%v s on the GPU in %v s", p.GPU, awake)
	}
	if p := process("backupd"); p.CPU == nil || *p.CPU < 1.4*awake || *p.CPU > 1.5*m.now.Seconds() {
		t.Errorf("%v s of the processor in %v s", p.CPU, awake)
	}
	r := m.runners[0]
	if p := process("llama-server"); math.Abs(float64(*p.Footprint)-r.bytes-2e9) > 0.1e9 {
		t.Errorf("a footprint of %d bytes, want %.0f and 2 GB", *p.Footprint, r.bytes)
	}
	if power, _ := m.Power(); !*power.OnBattery || !*power.LowPower {
		t.Errorf("%+v", power)
	}
	if gpu, _ := m.GPU(); *gpu.InUse > uint64(0.8*r.bytes+gpuDesktop)+1 {
		t.Errorf("%d bytes on the GPU, want a fifth less than %.0f", *gpu.InUse, r.bytes)
	}
	m.Unload(Model7B)
	m.clock.Advance(5 * time.Second)
	m.catchUp()
	if held := m.memory.models; held > 1 {
		t.Errorf("%.0f bytes are left", held)
	}
}

func TestVolume(t *testing.T) {
	m, clock := still(t, Config{Seed: 7})
	path := find(Model7B).blob()
	if v, err := m.Volume(path); err != nil || v.Kind != metal.VolumeInternal {
		t.Errorf("%+v, %v", v, err)
	}
	m.SetVolume(metal.Volume{Name: "nas", Kind: metal.VolumeNetwork}, 0.2e9)
	if v, err := m.Volume(path); err != nil || v.Kind != metal.VolumeNetwork || v.Name != "nas" {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := m.Volume("/no/such/file"); err == nil {
		t.Errorf("%+v, want an error", v)
	}
	job, err := m.Load(Model7B)
	if err != nil {
		t.Fatal(err)
	}
	took := until(t, clock, 2*time.Minute, "the load", func() bool { return job.Result().Finished })
	if want := m.runners[0].bytes / 0.2e9; math.Abs(took.Seconds()-want) > 0.3 {
		t.Errorf("loaded in %v, want %.1f s", took, want)
	}
}

func TestLostPrompts(t *testing.T) {
	m, clock := still(t, Config{Seed: 7, Slots: 1})
	send := func(tokens int) Result {
		job, err := m.Send(Prompt{Model: Model7B, Context: 8192, Tokens: tokens, Output: 10, Chat: "a"})
		if err != nil {
			t.Fatal(err)
		}
		until(t, clock, 2*time.Minute, "the answer", func() bool { return job.Result().Finished })
		return job.Result()
	}
	first, next := send(2000), send(2100)
	if first.Prompt < 4*time.Second || next.Prompt > time.Second {
		t.Errorf("read in %v and, mostly cached, in %v", first.Prompt, next.Prompt)
	}
	m.LosePrompts()
	if again := send(2200); again.Prompt < first.Prompt {
		t.Errorf("read again in %v", again.Prompt)
	}
}

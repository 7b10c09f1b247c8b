package metal

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"
)

// Metal follows the setting in both directions and is asked again after a change,
// at wake and now and then (llmfit pull request 754: 11.84 GiB by default on
// 16 GiB, then 12000 and 14000 MiB).
func TestLimitFollowsTheSetting(t *testing.T) {
	const standard = 12124 << 20
	b := newBench()
	d := newDesk(b)
	d.values["hw.memsize"] = le64(16 << 30)
	want := func(what string, g *GPU, limit, wired uint64) {
		t.Helper()
		if g.WorkingSet == nil || *g.WorkingSet != limit || g.LimitSource != "metal" || *g.WiredLimit != wired || *g.MaxBuffer != b.device.MaxBuffer {
			t.Errorf("%s: %s; want %d with %d set", what, show(g), limit, wired)
		}
	}
	b.device.WorkingSet = standard
	want("default", d.after(t, 0), standard, 0)
	for _, mib := range []uint64{12000, 14000, 0} {
		d.values["iogpu.wired_limit_mb"] = le32(uint32(mib))
		if b.device.WorkingSet = mib << 20; mib == 0 {
			b.device.WorkingSet = standard
		}
		want(fmt.Sprintf("%d MiB", mib), d.after(t, time.Second), b.device.WorkingSet, mib<<20)
	}
	// Metal that follows late.
	d.values["iogpu.wired_limit_mb"] = le32(13000)
	want("at once", d.after(t, time.Second), standard, 13000<<20)
	b.device.WorkingSet = 13000 << 20
	want("a tick later", d.after(t, time.Second), 13000<<20, 13000<<20)
	// At other times it is asked now and then.
	for range 5 {
		d.after(t, time.Second)
	}
	before := b.asked["device"]
	for range 300 {
		d.after(t, time.Second)
	}
	if n := b.asked["device"] - before; n < 8 || n > 12 {
		t.Errorf("Metal was asked %d times in five minutes, want once in 30 s", n)
	}
	// Something else changed it while the machine slept.
	before = b.asked["device"]
	b.device.WorkingSet = standard
	d.wall = d.wall.Add(time.Hour)
	want("at wake", d.after(t, time.Second), standard, 13000<<20)
	if b.asked["device"] == before {
		t.Error("Metal was not asked at wake")
	}
}

// 0 is the system's default and no limit of nothing (llmfit pull request 754).
func TestLimitOfZeroIsTheDefault(t *testing.T) {
	var c struct {
		Wired   uint32  `json:"iogpu.wired_limit_mb"`
		RAM     uint64  `json:"hw.memsize"`
		Metal   uint64  `json:"recommendedMaxWorkingSetSize"`
		Expects float64 `json:"expect_gib"`
	}
	if err := json.Unmarshal(sharedFile(t, "cases/048.json"), &c); err != nil || c.Metal == 0 {
		t.Fatal(c, err)
	}
	b := newBench()
	b.device.WorkingSet = c.Metal
	d := newDesk(b)
	d.values["hw.memsize"], d.values["iogpu.wired_limit_mb"] = le64(c.RAM), le32(c.Wired)
	g := d.after(t, 0)
	if gib := float64(*g.WorkingSet) / (1 << 30); math.Abs(gib-c.Expects) > 0.005 || *g.WiredLimit != 0 || g.LimitSource != "metal" {
		t.Errorf("%s; want %v GiB by default", show(g), c.Expects)
	}
}

// The key changed its name and unit with macOS 14; it is picked by trying, and a
// system without either has no limit that can be set.
func TestLimitByTwoNames(t *testing.T) {
	for _, c := range []struct {
		name   string
		values map[string][]byte
		want   *uint64
	}{
		{"MiB", map[string][]byte{"iogpu.wired_limit_mb": le32(24576)}, new(uint64(25769803776))},
		{"bytes", map[string][]byte{"debug.iogpu.wired_limit": le64(25769803776)}, new(uint64(25769803776))},
		{"both", map[string][]byte{"iogpu.wired_limit_mb": le32(24576), "debug.iogpu.wired_limit": le64(1)}, new(uint64(25769803776))},
		{"neither", nil, nil},
		{"absurd", map[string][]byte{"iogpu.wired_limit_mb": le32(math.MaxUint32)}, nil},
		{"strange", map[string][]byte{"iogpu.wired_limit_mb": {1, 2, 3}}, nil},
	} {
		d := newDesk(newBench())
		delete(d.values, "iogpu.wired_limit_mb")
		for key, b := range c.values {
			d.values[key] = b
		}
		for range 2 {
			if g := d.after(t, time.Second); show(g.WiredLimit) != show(c.want) || g.LimitSource != "metal" {
				t.Errorf("%s: set to %s by %s, want %s", c.name, show(g.WiredLimit), g.LimitSource, show(c.want))
			}
		}
	}
}

// Without Metal it is the override, else an estimate that says so; the default is
// never computed while it can be read (exo pull request 1672, ollama pull request
// 14743: 51.8 GiB of 64 where the rule says 48).
func TestLimitWithoutMetal(t *testing.T) {
	d := newDesk(newBench())
	d.bench.device = nil
	g := d.after(t, 0)
	if g.LimitSource != "estimate" || *g.WorkingSet != 25559<<20 || *g.WiredLimit != 0 {
		t.Errorf("%s", show(g))
	}
	d.values["iogpu.wired_limit_mb"] = le32(28000)
	if g = d.after(t, time.Second); g.LimitSource != "sysctl" || *g.WorkingSet != 28000<<20 {
		t.Errorf("%s", show(g))
	}
	d.values["iogpu.wired_limit_mb"] = le32(0)
	d.values["machdep.cpu.brand_string"] = []byte("Intel(R) Core(TM) i7\x00")
	if g = d.after(t, time.Second); g.WorkingSet != nil || g.LimitSource != "" {
		t.Errorf("an Intel Mac's limit is guessed: %s", show(g))
	}
}

func TestEstimatedLimit(t *testing.T) {
	const chip = "Apple M4"
	for _, c := range []struct {
		version string
		gib     uint64
		mebi    float64
	}{
		{"13.6", 8, 5461.33}, {"15.6", 16, 10922.67}, {"14.0", 24, 16384}, {"15.6", 32, 21845.33}, {"15.1", 36, 27648},
		{"15.1", 48, 36864}, {"15.1", 64, 49152}, {"15.1", 96, 73728}, {"15.1", 128, 98304}, {"", 64, 49152}, {"x", 64, 49152},
		{"26.3.1", 16, 12124.18}, {"26.0", 24, 18186}, {"27.2", 32, 25559}, {"26", 36, 28753.9}, {"26.1", 48, 38338.6},
		{"26.1", 64, 53084.2}, {"26.1", 128, 110100.5}, {"26.1", 256, 212992}, {"26.1", 512, 475136},
		// Nobody reported these on a newer system: the older figure, which is lower.
		{"26.1", 8, 5461.33}, {"26.1", 18, 12288}, {"26.1", 96, 73728}, {"26.1", 192, 147456},
	} {
		ram := c.gib << 30
		got := estimatedLimit(chip, c.version, &ram)
		if got == nil || math.Abs(float64(*got)/mebi-c.mebi) > 0.01 {
			t.Errorf("%d GiB on macOS %s: %s, want %v MiB", c.gib, c.version, show(got), c.mebi)
			continue
		}
		if part := float64(*got) / float64(ram); part < 0.65 || part > 0.9063 {
			t.Errorf("%d GiB on macOS %s: %v of memory is not plausible", c.gib, c.version, part)
		}
	}
	for _, chip := range []string{"", "Apple", "Intel(R) Core(TM) i9", "Apple M1 (Virtual)"} {
		if n := estimatedLimit(chip, "15.6", new(uint64(16<<30))); n != nil {
			t.Errorf("%q has a limit of %d", chip, *n)
		}
	}
	if n := estimatedLimit(chip, "15.6", nil); n != nil {
		t.Errorf("unknown memory has a limit of %d", *n)
	}
}

package metal

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/metal/internal/iokit"
)

// forever answers every call with the same delta.
func forever(entries ...iokit.Entry) [][]iokit.Entry { return [][]iokit.Entry{entries} }

// Energy is never told for a time asleep: the first reading after wake has none,
// and the power after it is that of the time since (exelban/stats#3543: 30 W
// times eight hours of sleep).
func TestPowerAcrossSleep(t *testing.T) {
	var c struct {
		Samples []struct {
			Wall  float64 `json:"wall_s"`
			Awake float64 `json:"awake_s"`
			W     float64 `json:"w"`
		} `json:"samples"`
		Range [2]float64 `json:"expect_wh_range"`
	}
	if err := json.Unmarshal(sharedFile(t, "cases/136.json"), &c); err != nil || len(c.Samples) < 3 {
		t.Fatal(c, err)
	}
	b := newBench()
	d := newDesk(b)
	hours, before := 0.0, 0.0
	for i, s := range c.Samples {
		b.deltas = forever(energy("GPU Energy", "mJ", int64(1000*s.W*(s.Awake-before))))
		d.wall, d.up = now.Add(time.Duration(s.Wall*1e9)), time.Duration(s.Awake*1e9)
		g, err := d.GPU()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case i == 1:
			if g.Power == nil || *g.Power != s.W {
				t.Errorf("power is %s, want %v W", show(g.Power), s.W)
			}
		case g.Power != nil || g.Clock != nil:
			t.Errorf("sample %d, the first after start or wake, has %s W and %s MHz", i, show(g.Power), show(g.Clock))
		}
		if g.Power != nil {
			hours += *g.Power * (s.Awake - before) / 3600
		}
		before = s.Awake
	}
	if hours < c.Range[0] || hours > c.Range[1] {
		t.Errorf("%v Wh, want %v", hours, c.Range)
	}
	// From the next reading on there is power again.
	b.deltas = forever(energy("GPU Energy", "mJ", 24000))
	if g := d.after(t, 2*time.Second); g.Power == nil || *g.Power != 12 {
		t.Errorf("after wake power is %s, want 12 W", show(g.Power))
	}
}

// What cannot be read is absent and never 0, and the first reading has no power
// (mostlygeek/llama-swap#1041: 94 % busy at 0 °C and 0 W).
func TestGPUAbsentNotZero(t *testing.T) {
	text := string(sharedFile(t, "cases/112.prom"))
	given := map[string]float64{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			given[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	busy, celsius := given["gpu_util_percent"], given["gpu_temperature_celsius"]
	if busy != 94 || celsius != 0 {
		t.Fatal(given)
	}
	b := newBench()
	b.accelerators[0].Statistics["Device Utilization %"] = int64(busy)
	b.keys = keysOf(map[string]float32{"Tg0U": float32(celsius)})
	b.deltas = forever(energy("GPU Energy", "nJ", int64(given["gpu_power_draw_watts"])))
	d := newDesk(b)
	for range 3 {
		g := d.after(t, time.Second)
		if g.Temperature != nil || g.Sensor != "" || g.Power != nil || *g.Utilisation != 0.94 {
			t.Errorf("%s", show(g))
		}
	}
}

func TestPowerOfReadings(t *testing.T) {
	b := newBench()
	d := newDesk(b)
	d.after(t, 0)
	b.deltas = forever(energy("GPU Energy", "mJ", 1000))
	if g := d.after(t, time.Second); *g.Power != 1 {
		t.Errorf("%s", show(g))
	}
	// Two readings at once share the counters.
	before := b.asked["delta"]
	if g := d.after(t, 10*time.Millisecond); *g.Power != 1 || b.asked["delta"] != before {
		t.Errorf("%s; the counters were read %d times more", show(g), b.asked["delta"]-before)
	}
	// A gap is no neighbour.
	if g := d.after(t, 31*time.Second); g.Power != nil {
		t.Errorf("the power of a gap: %s", show(g))
	}
	if g := d.after(t, 6*time.Second); *g.Power != 1.0/6 {
		t.Errorf("%s", show(g))
	}
	// Counters that cannot be read once come again.
	b.deltas = nil
	if g := d.after(t, time.Second); g.Power != nil || g.TopClock == nil {
		t.Errorf("%s", show(g))
	}
	b.deltas = forever(energy("GPU Energy", "mJ", 2000))
	if g := d.after(t, time.Second); g.Power == nil || *g.Power != 2 {
		t.Errorf("%s", show(g))
	}
	if b.asked["report"] != 1 || b.asked["property"] != 1 {
		t.Errorf("asked %v: the ladder and the subscription are made once", b.asked)
	}
}

func TestGPUPower(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []iokit.Entry
		want    *float64
	}{
		{"millijoules", []iokit.Entry{energy("GPU0", "mJ", 20000)}, new(10.0)},
		{"microjoules", []iokit.Entry{energy("GPU Energy", "µJ", 20000000)}, new(10.0)},
		{"the other µ", []iokit.Entry{energy("GPU Energy", "μJ", 20000000)}, new(10.0)},
		{"without µ", []iokit.Entry{energy("GPU Energy", " uJ ", 20000000)}, new(10.0)},
		{"nanojoules", []iokit.Entry{energy("GPU Energy", "nJ", 20000000000)}, new(10.0)},
		{"both", []iokit.Entry{energy("GPU0", "mJ", 99), energy("GPU Energy", "nJ", 20000000000)}, new(10.0)},
		{"two dies", []iokit.Entry{energy("DIE_0_GPU0", "mJ", 12000), energy("DIE_1_GPU0", "mJ", 8000)}, new(10.0)},
		{"a die without a value", []iokit.Entry{energy("DIE_0_GPU0", "mJ", 12000), energy("DIE_1_GPU0", "mJ", math.MinInt64)}, nil},
		{"a die set back", []iokit.Entry{energy("DIE_0_GPU0", "mJ", 12000), energy("DIE_1_GPU0", "mJ", -2000)}, nil},
		{"others", []iokit.Entry{energy("GPU SRAM0", "mJ", 1), energy("GPU CS0", "mJ", 1), energy("CPU Energy", "mJ", 1)}, nil},
		{"another group", []iokit.Entry{{Group: "PMP", Name: "GPU Energy", Unit: "mJ", Value: new(int64(1000))}}, nil},
		{"nothing", nil, nil},
	} {
		if got := gpuPower(c.entries, 2*time.Second); show(got) != show(c.want) {
			t.Errorf("%s: %s W, want %s", c.name, show(got), show(c.want))
		}
	}
}

// The ladder of an M2 Ultra as macmon prints it; the first entry is off.
func TestLadderOfARecording(t *testing.T) {
	text := string(sharedFile(t, "fixtures/ioreport/m2ultra-macmon-debug-partial-01.txt"))
	list := func(kind string) (all []uint32) {
		m := regexp.MustCompile(`voltage-states9: \(` + kind + `\) ([\d ]+)`).FindStringSubmatch(text)
		for _, word := range strings.Fields(m[1]) {
			n, err := strconv.ParseUint(word, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, uint32(n))
		}
		return all
	}
	frequencies, voltages := list("f"), list("v")
	var b []byte
	for i := range frequencies {
		b = append(append(b, le32(frequencies[i])...), le32(voltages[i])...)
	}
	want := []float64{444, 612, 808, 968, 1110, 1236, 1338, 1398}
	if got := decodeLadder(b); !slices.Equal(got, want) {
		t.Errorf("the ladder is %v, want %v", got, want)
	}
}

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		want  []float64
	}{
		{"steps that repeat", ladderBytes(338000000, 1182000000, 1182000000), []float64{338, 1182, 1182}},
		{"steps that go down", ladderBytes(1056000000, 1053000000), []float64{1056, 1053}},
		{"kHz", ladderBytes(338000, 1578000), []float64{338, 1578}},
		{"no first zero", ladderBytes(338000000)[8:], []float64{338}},
		{"only off", ladderBytes(), nil},
		{"a zero further up", ladderBytes(338000000, 0), nil},
		{"half a pair", ladderBytes(338000000)[:12], nil},
		{"MHz", ladderBytes(338), nil},
		{"empty", nil, nil},
		{"endless", make([]byte, 8*65), nil},
	} {
		if got := decodeLadder(c.bytes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The clock is made of what was asked for and says so: an M4 mini says 4464 MHz
// where the hardware runs 3936 (vladkens/macmon#78).
func TestClockIsRequested(t *testing.T) {
	b := newBench()
	b.properties["pmgr voltage-states9"] = ladderBytes(1000000, 3936000, 4464000)
	b.deltas = forever(steps(0, 0, 0, 24000000))
	d := newDesk(b)
	if g := d.after(t, 0); g.Requested || g.Clock != nil {
		t.Errorf("nothing was asked for yet: %s", show(g))
	}
	if g := d.after(t, time.Second); *g.Clock != 4464 || !g.Requested || *g.TopClock != 4464 {
		t.Errorf("%s", show(g))
	}
}

func TestClockOfStates(t *testing.T) {
	ladder := []float64{400, 800, 1600}
	for _, c := range []struct {
		name   string
		states []iokit.State
		want   *float64
	}{
		{"a mean while busy", states(1000, 10, 0, 30), new(1300.0)},
		{"always off", states(1000, 0, 0, 0), nil},
		{"unused steps", states(1000, 0, 5, 0, 0, 0), new(800.0)},
		{"a step beyond the ladder", states(1000, 0, 5, 0, 1), nil},
		{"a lost step", []iokit.State{{Name: "OFF", Residency: 9}, {Name: "P3", Residency: 9}}, new(1600.0)},
		{"no value", states(0, math.MinInt64, 5), nil},
		{"other words", []iokit.State{{Name: "IDLE", Residency: 9}, {Name: "DOWN", Residency: 9}, {Name: "P", Residency: 9}, {Name: "P0", Residency: 0}}, nil},
		{"P0", []iokit.State{{Name: "P0", Residency: 1}}, nil},
		{"nothing", nil, nil},
	} {
		if got := clockOf(c.states, ladder); show(got) != show(c.want) {
			t.Errorf("%s: %s MHz, want %s", c.name, show(got), show(c.want))
		}
	}
	if got := clockOf(states(0, 1), nil); got != nil {
		t.Errorf("without a ladder the clock is %v", *got)
	}
}

func FuzzDecodeLadder(f *testing.F) {
	f.Add([]byte{})
	f.Add(ladderBytes(338000000, 1578000000))
	f.Add(ladderBytes(338000))
	f.Fuzz(func(t *testing.T, b []byte) {
		ladder := decodeLadder(b)
		for _, mhz := range ladder {
			if !(mhz >= 50 && mhz < 10000) {
				t.Errorf("a step of %v MHz of % x", mhz, b)
			}
		}
		if c := clockOf(states(1, 2, 3), ladder); c != nil && (len(ladder) < 2 || *c < slices.Min(ladder)-1e-6 || *c > slices.Max(ladder)+1e-6) {
			t.Errorf("a clock of %v MHz on %v", *c, ladder)
		}
	})
}

func FuzzGPUPower(f *testing.F) {
	f.Add("GPU Energy", "nJ", int64(1), int64(1000000000))
	f.Add("GPU0", "mJ", int64(math.MinInt64), int64(1))
	f.Fuzz(func(t *testing.T, name, unit string, value, elapsed int64) {
		if elapsed <= 0 {
			return
		}
		w := gpuPower([]iokit.Entry{energy(name, unit, value)}, time.Duration(elapsed))
		if w != nil && !(*w > 0 && *w <= mostPower) {
			t.Errorf("%v W of %d %s in %d ns", *w, value, unit, elapsed)
		}
	})
}

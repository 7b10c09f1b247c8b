package monitor

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

func at(wall time.Time, awake float64, out uint64) *Snapshot {
	return &Snapshot{Taken: wall, Awake: &awake, Swap: &Swap{Swap: metal.Swap{Out: &out}}}
}

func TestRates(t *testing.T) {
	day := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		before *Snapshot
		after  *Snapshot
		want   float64 // NaN for absent
	}{
		{"two seconds", at(day, 10, 0), at(day.Add(2*time.Second), 12, 2e6), 1e6},
		{"the wall clock does not count", at(day, 10, 0), at(day.Add(3*time.Second), 12, 2e6), 1e6},
		{"counter went back", at(day, 10, 5), at(day.Add(2*time.Second), 12, 4), math.NaN()},
		{"slept eight hours", at(day, 10, 0), at(day.Add(8*time.Hour), 12, 2e6), math.NaN()},
		{"clock set back", at(day, 10, 0), at(day.Add(-time.Hour), 12, 2e6), math.NaN()},
		{"a minute's gap", at(day, 10, 0), at(day.Add(time.Minute), 70, 2e6), math.NaN()},
		{"no time at all", at(day, 10, 0), at(day, 10, 2e6), math.NaN()},
	} {
		t.Run(test.name, func(t *testing.T) {
			derive(test.before, test.after)
			got := test.after.Swap.OutRate
			switch {
			case math.IsNaN(test.want) && got != nil:
				t.Errorf("%v, want none", *got)
			case !math.IsNaN(test.want) && (got == nil || *got != test.want):
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// A rate read again at once keeps its value instead of dividing by nothing.
func TestRateOfTwoReadingsAtOnce(t *testing.T) {
	day := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	before, after := at(day, 10, 7), at(day.Add(100*time.Millisecond), 10.1, 9e9)
	before.Swap.OutRate = new(3.0)
	derive(before, after)
	if after.Swap.OutRate == nil || *after.Swap.OutRate != 3 {
		t.Errorf("%v, want the rate it had", after.Swap.OutRate)
	}
}

func TestInterruptions(t *testing.T) {
	day := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	with := func(s *Snapshot, uptime float64) *Snapshot {
		s.Machine = &metal.Machine{Uptime: &uptime}
		return s
	}
	for _, test := range []struct {
		name          string
		from, to      *Snapshot
		slept, change time.Duration
	}{
		{"nothing", at(day, 10, 0), at(day.Add(2*time.Second), 12, 0), 0, 0},
		{"sleep, uptime not told", at(day, 10, 0), at(day.Add(time.Hour), 12, 0), time.Hour - 2*time.Second, 0},
		{"sleep", with(at(day, 10, 0), 100), with(at(day.Add(time.Hour), 12, 0), 3700), time.Hour - 2*time.Second, 0},
		{"clock set forward", with(at(day, 10, 0), 100), with(at(day.Add(time.Hour), 12, 0), 102), 0, time.Hour - 2*time.Second},
		{"clock set back", with(at(day, 10, 0), 100), with(at(day.Add(-time.Hour), 12, 0), 102), 0, -time.Hour - 2*time.Second},
		{"agent restarted", at(day, 5000, 0), at(day.Add(10*time.Second), 1, 0), 0, 0},
	} {
		if slept, change := interruption(test.from, test.to); slept != test.slept || change != test.change {
			t.Errorf("%s: slept %v, clock changed by %v; want %v and %v", test.name, slept, change, test.slept, test.change)
		}
	}
}

// Whatever is summed over time sums time awake: eight hours of sleep at the last
// 30 W are not 240 Wh.
func TestNothingIsCountedDuringSleep(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "shared", "cases", "136.json"))
	if err != nil {
		t.Skip("the recorded case is not here (../shared/cases/136.json)")
	}
	var c struct {
		Samples []struct {
			Wall  float64 `json:"wall_s"`
			Awake float64 `json:"awake_s"`
			Watts float64 `json:"w"`
		}
		Want [2]float64 `json:"expect_wh_range"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var hours float64
	for i := 1; i < len(c.Samples); i++ {
		a, b := c.Samples[i-1], c.Samples[i]
		from, to := at(start.Add(seconds(a.Wall)), a.Awake, 0), at(start.Add(seconds(b.Wall)), b.Awake, 0)
		hours += b.Watts * elapsed(from, to).Hours()
	}
	if hours < c.Want[0] || hours > c.Want[1] {
		t.Errorf("%v Wh, want within %v", hours, c.Want)
	}
}

func TestHeadroom(t *testing.T) {
	memory := &metal.Memory{Total: new(uint64(32 * gib)), Available: new(uint64(14 * gib))}
	gpu := &metal.GPU{WorkingSet: new(uint64(21 * gib)), InUse: new(uint64(9 * gib))}
	model := func(size uint64) []Resident {
		return []Resident{{Resident: backend.Resident{Size: &size}}}
	}
	for _, test := range []struct {
		name      string
		memory    *metal.Memory
		gpu       *metal.GPU
		residents []Resident
		want      *Headroom
	}{
		{"nothing known", nil, nil, nil, nil},
		{"memory without numbers", &metal.Memory{}, &metal.GPU{}, nil, nil},
		{"the GPU limit binds", memory, gpu, model(9 * gib), &Headroom{Bytes: 12 * gib, Binding: BindingGPU}},
		{"memory binds", memory, nil, model(9 * gib), &Headroom{Bytes: 14 * gib, Binding: BindingReclaimable}},
		{"the reserve binds", memory, nil, model(20 * gib), &Headroom{Bytes: 8 * gib, Binding: BindingRAM}},
		{"over the limit is none, not less", memory, &metal.GPU{WorkingSet: new(uint64(1)), InUse: new(uint64(2))}, nil, &Headroom{Binding: BindingGPU}},
	} {
		got := headroom(&Snapshot{Memory: test.memory, GPU: test.gpu, Residents: test.residents})
		if (got == nil) != (test.want == nil) || got != nil && (got.Bytes != test.want.Bytes || got.Binding != test.want.Binding) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	for ram, want := range map[uint64]uint64{8 * gib: 4 * gib, 32 * gib: 4 * gib, 64 * gib: 8 * gib, 512 * gib: 16 * gib} {
		if got := Reserve(ram); got != want {
			t.Errorf("reserve of %d GiB is %d, want %d", ram/gib, got, want)
		}
	}
}

// Nothing that a line can say makes the player fail or a number absurd.
func FuzzPlayer(f *testing.F) {
	f.Add(`{"snapshot":{"swap":{"used_bytes":1,"swap_out_bytes":5},"awake_seconds":1}}` + "\n" + `{"snapshot":{"swap":{"swap_out_bytes":3}}}`)
	f.Add(`{"snapshot":{"taken":"2026-01-01T00:00:00Z","residents":[{"model":"m","expires":"0001-01-01T00:00:00Z"}]}}`)
	f.Add(`{"snapshot":{"awake_seconds":1e300,"memory":{"pressure":"critical"}}}` + "\n" + `{"snapshot":{"awake_seconds":-1e300}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p := NewPlayer()
		for line := range strings.Lines(text) {
			var u Update
			if json.Unmarshal([]byte(line), &u) != nil {
				continue
			}
			out := p.Step(u)
			if s := out.Snapshot; s != nil && s.Swap != nil && s.Swap.OutRate != nil && (u.Snapshot.Swap.OutRate == nil) {
				if r := *s.Swap.OutRate; r < 0 || math.IsNaN(r) || math.IsInf(r, 0) {
					t.Fatalf("rate %v", r)
				}
			}
			if _, err := json.Marshal(out); err != nil && u.Snapshot != nil && u.Snapshot.Taken.Year() >= 0 && u.Snapshot.Taken.Year() < 9999 {
				t.Fatalf("the update cannot be written: %v", err)
			}
		}
	})
}

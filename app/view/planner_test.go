package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

// roomOf is a Mac of 32 GiB with so much left below its GPU limit.
func roomOf(free uint64, residents ...monitor.Resident) *monitor.Snapshot {
	return &monitor.Snapshot{
		Machine: &metal.Machine{Chip: "Apple M5", RAMBytes: new(32 * g), Bandwidth: new(153.6e9)},
		GPU:     &metal.GPU{WorkingSet: new(21 * g), InUse: new(21*g - free)}, Residents: residents,
		Headroom: &monitor.Headroom{GPU: &free, Reclaimable: new(free + 2*g), RAM: new(free + 4*g), Bytes: free, Binding: monitor.BindingGPU},
	}
}

func tried(s *monitor.Snapshot, m fit.Model, context int) monitor.Plan {
	sub := s.Subject("ollama", "m", m)
	sub.Options.Context = context
	plan := s.Place().Try(sub)
	plan.Backend = "ollama"
	return plan
}

// Every verdict has its few words, its level and its reason, in both languages.
func TestHeadsOfThePlanner(t *testing.T) {
	for _, c := range []struct {
		weights, free uint64
		level         Level
		en, zh, why   string
	}{
		{2 * g, 10 * g, Normal, "Fits, 7.1 GiB to spare", "放得下，余 7.1 GiB", "GPU limit"},
		{8 * g, 10 * g, Warning, "Borderline, 1.1 GiB to spare", "勉强放得下，余 1.1 GiB", "GPU limit · may lose up to 5 %"},
		{20 * g, 10 * g, Critical, "Does not fit, 10.9 GiB too much", "放不下，超出 10.9 GiB", "GPU limit"},
	} {
		m := planned14B(c.weights)
		s := roomOf(c.free)
		p := tried(s, m, 4096)
		if en, zh := In("en").Planner(p, s), In("zh").Planner(p, s); en.Head != c.en || zh.Head != c.zh || en.Level != c.level || zh.Level != c.level || !strings.HasPrefix(en.Why, c.why) {
			t.Errorf("%d GiB: %q, %q, %q, level %d", c.weights/g, en.Head, zh.Head, en.Why, en.Level)
		}
	}
	for _, p := range []monitor.Plan{{}, monitor.Place{}.Plan(monitor.Subject{Model: fit.Model{Unknown: fit.ReasonWindow, Weights: new(2 * g)}}),
		tried(roomOf(10*g), fit.Model{Unknown: fit.ReasonNoHeads, Weights: new(2 * g)}, 0), tried(roomOf(10*g), fit.Model{Cloud: true}, 0)} {
		v := In("en").Planner(p, nil)
		if v.Level != Unknown || v.Head != "Cannot estimate" || v.Bar.Total != 0 {
			t.Errorf("%+v", v)
		}
	}
}

// The bar is whole whatever is planned, and names the limit that binds.
func TestTheBarOfAPlanIsWhole(t *testing.T) {
	for _, weights := range []uint64{1, g, 9 * g, 30 * g, 400 * g} {
		for _, free := range []uint64{0, 1, 5 * g, 20 * g} {
			for _, measured := range []*uint64{nil, new(uint64(1)), new(g), new(10 * g), new(50 * g)} {
				p := tried(roomOf(free), planned14B(weights), 8192)
				p.Measured = measured
				bar := In("en").Planner(p, nil).Bar
				var sum, parts uint64
				for _, s := range bar.Segments {
					sum += s.Bytes
					if s.Kind != SegmentFree {
						parts += s.Bytes
					}
				}
				want := *p.Total
				if measured != nil {
					want = *measured
				}
				if sum != bar.Total || parts != want {
					t.Errorf("weights %d, free %d, measured %v: %d of %d, parts %d, want %d", weights, free, measured, sum, bar.Total, parts, want)
				}
				named := slices.DeleteFunc(slices.Clone(bar.Marks), func(m Mark) bool { return m.Minor })
				if len(bar.Marks) != 3 || len(named) != 1 || named[0].At != free || named[0].At > bar.Total {
					t.Errorf("weights %d, free %d: marks %+v", weights, free, bar.Marks)
				}
			}
		}
	}
}

// What was measured decides; the plan stands beside it, and what is only tried is
// held against neither.
func TestMeasuredBesidePlanned(t *testing.T) {
	r := monitor.Resident{Resident: backend.Resident{Backend: "ollama", Model: "m", Context: new(8192), Size: new(9 * g)}, Footprint: new(10 * g), Planned: new(19 * g / 2)}
	s := roomOf(3*g, r)
	p := tried(s, planned14B(8*g), 0)
	v := In("en").Planner(p, s)
	rows := fmt.Sprint(v.Rows)
	if v.Head != "Fits, 3.0 GiB to spare" || v.Loaded.Text != "" || !strings.Contains(rows, "10.0 GiB, 0.4 GiB more than planned") || !strings.Contains(rows, "9.0 GiB") {
		t.Errorf("%q, %q\n%s", v.Head, v.Loaded.Text, rows)
	}
	if last := v.Bar.Segments[len(v.Bar.Segments)-2]; last.Kind != SegmentTaken || last.Label != "More than planned" {
		t.Errorf("the bar ends with %+v", last)
	}
	v = In("en").Planner(tried(s, planned14B(8*g), 32768), s)
	if v.Loaded.Text != "8,192 tokens · 10.0 GiB, 0.5 GiB more than planned" || v.Head != "Does not fit, 0.3 GiB too much" && !strings.HasPrefix(v.Head, "Borderline") {
		t.Errorf("%q, %q", v.Head, v.Loaded.Text)
	}
	for _, m := range []struct {
		footprint *uint64
		needs     string
	}{{new(10 * g), "10.0 GiB · 8K"}, {nil, "~9.6 GiB · 8K"}} {
		s.Residents[0].Footprint = m.footprint
		list := In("en").PlannedModels([]monitor.Plan{tried(s, planned14B(8*g), 0)})
		if len(list) != 1 || list[0].Needs != m.needs || list[0].Model != "m" || list[0].Backend != "ollama" {
			t.Errorf("%+v, want %s", list, m.needs)
		}
	}
}

func TestContextsToTry(t *testing.T) {
	for trained, want := range map[int]string{
		512: "[512]", 2048: "[2048]", 4096: "[2048 3072 4096]", 40960: "[2048 3072 4096 6144 8192 12288 16384 24576 32768 40960]",
	} {
		if got := fmt.Sprint(contexts(trained)); got != want {
			t.Errorf("%d: %s, want %s", trained, got, want)
		}
	}
	for _, trained := range []int{-1, 0, 1, 131072, 10485760, 1 << 30} {
		all := contexts(trained)
		if !slices.IsSorted(all) || len(all) > 45 || trained > 0 && all[len(all)-1] != trained {
			t.Errorf("%d: %v", trained, all)
		}
	}
}

package metal

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// The name of a Max chip says two bandwidths: the GPU's cores decide, and without
// them it is the lower figure, which is said (odysseus-dev/odysseus#2573).
func TestChipOneNameTwoBandwidths(t *testing.T) {
	var rows []struct {
		Brand    string  `json:"brand"`
		GPUCores int     `json:"gpu_cores"`
		GBs      float64 `json:"gbs"`
	}
	if err := json.Unmarshal(sharedFile(t, "cases/035.json"), &rows); err != nil || len(rows) < 6 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	lowest := map[string]float64{}
	for _, r := range rows {
		if n := lowest[r.Brand]; n == 0 || r.GBs < n {
			lowest[r.Brand] = r.GBs
		}
	}
	for _, r := range rows {
		c, ok := LookupChip(r.Brand, &r.GPUCores, nil)
		if !ok || c.Bandwidth == nil || *c.Bandwidth != r.GBs*1e9 || !c.Certain {
			t.Errorf("%s with %d cores: %s, %v; want %v GB/s for certain", r.Brand, r.GPUCores, show(c), ok, r.GBs)
		}
		for _, ram := range []*uint64{nil, new(uint64(128 << 30))} {
			if low, _ := LookupChip(r.Brand, nil, ram); *low.Bandwidth != lowest[r.Brand]*1e9 || low.Certain {
				t.Errorf("%s with unknown cores: %s; want %v GB/s, not certain", r.Brand, show(low), lowest[r.Brand])
			}
		}
	}
}

// sharedFile reads a recording that stands beside the tree, where it is.
func sharedFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../shared/" + name)
	if err != nil {
		t.Skipf("the shared recordings are not here: %v", err)
	}
	return text
}

func TestChipTable(t *testing.T) {
	gib := func(n uint64) *uint64 { return new(n << 30) }
	for _, c := range []struct {
		name       string
		cores      *int
		fast       *int
		ram        *uint64
		generation string
		gbs        float64
		certain    bool
	}{
		{"Apple M1", nil, nil, nil, "M1", 68.25, true},
		{"Apple M1", new(9), nil, gib(12), "M1", 68.25, true}, // all M1 are alike
		{"Apple M1 Ultra", nil, nil, nil, "M1", 800, true},
		{"Apple M3 Pro", nil, nil, nil, "M3", 150, true},
		{"Apple M3 Max", new(35), nil, nil, "M3", 300, false},
		{"Apple M3 Max", nil, new(12), nil, "M3", 400, true},
		{"Apple M4 Max", nil, new(10), gib(128), "M4", 410, true},
		{"Apple M4 Max", new(40), new(10), gib(36), "M4", 546, true}, // the GPU's cores come first
		{"Apple M5 Max", nil, new(6), gib(128), "M5", 460, false},    // both have 18 cores
		{"Apple M5", new(10), nil, gib(32), "M5", 153, true},
		{"Apple M5 Ultra", new(80), nil, gib(512), "M5", 1200, true},
		{"Apple M6", new(12), new(2), gib(16), "M6", 153, true},
		{"Apple M6", new(12), nil, gib(24), "M6", 170, true},
		{"Apple M6", nil, nil, gib(32), "M6", 170, true},
		{"Apple M6", new(12), nil, nil, "M6", 153, false},
		{"Apple M6", new(12), nil, gib(64), "M6", 153, false},
		{"Apple A18 Pro", new(5), nil, gib(8), "A18", 60, false},
		{"m3  MAX", new(40), nil, nil, "M3", 400, true},
	} {
		got, ok := lookupChip(c.name, c.cores, c.fast, c.ram)
		if !ok || got.Generation != c.generation || got.Bandwidth == nil || *got.Bandwidth != c.gbs*1e9 || got.Certain != c.certain {
			t.Errorf("%s, cores %s, fast %s, RAM %s: %s, %v; want %s", c.name, show(c.cores), show(c.fast), show(c.ram), show(got), ok, show(c))
		}
	}
	if c, _ := LookupChip("Apple M6", nil, nil); !slices.Equal(c.GPUCores, []int{12}) || !slices.Equal(c.RAM, []int{16, 24, 32}) {
		t.Errorf("the M6 is sold as %s", show(c))
	}
}

// What is not in the table is no chip, and never a default one, as a base M1 was
// for one that could not run sysctl (jundot/omlx#1322).
func TestChipUnknown(t *testing.T) {
	for _, name := range []string{"", "Apple", "Apple ", "Apple processor", "Apple M7", "Apple M6 Max", "Apple M", "Unknown", "M", "Intel(R) Core(TM) i7", "Apple M1 Foo", "(Virtual)", "Apple processor (Virtual)"} {
		if c, ok := LookupChip(name, new(8), new(uint64(16<<30))); ok || c.Name != "" || c.Bandwidth != nil {
			t.Errorf("%q is %s", name, show(c))
		}
	}
	c, ok := LookupChip("Apple M1 (Virtual)", new(8), nil)
	if !ok || !c.Virtual || c.Generation != "M1" || c.Bandwidth != nil || c.Certain {
		t.Errorf("a virtual machine's chip is %s, %v", show(c), ok)
	}
}

func TestChipTableIsSound(t *testing.T) {
	names := map[string]bool{}
	for _, row := range chips {
		if names[row.name] || len(row.variants) == 0 || row.name[:len(row.generation)] != row.generation {
			t.Errorf("row %+v", row)
		}
		names[row.name] = true
		for _, v := range row.variants {
			if v.gbs < 50 || v.gbs > 2000 || !slices.IsSorted(v.gpuCores) || !slices.IsSorted(v.ram) {
				t.Errorf("%s: %+v", row.name, v)
			}
		}
	}
	if len(chips) != 21 {
		t.Errorf("%d chips", len(chips))
	}
}

func FuzzLookupChip(f *testing.F) {
	f.Add("Apple M5 Max", 40, uint64(64<<30))
	f.Add("Apple M1 (Virtual)", 0, uint64(0))
	f.Add(" (Virtual)", -1, uint64(1<<63))
	f.Fuzz(func(t *testing.T, name string, cores int, ram uint64) {
		c, ok := LookupChip(name, &cores, &ram)
		if ok != (c.Generation != "") || c.Bandwidth != nil && !(*c.Bandwidth >= 60e9 && *c.Bandwidth <= 1200e9) || c.Certain && c.Bandwidth == nil {
			t.Errorf("%q with %d cores and %d bytes: %s, %v", name, cores, ram, show(c), ok)
		}
		if without, _ := LookupChip(name, nil, &ram); c.Bandwidth != nil && *without.Bandwidth > *c.Bandwidth {
			t.Errorf("%q without cores: %s is more than %s", name, show(without), show(c))
		}
	})
}

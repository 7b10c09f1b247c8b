package metal

import (
	"slices"
	"strings"
)

// Chip is what is known of a chip of Apple's by its name.
type Chip struct {
	// Name is the system's, "Apple M3 Max"; Generation "M3".
	Name       string `json:"name"`
	Generation string `json:"generation"`
	// Virtual says that the name is a virtual machine's. It tells the generation
	// and not which chip of it the host has.
	Virtual bool `json:"virtual,omitzero"`
	// GPUCores are the numbers of GPU cores that this chip is sold with, RAM the
	// sizes of memory in GiB. Absent where not known.
	GPUCores []int `json:"gpu_cores,omitempty"`
	RAM      []int `json:"ram_gib,omitempty"`
	// Bandwidth is the most that memory delivers, in bytes per second. Absent on a
	// virtual machine.
	Bandwidth *float64 `json:"memory_bandwidth_bytes_per_second,omitempty"`
	// Certain is false where Bandwidth is the lower of several that the chip is
	// sold with, because what tells them apart is not known, or where the figure
	// itself is not Apple's.
	Certain bool `json:"memory_bandwidth_certain"`
}

// LookupChip tells what is known of a chip: name is what machdep.cpu.brand_string
// says, with or without "Apple". gpuCores and ramBytes choose between chips of one
// name; nil is unknown. False for a chip that is not in the table, of which
// nothing is guessed.
func LookupChip(name string, gpuCores *int, ramBytes *uint64) (Chip, bool) {
	return lookupChip(name, gpuCores, nil, ramBytes)
}

// lookupChip takes the number of the fastest cores too, which decides on some
// chips where the GPU does not tell its cores.
func lookupChip(name string, gpuCores, fastCores *int, ramBytes *uint64) (Chip, bool) {
	short, virtual := strings.CutSuffix(strings.Join(strings.Fields(name), " "), " (Virtual)")
	if len(short) > 6 && strings.EqualFold(short[:6], "apple ") {
		short = short[6:]
	}
	for _, row := range chips {
		if !strings.EqualFold(short, row.name) {
			continue
		}
		c := Chip{Name: "Apple " + row.name, Generation: row.generation, Virtual: virtual}
		if virtual {
			c.Name += " (Virtual)"
			return c, true
		}
		for _, v := range row.variants {
			c.GPUCores = append(c.GPUCores, v.gpuCores...)
			c.RAM = append(c.RAM, v.ram...)
		}
		slices.Sort(c.GPUCores)
		slices.Sort(c.RAM)
		c.GPUCores, c.RAM = slices.Compact(c.GPUCores), slices.Compact(c.RAM)
		gbs, certain := choose(row.variants, gpuCores, fastCores, ramBytes)
		c.Bandwidth, c.Certain = new(gbs*1e9), certain && !row.rough
		return c, true
	}
	return Chip{}, false
}

// choose finds the bandwidth in GB/s. Where nothing decides it is the lowest. The
// GPU's cores decide where they are known: which memory goes with which variant
// is less sure, and decides only between variants with the same cores.
func choose(variants []variant, gpuCores, fastCores *int, ramBytes *uint64) (gbs float64, certain bool) {
	sameCores, fastTell := true, false
	for _, v := range variants {
		sameCores = sameCores && slices.Equal(v.gpuCores, variants[0].gpuCores)
		fastTell = fastTell || v.fastCores != 0
	}
	left := variants
	switch {
	case sameCores && ramBytes != nil:
		gib := int((min(*ramBytes, 1<<60) + 1<<29) >> 30)
		left = matching(variants, func(v variant) bool { return slices.Contains(v.ram, gib) })
	case sameCores:
	case gpuCores != nil:
		left = matching(variants, func(v variant) bool { return slices.Contains(v.gpuCores, *gpuCores) })
	case fastCores != nil && fastTell:
		left = matching(variants, func(v variant) bool { return v.fastCores == *fastCores })
	}
	if len(left) == 0 { // a variant that the table does not know
		left = variants
	}
	gbs, certain = left[0].gbs, true
	for _, v := range left[1:] {
		certain = certain && v.gbs == gbs
		gbs = min(gbs, v.gbs)
	}
	return gbs, certain
}

func matching(from []variant, fits func(variant) bool) []variant {
	return slices.DeleteFunc(slices.Clone(from), func(v variant) bool { return !fits(v) })
}

// chipRow is one name, variant what is sold under it.
type chipRow struct {
	name, generation string
	rough            bool // the bandwidth is no figure of Apple's
	variants         []variant
}

type variant struct {
	gbs       float64 // GB/s = 10⁹ bytes per second
	gpuCores  []int
	fastCores int // performance cores, where they tell variants apart
	ram       []int
}

// chips is the table of Apple's chips. Bandwidths are Apple's own figures: the
// technical specifications at support.apple.com and the press releases of the M5
// Ultra and the M6, both of 2026. The two M3 Max and the two M4 Max differ in the
// number of their performance cores too, the two M5 Max in GPU cores only, and the
// M6 in its memory alone.
//
// Not in it is "Apple processor", which the first system for M1 and some virtual
// machines say: it may be any chip.
var chips = []chipRow{
	{"M1", "M1", false, []variant{{68.25, []int{7, 8}, 0, []int{8, 16}}}},
	{"M1 Pro", "M1", false, []variant{{200, []int{14, 16}, 0, []int{16, 32}}}},
	{"M1 Max", "M1", false, []variant{{400, []int{24, 32}, 0, []int{32, 64}}}},
	{"M1 Ultra", "M1", false, []variant{{800, []int{48, 64}, 0, []int{64, 128}}}},
	{"M2", "M2", false, []variant{{100, []int{8, 10}, 0, []int{8, 16, 24}}}},
	{"M2 Pro", "M2", false, []variant{{200, []int{16, 19}, 0, []int{16, 32}}}},
	{"M2 Max", "M2", false, []variant{{400, []int{30, 38}, 0, []int{32, 64, 96}}}},
	{"M2 Ultra", "M2", false, []variant{{800, []int{60, 76}, 0, []int{64, 128, 192}}}},
	{"M3", "M3", false, []variant{{100, []int{8, 10}, 0, []int{8, 16, 24}}}},
	{"M3 Pro", "M3", false, []variant{{150, []int{14, 18}, 0, []int{18, 36}}}},
	{"M3 Max", "M3", false, []variant{{300, []int{30}, 10, []int{36, 96}}, {400, []int{40}, 12, []int{48, 64, 128}}}},
	{"M3 Ultra", "M3", false, []variant{{819, []int{60, 80}, 0, []int{96, 256, 512}}}},
	{"M4", "M4", false, []variant{{120, []int{8, 10}, 0, []int{16, 24, 32}}}},
	{"M4 Pro", "M4", false, []variant{{273, []int{16, 20}, 0, []int{24, 48, 64}}}},
	{"M4 Max", "M4", false, []variant{{410, []int{32}, 10, []int{36}}, {546, []int{40}, 12, []int{48, 64, 128}}}},
	{"M5", "M5", false, []variant{{153, []int{8, 10}, 0, []int{16, 24, 32}}}},
	{"M5 Pro", "M5", false, []variant{{307, []int{16, 20}, 0, []int{24, 48, 64}}}},
	{"M5 Max", "M5", false, []variant{{460, []int{32}, 0, []int{36}}, {614, []int{40}, 0, []int{48, 64, 128}}}},
	{"M5 Ultra", "M5", false, []variant{{1200, nil, 0, nil}}},
	{"M6", "M6", false, []variant{{153, []int{12}, 0, []int{16}}, {170, []int{12}, 0, []int{24, 32}}}},
	{"A18 Pro", "A18", true, []variant{{60, []int{5}, 0, []int{8}}}},
}

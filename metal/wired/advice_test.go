package wired

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes are the memory sizes of Macs, in GiB.
var sizes = []uint64{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512}

func TestBounds(t *testing.T) {
	for _, test := range []struct {
		ram uint64 // bytes
		Bounds
	}{
		{8 * gib, Bounds{4096, 4096}},
		{16 * gib, Bounds{8192, 12288}},
		{18 * gib, Bounds{9216, 14336}},
		{24 * gib, Bounds{12288, 20480}},
		{32 * gib, Bounds{16384, 28672}},
		{36 * gib, Bounds{18432, 32256}},
		{48 * gib, Bounds{24576, 43008}},
		{64 * gib, Bounds{32768, 57344}},
		{96 * gib, Bounds{49152, 86016}},
		{128 * gib, Bounds{65536, 114688}},
		{192 * gib, Bounds{98304, 180224}},
		{256 * gib, Bounds{131072, 245760}},
		{512 * gib, Bounds{262144, 507904}},
		{4 * gib, Bounds{2048, 0}}, // a small virtual machine
		{0, Bounds{0, 0}},
		{32*gib + 1, Bounds{16385, 28672}}, // to the safe side, both
		{32*gib - 1, Bounds{16384, 28671}},
	} {
		if got := BoundsOf(test.ram); got != test.Bounds {
			t.Errorf("%d bytes: %+v, want %+v", test.ram, got, test.Bounds)
		}
		for _, limit := range []MiB{0, 1, test.Floor - 1, test.Floor, test.Most, test.Most + 1, 24576 << 20, 1<<64 - 1} {
			fits := limit == 0 || limit >= test.Floor && limit <= test.Most
			if err := test.Check(limit); (err == nil) != fits || err != nil && codeOf(err) != CodeBounds {
				t.Errorf("%d bytes, %d MiB: %v", test.ram, limit, err)
			}
		}
	}
}

// TestAdvicePassesItsOwnCheck holds advice to its bounds and to what it says of itself,
// for sizes of Macs and any other.
func TestAdvicePassesItsOwnCheck(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 50_000 {
		m := Machine{RAM: sizes[random.IntN(len(sizes))] * gib}
		if i%3 == 0 {
			m.RAM = random.Uint64N(600 * gib)
		}
		m.Default = uint64(float64(m.RAM) * (0.6 + 0.35*random.Float64()))
		if i%2 == 0 {
			m.NonModel = new(random.Uint64N(m.RAM + 1))
		}
		a := Advise(m)
		if len(a.Steps) > 4 {
			t.Fatalf("%+v: %d steps", m, len(a.Steps))
		}
		for j, s := range a.Steps {
			if err := a.Bounds.Check(s.Limit); err != nil {
				t.Fatalf("%+v: %v", m, err)
			}
			if s.Limit%1024 != 0 || s.Limit.Bytes() < m.Default+leastGain || j > 0 && s.Limit <= a.Steps[j-1].Limit {
				t.Fatalf("%+v: steps %+v", m, a.Steps)
			}
			if s.Keeps != m.RAM-s.After || s.Keeps < Reserve(m.RAM) || s.Gain() != int64(s.After)-int64(m.Default) {
				t.Fatalf("%+v: step %+v", m, s)
			}
		}
		if (a.Recommended == nil) != (a.Why != "") {
			t.Fatalf("%+v: recommended %v because %q", m, a.Recommended, a.Why)
		}
		if r := a.Recommended; r != nil {
			k := slices.IndexFunc(a.Steps, func(s Step) bool { return s.Limit == *r })
			if k < 0 || a.Steps[k].Short > 0 || m.NonModel != nil && k+1 < len(a.Steps) && a.Steps[k+1].Short == 0 {
				t.Fatalf("%+v: recommends %d of %+v", m, *r, a.Steps)
			}
		}
	}
}

func TestAdvice(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		name        string
		ram         uint64  // GiB
		byDefault   float64 // MiB
		use         float64 // GiB, below 0: not measured
		steps       []MiB
		recommended MiB // 0: none
		why         string
	}{
		{"32 GB, macOS 26, little else", 32, 25559, 4, []MiB{26624, 27648, 28672}, 28672, ""},
		{"32 GB, macOS 26, other programs need 4.5 GiB", 32, 25559, 4.5, []MiB{26624, 27648, 28672}, 27648, ""},
		{"32 GB, macOS 26, other programs need 7 GiB", 32, 25559, 7, []MiB{26624, 27648, 28672}, 0, NothingInUse},
		{"32 GB, macOS 26, not measured", 32, 25559, -1, []MiB{26624, 27648, 28672}, 26624, ""},
		{"32 GB, macOS 15", 32, 21845.34, 5, []MiB{22528, 24576, 26624, 28672}, 26624, ""},
		{"16 GB, macOS 26", 16, 12124.18, 4, nil, 0, NothingAbove},
		{"16 GB, macOS 15", 16, 10922.67, 3, []MiB{12288}, 12288, ""},
		{"8 GB", 8, 5461.34, 3, nil, 0, NothingAbove},
		{"64 GB, macOS 26", 64, 53084.2, 8, []MiB{54272, 55296, 56320, 57344}, 57344, ""},
		{"128 GB, macOS 15", 128, 98304, 12, []MiB{102400, 106496, 110592, 114688}, 114688, ""},
		{"512 GB", 512, 475136, 20, []MiB{483328, 491520, 499712, 507904}, 499712, ""},
		{"default not known", 32, 0, 4, nil, 0, NothingUnknown},
		{"memory not known", 0, 25559, 4, nil, 0, NothingUnknown},
	} {
		m := Machine{RAM: test.ram * gib, Default: uint64(test.byDefault * mib)}
		if test.use >= 0 {
			m.NonModel = new(uint64(test.use * gib))
		}
		a := Advise(m)
		var steps []MiB
		for _, s := range a.Steps {
			steps = append(steps, s.Limit)
		}
		var recommended MiB
		if a.Recommended != nil {
			recommended = *a.Recommended
		}
		if !slices.Equal(steps, test.steps) || recommended != test.recommended || a.Why != test.why {
			t.Errorf("%s: steps %v, recommended %d, %q", test.name, steps, recommended, a.Why)
		}
	}
}

// TestUseForbidsAStep is the sentence of the dialog: 28,672 MiB on 32 GB leave
// 4 GiB, and that is too little where other programs use more.
func TestUseForbidsAStep(t *testing.T) {
	m := Machine{RAM: 32 * gib, Default: 25559 << 20, NonModel: new(uint64(6 * gib))}
	if s := m.At(28672); s.Keeps != 4*gib || s.Short != 2*gib {
		t.Errorf("keeps %d and is %d short", s.Keeps, s.Short)
	}
	if s := m.At(26624); s.Keeps != 6*gib || s.Short != 0 {
		t.Errorf("keeps %d and is %d short", s.Keeps, s.Short)
	}
	if s := m.At(0); s.After != m.Default || s.Before != m.Default || s.Gain() != 0 {
		t.Errorf("the default: %+v", s)
	}
	m.Now = 27648 << 20
	if s := m.At(0); s.Gain() != -2089<<20 {
		t.Errorf("back to the default gains %d", s.Gain())
	}
}

func TestDefaultContext(t *testing.T) {
	for bytes, want := range map[uint64]int{
		1: 4096, 23*gib - 1: 4096, 23 * gib: 32768, 47*gib - 1: 32768, 47 * gib: 262144, 496 * gib: 262144,
	} {
		if got := DefaultContext(bytes); got != want {
			t.Errorf("%d bytes: %d, want %d", bytes, got, want)
		}
	}
	if s := (Machine{RAM: 32 * gib}).At(26000); s.ContextBefore != 0 || s.ContextAfter != 0 {
		t.Errorf("nobody knows the default, and yet: %+v", s)
	}
}

// TestCase19: a raised limit makes the default context jump, which takes more than
// the limit gives.
func TestCase19(t *testing.T) {
	m := Machine{RAM: 32 * gib, Default: 22906503168 /* 21.33 GiB, macOS 15 */}
	s := m.At(26000)
	if s.ContextBefore != 4096 || s.ContextAfter != 32768 {
		t.Fatalf("context %d → %d", s.ContextBefore, s.ContextAfter)
	}
	const perToken = 163840 // a model of 14B
	if got := float64(s.Gain()) / gib; got < 4.05 || got > 4.15 {
		t.Errorf("gain %.2f GiB", got)
	}
	if got, want := s.CacheGrowth(perToken), int64(32768-4096)*perToken; got != want || got <= s.Gain() {
		t.Errorf("the cache grows by %d, the limit by %d", got, s.Gain())
	}
	if got := uint64(s.ContextBefore) * perToken; got != 671088640 { // 0.63 GiB
		t.Errorf("cache before: %d", got)
	}
}

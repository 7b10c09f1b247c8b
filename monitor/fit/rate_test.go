package fit

import (
	"math"
	"testing"
)

// mixture is a mixture of experts whose tensors are told: all weights and those
// read for a token.
func mixture(all, active uint64) Model {
	m := Model{Architecture: "qwen3moe", Experts: 128, ExpertsUsed: 8, Weights: &all}
	if active > 0 {
		m.Active = &active
	}
	return m
}

// Case 33: what a mixture reaches lies between reading all and reading what is active.
func TestMixtureRate(t *testing.T) {
	e := mixture(13e9, 1.1e9).Rate(Options{}, Speed{Bandwidth: new(512e9)}, 0)
	if e.Reason != "" {
		t.Fatal(e.Reason)
	}
	if math.Round(*e.Floor) != 39 || math.Round(*e.Ceiling) != 465 {
		t.Errorf("from %.1f to %.1f, want 39 to 465", *e.Floor, *e.Ceiling)
	}
	for _, v := range []float64{*e.Low, *e.Centre, *e.High, 77.6} {
		if v < *e.Floor || v > *e.Ceiling {
			t.Errorf("%.1f is outside of %.1f to %.1f", v, *e.Floor, *e.Ceiling)
		}
	}
	if !(*e.Low <= 77.6 && 77.6 <= *e.High) {
		t.Errorf("what was measured is outside of %.1f to %.1f", *e.Low, *e.High)
	}
}

// Case 34: 30B with 3B active was promised 472 and makes 150 to 180.
func TestMixtureIsNotItsCeiling(t *testing.T) {
	e := mixture(20e9, 2e9).Rate(Options{}, Speed{Bandwidth: new(472 * 2e9)}, 0)
	if math.Round(*e.Ceiling) != 472 {
		t.Fatalf("the ceiling is %.1f", *e.Ceiling)
	}
	if *e.Centre < 130 || *e.Centre > 200 || *e.High >= *e.Ceiling {
		t.Errorf("promised %.1f, at most %.1f", *e.Centre, *e.High)
	}
	untold := mixture(20e9, 0).Rate(Options{}, Speed{Bandwidth: new(400e9)}, 0)
	if !untold.Upper || untold.Centre != nil || untold.High != nil || *untold.Low != 20 {
		t.Errorf("of experts that nobody told: %+v", untold)
	}
}

func TestDenseRate(t *testing.T) {
	m := read(t, qwen3)
	m.Weights = new(uint64(2.5e9))
	speed := Speed{Bandwidth: new(273e9)}
	shallow := m.Rate(Options{}, speed, 0)
	if math.Abs(*shallow.Ceiling-109.2) > 0.1 || *shallow.Floor != *shallow.Ceiling || math.Abs(*shallow.Centre-0.65**shallow.Ceiling) > 1e-9 {
		t.Errorf("%+v", shallow)
	}
	if *shallow.Low != 0.55**shallow.Ceiling || *shallow.High != 0.75**shallow.Ceiling || shallow.Source != SourceDefault {
		t.Errorf("the band is %.1f to %.1f by %s", *shallow.Low, *shallow.High, shallow.Source)
	}
	deep := m.Rate(Options{}, speed, 32768)
	if deep.Class != Deep || *deep.KV != 147456*32768 || *deep.Read != 2.5e9+147456*32768 {
		t.Errorf("at 32768: %s, %d of %d B", deep.Class, *deep.KV, *deep.Read)
	}
	if *deep.Low != 0.3**deep.Ceiling || *deep.Centre >= *shallow.Centre {
		t.Errorf("the band at depth begins at %.2f of %.2f", *deep.Low, *deep.Ceiling)
	}
}

// Case 37: a hybrid is nearly flat by its bytes, so a fall of 97.7 % is the engine's.
func TestHybridIsFlat(t *testing.T) {
	m := read(t, map[string]any{
		"general.architecture": "qwen3next", "qwen3next.block_count": 48, "qwen3next.attention.head_count": 16, "qwen3next.attention.head_count_kv": 2,
		"qwen3next.attention.key_length": 256, "qwen3next.attention.value_length": 256,
		"qwen3next.ssm.state_size": 128, "qwen3next.ssm.inner_size": 4096, "qwen3next.ssm.group_count": 16, "qwen3next.ssm.conv_kernel": 4,
	})
	m.Weights = new(uint64(16e9))
	speed := Speed{Bandwidth: new(400e9)}
	shallow, deep := m.Rate(Options{}, speed, 1000), m.Rate(Options{}, speed, 50000)
	if drop := 1 - *deep.Ceiling / *shallow.Ceiling; drop < 0 || drop > 0.1 {
		t.Errorf("it falls by %.1f %%", drop*100)
	}
	if measured := 1 - 0.37/15.75; math.Round(measured*1000) != 977 {
		t.Errorf("the measured fall is %.3f", measured)
	}
}

func TestRateIsUnknown(t *testing.T) {
	m := read(t, qwen3)
	if e := m.Rate(Options{}, Speed{}, 0); e.Reason != ReasonNoBandwidth || e.Centre != nil {
		t.Errorf("%+v", e)
	}
	for _, bandwidth := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if e := m.Rate(Options{Weights: new(uint64(1e9))}, Speed{Bandwidth: &bandwidth}, 0); e.Reason != ReasonNoBandwidth {
			t.Errorf("%g B/s: %+v", bandwidth, e)
		}
	}
	if e := m.Rate(Options{}, Speed{Bandwidth: new(1e11)}, 0); e.Reason != ReasonNoWeights {
		t.Errorf("%+v", e)
	}
	unknown := Model{Unknown: ReasonWindow, Weights: new(uint64(1e9))}
	if e := unknown.Rate(Options{}, Speed{Bandwidth: new(1e11)}, 0); e.Reason != "" || *e.Ceiling != 100 {
		t.Errorf("with an empty cache that of an unknown build is known: %+v", e)
	}
	if e := unknown.Rate(Options{}, Speed{Bandwidth: new(1e11)}, 4096); e.Reason != ReasonWindow {
		t.Errorf("%+v", e)
	}
}

func TestLearner(t *testing.T) {
	var l Learner
	m := Model{Weights: new(uint64(10e9))}
	speed := func() Speed {
		return Speed{Bandwidth: new(100e9), Engine: "ollama", Version: "0.17.4", Learned: l.Learned()}
	}
	for _, rate := range []float64{5.0, 5.2} {
		share, class, ok := m.Efficiency(Options{}, new(100e9), 0, rate)
		if !ok || class != Dense || math.Abs(share-rate/10) > 1e-9 {
			t.Fatalf("%g tokens/s: %g %s %t", rate, share, class, ok)
		}
		l.Add("ollama", "0.17.4", class, share)
	}
	if e := m.Rate(Options{}, speed(), 0); e.Source != SourceDefault {
		t.Errorf("two runs teach: %+v", e)
	}
	l.Add("ollama", "0.17.4", Dense, 0.51)
	e := m.Rate(Options{}, speed(), 0)
	if e.Source != SourceLearned || e.Runs != 3 || math.Abs(*e.Centre-5.1) > 1e-9 || *e.Low != 5.0 || *e.High != 5.2 {
		t.Errorf("three runs: %+v", e)
	}
	other := speed()
	other.Version = "0.18.0"
	if e := m.Rate(Options{}, other, 0); e.Source != SourceDefault {
		t.Errorf("another version has learned: %+v", e)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), 2} {
		l.Add("ollama", "0.17.4", Dense, bad)
	}
	if got := l.Learned()[0].Runs; got != 3 {
		t.Errorf("%d runs after some that are none", got)
	}
	for range 100 {
		l.Add("ollama", "0.17.4", Dense, 0.7)
	}
	if got := l.Learned()[0]; got.Runs != keptRuns || got.Band.Centre != 0.7 {
		t.Errorf("after many: %+v", got)
	}
	var later Learner
	later.Restore(l.Learned())
	if got := later.Learned(); len(got) != 1 || got[0].Band.Centre != 0.7 {
		t.Errorf("restored: %+v", got)
	}
	later.Restore([]Learned{{Engine: "x", Class: Dense, Runs: 9, Band: Band{math.NaN(), 0.5, 0.6}}})
	if len(later.Learned()) != 1 {
		t.Error("a band that is none was restored")
	}
	for n := range 2 * mostKeys {
		for range LeastRuns {
			later.Add("engine", string(rune('a'+n)), Dense, 0.5)
		}
	}
	if got := len(later.Learned()); got != mostKeys {
		t.Errorf("%d engines are remembered", got)
	}
}

func TestComfort(t *testing.T) {
	for _, c := range []struct {
		ttft, decode *float64
		want         Comfort
	}{
		{new(1.5), new(8.0), Comfortable}, {new(0.2), new(60.0), Comfortable}, {new(1.6), new(60.0), Slow}, {new(0.2), new(7.9), Slow},
		{new(0.2), new(3.9), BatchOnly}, {new(16.0), new(60.0), BatchOnly}, {nil, new(3.0), BatchOnly}, {nil, new(5.0), Slow},
		{nil, new(60.0), ""}, {new(0.2), nil, ""}, {nil, nil, ""}, {new(0.2), new(math.NaN()), ""}, {new(0.2), new(0.0), ""},
	} {
		if got := Usable.Comfort(c.ttft, c.decode); got != c.want {
			t.Errorf("%v s, %v tokens/s: %q, want %q", c.ttft, c.decode, got, c.want)
		}
	}
}

// What two engines logged of their buffers
// (github.com/ggml-org/llama.cpp/pull/17609 and /issues/6849).
func TestBuffersAgainstLogs(t *testing.T) {
	oss := read(t, map[string]any{
		"general.architecture": "gpt-oss", "gpt-oss.block_count": 24, "gpt-oss.attention.head_count": 64, "gpt-oss.attention.head_count_kv": 8,
		"gpt-oss.attention.key_length": 64, "gpt-oss.embedding_length": 2880, "gpt-oss.feed_forward_length": 2880, "gpt-oss.vocab_size": 201088,
		"gpt-oss.expert_count": 32, "gpt-oss.expert_used_count": 4, "gpt-oss.attention.sliding_window": 128,
	})
	phi := read(t, map[string]any{
		"general.architecture": "phi3", "phi3.block_count": 32, "phi3.attention.head_count": 32, "phi3.attention.head_count_kv": 32,
		"phi3.embedding_length": 3072, "phi3.feed_forward_length": 8192, "phi3.vocab_size": 32064,
	})
	for _, c := range []struct {
		name string
		m    Model
		o    Options
		mib  float64
	}{{"gpt-oss 20B", oss, Options{Context: 4096, Flash: FlashOn}, 404}, {"Phi 3 mini", phi, Options{Context: 131328, Flash: FlashOff}, 8500.51}} {
		if n := c.m.Need(c.o); !near(float64(*n.Compute)/mib, c.mib, 0.04) {
			t.Errorf("%s: %.1f MiB, logged %.1f", c.name, float64(*n.Compute)/mib, c.mib)
		}
	}
}

// Cases 33 and 34: the share that a token reads, of counts and widths alone, whatever
// the file weighs. Qwen3 30B has 3.3 billion of 30.5 in use, by its own card.
func TestShareOfExperts(t *testing.T) {
	keys := map[string]any{
		"general.architecture": "qwen3moe", "block_count": 48, "embedding_length": 2048, "expert_count": 128, "expert_used_count": 8,
		"expert_feed_forward_length": 768, "attention.head_count": 32, "attention.head_count_kv": 4, "attention.key_length": 128, "vocab_size": 151936,
	}
	for _, parameters := range []float64{0, 30532122624} {
		if parameters > 0 {
			keys["general.parameter_count"] = parameters
		}
		m := read(t, keys)
		if got := m.ActiveShare * 30.53; math.Abs(got-3.35) > 0.05 {
			t.Errorf("%.3f billion are in use, want 3.35", got)
		}
		o := Options{Weights: new(uint64(18.6e9))}
		short, deep := m.Rate(o, Speed{Bandwidth: new(546e9)}, 0), m.Rate(o, Speed{Bandwidth: new(546e9)}, 32768)
		if !(*short.Floor < 30 && *short.Ceiling > 260) || *deep.Centre >= *short.Centre || *deep.Ceiling >= *short.Ceiling {
			t.Errorf("short %.0f to %.0f, likely %.0f; deep likely %.0f of %.0f", *short.Floor, *short.Ceiling, *short.Centre, *deep.Centre, *deep.Ceiling)
		}
	}
	delete(keys, "expert_used_count")
	if e := read(t, keys).Rate(Options{Weights: new(uint64(18.6e9))}, Speed{Bandwidth: new(546e9)}, 32768); !e.Upper || e.Ceiling != nil || e.High != nil || e.Floor == nil {
		t.Errorf("of experts that nobody told: %+v", e)
	}
}

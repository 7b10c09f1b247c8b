package bench

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// shared is a file of the cases, which are not part of this repository.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "cases", name))
	if err != nil {
		t.Skipf("the recorded cases are not beside this repository: %v", err)
	}
	return data
}

// Case 93: one token in 13 µs is no rate.
func TestRateOfOneToken(t *testing.T) {
	var rows []struct {
		Count    int           `json:"eval_count"`
		Duration time.Duration `json:"eval_duration"`
		Expect   *float64
	}
	if err := json.Unmarshal(shared(t, "093.json"), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		got := rates(Answer{OutputTokens: &row.Count, Decode: row.Duration}).Decode
		if (got == nil) != (row.Expect == nil) || got != nil && math.Abs(*got-*row.Expect) > 0.01 {
			t.Errorf("%d tokens in %v: %v, want %v", row.Count, row.Duration, got, row.Expect)
		}
	}
}

// Case 94: 2410 tokens in 128 ms on a card that reads 50 a second come from a cache.
func TestPrefillFromACache(t *testing.T) {
	pass := func(tokens int, d time.Duration) Pass {
		return rates(Answer{PromptTokens: &tokens, Prompt: d, OutputTokens: new(100), Decode: time.Second})
	}
	for name, before := range map[string]float64{"within a test": 0, "of an earlier test": 50} {
		runs := []Pass{pass(2410, 48*time.Second), pass(2410, 128*time.Millisecond), pass(2410, 47*time.Second)}
		if before > 0 {
			runs = runs[1:2]
		}
		voidCached(runs, before)
		for i, r := range runs {
			cached := before > 0 || i == 1
			if (reasons(r.Void) == "cached") != cached || (r.Prefill == nil) != cached {
				t.Errorf("%s: run %d: %+v", name, i, r)
			}
			if cached && int(*r.Void[0].Value) != 18828 {
				t.Errorf("seemed to be read at %v", *r.Void[0].Value)
			}
		}
	}
	// A server that tells what was cached needs no guess.
	told := rates(Answer{PromptTokens: new(2410), CachedTokens: new(2409), Prompt: 128 * time.Millisecond})
	if told.Prefill != nil {
		t.Errorf("one token was read at %v", *told.Prefill)
	}
}

// Case 38: passes of −3.4 % and +1.7 % around 5.8 tokens/s are no difference; by
// kind of text there is one: code +9 %, prose −23 %.
func TestParityIsNoGain(t *testing.T) {
	with := func(english, code []float64) *Result {
		r := &Result{Server: About{Engine: "ollama", Version: "1"}}
		for kind, rates := range map[Kind][]float64{English: english, Code: code} {
			test := Test{Kind: kind}
			for _, v := range rates {
				test.Runs = append(test.Runs, Pass{Decode: new(v)})
			}
			test.sum()
			r.Tests = append(r.Tests, test)
		}
		return r
	}
	verdict := func(c Comparison, kind Kind) Row {
		for _, r := range c.Rows {
			if r.Kind == kind && r.Metric == MetricDecode {
				return r
			}
		}
		return Row{}
	}
	plain := with([]float64{5.8, 5.6, 6.0}, []float64{5.8, 5.6, 6.0})
	passes := with([]float64{5.8 * 0.966, 5.8 * 1.017, 5.8}, []float64{5.8 * 1.09, 5.8*1.09 + 0.2, 5.8*1.09 - 0.2})
	c := Compare(plain, passes, false)
	if r := verdict(c, English); r.Verdict != NoDifference || r.Low >= 0 || r.High <= 0 {
		t.Errorf("two passes around parity: %+v", r)
	}
	if r := verdict(c, Code); r.Verdict != Better || math.Abs(r.Change-0.09) > 0.001 {
		t.Errorf("code: %+v", r)
	}
	prose := with([]float64{5.8 * 0.77, 5.8*0.77 + 0.2, 5.8*0.77 - 0.2}, []float64{6})
	c = Compare(plain, prose, false)
	if r := verdict(c, English); r.Verdict != Worse || math.Abs(r.Change+0.23) > 0.001 {
		t.Errorf("prose: %+v", r)
	}
	if r := verdict(c, Code); r.Verdict != TooFew {
		t.Errorf("one run alone: %+v", r)
	}
	if r := verdict(Compare(plain, plain, false), English); r.Verdict != NoDifference || r.Change != 0 {
		t.Errorf("the same against itself: %+v", r)
	}
}

func TestTTFTIsBetterWhenLess(t *testing.T) {
	r := row(Test{Kind: English}, MetricTTFT, Spread{1, 0.9, 1.1, 3}, Spread{0.5, 0.4, 0.6, 3})
	if r.Verdict != Better {
		t.Errorf("%+v", r)
	}
}

func TestObstacles(t *testing.T) {
	base := func() *Result {
		return &Result{Prompts: PromptSet, Server: About{Engine: "ollama", Version: "0.17.4"}, Machine: Machine{Chip: "Apple M5", RAMBytes: new(uint64(32 << 30))},
			Options: Options{Context: 4096, Output: 512, Seed: 42}, Before: Conditions{OnBattery: new(false), LowPower: new(false)},
			Tests: []Test{{Kind: English, Decode: &Spread{20, 19, 21, 3}}}}
	}
	for _, row := range []struct {
		kind   ObstacleKind
		change func(*Result)
	}{
		{"", func(*Result) {}},
		{"", func(r *Result) { r.Before.OnBattery = nil }}, // a machine without one
		{ObstaclePower, func(r *Result) { r.Before.OnBattery = new(true) }},
		{ObstacleLowPower, func(r *Result) { r.Before.LowPower = new(true) }},
		{ObstacleEngine, func(r *Result) { r.Server.Engine = "llama.cpp" }},
		{ObstacleVersion, func(r *Result) { r.Server.Version = "0.18.0" }},
		{ObstacleMachine, func(r *Result) { r.Machine.RAMBytes = new(uint64(64 << 30)) }},
		{ObstacleContext, func(r *Result) { r.Options.Context = 8192 }},
		{ObstacleOutput, func(r *Result) { r.Options.Output = 128 }},
		{ObstacleSeed, func(r *Result) { r.Options.Seed = 1 }},
		{ObstaclePrompts, func(r *Result) { r.Prompts = "other" }},
		{ObstacleSimulated, func(r *Result) { r.Simulated = true }},
	} {
		other := base()
		row.change(other)
		c := Compare(base(), other, false)
		switch {
		case row.kind == "" && (len(c.Obstacles) != 0 || len(c.Rows) == 0):
			t.Errorf("comparable results: %+v", c)
		case row.kind != "" && (len(c.Obstacles) != 1 || c.Obstacles[0].Kind != row.kind || len(c.Rows) != 0):
			t.Errorf("%s: %+v", row.kind, c)
		}
		if forced := Compare(base(), other, true); len(forced.Rows) == 0 || (row.kind != "") != (len(forced.Obstacles) > 0) {
			t.Errorf("%s by force: %+v", row.kind, forced)
		}
	}
}

func TestPrompts(t *testing.T) {
	for _, text := range texts {
		// About 350 tokens: 3.6 characters each in English, 3.2 in code, 1.3 in Chinese.
		per := map[Kind]float64{English: 4.1, Code: 3.6, Chinese: 1.35}[text.kind]
		if n := float64(len([]rune(text.text))) / per; n < 280 || n > 420 {
			t.Errorf("%s has about %.0f tokens", text.kind, n)
		}
	}
	for _, tokens := range []int{100, 4000, 16320} {
		text := deepText(tokens, 4)
		if n := len([]rune(text)) / 4; n < tokens-2 && tokens > 200 || n > tokens+2 && tokens > 200 {
			t.Errorf("a text of %d tokens has %d", tokens, n)
		}
		if _, instruction := cutLast(english); text[len(text)-len(instruction):] != instruction {
			t.Errorf("a text of %d tokens ends without its instruction", tokens)
		}
	}
	if got := firstRunes("历史 text", 2); got != "历史" {
		t.Errorf("%q", got)
	}
	if perToken("abcd", 0) != 4 || perToken("abcd", 2) != 2 || perToken("", 5) != 0.25 {
		t.Error("characters per token")
	}
}

func TestSpread(t *testing.T) {
	for _, row := range []struct {
		values []float64
		want   *Spread
	}{{nil, nil}, {[]float64{3}, &Spread{3, 3, 3, 1}}, {[]float64{3, 1}, &Spread{2, 1, 3, 2}}, {[]float64{9, 1, 3}, &Spread{3, 1, 9, 3}}} {
		got := spread(row.values)
		if (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%v: %+v, want %+v", row.values, got, row.want)
		}
	}
}

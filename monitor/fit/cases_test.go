package fit

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared reads a file of the shared cases.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../shared/cases", name))
	if os.IsNotExist(err) {
		t.Skipf("the shared cases are not here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decodeCase reads a case into a value.
func decodeCase[T any](t *testing.T, name string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(shared(t, name), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// read makes a model of key and value pairs.
func read(t *testing.T, keys map[string]any) Model {
	t.Helper()
	data, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

const (
	gib = 1 << 30
	mib = 1 << 20
)

func wantBytes(t *testing.T, what string, got *uint64, want uint64) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s is %s, want %d", what, show(got), want)
	}
}

func show(v *uint64) string {
	if v == nil {
		return "absent"
	}
	return fmt.Sprint(*v)
}

func wantNote(t *testing.T, n Need, note Note, want bool) {
	t.Helper()
	if slices.Contains(n.Notes, note) != want {
		t.Errorf("note %s: want %t in %v", note, want, n.Notes)
	}
}

// Case 1: 25 of 30 layers keep a window, with other heads than the rest.
func TestWindowedLayers(t *testing.T) {
	type heads struct {
		KV    int `json:"head_count_kv"`
		Key   int `json:"key_length"`
		Value int `json:"value_length"`
	}
	c := decodeCase[struct {
		Architecture    string    `json:"general.architecture"`
		Blocks          int       `json:"block_count"`
		Window          int       `json:"attention.sliding_window"`
		Sliding, Global heads     `json:""`
		Contexts        []int     `json:"contexts"`
		Want            []float64 `json:"expect_gb_decimal"`
	}](t, "001.json")
	raw := decodeCase[map[string]json.RawMessage](t, "001.json")
	for name, h := range map[string]*heads{"sliding": &c.Sliding, "global": &c.Global} {
		if err := json.Unmarshal(raw[name], h); err != nil {
			t.Fatal(err)
		}
	}
	pattern, kv := make([]bool, c.Blocks), make([]int, c.Blocks)
	for at := range pattern {
		pattern[at] = (at+1)%6 != 0
		kv[at] = c.Global.KV
		if pattern[at] {
			kv[at] = c.Sliding.KV
		}
	}
	m := read(t, map[string]any{
		"general.architecture": c.Architecture, "gemma4.block_count": c.Blocks, "gemma4.attention.sliding_window": c.Window,
		"gemma4.attention.sliding_window_pattern": pattern, "gemma4.attention.head_count_kv": kv,
		"gemma4.attention.key_length": c.Global.Key, "gemma4.attention.value_length": c.Global.Value,
		"gemma4.attention.key_length_swa": c.Sliding.Key, "gemma4.attention.value_length_swa": c.Sliding.Value,
	})
	for at, context := range c.Contexts {
		n := m.Need(Options{Context: context})
		if n.KV == nil || !near(float64(*n.KV)/1e9, c.Want[at], 0.02) {
			t.Errorf("%d tokens: %s B, want %.2f GB", context, show(n.KV), c.Want[at])
		}
		if want := uint64(20480*context + 204800*1536); *n.KV != want {
			t.Errorf("%d tokens: %d B, want %d", context, *n.KV, want)
		}
		wantBytes(t, "per token", n.PerToken, 20480)
	}
}

// Case 4: a compressed cache, and what an engine takes that does not compress.
func TestCompressedAndExpanded(t *testing.T) {
	m, err := Read(shared(t, "004.json"))
	if err != nil {
		t.Fatal(err)
	}
	n := m.Need(Options{Context: 8192})
	wantBytes(t, "compressed", n.KV, 47*576*2*8192)
	wantBytes(t, "expanded", n.Expanded, 47*20*512*2*8192)
	wantNote(t, n, NoteExpanded, true)
	if got := float64(*n.Expanded) / gib; !near(got, 7.34, 0.002) {
		t.Errorf("expanded is %.3f GiB, want 7.34", got)
	}
	stored := m.Need(Options{Context: 8192, Expanded: true})
	wantBytes(t, "stored expanded", stored.KV, 47*20*512*2*8192)
	wantNote(t, stored, NoteExpanded, false)
}

// Case 6: DeepSeek-V3 at 65,536, with the sum to check by hand.
func TestExplainedSum(t *testing.T) {
	m := read(t, map[string]any{
		"general.architecture": "deepseek2", "deepseek2.block_count": 61, "deepseek2.attention.head_count": 128, "deepseek2.attention.head_count_kv": 1,
		"deepseek2.attention.kv_lora_rank": 512, "deepseek2.rope.dimension_count": 64,
		"deepseek2.attention.key_length": 576, "deepseek2.attention.value_length": 512,
		"deepseek2.attention.key_length_mla": 192, "deepseek2.attention.value_length_mla": 128,
	})
	n := m.Need(Options{Context: 65536})
	wantBytes(t, "f16", n.KV, 61*576*65536*2)
	wantBytes(t, "expanded", n.Expanded, 61*128*(192+128)*2*65536)
	q4 := m.Need(Options{Context: 65536, Cache: Q4})
	wantBytes(t, "q4_0", q4.KV, 61*576*65536/32*18)
	for _, c := range []struct {
		need Need
		want string
	}{{n, "61 × (512 + 64) × 2 B × 65536"}, {q4, "61 × (512 + 64) × 18/32 B × 65536"}} {
		at := slices.IndexFunc(c.need.Steps, func(s Step) bool { return s.Part == PartKV })
		if at < 0 || c.need.Steps[at].Formula != c.want || c.need.Steps[at].Bytes != *c.need.KV {
			t.Errorf("the sum is told as %+v, want %q", c.need.Steps, c.want)
		}
	}
}

// Case 7: one layer in four keeps a cache.
func TestHybridInterval(t *testing.T) {
	for _, c := range decodeCase[[]map[string]any](t, "007.json") {
		n := read(t, c).Need(Options{Context: 64})
		wantBytes(t, "per token", n.PerToken, uint64(c["expect_bytes_per_token"].(float64)))
		wantBytes(t, "64 tokens", n.KV, 64**n.PerToken)
	}
	// The same without the key, by the family.
	n := read(t, map[string]any{
		"general.architecture": "qwen35", "qwen35.block_count": 64, "qwen35.attention.head_count": 24,
		"qwen35.attention.head_count_kv": 4, "qwen35.attention.key_length": 256, "qwen35.attention.value_length": 256,
		"qwen35.ssm.state_size": 128, "qwen35.ssm.inner_size": 6144, "qwen35.ssm.group_count": 16, "qwen35.ssm.conv_kernel": 4,
	}).Need(Options{Context: 64})
	wantBytes(t, "64 tokens", n.KV, 4*mib)
	wantBytes(t, "state", n.State, 48*4*(3*(6144+2*16*128)+128*6144))
}

// Case 11: the length of a head is told and is not the width ÷ heads.
func TestExplicitHeadLength(t *testing.T) {
	c := decodeCase[map[string]any](t, "011.json")
	wantBytes(t, "per token", read(t, c).Need(Options{}).PerToken, uint64(c["expect_bytes_per_token"].(float64)))
	delete(c, "attention.key_length")
	delete(c, "attention.value_length")
	n := read(t, c).Need(Options{})
	wantBytes(t, "per token without lengths", n.PerToken, 163840)
	wantNote(t, n, NoteHeadsRough, true)
}

// Case 12: heads that share keys.
func TestGroupedHeads(t *testing.T) {
	keys := map[string]any{"general.architecture": "llama", "llama.block_count": 32, "llama.attention.head_count": 32, "llama.embedding_length": 4096}
	wantBytes(t, "no grouping", read(t, keys).Need(Options{}).PerToken, 524288)
	keys["llama.attention.head_count_kv"] = 8
	wantBytes(t, "8 of 32", read(t, keys).Need(Options{}).PerToken, 131072)
}

// Case 13: 8 of 88 layers attend; the 40 recurrent ones keep a constant.
func TestMixedPattern(t *testing.T) {
	pattern := strings.Repeat("MEMEMEMEME*", 8)
	if strings.Count(pattern, "M") != 40 || strings.Count(pattern, "*") != 8 || len(pattern) != 88 {
		t.Fatal("the pattern is not the case's")
	}
	config := map[string]any{
		"model_type": "nemotron_h", "num_hidden_layers": 88, "hybrid_override_pattern": pattern, "num_attention_heads": 32,
		"num_key_value_heads": 2, "head_dim": 128, "hidden_size": 4096, "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8,
		"mamba_num_heads": 128, "mamba_head_dim": 64,
	}
	m := read(t, config)
	short, long := m.Need(Options{Context: 4096}), m.Need(Options{Context: 65536})
	wantBytes(t, "per token", short.PerToken, 8*2*256*2)
	wantBytes(t, "state", short.State, 40*4*(3*(8192+2*8*128)+128*8192))
	if short.State == nil || long.State == nil || *short.State != *long.State {
		t.Error("the state depends on the context")
	}
	wantBytes(t, "state of two slots", m.Need(Options{Context: 4096, Slots: 2}).State, *short.State) // this family runs with one
	// As GGUF has it: a list with zeros, where a feed-forward layer is told by its width.
	kv, feed := make([]int, 88), make([]int, 88)
	for at, kind := range pattern {
		switch kind {
		case '*':
			kv[at] = 2
		case 'E':
			feed[at] = 2688
		}
	}
	g := read(t, map[string]any{
		"general.architecture": "nemotron_h_moe", "nemotron_h_moe.block_count": 88, "nemotron_h_moe.attention.head_count_kv": kv,
		"nemotron_h_moe.feed_forward_length": feed, "nemotron_h_moe.attention.head_count": 32, "nemotron_h_moe.attention.key_length": 128,
		"nemotron_h_moe.attention.value_length": 128, "nemotron_h_moe.embedding_length": 4096, "nemotron_h_moe.ssm.state_size": 128,
		"nemotron_h_moe.ssm.conv_kernel": 4, "nemotron_h_moe.ssm.group_count": 8, "nemotron_h_moe.ssm.inner_size": 8192,
	}).Need(Options{Context: 4096})
	wantBytes(t, "per token of the file", g.PerToken, *short.PerToken)
	wantBytes(t, "state of the file", g.State, *short.State)
}

// Case 14: each slot has a context of its own.
func TestSlots(t *testing.T) {
	m := read(t, map[string]any{
		"general.architecture": "qwen2", "qwen2.block_count": 28, "qwen2.attention.head_count": 28, "qwen2.attention.head_count_kv": 4,
		"qwen2.embedding_length": 3584,
	})
	wantBytes(t, "one slot", m.Need(Options{Context: 4096}).KV, 224*mib)
	four := m.Need(Options{Context: 4096, Slots: 4})
	wantBytes(t, "four slots", four.KV, 896*mib)
	at := slices.IndexFunc(four.Steps, func(s Step) bool { return s.Part == PartKV })
	if got := four.Steps[at].Formula; got != "28 × 4 × (128 + 128) × 2 B × 4096 × 4" {
		t.Errorf("told as %q", got)
	}
	if four.Context != 4096 || four.Slots != 4 {
		t.Errorf("%d × %d", four.Slots, four.Context)
	}
}

// qwen3 is the 4B model of case 15.
var qwen3 = map[string]any{
	"general.architecture": "qwen3", "qwen3.block_count": 36, "qwen3.attention.head_count": 32, "qwen3.attention.head_count_kv": 8,
	"qwen3.attention.key_length": 128, "qwen3.attention.value_length": 128, "qwen3.context_length": 262144, "qwen3.embedding_length": 2560,
}

// Case 15: the largest context, to the token.
func TestLargestContext(t *testing.T) {
	m := read(t, qwen3)
	n := m.Need(Options{Context: 262144})
	wantBytes(t, "per token", n.PerToken, 147456)
	wantBytes(t, "at 262144", n.KV, 36*gib)
	wantBytes(t, "at 32768", m.Need(Options{Context: 32768}).KV, 9*gib/2)
	limit, weights := uint64(64*gib/3), uint64(7*gib/3)
	for _, c := range []struct {
		cache CacheType
		want  int
	}{{F16, 131072}, {Q8, 246723}} {
		o := Options{Cache: c.cache, Weights: &weights, Compute: new(uint64(gib))}
		got, bounded, ok := m.Largest(o, Limits{GPU: &limit})
		if got != c.want || !bounded || !ok {
			t.Errorf("%s: %d %t %t, want %d", c.cache, got, bounded, ok, c.want)
		}
		o.Context = got
		if n := m.Need(o); *n.Total > limit {
			t.Errorf("%s: %d tokens take %d of %d", c.cache, got, *n.Total, limit)
		}
		o.Context = got + 1
		if n := m.Need(o); *n.Total <= limit {
			t.Errorf("%s: %d tokens would fit too", c.cache, got+1)
		}
	}
}

// Case 17: the engine took another context than was asked for.
func TestReportedContext(t *testing.T) {
	c := decodeCase[struct {
		Models []struct {
			Context int `json:"context_length"`
		}
	}](t, "017.json")
	m := read(t, map[string]any{ // as a server tells a safetensors model
		"general.architecture": "qwen3_5", "qwen3_5.block_count": 64, "qwen3_5.attention.head_count": 24, "qwen3_5.attention.head_count_kv": 4,
		"qwen3_5.attention.key_length": 256, "qwen3_5.context_length": 262144,
	})
	n := m.Need(Options{Context: 16384, Reported: c.Models[0].Context, Engine: EngineMLX})
	wantBytes(t, "cache", n.KV, 16*gib)
	wantNote(t, n, NoteReported, true)
	if n.Asked != 16384 || n.Context != 262144 {
		t.Errorf("asked %d, runs with %d", n.Asked, n.Context)
	}
	wantBytes(t, "as asked", m.Need(Options{Context: 16384}).KV, gib)
}

// Case 18: some families take no less than 8192.
func TestContextFloor(t *testing.T) {
	for _, family := range []string{"gptoss", "gpt-oss", "qwen3vl"} {
		m := read(t, map[string]any{
			"general.architecture": family, family + ".block_count": 24, family + ".attention.head_count": 64, family + ".attention.head_count_kv": 8,
			family + ".attention.key_length": 64, family + ".attention.value_length": 64, family + ".attention.sliding_window": 128,
		})
		n := m.Need(Options{Context: 4096})
		if n.Context != 8192 {
			t.Errorf("%s: planned for %d", family, n.Context)
		}
		wantNote(t, n, NoteFloor, true)
		reported := m.Need(Options{Context: 4096, Reported: 8192})
		wantNote(t, reported, NoteReported, false)
		if other := m.Need(Options{Context: 4096, Reported: 4096}); other.Context != 4096 {
			t.Errorf("%s: the server's word is not taken: %d", family, other.Context)
		}
	}
}

// Case 19: a raised limit takes the default context over a step.
func TestRaisedLimit(t *testing.T) {
	m := read(t, map[string]any{
		"general.architecture": "qwen3", "qwen3.block_count": 40, "qwen3.attention.head_count": 40, "qwen3.attention.head_count_kv": 8,
		"qwen3.attention.key_length": 128, "qwen3.attention.value_length": 128, "qwen3.embedding_length": 5120,
	})
	weights := uint64(9 * gib)
	from, to := uint64(64*gib/3), uint64(26000*mib)
	c := m.Raise(Options{Weights: &weights}, Limits{GPU: &from}, from, to, 4096, 32768)
	wantBytes(t, "before", c.BeforeKV, 640*mib)
	wantBytes(t, "after", c.AfterKV, 5*gib)
	if !c.Eaten || !near(float64(c.Gain)/gib, 4.06, 0.01) {
		t.Errorf("eaten %t, gain %.2f GiB", c.Eaten, float64(c.Gain)/gib)
	}
	pinned := m.Raise(Options{Context: 4096, Weights: &weights}, Limits{GPU: &from}, from, to, 4096, 32768)
	if pinned.Eaten || *pinned.AfterKV != *pinned.BeforeKV {
		t.Errorf("with a pinned context: %+v", pinned)
	}
	wantBytes(t, "left after", pinned.After.Limit, to)
	seventy := read(t, map[string]any{
		"general.architecture": "llama", "llama.block_count": 80, "llama.attention.head_count": 64, "llama.attention.head_count_kv": 8, "llama.embedding_length": 8192,
	})
	wantBytes(t, "70B at 32K", seventy.Need(Options{Context: 32768}).KV, 10*gib)
}

// Case 22: what fits barely is a state of its own.
func TestBorderline(t *testing.T) {
	m := read(t, qwen3)
	o := Options{Context: 4096, Weights: new(uint64(17 * gib)), Compute: new(uint64(gib))}
	need := *m.Need(o).Total
	for _, c := range []struct {
		spare int64
		want  State
	}{{-1, TooBig}, {0, Borderline}, {gib, Borderline}, {BorderlineBytes - 1, Borderline}, {BorderlineBytes, Fits}} {
		limit := uint64(int64(need) + c.spare)
		v := m.Need(o).Judge(Limits{GPU: &limit})
		if v.State != c.want || v.Binding != BindingGPU {
			t.Errorf("%d B to spare: %s by %s, want %s", c.spare, v.State, v.Binding, c.want)
		}
		if c.want == Borderline && (v.Risk != RiskGPU || v.Share == nil || *v.Share <= 0 || *v.Share > 0.1) {
			t.Errorf("may lose %q, share %v", v.Risk, v.Share)
		}
	}
	vision := m
	vision.Vision = true
	limit := need + 100*mib
	if v := vision.Need(o).Judge(Limits{GPU: &limit}); v.Risk != RiskVision {
		t.Errorf("a model that sees may lose %q", v.Risk)
	}
}

// Case 23: a quantised cache needs flash attention.
func TestCacheTypeFallback(t *testing.T) {
	m := read(t, map[string]any{
		"general.architecture": "llama", "llama.block_count": 40, "llama.attention.head_count": 40, "llama.attention.head_count_kv": 8,
		"llama.attention.key_length": 128, "llama.attention.value_length": 128,
	})
	asked := Options{Context: 8192, Cache: Q8}
	n := m.Need(asked)
	wantBytes(t, "without a word on flash attention", n.KV, 5*gib/4)
	wantNote(t, n, NoteCacheFallback, true)
	if n.Cache != F16 || n.Wanted != Q8 {
		t.Errorf("planned %s, wanted %s", n.Cache, n.Wanted)
	}
	asked.Flash = FlashOff
	wantBytes(t, "without flash attention", m.Need(asked).KV, 5*gib/4)
	asked.Flash = FlashOn
	on := m.Need(asked)
	wantBytes(t, "with flash attention", on.KV, 5*gib/4*34/64)
	wantNote(t, on, NoteCacheFallback, false)
	if on := read(t, qwen3).Need(Options{Context: 8192, Cache: Q8}); on.Cache != Q8 || on.Flash != FlashOn {
		t.Errorf("a family that Ollama turns it on for is planned with %s, flash attention %q", on.Cache, on.Flash)
	}
}

// Case 24: 32 GB Mac, 35B model, flash attention off.
func TestTight(t *testing.T) {
	log := string(shared(t, "024.log"))
	if !strings.Contains(log, "Metal buffer size = 17965.92 MiB") || !strings.Contains(log, "n_ctx      = 8192") {
		t.Fatal("the case is not as it was")
	}
	m := read(t, map[string]any{
		"general.architecture": "command-r", "command-r.block_count": 40, "command-r.attention.head_count": 64, "command-r.attention.head_count_kv": 8,
		"command-r.embedding_length": 8192, "command-r.vocab_size": 256000, "command-r.feed_forward_length": 22528,
	})
	limit := uint64(21845 * mib)
	weights := uint64(17966 * mib)
	o := Options{Context: 2048, Slots: 4, Flash: FlashOff, Weights: &weights}
	n := m.Need(o)
	wantBytes(t, "cache", n.KV, 1280*mib)
	if left := limit - *n.Weights - *n.KV; left/mib != 2599 {
		t.Errorf("left before buffers: %d MiB, want 2599", left/mib)
	}
	if v := n.Judge(Limits{GPU: &limit}); v.State != Borderline {
		t.Errorf("%s with %s to spare", v.State, show(v.Spare))
	}
}

// Case 25: a recurrent model has no cache, and nothing of it is NaN.
func TestRecurrent(t *testing.T) {
	c := decodeCase[map[string]any](t, "025.json")
	file := uint64(c["file_bytes"].(float64))
	for _, told := range []bool{true, false} {
		if !told {
			delete(c, "rwkv7.attention.head_count_kv")
		}
		m := read(t, c)
		n := m.Need(Options{Context: 1 << 20, Weights: &file})
		wantBytes(t, "cache", n.KV, 0)
		wantBytes(t, "per token", n.PerToken, 0)
		wantNote(t, n, NoteNoCache, true)
		if n.Total == nil {
			t.Fatalf("no total: %s", n.Unknown)
		}
		limit := uint64(16 * gib)
		if v := n.Judge(Limits{GPU: &limit}); v.State != Fits {
			t.Errorf("it %s", v.State)
		}
		if _, bounded, ok := m.Largest(Options{Weights: &file}, Limits{GPU: &limit}); bounded || !ok {
			t.Errorf("its context is bounded: %t, known: %t", bounded, ok)
		}
		if text, err := json.Marshal(n); err != nil || strings.Contains(string(text), "NaN") {
			t.Errorf("%v %s", err, text)
		}
	}
	c["rwkv7.wkv.head_size"] = 64
	wantBytes(t, "state", read(t, c).Need(Options{}).State, 32*4*4096*(2+64))
}

// Case 28: a draft model's weights and cache count, and so do prediction layers.
func TestDraft(t *testing.T) {
	build := func(layers int, weights uint64) Model {
		m := read(t, map[string]any{"general.architecture": "llama", "llama.block_count": layers, "llama.attention.head_count": 8, "llama.embedding_length": 1024})
		m.Weights = &weights
		return m
	}
	target, draft := build(32, 16e9), build(16, 7e9)
	o := Options{Context: 8192}
	alone, second := target.Need(o), draft.Need(o)
	o.Draft = &draft
	both := target.Need(o)
	wantBytes(t, "both", both.Total, *alone.Total+*second.Total)
	wantBytes(t, "the draft", both.Draft, *second.Total)
	if *second.KV == 0 || *both.Total < 23e9+*alone.KV+*second.KV {
		t.Errorf("both take %d", *both.Total)
	}
	mtp := read(t, map[string]any{
		"general.architecture": "glm4moe", "glm4moe.block_count": 47, "glm4moe.nextn_predict_layers": 1, "glm4moe.attention.head_count": 96,
		"glm4moe.attention.head_count_kv": 8, "glm4moe.attention.key_length": 128, "glm4moe.attention.value_length": 128,
	})
	wantBytes(t, "without prediction", mtp.Need(Options{}).PerToken, 46*8*256*2)
	wantBytes(t, "with prediction", mtp.Need(Options{Speculative: true}).PerToken, 47*8*256*2)
}

// Case 29: what cannot be estimated is unknown, and no warning.
func TestUnknown(t *testing.T) {
	limit := uint64(8 * gib)
	for _, c := range []struct {
		name string
		json string
		want Reason
	}{
		{"nothing", `{}`, ReasonNoInfo},
		{"an empty reply", `{"model_info":{}}`, ReasonNoInfo},
		{"no layers", `{"general.architecture":"llama","llama.attention.head_count":8,"llama.embedding_length":64}`, ReasonNoLayers},
		{"no heads", `{"general.architecture":"llama","llama.block_count":8,"llama.embedding_length":64}`, ReasonNoHeads},
		{"no length", `{"general.architecture":"llama","llama.block_count":8,"llama.attention.head_count":8}`, ReasonNoHeads},
		{"a list left out", `{"general.architecture":"lfm2","lfm2.block_count":8,"lfm2.attention.head_count":8,"lfm2.attention.head_count_kv":[],"lfm2.embedding_length":64}`, ReasonListLeftOut},
		{"a list that is null", `{"general.architecture":"lfm2","lfm2.block_count":8,"lfm2.attention.head_count":8,"lfm2.attention.head_count_kv":null,"lfm2.embedding_length":64}`, ReasonListLeftOut},
		{"a window of no known pattern", `{"general.architecture":"novel","novel.block_count":8,"novel.attention.head_count":8,"novel.embedding_length":64,"novel.attention.sliding_window":128}`, ReasonWindow},
		{"a latent of no known length", `{"general.architecture":"novel","novel.block_count":8,"novel.attention.head_count":8,"novel.attention.kv_lora_rank":64}`, ReasonLatent},
		{"too many layers", `{"general.architecture":"llama","llama.block_count":1e9,"llama.attention.head_count":8,"llama.embedding_length":64}`, ReasonImplausible},
		{"half a layer", `{"general.architecture":"llama","llama.block_count":8.5,"llama.attention.head_count":8,"llama.embedding_length":64}`, ReasonImplausible},
		{"fewer heads than none", `{"general.architecture":"llama","llama.block_count":8,"llama.attention.head_count":8,"llama.attention.head_count_kv":-1,"llama.embedding_length":64}`, ReasonImplausible},
	} {
		m, err := Read([]byte(c.json))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		weights := uint64(gib)
		n := m.Need(Options{Weights: &weights})
		if m.Unknown != c.want || n.Unknown != c.want || n.Total != nil || n.KV != nil {
			t.Errorf("%s: %q, need %q with total %s, want %q", c.name, m.Unknown, n.Unknown, show(n.Total), c.want)
		}
		if v := n.Judge(Limits{GPU: &limit}); v.State != Unknown || v.Reason != c.want || v.Short != nil {
			t.Errorf("%s: %+v", c.name, v)
		}
		if _, _, ok := m.Largest(Options{Weights: &weights}, Limits{GPU: &limit}); ok {
			t.Errorf("%s: a largest context", c.name)
		}
	}
	known := read(t, qwen3)
	if v := known.Need(Options{}).Judge(Limits{GPU: &limit}); v.State != Unknown || v.Reason != ReasonNoWeights {
		t.Errorf("without weights: %+v", v)
	}
	if v := known.Need(Options{Weights: new(uint64(gib))}).Judge(Limits{}); v.State != Unknown || v.Reason != ReasonNoLimit {
		t.Errorf("without limits: %+v", v)
	}
}

// Case 30: a file that is larger than the limit does not fit, whatever else is known.
func TestFarTooBig(t *testing.T) {
	weights := uint64(23e9)
	for _, limit := range []float64{10.7 * gib, 11.8 * gib} {
		limit := uint64(limit)
		v := Model{Unknown: ReasonNoInfo}.Need(Options{Weights: &weights}).Judge(Limits{GPU: &limit, RAM: new(uint64(12 * gib))})
		if v.State != TooBig || !v.AtLeast || v.Short == nil || *v.Short < 95*gib/10 || *v.Short > 12*gib {
			t.Errorf("%+v, short by %s", v, show(v.Short))
		}
	}
}

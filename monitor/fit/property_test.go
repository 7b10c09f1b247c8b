package fit

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sound checks what holds for every model, whatever it was made of.
func sound(t *testing.T, m Model, o Options) {
	t.Helper()
	limit := uint64(24 * gib)
	n := m.Need(o)
	parts, total := uint64(0), uint64(0)
	for _, p := range []*uint64{n.Weights, n.KV, n.State, n.Compute, n.Projector, n.Draft} {
		if p != nil {
			parts = plus(parts, *p)
		}
	}
	switch {
	case (n.Total == nil) != (n.Unknown != ""):
		t.Fatalf("total %s and reason %q: %+v", show(n.Total), n.Unknown, n)
	case n.Total != nil:
		if total = *n.Total; total != parts || total > maxBytes || n.KV == nil || n.Weights == nil {
			t.Fatalf("the total %d is not the sum %d: %+v", total, parts, n)
		}
	}
	v := n.Judge(Limits{GPU: &limit})
	switch v.State {
	case Unknown:
		if n.Total != nil || v.Reason == "" || v.Short != nil || v.Spare != nil {
			t.Fatalf("%+v of %+v", v, n)
		}
	case TooBig:
		if v.Short == nil || *v.Short == 0 || n.Least <= limit {
			t.Fatalf("%+v of %+v", v, n)
		}
	default:
		if n.Total == nil || v.Spare == nil || total+*v.Spare != limit {
			t.Fatalf("%+v of %+v", v, n)
		}
	}
	if tokens, _, ok := m.Largest(o, Limits{GPU: &limit}); ok && tokens > 0 {
		o := o
		o.Context, o.Reported = tokens, 0
		if n := m.Need(o); n.Total == nil || *n.Total > limit {
			t.Fatalf("%d tokens take %s", tokens, show(n.Total))
		}
	}
	e := m.Rate(o, Speed{Bandwidth: new(1e11)}, 4096)
	if (e.Reason == "") != (e.Floor != nil) || e.Reason == "" && e.Upper == (e.Ceiling != nil) {
		t.Fatalf("%+v", e)
	}
	most := math.Inf(1)
	if e.Ceiling != nil {
		most = *e.Ceiling
	}
	for _, v := range []*float64{e.Low, e.Centre, e.High, e.Ceiling, e.Floor} {
		if v != nil && (!(*v > 0) || math.IsInf(*v, 0) || *v > most || *v < *e.Low) && v != e.Floor {
			t.Fatalf("a rate of %g: %+v", *v, e)
		}
	}
	for _, v := range []any{m, n, v, e} {
		if _, err := json.Marshal(v); err != nil {
			t.Fatalf("%+v: %v", v, err)
		}
	}
}

// More context, more slots and wider values never take less; a window never
// takes more than a full cache.
func TestNeedGrows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	families := []string{"llama", "gemma3", "gptoss", "qwen35", "deepseek2", "cohere2", "qwen3"}
	for range 3000 {
		family := families[random.IntN(len(families))]
		keys := map[string]any{
			"general.architecture": family, "block_count": 1 + random.IntN(100), "attention.head_count": 64,
			"attention.head_count_kv": 1 << random.IntN(7), "attention.key_length": 32 * (1 + random.IntN(16)), "embedding_length": 4096,
			"attention.sliding_window": 1 << random.IntN(14), "vocab_size": random.IntN(300000),
			"ssm.state_size": 128, "ssm.inner_size": 4096, "ssm.conv_kernel": 4, "ssm.group_count": 8,
		}
		if family == "deepseek2" {
			keys["attention.kv_lora_rank"], keys["rope.dimension_count"] = 512, 64
		}
		m := read(t, keys)
		o := Options{Context: 1 + random.IntN(1<<18), Slots: 1 + random.IntN(4), Weights: new(uint64(gib)), Flash: FlashOn,
			Engine: []Engine{EngineUnknown, EngineLlama, EngineOllama, EngineMLX}[random.IntN(4)]}
		sound(t, m, o)
		base := m.Need(o)
		if base.Total == nil {
			t.Fatalf("%v: %s", keys, base.Unknown)
		}
		more := func(what string, change func(*Options)) {
			t.Helper()
			bigger := o
			change(&bigger)
			if n := m.Need(bigger); *n.Total < *base.Total {
				t.Fatalf("%s take less: %d < %d with %+v of %v", what, *n.Total, *base.Total, o, keys)
			}
		}
		more("more tokens", func(o *Options) { o.Context += 1 + random.IntN(1<<16) })
		more("more slots", func(o *Options) { o.Slots++ })
		o.Cache = Q8
		if n := m.Need(o); *n.KV > *base.KV {
			t.Fatalf("q8_0 takes more: %d > %d", *n.KV, *base.KV)
		}
		o.Cache = ""
		delete(keys, "attention.sliding_window")
		if full := read(t, keys).Need(o); *full.KV < *base.KV && o.Engine != EngineOllama && o.Engine != EngineLlama {
			t.Fatalf("a window takes more: %d > %d", *base.KV, *full.KV)
		}
	}
}

// An order of keys, of cases and an unknown key change nothing.
func TestReadForms(t *testing.T) {
	alone, err := Read([]byte(`{"general.architecture":"llama","llama.block_count":4,"llama.attention.head_count":8,"llama.embedding_length":512}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		`{"model_info":{"llama.embedding_length":512,"llama.attention.head_count":8,"llama.block_count":4,"general.architecture":"llama","x":null}}`,
		`{"llama.block_count":4,"llama.attention.head_count":8,"llama.embedding_length":512}`,
		`{"block_count":4,"attention.head_count":8,"embedding_length":512}`,
		`{"model_type":"llama","num_hidden_layers":4,"num_attention_heads":8,"hidden_size":512}`,
		`{"architectures":["X"],"text_config":{"model_type":"llama","num_hidden_layers":4,"num_attention_heads":8,"hidden_size":512}}`,
	} {
		m, err := Read([]byte(form))
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if a, b := fmt.Sprintf("%+v", m.Layers), fmt.Sprintf("%+v", alone.Layers); a != b {
			t.Errorf("%s: %s, want %s", form, a, b)
		}
	}
	for _, bad := range []string{``, `[]`, `null`, `"x"`, `{`, `7`} {
		if _, err := Read([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// The rest of a reply: what its tensors, its Modelfile and its capabilities tell.
func TestReadReply(t *testing.T) {
	m, err := Read([]byte(`{"details":{"format":"gguf","family":"qwen3moe","quantization_level":"Q4_K_M"},"parameters":"num_ctx   16384\nstop \"x y\"",
		"capabilities":["completion","vision"],"projector_info":{"clip.x":1},
		"model_info":{"general.architecture":"qwen3moe","general.parameter_count":3000,"qwen3moe.block_count":2,"qwen3moe.expert_count":8,"qwen3moe.expert_used_count":2,
			"qwen3moe.attention.head_count":4,"qwen3moe.embedding_length":256,"qwen3moe.context_length":40960},
		"tensors":[{"name":"token_embd.weight","type":"F16","shape":[256,1000]},{"name":"output.weight","type":"F16","shape":[256,1000]},
			{"name":"blk.0.ffn_up_exps.weight","type":"Q4_K","shape":[256,64,8]},{"name":"blk.0.attn_q.weight","type":"F32","shape":[256,256]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	const table, experts, query = 256 * 1000 * 2, 256 * 64 * 8 / 256 * 144, 256 * 256 * 4
	wantBytes(t, "weights", m.Weights, 2*table+experts+query)
	wantBytes(t, "read per token", m.Active, table+experts/8*2+query)
	if m.Own != 16384 || !m.Vision || m.Format != "gguf" || m.Quantization != "Q4_K_M" || m.Vocabulary != 1000 || m.WeightsRough {
		t.Errorf("%+v", m)
	}
	if n := m.Need(Options{Default: 4096}); n.Context != 16384 {
		t.Errorf("planned for %d, the Modelfile says 16384", n.Context)
	}
	if n := m.Need(Options{Context: 1 << 20}); n.Context != 40960 {
		t.Errorf("planned for %d, made for 40960", n.Context)
	}
	rough, err := Read([]byte(`{"details":{"quantization_level":"Q4_K_M"},"model_info":{"general.architecture":"llama","general.parameter_count":8030261248}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !rough.WeightsRough || !near(float64(*rough.Weights), 4.92e9, 0.02) {
		t.Errorf("an 8B model at Q4_K_M takes %s", show(rough.Weights))
	}
	cloud, err := Read([]byte(`{"remote_host":"https://example.com","model_info":{"general.architecture":"gptoss"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := cloud.Need(Options{}); n.Unknown != ReasonCloud || n.Least != 0 {
		t.Errorf("a model that runs elsewhere: %+v", n)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"general.architecture":"gemma3","gemma3.block_count":26,"gemma3.attention.head_count":4,"gemma3.attention.head_count_kv":1,"gemma3.attention.key_length":256,"gemma3.attention.sliding_window":512}`,
		`{"general.architecture":"rwkv7","rwkv7.block_count":32,"rwkv7.embedding_length":4096}`,
		`{"general.architecture":"lfm2","lfm2.block_count":4,"lfm2.attention.head_count":8,"lfm2.attention.head_count_kv":[0,8,0,8],"lfm2.embedding_length":64,"lfm2.shortconv.l_cache":3}`,
		`{"general.architecture":"deepseek2","deepseek2.block_count":61,"deepseek2.attention.kv_lora_rank":512,"deepseek2.rope.dimension_count":64,"general.parameter_count":671e9,"general.file_type":15,"deepseek2.expert_count":256,"deepseek2.expert_used_count":8}`,
		`{"model_info":{"block_count":1e308,"attention.head_count":[1,2]},"tensors":[{"name":"a","type":"F32","shape":[1e15,1e15]}]}`,
		`{"num_hidden_layers":4,"layer_types":["sliding_attention","full_attention","linear_attention","x"],"sliding_window":64,"num_attention_heads":8,"head_dim":32}`,
		`{"hybrid_override_pattern":"M*-E","block_count":4,"attention.head_count":1,"embedding_length":64,"nextn_predict_layers":9}`,
	} {
		f.Add([]byte(seed), 4096, 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, context, slots int) {
		m, err := Read(data)
		if err != nil {
			return
		}
		sound(t, m, Options{Context: context, Slots: slots, Weights: new(uint64(gib))})
		sound(t, m, Options{Context: context, Slots: slots, Speculative: true, Expanded: true, Engine: EngineOllama, Flash: FlashOff, Draft: &m})
	})
}

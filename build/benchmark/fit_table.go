package main

import "plimsoll/monitor/fit"

// How a row's truth came to be known.
const (
	logged    = "logged"    // an engine wrote it into its log
	published = "published" // its makers or a user of it wrote it down
	derived   = "derived"   // worked out by hand from the public configuration
)

// What of a model's memory a row is about.
const (
	partKV       = "cache"    // keys and values of all layers
	partFull     = "full"     // those of the layers that keep all tokens
	partWindow   = "window"   // those of the layers that keep a window
	partExpanded = "expanded" // those of an engine that does not compress them
	partState    = "state"    // the recurrent state of one slot
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// fitRow is one real model and what its cache takes.
type fitRow struct {
	model  string
	build  build
	tokens int
	cache  fit.CacheType
	engine fit.Engine
	part   string
	truth  float64 // bytes
	kind   string
	source string
}

// Sources that several rows share.
const (
	commandR = "huggingface.co/dranger003/c4ai-command-r-v01-iMat.GGUF/discussions/6"
	llama31  = "huggingface.co/blog/llama31"
	omlx     = "github.com/jundot/omlx/issues/2725"
	gemma4   = "github.com/ollama/ollama/pull/16958"
	configs  = "config.json of the model"
)

// fitRows are the models. Shapes are those of their public configurations.
var fitRows = []fitRow{
	// One cache for all layers.
	{"Mixtral 8x7B", gqa("llama", 32, 32, 8, 4096), 2048, fit.F16, fit.EngineLlama, partKV, 256 * mib, logged, commandR},
	{"Llama 3 8B", gqa("llama", 32, 32, 8, 4096), 2048, fit.F16, fit.EngineLlama, partKV, 256 * mib, logged, commandR},
	{"Llama 3 70B", gqa("llama", 80, 64, 8, 8192), 2048, fit.F16, fit.EngineLlama, partKV, 640 * mib, logged, commandR},
	{"Llama 3 70B", gqa("llama", 80, 64, 8, 8192), 2048, fit.F16, fit.EngineLlama, partKV, 640 * mib, logged, "github.com/ollama/ollama/issues/5913"},
	{"Qwen1.5 32B", gqa("qwen2", 64, 40, 8, 5120), 2048, fit.F16, fit.EngineLlama, partKV, 512 * mib, logged, commandR},
	{"Yi 1.5 34B", gqa("llama", 60, 56, 8, 7168), 2048, fit.F16, fit.EngineLlama, partKV, 480 * mib, logged, commandR},
	{"Functionary small 7B", gqa("llama", 32, 32, 8, 4096), 2048, fit.F16, fit.EngineLlama, partKV, 256 * mib, logged, commandR},
	{"Command R 35B v01", gqa("command-r", 40, 64, 64, 8192), 2048, fit.F16, fit.EngineLlama, partKV, 2560 * mib, logged, commandR},
	{"Command R 35B 08-2024", gqa("command-r", 40, 64, 8, 8192), 8192, fit.F16, fit.EngineLlama, partKV, 1280 * mib, logged, "github.com/ollama/ollama/issues/6632"},
	{"Phi 3 mini 128k", gqa("phi3", 32, 32, 32, 3072), 131328, fit.F16, fit.EngineLlama, partKV, 49248 * mib, logged, "github.com/ggml-org/llama.cpp/issues/6849"},
	{"Qwen2.5 Coder 32B", gqa("qwen2", 64, 40, 8, 5120), 32768, fit.Q8, fit.EngineLlama, partKV, 4352 * mib, logged, "github.com/ggml-org/llama.cpp/issues/11200"},
	{"Llama 3.1 8B", gqa("llama", 32, 32, 8, 4096), 16000, fit.F16, fit.EngineLlama, partKV, 1.95 * gib, published, llama31},
	{"Llama 3.1 8B", gqa("llama", 32, 32, 8, 4096), 128000, fit.F16, fit.EngineLlama, partKV, 15.62 * gib, published, llama31},
	{"Llama 3.1 70B", gqa("llama", 80, 64, 8, 8192), 16000, fit.F16, fit.EngineLlama, partKV, 4.88 * gib, published, llama31},
	{"Llama 3.1 70B", gqa("llama", 80, 64, 8, 8192), 128000, fit.F16, fit.EngineLlama, partKV, 39.06 * gib, published, llama31},
	{"Qwen3 32B", heads(gqa("qwen3", 64, 64, 8, 5120), 128, 128), 1024, fit.F16, fit.EngineLlama, partKV, 256 * mib, published, "github.com/QingyaFan/blog/issues/190"},
	{"Qwen3 Coder 30B-A3B", heads(gqa("qwen3moe", 48, 32, 4, 2048), 128, 128), 1024, fit.F16, fit.EngineLlama, partKV, 96 * mib, published, "github.com/aweussom/NoLlama/issues/21"},
	{"Qwen3 4B", heads(gqa("qwen3", 36, 32, 8, 2560), 128, 128), 262144, fit.F16, fit.EngineLlama, partKV, 36 * gib, derived, "github.com/ollama/ollama/issues/12941"},
	{"Qwen3 14B", heads(gqa("qwen3", 40, 40, 8, 5120), 128, 128), 40960, fit.Q4, fit.EngineLlama, partKV, 40 * 8 * 256 * 40960 * 18 / 32, derived, configs},
	{"Qwen2.5 Coder 7B, 4 slots", gqa("qwen2", 28, 28, 4, 3584), 16384, fit.F16, fit.EngineLlama, partKV, 896 * mib, derived, "github.com/ollama/ollama/issues/9246"},
	{"GLM 4.5 Air", heads(gqa("glm4moe", 47, 96, 8, 4096), 128, 128).with("nextn_predict_layers", 1), 32768, fit.F16, fit.EngineUnknown, partKV, 46 * 8 * 256 * 2 * 32768, derived, configs},

	// Windows.
	{"Gemma 3 270M", heads(gqa("gemma3", 18, 4, 1, 640), 256, 256).with("attention.sliding_window", 512), 1024, fit.F16, fit.EngineLlama, partKV, 18 * mib, logged, "github.com/unslothai/unsloth/pull/7530"},
	{"gpt-oss 20B", heads(gqa("gpt-oss", 24, 64, 8, 2880), 64, 64).with("attention.sliding_window", 128), 4096, fit.F16, fit.EngineLlama, partWindow, 18 * mib, logged, "github.com/ggml-org/llama.cpp/pull/17609"},
	{"Gemma 3n E4B", heads(gqa("gemma3n", 35, 8, 2, 2048), 256, 256).with("attention.sliding_window", 512), 32768, fit.F16, fit.EngineLlama, partFull, 256 * mib, logged, "github.com/ggml-org/llama.cpp/issues/14604"},
	{"Gemma 4 26B-A4B", gemma26, 4096, fit.F16, fit.EngineUnknown, partKV, 0.40e9, published, gemma4},
	{"Gemma 4 26B-A4B", gemma26, 8192, fit.F16, fit.EngineUnknown, partKV, 0.48e9, published, gemma4},
	{"Gemma 4 26B-A4B", gemma26, 32768, fit.F16, fit.EngineUnknown, partKV, 0.99e9, published, gemma4},
	{"Gemma 4 26B-A4B", gemma26, 131072, fit.F16, fit.EngineUnknown, partKV, 3.00e9, published, gemma4},
	{"Gemma 3 27B", heads(gqa("gemma3", 62, 32, 16, 5376), 128, 128).with("attention.sliding_window", 1024), 32768, fit.F16, fit.EngineUnknown, partKV, (10*32768 + 52*1536) * 16 * 256 * 2, derived, configs},
	{"gpt-oss 120B", heads(gqa("gpt-oss", 36, 64, 8, 2880), 64, 64).with("attention.sliding_window", 128), 131072, fit.F16, fit.EngineUnknown, partKV, (18*131072 + 18*640) * 8 * 128 * 2, derived, configs},
	{"Command R7B", gqa("cohere2", 32, 32, 8, 4096).with("attention.sliding_window", 4096), 32768, fit.F16, fit.EngineUnknown, partKV, (8*32768 + 24*4608) * 8 * 256 * 2, derived, configs},
	{"Llama 4 Scout", gqa("llama4", 48, 40, 8, 5120), 131072, fit.F16, fit.EngineUnknown, partKV, (12*131072 + 36*8704) * 8 * 256 * 2, derived, configs},
	{"Phi 4 mini", gqa("phi3", 32, 24, 8, 3072).with("attention.sliding_window", 262144), 16384, fit.F16, fit.EngineUnknown, partKV, 32 * 8 * 256 * 2 * 16384, derived, configs},

	// Compressed caches.
	{"DeepSeek R1", mla(61, 128), 32768, fit.Q8, fit.EngineLlama, partKV, 1166.62 * mib, logged, "github.com/ikawrakow/ik_llama.cpp/pull/259"},
	{"GLM 4.7 Flash", glmFlash, 8192, fit.F16, fit.EngineOllama, partExpanded, 800*mib + 6.6*gib, logged, "github.com/ollama/ollama/issues/13789"},
	{"GLM 4.7 Flash", glmFlash, 8192, fit.F16, fit.EngineUnknown, partKV, 423 * mib, derived, "github.com/ml-explore/mlx-lm/issues/790"},
	{"DeepSeek V3", mla(61, 128), 65536, fit.F16, fit.EngineUnknown, partKV, 61 * 576 * 2 * 65536, derived, "github.com/gpustack/gguf-parser-go/issues/8"},

	// Layers without a cache. The published figures are of 64 tokens.
	{"Qwen3.8 27B", qwenHybrid("qwen35", 64, 24, 4, 5120, 6144), 16384, fit.F16, fit.EngineUnknown, partKV, 256 * 4 * mib, published, omlx},
	{"Qwen3.6 35B-A3B", qwenHybrid("qwen35moe", 40, 16, 2, 2048, 4096), 16384, fit.F16, fit.EngineUnknown, partKV, 256 * 1.25 * mib, published, omlx},
	{"Qwen3.6 27B", qwenHybrid("qwen35", 65, 24, 4, 5120, 6144).with("nextn_predict_layers", 1), 4096, fit.F16, fit.EngineLlama, partState, 149.62 * mib, logged, "github.com/ggml-org/llama.cpp/pull/23792"},
	{"Qwen3.5 9B", qwenHybrid("qwen35", 32, 16, 4, 4096, 4096), 4096, fit.F16, fit.EngineLlama, partState, 50.251 * mib, logged, "github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1563"},
	{"Qwen3 Next 80B-A3B", qwenHybrid("qwen3next", 48, 16, 2, 2048, 4096), 32768, fit.F16, fit.EngineUnknown, partKV, 12 * 2 * 512 * 2 * 32768, derived, configs},
	{"Nemotron 3 Super", nemotronSuper(), 32768, fit.F16, fit.EngineUnknown, partKV, 8 * 2 * 256 * 2 * 32768, derived, "github.com/ai-dynamo/aisimulate/pull/176"},
	{"LFM2 1.2B", lfm2, 32768, fit.F16, fit.EngineUnknown, partKV, 6 * 8 * 128 * 2 * 32768, derived, configs},
	{"Mamba 2.8B", build{"mamba", keys{"block_count": 64, "embedding_length": 2560, "ssm.state_size": 16, "ssm.inner_size": 5120, "ssm.conv_kernel": 4, "ssm.time_step_rank": 160}}, 32768, fit.F16, fit.EngineUnknown, partKV, 0, derived, configs},
	{"RWKV 7 2.9B", build{"rwkv7", keys{"block_count": 32, "embedding_length": 2560, "wkv.head_size": 64}}, 32768, fit.F16, fit.EngineUnknown, partKV, 0, derived, configs},
	{"nomic-embed-text", gqa("nomic-bert", 12, 12, 12, 768), 8192, fit.F16, fit.EngineUnknown, partKV, 0, derived, configs},
	{"Llama 3.2 Vision 11B", gqa("mllama", 40, 32, 8, 4096).with("attention.cross_attention_layers", []int{3, 8, 13, 18, 23, 28, 33, 38}), 8192, fit.F16, fit.EngineOllama, partKV, 32 * 8 * 256 * 2 * 8192, derived, configs},
}

// keys are values of a build by their names without the architecture.
type keys map[string]any

// build is a model's architecture and its keys.
type build struct {
	architecture string
	keys         keys
}

// with is the build with one more key.
func (b build) with(name string, value any) build {
	more := keys{name: value}
	for k, v := range b.keys {
		more[k] = v
	}
	return build{b.architecture, more}
}

// gqa is a build with the same heads in all layers.
func gqa(architecture string, layers, heads, kv, width int) build {
	return build{architecture, keys{"block_count": layers, "attention.head_count": heads, "attention.head_count_kv": kv, "embedding_length": width}}
}

// heads tells the lengths of a key and a value.
func heads(b build, key, value int) build {
	return b.with("attention.key_length", key).with("attention.value_length", value)
}

// mla is DeepSeek's build.
func mla(layers, heads int) build {
	return gqa("deepseek2", layers, heads, 1, 7168).with("attention.kv_lora_rank", 512).with("rope.dimension_count", 64).
		with("attention.key_length", 576).with("attention.value_length", 512).
		with("attention.key_length_mla", 192).with("attention.value_length_mla", 128)
}

var glmFlash = heads(gqa("deepseek2", 47, 20, 20, 2048), 256, 256).with("attention.kv_lora_rank", 512).with("rope.dimension_count", 64)

// gemma26 has five layers with a window before each one without.
var gemma26 = func() build {
	window, kv := make([]bool, 30), make([]int, 30)
	for at := range window {
		window[at], kv[at] = (at+1)%6 != 0, 8
		if !window[at] {
			kv[at] = 2
		}
	}
	return build{"gemma4", keys{
		"block_count": 30, "embedding_length": 2816, "attention.head_count": 16, "attention.head_count_kv": kv,
		"attention.sliding_window": 1024, "attention.sliding_window_pattern": window,
		"attention.key_length": 512, "attention.value_length": 512, "attention.key_length_swa": 256, "attention.value_length_swa": 256,
	}}
}()

// qwenHybrid attends in every fourth layer.
func qwenHybrid(architecture string, layers, heads, kv, width, inner int) build {
	return build{architecture, keys{
		"block_count": layers, "embedding_length": width, "attention.head_count": heads, "attention.head_count_kv": kv,
		"attention.key_length": 256, "attention.value_length": 256, "full_attention_interval": 4,
		"ssm.state_size": 128, "ssm.inner_size": inner, "ssm.group_count": 16, "ssm.conv_kernel": 4, "ssm.time_step_rank": inner / 128,
	}}
}

// nemotronSuper has 40 recurrent, 40 feed-forward and 8 attention layers.
func nemotronSuper() build {
	kv, feed := make([]int, 88), make([]int, 88)
	for at := range kv {
		switch {
		case at%11 == 10:
			kv[at] = 2
		case at%11%2 == 1:
			feed[at] = 2688
		}
	}
	return build{"nemotron_h_moe", keys{
		"block_count": 88, "embedding_length": 4096, "attention.head_count": 32, "attention.head_count_kv": kv, "feed_forward_length": feed,
		"attention.key_length": 128, "attention.value_length": 128,
		"ssm.state_size": 128, "ssm.inner_size": 8192, "ssm.group_count": 8, "ssm.conv_kernel": 4, "ssm.time_step_rank": 128,
	}}
}

// lfm2 attends in six of sixteen layers.
var lfm2 = build{"lfm2", keys{
	"block_count": 16, "embedding_length": 2048, "attention.head_count": 32, "shortconv.l_cache": 3,
	"attention.head_count_kv": []int{0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0},
}}

// Package fit works out what a model takes in memory, whether that is there, and
// how fast it can be at most: weights + cache + recurrent state + buffers.
//
//	/api/show, GGUF, config.json ─► Model ─► Need(Options) ─► Judge(Limits) ─► Verdict
//	                                  └────► Rate(bandwidth, depth, Learned) ─► Expected
//
// It is pure arithmetic over what others read: no clock, no network, no file. Each
// sum comes with its steps (Need.Steps), so that it can be checked by hand.
// What cannot be known is an answer of its own, a Reason: never zero, never NaN.
//
// The rules of which layer keeps what are those of the engines themselves: of
// llama.cpp (src/llama-model.cpp, llama-hparams.cpp, llama-kv-cache*.cpp) and of
// Ollama (fs/ggml, kvcache, llm/server.go, server/sched.go), both as of Ollama
// v0.17.4 where nothing else is said.
package fit

// Reason says why something cannot be known; "" means that it is known.
type Reason string

// The reasons.
const (
	// ReasonNoInfo: nothing was told of the model's build.
	ReasonNoInfo Reason = "no_model_info"
	// ReasonNoLayers: how many layers it has was not told.
	ReasonNoLayers Reason = "no_layer_count"
	// ReasonNoHeads: its attention heads or their length were not told.
	ReasonNoHeads Reason = "no_heads"
	// ReasonListLeftOut: a list with a value for each layer was left out by the
	// server (before v0.6.7), or is shorter than the model has layers.
	ReasonListLeftOut Reason = "list_left_out"
	// ReasonWindow: some layers keep a window of the context only, and which do is
	// not told and not known of this architecture.
	ReasonWindow Reason = "window_pattern"
	// ReasonHybrid: some layers are recurrent, and which are is not told.
	ReasonHybrid Reason = "hybrid_pattern"
	// ReasonLatent: the cache is compressed and the length of its rope part was not told.
	ReasonLatent Reason = "latent_length"
	// ReasonImplausible: a number is beyond every model's, or is no number.
	ReasonImplausible Reason = "implausible"
	// ReasonNoWeights: the size of the weights was not told.
	ReasonNoWeights Reason = "no_weights"
	// ReasonNoLimit: no limit of this machine is known.
	ReasonNoLimit Reason = "no_limit"
	// ReasonNoBandwidth: the memory bandwidth of this machine is not known.
	ReasonNoBandwidth Reason = "no_bandwidth"
	// ReasonCloud: it runs elsewhere.
	ReasonCloud Reason = "cloud"
)

// CacheType is the type of the values in a cache, in the words of
// OLLAMA_KV_CACHE_TYPE and llama-server's --cache-type-k.
type CacheType string

// The cache types that the planner knows. Ollama takes f16, q8_0 and q4_0.
const (
	F32   CacheType = "f32"
	F16   CacheType = "f16"
	BF16  CacheType = "bf16"
	Q8    CacheType = "q8_0"
	Q51   CacheType = "q5_1"
	Q5    CacheType = "q5_0"
	Q41   CacheType = "q4_1"
	Q4    CacheType = "q4_0"
	IQ4NL CacheType = "iq4_nl"
)

// blocks is how many bytes a block of so many values takes: ggml's block sizes.
var blocks = map[CacheType]struct{ bytes, values uint64 }{
	F32: {4, 1}, F16: {2, 1}, BF16: {2, 1},
	Q8: {34, 32}, Q51: {24, 32}, Q5: {22, 32}, Q41: {20, 32}, Q4: {18, 32}, IQ4NL: {18, 32},
}

// Known tells whether it is a type that the planner knows.
func (t CacheType) Known() bool { return blocks[t].values != 0 }

// quantised tells whether values share a block, which a cache of values (not of
// keys) can only have with flash attention.
func (t CacheType) quantised() bool { return blocks[t].values > 1 }

// bytes is what values take; an unknown type counts as f16.
func (t CacheType) bytes(values uint64) uint64 {
	b, ok := blocks[t]
	if !ok {
		b = blocks[F16]
	}
	return ceil(times(values, b.bytes), b.values)
}

// Flash says whether an engine uses flash attention.
type Flash string

const (
	// FlashUnknown: nobody told, so that the engine's own rule for the model's
	// family counts.
	FlashUnknown Flash = ""
	FlashOn      Flash = "on"
	FlashOff     Flash = "off"
)

// Engine is what runs the model. Engines round cells differently and forbid
// different things; EngineUnknown is the plain formula.
type Engine string

const (
	EngineUnknown Engine = ""
	// EngineLlama is llama.cpp: llama-server, Ollama's older runner, and Ollama
	// from v0.30 on for GGUF files.
	EngineLlama Engine = "llama.cpp"
	// EngineOllama is Ollama's own engine, up to v0.30.
	EngineOllama Engine = "ollama"
	// EngineMLX is MLX, for safetensors files. It takes no num_ctx and no slots.
	EngineMLX Engine = "mlx"
)

// Options are how a model is to be run. The zero value is one slot, an f16 cache
// and the model's own or the server's default context.
type Options struct {
	// Context is what is asked for, in tokens for each slot. 0: the model's own
	// num_ctx, then Default, then the 4096 of a small server.
	Context int
	// Default is the context that the server takes when nobody asks, in tokens.
	Default int
	// Reported is the context that the server says the model runs with: it counts
	// whatever was asked for. 0: not loaded or not told.
	Reported int
	// Slots is how many requests are worked on at once; 0 is one.
	Slots int
	// Cache is the type of the cache that is asked for; "" is f16.
	Cache CacheType
	Flash Flash
	// Batch is how many prompt tokens are read at once; 0 is 512, which Ollama's
	// num_batch and llama-server's --ubatch-size are by default.
	Batch  int
	Engine Engine
	// Weights is the size of the weights in bytes, where the model does not tell it.
	Weights *uint64
	// Compute is the size of the buffers in bytes, in place of an estimate.
	Compute *uint64
	// Expanded says that the engine keeps a compressed (MLA) cache expanded.
	Expanded bool
	// Speculative says that the model's own prediction layers (MTP) are in use, so
	// that they keep a cache too.
	Speculative bool
	// Draft is a model that drafts for this one: its weights and its cache at the
	// same context are added.
	Draft *Model
}

// maxBytes is beyond every memory: what comes to more is no size.
const maxBytes = 1 << 60

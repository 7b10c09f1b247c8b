package fit

import "strings"

// familyName is an architecture as the tables below have it: in lower case,
// without what joins its parts.
func familyName(architecture string) string {
	name := strings.ToLower(architecture)
	name = strings.TrimSuffix(name, "forcausallm")
	name = strings.TrimSuffix(name, "forconditionalgeneration")
	name = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name)
	name = strings.TrimSuffix(name, "text") // "gemma3_text", "qwen3_5_text"
	switch name {
	case "mixtral", "mistral", "llama2", "llama3":
		return "llama"
	case "deepseekv2", "deepseekv3", "deepseekv32", "kimik2":
		return "deepseek2"
	case "commandr", "cohere":
		return "commandr"
	}
	return name
}

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

// encoders read a text at once and keep nothing (llama_model::create_memory).
var encoders = set("bert", "roberta", "xlmroberta", "distilbert", "mpnet", "nomicbert", "nomicbertmoe", "jinabertv2", "jinabertv3", "neobert", "modernbert",
	"eurobert", "gemmaembedding", "t5encoder", "clip", "dream", "llada", "lladamoe", "rnd1", "wavtokenizerdec")

// recurrents keep a state in every layer and no keys (llm_arch_is_recurrent).
var recurrents = set("mamba", "mamba2", "rwkv", "rwkv5", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7", "falconmamba")

// hybrids have layers of both kinds; one with no KV heads is recurrent
// (llm_arch_is_hybrid).
var hybrids = set("jamba", "falconh1", "plamo2", "granitehybrid", "granitemoehybrid", "lfm2", "lfm2moe", "nemotronh", "nemotronhmoe",
	"qwen3next", "qwen35", "qwen35moe", "kimilinear", "bamba", "zamba2", "minimaxtext01")

// intervals tells which layers of a hybrid keep keys where the file does not: every
// so many-th.
var intervals = map[string]int{"qwen3next": 4, "qwen35": 4, "qwen35moe": 4}

// sliding is which layers of a family keep a window only.
type sliding struct {
	// every is the pattern: the last of so many layers keeps all, or the first
	// where first is set. 0: none keeps a window, whatever the file says.
	every int
	first bool
	// window is used where the file names none, or a fixed one where fixed is set.
	window int
	fixed  bool
}

// slidings are the families whose pattern engines know (set_swa_pattern in
// llama-model.cpp; Ollama's model/models). Engines that read the pattern from the
// file are not in here.
var slidings = map[string]sliding{
	"gemma2": {every: 2, window: 4096}, "gemma3": {every: 6}, "gemma3n": {every: 5}, "gemma4": {every: 6}, "gptoss": {every: 2},
	"cohere2": {every: 4}, "olmo2": {every: 4}, "olmo3": {every: 4}, "exaone4": {every: 4, window: 4096},
	"exaonemoe": {every: 4}, "afmoe": {every: 4}, "smallthinker": {every: 4, first: true, window: 4096, fixed: true},
	"llama4": {every: 4, window: 8192, fixed: true},
	// These have a window in their file that the engines do not use.
	"llama": {}, "mistral3": {}, "phi3": {}, "phimoe": {}, "qwen2": {}, "qwen2moe": {}, "qwen2vl": {}, "qwen25vl": {},
	"qwen3": {}, "qwen3moe": {}, "qwen3vl": {}, "qwen3vlmoe": {}, "starcoder2": {}, "minimaxm2": {}, "commandr": {},
	"qwen3next": {}, "qwen35": {}, "qwen35moe": {}, "granite": {}, "granitemoe": {}, "deepseek2": {}, "glm4": {}, "glm4moe": {}, "internlm2": {}, "gemma": {},
}

// sharedFrom is the number of layers with a cache of their own where the file does
// not tell how many share (gemma3n in llama-model.cpp).
var sharedFrom = map[string]int{"gemma3n": 20}

// expandedOnly have a latent in their build that no engine keeps (llama.cpp
// expands it for these).
var expandedOnly = set("minicpm3", "plm")

// flashFamilies are those for which Ollama turns flash attention on by itself
// (FlashAttention in fs/ggml), so that a quantised cache is taken.
var flashFamilies = set("bert", "gemma3", "glm4moelite", "glmocr", "gptoss", "lfm2", "lfm2moe", "mistral3",
	"nemotronh", "nemotronhmoe", "olmo3", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "qwen3next", "qwen3vl", "qwen3vlmoe")

// noFlash cannot have it (SupportsFlashAttention in fs/ggml).
var noFlash = set("gemma2")

// singleSlot are run with one slot whatever was asked (server/sched.go).
var singleSlot = set("mllama", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe", "nemotronh", "nemotronhmoe")

// floors are the least context of a family, in tokens
// (github.com/ollama/ollama/issues/12855). Any model that sees has visionFloor
// (server/sched.go).
var floors = map[string]int{"gptoss": 8192, "qwen3vl": 8192, "qwen3vlmoe": 8192}

const (
	visionFloor  = 2048
	highestFloor = 8192
)

// contextStep is what llama.cpp rounds a context up to (llama-context.cpp).
const contextStep = 256

// A picture of a cross-attention model (mllama) is so many tokens in so many
// tiles, kept as f32 (fs/ggml).
const (
	crossTokens = 1601
	crossTiles  = 4
)

package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// The models in the store of the simulated server. Sizes are round figures of
// 4-bit files; layers, heads and widths are those of Qwen2.5 (config.json of each
// size), so the cache per token is right.
const (
	// Model7B has 4.1 GB of weights: about 24 token/s.
	Model7B = "qwen2.5:7b"
	// Model14B has 8.9 GB of weights: about 11 token/s.
	Model14B = "qwen2.5:14b"
	// Model32B has 19.8 GB of weights: about 5 token/s.
	Model32B = "qwen2.5:32b"
	// ModelEmbed is an embedding model of 0.27 GB.
	ModelEmbed = "nomic-embed-text:latest"
	// ModelCloud runs elsewhere; its entry in the store is a stub.
	ModelCloud = "gpt-oss:120b-cloud"
)

// model is one entry of the store.
type model struct {
	name         string
	family       string
	params       float64 // parameters
	size         int64   // bytes of weights, on disk and in memory
	quantisation string
	paramWord    string // as the server writes params
	fileType     int    // general.file_type of GGUF
	layers       int
	heads        int
	kvHeads      int
	embedding    int // width
	feedForward  int
	vocabulary   int
	trained      int // context length
	compute      int64
	capabilities []string
	remoteModel  string // set: a model of the cloud
}

// store is every model there is, in the order of /api/tags. Compute is the
// buffer of the runner beside weights and cache, of the size that Ollama's log
// shows as "compute graph" for such models at the default context.
var store = []*model{
	{name: Model7B, family: "qwen2", params: 7.62e9, size: 4_100_000_000, quantisation: "Q4_0", paramWord: "7.6B", fileType: 2,
		layers: 28, heads: 28, kvHeads: 4, embedding: 3584, feedForward: 18944, vocabulary: 152064, trained: 32768,
		compute: 304 << 20, capabilities: []string{"completion", "tools"}},
	{name: Model14B, family: "qwen2", params: 14.8e9, size: 8_900_000_000, quantisation: "Q4_K_M", paramWord: "14.8B", fileType: 15,
		layers: 48, heads: 40, kvHeads: 8, embedding: 5120, feedForward: 13824, vocabulary: 152064, trained: 32768,
		compute: 307 << 20, capabilities: []string{"completion", "tools"}},
	{name: Model32B, family: "qwen2", params: 32.8e9, size: 19_800_000_000, quantisation: "Q4_K_M", paramWord: "32.8B", fileType: 15,
		layers: 64, heads: 40, kvHeads: 8, embedding: 5120, feedForward: 27648, vocabulary: 152064, trained: 32768,
		compute: 307 << 20, capabilities: []string{"completion", "tools"}},
	{name: ModelEmbed, family: "nomic-bert", params: 137e6, size: 274_302_450, quantisation: "F16", paramWord: "137M", fileType: 1,
		layers: 12, heads: 12, kvHeads: 0, embedding: 768, feedForward: 3072, vocabulary: 30522, trained: 2048,
		compute: 23 << 20, capabilities: []string{"embedding"}},
	{name: ModelCloud, family: "gptoss", params: 116.8e9, size: 384, quantisation: "MXFP4", paramWord: "116.8B",
		embedding: 2880, trained: 131072, capabilities: []string{"completion", "thinking", "tools"}, remoteModel: "gpt-oss:120b"},
}

// remoteHost is where Ollama sends requests for models of its cloud.
const remoteHost = "https://ollama.com:443"

// find returns the model that a client means by name, nil when there is none.
func find(name string) *model {
	if !strings.Contains(name, ":") {
		name += ":latest"
	}
	for _, m := range store {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (m *model) can(capability string) bool {
	for _, c := range m.capabilities {
		if c == capability {
			return true
		}
	}
	return false
}

// kvPerToken is the cache of one token in bytes: for each layer a key and a value
// of kvHeads × (embedding ÷ heads) numbers of two bytes (f16).
func (m *model) kvPerToken() float64 {
	if m.kvHeads == 0 {
		return 0
	}
	return float64(m.layers * m.kvHeads * (m.embedding / m.heads) * 2 * 2)
}

// need is what a runner allocates on the GPU for a context of that many tokens,
// in bytes: the cache is allocated whole at the load.
func (m *model) need(context int) int64 {
	return m.size + int64(m.kvPerToken())*int64(context) + m.compute
}

func digest(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])
}

// digest is the manifest's, blob the file of the weights.
func (m *model) digest() string { return digest("manifest " + m.name) }
func (m *model) blob() string {
	return "/Users/demo/.ollama/models/blobs/sha256-" + digest("weights "+m.name)
}

// info is model_info of /api/show, with the keys of a GGUF file.
func (m *model) info() map[string]any {
	info := map[string]any{
		"general.architecture":         m.family,
		"general.parameter_count":      int64(m.params),
		m.family + ".context_length":   m.trained,
		m.family + ".embedding_length": m.embedding,
	}
	if m.remoteModel != "" {
		return info
	}
	kv := m.kvHeads
	if kv == 0 {
		kv = m.heads
	}
	more := map[string]any{
		"block_count": m.layers, "feed_forward_length": m.feedForward, "vocab_size": m.vocabulary,
		"attention.head_count": m.heads, "attention.head_count_kv": kv, "attention.layer_norm_rms_epsilon": 1e-6,
		"rope.dimension_count": m.embedding / m.heads, "rope.freq_base": 1000000,
	}
	for key, value := range more {
		info[m.family+"."+key] = value
	}
	info["general.file_type"] = m.fileType
	for key, value := range map[string]any{
		"add_bos_token": false, "bos_token_id": 151643, "eos_token_id": 151645, "model": "gpt2", "pre": "qwen2",
		"merges": nil, "token_type": nil, "tokens": nil, // long lists are null without verbose
	} {
		info["tokenizer.ggml."+key] = value
	}
	return info
}

// tensor is one entry of "tensors" in /api/show.
type tensor struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
}

func (m *model) tensors() []tensor {
	if m.remoteModel != "" {
		return nil
	}
	kind, e := m.quantisation, m.embedding
	kv := e
	if m.kvHeads > 0 {
		kv = m.kvHeads * (e / m.heads)
	}
	list := []tensor{
		{"token_embd.weight", kind, []int{e, m.vocabulary}}, {"output.weight", kind, []int{e, m.vocabulary}},
		{"output_norm.weight", "F32", []int{e}},
	}
	for i := range m.layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", i, part) }
		list = append(list,
			tensor{name("attn_norm"), "F32", []int{e}}, tensor{name("attn_q"), kind, []int{e, e}},
			tensor{name("attn_k"), kind, []int{e, kv}}, tensor{name("attn_v"), kind, []int{e, kv}},
			tensor{name("attn_output"), kind, []int{e, e}}, tensor{name("ffn_norm"), "F32", []int{e}},
			tensor{name("ffn_gate"), kind, []int{e, m.feedForward}}, tensor{name("ffn_up"), kind, []int{e, m.feedForward}},
			tensor{name("ffn_down"), kind, []int{m.feedForward, e}})
	}
	return list
}

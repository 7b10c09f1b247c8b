package fit

// Model is the build of a model, as far as memory and rate depend on it. It is
// made by Read, ReadGGUF and nothing else, and is never changed afterwards. What
// was not told is absent.
type Model struct {
	// Architecture is general.architecture as it was told, Format "gguf" or
	// "safetensors" where that was.
	Architecture string `json:"architecture,omitzero"`
	Format       string `json:"format,omitzero"`
	// Layers are those that keep something, like ones together. Empty with Unknown
	// "" means that the model keeps nothing: it needs no cache.
	Layers []Layers `json:"layers,omitempty"`
	// Unknown is why Layers cannot be told.
	Unknown Reason `json:"unknown,omitzero"`
	// Predict are the model's own prediction layers (MTP).
	Predict []Layers `json:"prediction_layers,omitempty"`
	// Rough says that the length of a head was not told and is the width ÷ heads.
	Rough bool `json:"rough,omitzero"`
	// Blocks is the number of all layers.
	Blocks int `json:"block_count,omitzero"`

	// Trained is the longest context that the model was made for, in tokens, Own the
	// num_ctx that its Modelfile sets.
	Trained int `json:"trained_context_tokens,omitzero"`
	Own     int `json:"own_context_tokens,omitzero"`
	// Width, Heads, Feed and Vocabulary are for the estimate of buffers.
	Width      int `json:"embedding_length,omitzero"`
	Heads      int `json:"head_count,omitzero"`
	Feed       int `json:"feed_forward_length,omitzero"`
	Vocabulary int `json:"vocabulary,omitzero"`

	// Weights is what the weights take, in bytes, without Projector. WeightsRough
	// says that they are parameters × bits of the quantisation.
	Weights      *uint64 `json:"weights_bytes,omitempty"`
	WeightsRough bool    `json:"weights_rough,omitzero"`
	// Projector is the part of the file that sees or hears, in bytes. Vision says
	// that there is one, its size known or not.
	Projector *uint64 `json:"projector_bytes,omitempty"`
	Vision    bool    `json:"vision,omitzero"`
	// Active is the share of Weights that is read for one token, in bytes, as told
	// by the tensors: no token table, and of the experts only those in use.
	Active *uint64 `json:"active_weights_bytes,omitempty"`
	// ActiveShare is that share as worked out of expert counts and widths, 0 to 1,
	// where the tensors do not tell it. 0 is not known.
	ActiveShare float64 `json:"active_weights_ratio,omitzero"`
	// Experts and ExpertsUsed are of a mixture of experts.
	Experts     int `json:"expert_count,omitzero"`
	ExpertsUsed int `json:"expert_used_count,omitzero"`
	// Parameters and Quantization are as told.
	Parameters   uint64 `json:"parameter_count,omitzero"`
	Quantization string `json:"quantization,omitzero"`
	// Embedding marks a model that makes vectors and no words; Cloud one that runs
	// elsewhere.
	Embedding bool `json:"embedding,omitzero"`
	Cloud     bool `json:"cloud,omitzero"`
}

// Kind is what a layer keeps.
type Kind string

const (
	// Full keeps keys and values of every token.
	Full Kind = "full"
	// Window keeps those of the last tokens.
	Window Kind = "window"
	// Latent keeps one compressed vector a token (MLA): no values beside the keys.
	Latent Kind = "latent"
	// Recurrent keeps a state whose size does not depend on the context.
	Recurrent Kind = "recurrent"
	// Both keeps a state and keys and values of every token (Falcon-H1).
	Both Kind = "both"
	// Cross keeps keys and values of an image, whatever the context.
	Cross Kind = "cross"
)

// Layers are layers of one build.
type Layers struct {
	Kind  Kind `json:"kind"`
	Count int  `json:"count"`
	// KVHeads, Key and Value are the number of heads that are kept and the length
	// of each. For Latent KVHeads is 1, Key the latent's length and Value that of
	// the rope part.
	KVHeads int `json:"kv_heads,omitzero"`
	Key     int `json:"key_length,omitzero"`
	Value   int `json:"value_length,omitzero"`
	// Window is in tokens.
	Window int `json:"window_tokens,omitzero"`
	// State is the constant part, in bytes a layer and slot. Absent where the
	// model's numbers do not tell it.
	State *uint64 `json:"state_bytes,omitempty"`
	// Expanded is for Latent: the values a token and layer when an engine keeps
	// keys and values uncompressed. 0 where not told.
	Expanded int `json:"expanded_values,omitzero"`
	// Only says that the model's file can only be run expanded (it was converted
	// before engines could compress).
	Only bool `json:"only_expanded,omitzero"`
}

// family is an architecture's name as the tables have it: "qwen3_5", "gpt-oss"
// and "nemotron_h" are written in more than one way.
func (m Model) family() string { return familyName(m.Architecture) }

// Mixture tells whether it is a mixture of experts.
// How many of them a token uses may not be told.
func (m Model) Mixture() bool { return m.Experts > 1 && m.ExpertsUsed < m.Experts }

// WithSize is the model with the size of its files, in bytes: the weights where
// nothing better told them, else what is left for a projector that has a file of
// its own.
func (m Model) WithSize(bytes uint64) Model {
	switch {
	case m.Cloud || bytes == 0 || bytes > maxBytes:
	case m.Weights == nil || m.WeightsRough:
		m.Weights, m.WeightsRough = &bytes, false
	case m.Vision && m.Projector == nil && bytes > *m.Weights+leastProjector:
		m.Projector = new(bytes - *m.Weights)
	}
	return m
}

// leastProjector is more than the keys, token list, template and licence that a
// model's files hold beside its weights, and less than any projector.
const leastProjector = 64 << 20

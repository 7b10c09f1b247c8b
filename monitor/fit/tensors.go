package fit

import (
	"strconv"
	"strings"
)

// tensor is one array of weights.
type tensor struct {
	name   string
	kind   string // ggml's name of its type, "Q4_K"
	values uint64
	rows   uint64 // the last dimension: of a token table, the vocabulary
}

// tensorTypes are ggml's: bytes of a block of values, and the number in a GGUF
// file (ggml.h; 4 is Ollama's number for MXFP4 in files before llama.cpp had it).
var tensorTypes = map[string]struct{ bytes, values uint64 }{
	"F32": {4, 1}, "F16": {2, 1}, "BF16": {2, 1}, "F64": {8, 1}, "I8": {1, 1}, "I16": {2, 1}, "I32": {4, 1}, "I64": {8, 1},
	"Q4_0": {18, 32}, "Q4_1": {20, 32}, "Q5_0": {22, 32}, "Q5_1": {24, 32}, "Q8_0": {34, 32}, "Q8_1": {36, 32},
	"Q2_K": {84, 256}, "Q3_K": {110, 256}, "Q4_K": {144, 256}, "Q5_K": {176, 256}, "Q6_K": {210, 256}, "Q8_K": {292, 256},
	"IQ2_XXS": {66, 256}, "IQ2_XS": {74, 256}, "IQ2_S": {82, 256}, "IQ3_XXS": {98, 256}, "IQ3_S": {110, 256},
	"IQ1_S": {50, 256}, "IQ1_M": {56, 256}, "IQ4_NL": {18, 32}, "IQ4_XS": {136, 256},
	"TQ1_0": {54, 256}, "TQ2_0": {66, 256}, "MXFP4": {17, 32}, "NVFP4": {36, 64},
}

var tensorNumbers = map[uint32]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 4: "MXFP4", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1",
	10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS",
	19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
	29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4",
}

// size is what the tensor takes, in bytes. False for a type that is not known.
func (t tensor) size() (uint64, bool) {
	b, known := tensorTypes[t.kind]
	if !known {
		return 0, false
	}
	return ceil(times(t.values, b.bytes), b.values), true
}

// sees tells whether a tensor belongs to the part that sees or hears.
func (t tensor) sees() bool {
	for _, prefix := range []string{"v.", "mm.", "a.", "s.", "vision", "multi_modal_projector", "audio_tower", "model.visual", "model.vision"} {
		if strings.HasPrefix(t.name, prefix) {
			return true
		}
	}
	return false
}

// block is the layer that a tensor belongs to, −1 for none.
func (t tensor) block() int {
	rest, ok := strings.CutPrefix(t.name, "blk.")
	if !ok {
		return -1
	}
	number, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(number); err == nil {
		return n
	}
	return -1
}

// weigh takes the sizes of a model's weights from its tensors. A type that is not
// known leaves them untold.
func (m *Model) weigh(tensors []tensor, predictFrom int) {
	var weights, projector, active uint64
	tied, compressed, attends, mixed := true, false, false, false
	for _, t := range tensors {
		tied = tied && t.name != "output.weight"
		compressed = compressed || strings.Contains(t.name, ".attn_k_b.")
		attends = attends || strings.Contains(t.name, ".attn_kv_b.")
	}
	for _, t := range tensors {
		size, known := t.size()
		if !known {
			return
		}
		if t.sees() {
			projector = plus(projector, size)
			continue
		}
		weights = plus(weights, size)
		switch {
		case t.name == "token_embd.weight":
			m.Vocabulary = int(min(t.rows, mostContext))
			if tied { // it is read whole as the output
				active = plus(active, size)
			}
		case strings.HasPrefix(t.name, "per_layer_token_embd"): // one row of it is
		case predictFrom > 0 && t.block() >= predictFrom:
		case strings.Contains(t.name, "_exps.") && m.Mixture():
			mixed = true
			active = plus(active, size/uint64(m.Experts)*uint64(m.ExpertsUsed))
		default:
			active = plus(active, size)
		}
	}
	if weights == 0 || weights > maxBytes || projector > maxBytes {
		return
	}
	m.Weights, m.Active = &weights, &active
	if m.Mixture() && (!mixed || m.ExpertsUsed == 0) {
		m.Active = nil // which tensors are experts, or how many are used, is not told
	}
	if projector > 0 {
		m.Projector, m.Vision = &projector, true
	}
	if attends && !compressed {
		for at := range m.Layers {
			m.Layers[at].Only = m.Layers[at].Kind == Latent
		}
	}
}

// levelBits are bits a weight of Ollama's quantisation levels, over a whole model
// (tools/quantize/README.md of llama.cpp, Llama 3.1 8B).
var levelBits = map[string]float64{
	"F32": 32, "F16": 16, "BF16": 16, "FP16": 16, "Q8_0": 8.5, "Q6_K": 6.56, "Q5_K_M": 5.7, "Q5_K_S": 5.57, "Q5_0": 5.59, "Q5_1": 6.04,
	"Q4_K_M": 4.89, "Q4_K_S": 4.67, "Q4_0": 4.65, "Q4_1": 5.13, "Q3_K_L": 4.3, "Q3_K_M": 4.0, "Q3_K_S": 3.64, "Q2_K": 3.16,
	"IQ4_XS": 4.46, "IQ4_NL": 4.68, "MXFP4": 4.3, "NVFP4": 4.6, "MXFP8": 8.3, "INT4": 4.6, "INT8": 8.6, "FP8": 8.1,
}

// levels are the quantisation levels by general.file_type.
var levels = map[int]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
	14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 25: "IQ4_NL", 30: "IQ4_XS", 32: "BF16", 38: "MXFP4",
}

// guessWeights makes weights of the parameters and the quantisation, where the
// tensors do not tell them.
func (m *Model) guessWeights() {
	per, known := levelBits[strings.ToUpper(m.Quantization)]
	if m.Weights != nil || !known || m.Parameters == 0 {
		return
	}
	m.Weights, m.WeightsRough = new(uint64(float64(m.Parameters)*per/8)), true
}

// guessActive makes the share of a mixture's weights that a token reads of its
// experts' counts and widths, where the tensors do not tell it. Where the parameters
// are not told either, they are those of the experts, the attention, the tables and
// the shared experts.
func (m *Model) guessActive(b *builder) {
	feed, _ := b.number("expert_feed_forward_length", mostLength<<8)
	layers := b.mixtures()
	if feed = first(feed, m.Feed); m.Active != nil || m.ExpertsUsed == 0 || !m.Mixture() || feed == 0 || layers <= 0 || m.Width == 0 {
		return
	}
	// A feed-forward layer has three matrices: gate, up and down.
	matrices := func(layers, feed int) uint64 { return times(uint64(layers), 3, uint64(m.Width), uint64(feed)) }
	experts, all := times(uint64(m.Experts), matrices(layers, feed)), m.Parameters
	if all == 0 {
		shared := first(b.number1("expert_shared_feed_forward_length"), b.number1("expert_shared_count")*feed)
		all = plus(experts, matrices(layers, shared), times(2, uint64(m.Vocabulary), uint64(m.Width)), b.attending())
	}
	if experts >= all || all > 1<<53 {
		return
	}
	idle := float64(experts) * float64(m.Experts-m.ExpertsUsed) / float64(m.Experts)
	m.ActiveShare = 1 - idle/float64(all)
}

// mixtures is in how many layers there are experts.
func (b *builder) mixtures() int {
	if pattern := b.text("hybrid_override_pattern"); strings.Contains(pattern, "E") {
		return strings.Count(pattern, "E")
	}
	layers := b.blocks - b.number1("nextn_predict_layers") - b.number1("leading_dense_block_count")
	return layers / first(b.number1("interleave_moe_layer_step"), 1)
}

// attending is the number of parameters of all layers' attention.
func (b *builder) attending() uint64 {
	heads, width := b.headsOf(0), b.width()
	key := b.number1("attention.key_length")
	if key == 0 && heads > 0 {
		key = width / heads
	}
	kept := heads
	if n, told := b.number("attention.head_count_kv", mostHeads); told {
		kept = n
	}
	return times(2, uint64(b.blocks), uint64(width), uint64(key), uint64(heads+kept))
}

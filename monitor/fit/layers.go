package fit

import (
	"slices"
	"strings"
)

// The most that is taken for a count: beyond every model's.
const (
	mostLayers  = 1 << 12
	mostHeads   = 1 << 14
	mostLength  = 1 << 17 // of a head, a latent, a state
	mostContext = 1 << 40
	mostExperts = 1 << 16
)

// builder works out what each layer keeps.
type builder struct {
	info
	family string
	blocks int
	rough  bool  // a head's length is width ÷ heads
	heads  []int // KV heads of each layer, once kinds was asked
	sizes  []int // windows of each layer, where they differ
}

// layers are what the layers of the model keep, and its own prediction layers.
func (b *builder) layers() (kept, predict []Layers, unknown Reason) {
	if encoders[b.family] {
		return nil, nil, ""
	}
	if b.recurrentOnly() {
		return b.states(), nil, ""
	}
	if b.blocks == 0 {
		return nil, nil, ReasonNoLayers
	}
	if _, told := b.find("attention.head_count_kv"); !told {
		if _, told := b.find("attention.head_count"); !told && b.number1("attention.kv_lora_rank") == 0 {
			return nil, nil, ReasonNoHeads
		}
	}
	kinds, unknown := b.kinds()
	if unknown != "" {
		return nil, nil, unknown
	}
	// The last layers may be for prediction (GLM-4.5, DeepSeek): they keep nothing
	// unless an engine uses them.
	own := b.blocks - min(b.number1("nextn_predict_layers"), b.blocks)
	for at, kind := range kinds {
		if kind == "" {
			continue
		}
		one, unknown := b.layer(at, kind)
		if unknown != "" {
			return nil, nil, unknown
		}
		if at < own {
			kept = add(kept, one)
		} else {
			predict = add(predict, one)
		}
	}
	return kept, predict, ""
}

// add puts a layer to those that are like it.
func add(groups []Layers, one Layers) []Layers {
	for at := range groups {
		g := &groups[at]
		same := g.Kind == one.Kind && g.KVHeads == one.KVHeads && g.Key == one.Key && g.Value == one.Value &&
			g.Window == one.Window && g.Expanded == one.Expanded && g.Only == one.Only &&
			(g.State == nil) == (one.State == nil) && (g.State == nil || *g.State == *one.State)
		if same {
			g.Count++
			return groups
		}
	}
	one.Count = 1
	return append(groups, one)
}

// number1 is a count of the model, 0 where there is none.
func (b *builder) number1(name string) int {
	n, _ := b.number(name, mostLength)
	return n
}

// recurrentOnly tells whether no layer keeps keys: by the family, or by KV heads
// that are 0 or not told beside the keys of a recurrent build.
func (b *builder) recurrentOnly() bool {
	if recurrents[b.family] {
		return true
	}
	if hybrids[b.family] || b.leftOut("attention.head_count_kv") {
		return false
	}
	if heads, told := b.number("attention.head_count_kv", mostHeads); told {
		return heads == 0
	}
	if list, told := b.list("attention.head_count_kv", mostHeads); told {
		return !slices.ContainsFunc(list, func(n int) bool { return n > 0 })
	}
	_, heads := b.find("attention.head_count")
	_, ssm := b.find("ssm.state_size")
	_, wkv := b.find("wkv.head_size")
	return !heads && (ssm || wkv)
}

// states are the layers of a model that is recurrent throughout.
func (b *builder) states() []Layers {
	if b.blocks == 0 { // that there is a state is all that is known
		return []Layers{{Kind: Recurrent}}
	}
	return []Layers{{Kind: Recurrent, Count: b.blocks, State: b.state()}}
}

// kinds is what each layer keeps, "" for nothing.
func (b *builder) kinds() ([]Kind, Reason) {
	heads, unknown := b.kvHeads()
	if unknown != "" {
		return nil, unknown
	}
	b.heads = heads
	b.sizes, _ = b.list("attention.sliding_window", mostContext)
	feed, _ := b.list("feed_forward_length", mostLength<<8)
	attention := b.attention()
	kinds := make([]Kind, b.blocks)
	for at := range kinds {
		kinds[at] = attention
		if heads[at] == 0 {
			kinds[at] = b.headless(at, feed)
		}
	}
	if b.family == "falconh1" {
		return slices.Repeat([]Kind{Both}, b.blocks), ""
	}
	switch pattern, types := b.text("hybrid_override_pattern"), b.words("layer_types"); {
	case len(pattern) >= b.blocks:
		b.byPattern(kinds, pattern)
	case len(types) >= b.blocks:
		return kinds, b.byTypes(kinds, types)
	default:
		b.byInterval(kinds)
		if b.mixed() && !slices.Contains(kinds, Recurrent) {
			return nil, ReasonHybrid
		}
	}
	if unknown := b.windows(kinds); unknown != "" {
		return nil, unknown
	}
	b.shared(kinds)
	if cross, told := b.list("attention.cross_attention_layers", mostLayers); told {
		for _, at := range cross {
			if at < len(kinds) {
				kinds[at] = Cross
			}
		}
	}
	return kinds, ""
}

// mixed tells whether some layers are recurrent and nothing says which: one number of
// KV heads for all of them.
func (b *builder) mixed() bool {
	if _, list := b.list("attention.head_count_kv", mostHeads); list {
		return false
	}
	_, ssm := b.find("ssm.state_size")
	_, conv := b.find("shortconv.l_cache")
	_, attends := slidings[b.family]
	return hybrids[b.family] || (ssm || conv) && !attends
}

// attention is what an attention layer keeps of all tokens.
func (b *builder) attention() Kind {
	if b.number1("attention.kv_lora_rank") > 0 && !expandedOnly[b.family] {
		return Latent
	}
	return Full
}

// headless is what a layer without KV heads keeps: a state in a hybrid, unless it is
// a mere feed-forward layer of a build where each block is one thing alone.
func (b *builder) headless(at int, feed []int) Kind {
	_, ssm := b.find("ssm.state_size")
	_, conv := b.find("shortconv.l_cache")
	if !hybrids[b.family] && !ssm && !conv {
		return ""
	}
	if at < len(feed) && feed[at] > 0 && strings.HasPrefix(b.family, "nemotronh") {
		return ""
	}
	return Recurrent
}

// byPattern reads Nemotron's pattern: M is recurrent, * attends, E and - are
// feed-forward layers.
func (b *builder) byPattern(kinds []Kind, pattern string) {
	for at := range kinds {
		switch pattern[at] {
		case 'M':
			kinds[at] = Recurrent
		case '*':
			kinds[at] = b.attention()
		default:
			kinds[at] = ""
		}
	}
}

// byTypes reads the layer_types of a config.json.
func (b *builder) byTypes(kinds []Kind, types []string) Reason {
	for at := range kinds {
		switch t := types[at]; {
		case strings.Contains(t, "sliding"), strings.Contains(t, "chunked"):
			kinds[at] = Window
			if b.window(at) == 0 {
				return ReasonWindow
			}
		case strings.Contains(t, "hybrid"): // Zamba 2: a recurrent layer with attention beside it
			kinds[at] = Both
		case strings.Contains(t, "linear"), strings.Contains(t, "mamba"), strings.Contains(t, "conv"), strings.Contains(t, "recurrent"):
			kinds[at] = Recurrent
		case strings.Contains(t, "attention"):
			kinds[at] = b.attention()
		default:
			kinds[at] = ""
		}
	}
	b.shared(kinds)
	return ""
}

// byInterval makes all layers recurrent but every so many-th.
func (b *builder) byInterval(kinds []Kind) {
	every, told := b.number("full_attention_interval", mostLayers)
	if !told {
		if _, list := b.list("attention.head_count_kv", mostHeads); list {
			return // the list tells already
		}
		every = intervals[b.family]
	}
	if every < 2 {
		return
	}
	own := b.blocks - min(b.number1("nextn_predict_layers"), b.blocks)
	for at := range own {
		if (at+1)%every != 0 {
			kinds[at] = Recurrent
		}
	}
}

// shared takes the cache from the last layers, which use that of earlier ones.
func (b *builder) shared(kinds []Kind) {
	n, told := b.number("attention.shared_kv_layers", mostLayers)
	if !told {
		if from := sharedFrom[b.family]; from > 0 {
			n = max(0, b.blocks-from)
		}
	}
	for at := max(0, b.blocks-n); at < b.blocks; at++ {
		kinds[at] = ""
	}
}

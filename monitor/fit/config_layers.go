package fit

import "slices"

// The words of layer_types that the other ways of telling them are turned into.
const (
	wordFull   = "full_attention"
	wordWindow = "sliding_attention"
	wordLinear = "linear_attention"
)

// layerTypes is what each layer of a config.json is, where it is told by other means
// than a list of words: a period, a list of the layers that attend, a list of
// numbers. nil where nothing is told.
func layerTypes(config map[string]any, blocks int) []any {
	if blocks < 1 || blocks > mostLayers {
		return nil
	}
	i := info{keys: config}
	types := make([]any, blocks)
	for at := range types {
		types[at] = wordLinear
	}
	for _, name := range []string{"full_attn_idxs", "attn_layer_indices"} { // LFM2, Bamba
		if list, told := i.list(name, mostLayers); told {
			return attendAt(types, list, 0)
		}
	}
	if list, told := (info{keys: object(config, "linear_attn_config")}).list("full_attn_layers", mostLayers); told {
		return attendAt(types, list, 1) // Kimi Linear counts from one
	}
	if list, told := i.list("attn_type_list", mostLayers); told && len(list) >= blocks { // MiniMax-Text
		for at := range types {
			if list[at] != 0 {
				types[at] = wordFull
			}
		}
		return types
	}
	if period, told := i.number("attn_layer_period", mostLayers); told && period > 0 { // Jamba
		offset, _ := i.number("attn_layer_offset", mostLayers)
		for at := range types {
			if at%period == offset%period {
				types[at] = wordFull
			}
		}
		return types
	}
	if cycle, _ := config["block_types"].([]any); len(cycle) > 0 { // RecurrentGemma: its attention is of a window
		for at := range types {
			if cycle[at%len(cycle)] == "attention" {
				types[at] = wordWindow
			}
		}
		return types
	}
	return nil
}

// attendAt makes the listed layers, counted from so many, attention layers.
func attendAt(types []any, list []int, from int) []any {
	for at := range types {
		if slices.Contains(list, at+from) {
			types[at] = wordFull
		}
	}
	return types
}

// groupedHeads is the number of KV heads of a config.json that tells it by another
// key than num_key_value_heads: one for all (multi_query), as many as there are
// heads of a group (DeciLM's blocks), or under another name. nil where none does.
func groupedHeads(config map[string]any, heads float64) any {
	if blocks, _ := config["block_configs"].([]any); len(blocks) > 0 && heads > 0 {
		list := make([]any, len(blocks))
		for at, b := range blocks {
			block, _ := b.(map[string]any)
			list[at] = 0.0
			if group, _ := object(block, "attention")["n_heads_in_group"].(float64); group > 0 {
				list[at] = float64(int(heads / group))
			}
		}
		return list
	}
	if kv := object(config, "attn_config")["kv_n_heads"]; kv != nil { // DBRX, MPT
		return kv
	}
	if newer, _ := config["new_decoder_architecture"].(bool); newer { // Falcon 40B
		return config["num_kv_heads"]
	}
	if shared, _ := config["multi_query"].(bool); shared {
		return 1.0
	}
	if shared, _ := config["multi_query_attention"].(bool); shared { // ChatGLM
		return config["multi_query_group_num"]
	}
	return config["num_kv_heads"]
}

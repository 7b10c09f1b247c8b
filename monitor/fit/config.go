package fit

import "strings"

// isConfig tells a config.json by the keys that every one has.
func isConfig(top map[string]any) bool {
	for _, key := range []string{"num_hidden_layers", "n_layer", "n_layers", "text_config", "model_type", "architectures"} {
		if _, ok := top[key]; ok {
			return true
		}
	}
	return false
}

// configNames are the names of config.json and what GGUF calls the same. The
// first that is there counts.
var configNames = []struct{ config, name string }{
	{"num_decoder_layers", "block_count"}, {"decoder_layers", "block_count"}, // of an encoder-decoder: the encoder keeps nothing
	{"num_hidden_layers", "block_count"}, {"n_layers", "block_count"}, {"n_layer", "block_count"}, {"num_layers", "block_count"}, {"num_transformer_layers", "block_count"},
	{"hidden_size", "embedding_length"}, {"n_embd", "embedding_length"}, {"d_model", "embedding_length"}, {"model_dim", "embedding_length"},
	{"decoder_attention_heads", "attention.head_count"},
	{"num_attention_heads", "attention.head_count"}, {"n_head", "attention.head_count"}, {"n_heads", "attention.head_count"}, {"num_heads", "attention.head_count"}, {"num_query_heads", "attention.head_count"},
	{"num_key_value_heads", "attention.head_count_kv"},
	{"layer_types", "layer_types"}, {"layers_block_type", "layer_types"}, {"hybrid_override_pattern", "hybrid_override_pattern"},
	{"full_attention_interval", "full_attention_interval"},
	{"sliding_window", "attention.sliding_window"}, {"sliding_window_size", "attention.sliding_window"}, {"attention_window_size", "attention.sliding_window"},
	{"sliding_window_pattern", "attention.sliding_window_pattern"}, {"_sliding_window_pattern", "attention.sliding_window_pattern"},
	{"attention_chunk_size", "attention.chunk_size"}, {"num_kv_shared_layers", "attention.shared_kv_layers"},
	{"cross_attention_layers", "attention.cross_attention_layers"},
	{"kv_lora_rank", "attention.kv_lora_rank"}, {"qk_rope_head_dim", "rope.dimension_count"},
	{"max_position_embeddings", "context_length"}, {"max_target_positions", "context_length"}, {"model_max_length", "context_length"}, {"n_positions", "context_length"},
	{"vocab_size", "vocab_size"}, {"intermediate_size", "feed_forward_length"},
	{"num_experts", "expert_count"}, {"num_local_experts", "expert_count"}, {"n_routed_experts", "expert_count"},
	{"num_experts_per_tok", "expert_used_count"}, {"moe_intermediate_size", "expert_feed_forward_length"},
	{"num_experts_per_token", "expert_used_count"}, {"top_k_experts", "expert_used_count"}, {"n_shared_experts", "expert_shared_count"},
	{"shared_expert_intermediate_size", "expert_shared_feed_forward_length"}, {"moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
	{"first_k_dense_replace", "leading_dense_block_count"},
	{"interleave_moe_layer_step", "interleave_moe_layer_step"}, {"decoder_sparse_step", "interleave_moe_layer_step"}, {"expert_layer_period", "interleave_moe_layer_step"},
	{"conv_L_cache", "shortconv.l_cache"},
	{"ssm_state_size", "ssm.state_size"}, {"state_size", "ssm.state_size"}, {"mamba_d_state", "ssm.state_size"}, {"linear_key_head_dim", "ssm.state_size"},
	{"n_groups", "ssm.group_count"}, {"mamba_n_groups", "ssm.group_count"}, {"linear_num_key_heads", "ssm.group_count"},
	{"conv_kernel", "ssm.conv_kernel"}, {"mamba_d_conv", "ssm.conv_kernel"}, {"linear_conv_kernel_dim", "ssm.conv_kernel"},
	{"mamba_d_ssm", "ssm.inner_size"},
}

// configInfo makes GGUF's keys of a config.json. Of a model that sees, the part
// that speaks is in text_config.
func configInfo(top map[string]any) map[string]any {
	architecture, _ := top["model_type"].(string)
	config := map[string]any{}
	for key, value := range top {
		config[key] = value
	}
	for _, part := range []string{"text_config", "llm_config", "language_config"} {
		for key, value := range object(top, part) {
			config[key] = value
		}
	}
	if architecture == "" {
		architecture, _ = config["model_type"].(string)
	}
	keys := map[string]any{"general.architecture": architecture}
	for _, n := range configNames {
		value, there := config[n.config]
		if _, have := keys[n.name]; there && value != nil && !have {
			keys[n.name] = value
		}
	}
	number := func(name string) float64 { f, _ := config[name].(float64); return f }
	if used, told := config["use_sliding_window"].(bool); told && !used {
		delete(keys, "attention.sliding_window")
		delete(keys, "attention.sliding_window_pattern")
	}
	configHeads(config, keys)
	if rope, nope, value := number("qk_rope_head_dim"), number("qk_nope_head_dim"), number("v_head_dim"); rope > 0 && nope > 0 && value > 0 {
		keys["attention.key_length_mla"], keys["attention.value_length_mla"] = rope+nope, value
		if expandedOnly[familyName(architecture)] { // no engine keeps its latent
			keys["attention.key_length"], keys["attention.value_length"] = rope+nope, value
		}
	}
	if head := number("global_head_dim"); head > 0 { // Gemma 4: its layers with a window have other heads
		keys["attention.key_length_swa"], keys["attention.value_length_swa"] = config["head_dim"], config["head_dim"]
		keys["attention.key_length"], keys["attention.value_length"] = head, head
		if n := config["num_global_key_value_heads"]; n != nil {
			keys["attention.head_count_kv"], keys["attention.head_count_kv_swa"] = n, config["num_key_value_heads"]
		}
	}
	configStates(config, keys)
	configLayers(config, keys)
	if object(top, "vision_config") != nil || strings.Contains(strings.ToLower(architecture), "vl") {
		keys["vision.block_count"] = 1.0
	}
	return keys
}

// usualHeads are the heads of families whose published config.json leaves out what
// the class of the model has by default (transformers: Gemma3TextConfig).
var usualHeads = map[string]struct{ heads, kv, head float64 }{"gemma3": {8, 4, 256}}

// configHeads adds how many heads there are and how long each is.
func configHeads(config, keys map[string]any) {
	heads, _ := keys["attention.head_count"].(float64)
	if keys["attention.head_count_kv"] == nil {
		if kv := groupedHeads(config, heads); kv != nil {
			keys["attention.head_count_kv"] = kv
		}
	}
	architecture, _ := keys["general.architecture"].(string)
	if usual, known := usualHeads[familyName(architecture)]; known && keys["attention.head_count"] == nil && keys["attention.head_count_kv"] == nil {
		keys["attention.head_count"], keys["attention.head_count_kv"] = usual.heads, usual.kv
		keys["attention.key_length"], keys["attention.value_length"] = usual.head, usual.head
	}
	for _, name := range []string{"head_dim", "attention_head_dim", "d_kv", "kv_channels"} {
		if head := config[name]; head != nil {
			keys["attention.key_length"], keys["attention.value_length"] = head, head
			break
		}
	}
	if value := config["v_head_dim"]; value != nil && config["kv_lora_rank"] == nil {
		keys["attention.value_length"] = value
	}
}

// configStates adds what the state of a recurrent layer is worked out of.
func configStates(config, keys map[string]any) {
	number := func(name string) float64 { f, _ := config[name].(float64); return f }
	for _, pair := range [][2]string{
		{"linear_num_value_heads", "linear_value_head_dim"}, {"mamba_num_heads", "mamba_head_dim"}, {"mamba_n_heads", "mamba_d_head"},
		{"mamba_expand", "hidden_size"}, {"expand", "hidden_size"}, {"expand", "d_model"},
	} {
		if inner := number(pair[0]) * number(pair[1]); inner > 0 && keys["ssm.inner_size"] == nil {
			keys["ssm.inner_size"] = inner
		}
	}
	if linear := object(config, "linear_attn_config"); linear["head_dim"] != nil {
		keys["kda.head_dim"], keys["ssm.conv_kernel"] = linear["head_dim"], linear["short_conv_kernel_size"]
	}
	architecture, _ := keys["general.architecture"].(string)
	if strings.HasPrefix(familyName(architecture), "rwkv") {
		for _, name := range []string{"head_size", "head_dim"} {
			if size := config[name]; size != nil && keys["wkv.head_size"] == nil {
				keys["wkv.head_size"] = size
			}
		}
	}
}

// configLayers adds how many layers there are and what each is.
func configLayers(config, keys map[string]any) {
	if keys["block_count"] == nil { // the length of the list tells it
		pattern, _ := keys["hybrid_override_pattern"].(string)
		types, _ := keys["layer_types"].([]any)
		if n := max(len(pattern), len(types)); n > 0 {
			keys["block_count"] = float64(n)
		}
	}
	blocks, _ := keys["block_count"].(float64)
	if keys["layer_types"] != nil || !(blocks <= mostLayers) {
		return
	}
	if types := layerTypes(config, int(blocks)); types != nil {
		keys["layer_types"] = types
	}
}

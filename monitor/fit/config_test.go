package fit

import (
	"strings"
	"testing"
)

// readText makes a model of a description as it is written.
func readText(t *testing.T, text string) Model {
	t.Helper()
	m, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Cases 7, 13 and 25: which layers keep a cache stands in a config.json in many ways,
// and so does what a state is worked out of. Each want is written out by hand.
func TestConfigsOfMixedModels(t *testing.T) {
	for name, c := range map[string]struct {
		config          string
		perToken, state uint64
	}{
		"a period (Jamba)": {`{"model_type":"jamba","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,
			"attn_layer_period":8,"attn_layer_offset":4,"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2}`,
			4 * 8 * 128 * 2 * 2, 28 * 4 * (3*8192 + 16*8192)},
		"a list of those that attend (LFM2)": {`{"model_type":"lfm2","num_hidden_layers":16,"hidden_size":2048,"num_attention_heads":32,
			"num_key_value_heads":8,"conv_L_cache":3,"full_attn_idxs":[2,5,8,10,12,14]}`,
			6 * 8 * 64 * 2 * 2, 10 * 4 * 2048 * 2},
		"under another name (Bamba)": {`{"model_type":"bamba","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,
			"attn_layer_indices":[9,18,27],"mamba_n_heads":128,"mamba_d_head":64,"mamba_d_state":128,"mamba_n_groups":1,"mamba_d_conv":4}`,
			3 * 8 * 128 * 2 * 2, 29 * 4 * (3*(8192+2*128) + 128*8192)},
		"counted from one (Kimi Linear)": {`{"model_type":"kimi_linear","num_hidden_layers":27,"hidden_size":2304,"num_attention_heads":32,"num_key_value_heads":32,
			"kv_lora_rank":512,"qk_rope_head_dim":64,"linear_attn_config":{"full_attn_layers":[4,8,12,16,20,24,27],"head_dim":128,"num_heads":32,"short_conv_kernel_size":4}}`,
			7 * 576 * 2, 20 * 4 * 32 * 128 * (3*3 + 128)},
		"a pattern and no number of layers, Infinity beside it (Nemotron-H)": {`{"model_type":"nemotron_h","hybrid_override_pattern":"M-M*-E","hidden_size":4096,"num_attention_heads":32,
			"num_key_value_heads":8,"attention_head_dim":128,"mamba_num_heads":128,"mamba_head_dim":64,"ssm_state_size":128,"n_groups":8,"conv_kernel":4,
			"time_step_limit":[0.0,Infinity],"note":"NaN in a text stays, \"Infinity\" too"}`,
			8 * 256 * 2, 2 * 4 * (3*(8192+2*8*128) + 128*8192)},
		"nothing but states (Mamba)": {`{"model_type":"mamba","num_hidden_layers":64,"hidden_size":2560,"state_size":16,"conv_kernel":4,"expand":2}`,
			0, 64 * 4 * (3*5120 + 16*5120)},
		"nothing but states (RWKV 7)": {`{"model_type":"rwkv7","num_hidden_layers":32,"hidden_size":4096}`,
			0, 32 * 4 * 4096 * (2 + 64)},
	} {
		t.Run(name, func(t *testing.T) {
			n := readText(t, c.config).Need(Options{Context: 8192})
			wantBytes(t, "per token", n.PerToken, c.perToken)
			wantBytes(t, "cache", n.KV, 8192*c.perToken)
			wantBytes(t, "state", n.State, c.state)
		})
	}
}

// Cases 7 and 13: of a mix that does not tell which layers attend, nothing is charged
// to all of them.
func TestMixedWithoutPattern(t *testing.T) {
	for _, architecture := range []string{"granitehybrid", "jamba", "nemotron_h", "lfm2", "something-new"} {
		n := read(t, map[string]any{
			"general.architecture": architecture, architecture + ".block_count": 40, architecture + ".attention.head_count": 32,
			architecture + ".attention.head_count_kv": 8, architecture + ".embedding_length": 4096,
			architecture + ".ssm.state_size": 128, architecture + ".ssm.inner_size": 8192,
		}).Need(Options{Context: 8192})
		if n.KV != nil || n.Total != nil || n.Unknown != ReasonHybrid {
			t.Errorf("%s: %s B for %q, want nothing for %q", architecture, show(n.KV), n.Unknown, ReasonHybrid)
		}
	}
}

// Case 12: one head, or a group's, whose keys all share, under the names of before
// num_key_value_heads.
func TestConfigsOfGroupedHeads(t *testing.T) {
	for config, want := range map[string]uint64{
		`{"model_type":"falcon","num_hidden_layers":32,"hidden_size":4544,"num_attention_heads":71,"multi_query":true}`:                                                   32 * 64 * 2 * 2,
		`{"model_type":"falcon","num_hidden_layers":60,"hidden_size":8192,"num_attention_heads":128,"num_kv_heads":8,"multi_query":true,"new_decoder_architecture":true}`: 60 * 8 * 64 * 2 * 2,
		`{"model_type":"gpt_bigcode","n_layer":40,"n_embd":6144,"n_head":48,"multi_query":true}`:                                                                          40 * 128 * 2 * 2,
		`{"model_type":"chatglm","num_layers":28,"hidden_size":4096,"num_attention_heads":32,"kv_channels":128,"multi_query_attention":true,"multi_query_group_num":2}`:   28 * 2 * 128 * 2 * 2,
		`{"model_type":"nemotron-nas","num_hidden_layers":2,"hidden_size":8192,"num_attention_heads":64,"num_key_value_heads":null,
			"block_configs":[{"attention":{"n_heads_in_group":8,"no_op":false}},{"attention":{"n_heads_in_group":null,"no_op":true}}]}`: 8 * 128 * 2 * 2,
		`{"model_type":"dbrx","n_layers":40,"d_model":6144,"n_heads":48,"attn_config":{"kv_n_heads":8}}`:                                    40 * 8 * 128 * 2 * 2,
		`{"model_type":"openelm","num_transformer_layers":2,"model_dim":1280,"head_dim":64,"num_kv_heads":[3,5],"num_query_heads":[12,20]}`: (3 + 5) * 64 * 2 * 2,
		`{"model_type":"minicpm3","num_hidden_layers":62,"hidden_size":2560,"num_attention_heads":40,"num_key_value_heads":40,"kv_lora_rank":256,
			"qk_nope_head_dim":64,"qk_rope_head_dim":32,"v_head_dim":64}`: 62 * 40 * (96 + 64) * 2,
		`{"model_type":"recurrent_gemma","num_hidden_layers":26,"hidden_size":2560,"num_attention_heads":10,"num_key_value_heads":1,"head_dim":256,
			"attention_window_size":2048,"block_types":["recurrent","recurrent","attention"]}`: 0, // 8 windows
		`{"model_type":"t5","num_layers":24,"num_decoder_layers":12,"d_model":1024,"num_heads":16,"d_kv":64}`:                                                   12 * 16 * 64 * 2 * 2,
		`{"model_type":"whisper","num_hidden_layers":32,"encoder_layers":32,"decoder_layers":4,"d_model":1280,"decoder_attention_heads":20}`:                    4 * 1280 * 2 * 2,
		`{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","num_hidden_layers":34,"hidden_size":2560,"sliding_window":1024},"vision_config":{}}`: 5 * 4 * 256 * 2 * 2,
	} {
		wantBytes(t, config, readText(t, config).Need(Options{}).PerToken, want)
	}
}

// Case 1: the ways in which a pattern of windows is told.
func TestWaysOfWindows(t *testing.T) {
	keys := func(more map[string]any) map[string]any {
		all := map[string]any{
			"general.architecture": "gemma4", "gemma4.block_count": 30, "gemma4.attention.sliding_window": 1024, "gemma4.attention.head_count": 16,
			"gemma4.attention.head_count_kv": 2, "gemma4.attention.head_count_kv_swa": 8, "gemma4.attention.key_length": 512, "gemma4.attention.value_length": 512,
			"gemma4.attention.key_length_swa": 256, "gemma4.attention.value_length_swa": 256,
		}
		for key, value := range more {
			all[key] = value
		}
		return all
	}
	lengths, truths := make([]any, 30), make([]any, 30)
	for at := range lengths {
		truths[at], lengths[at] = (at+1)%6 != 0, 256
		if truths[at] == false {
			lengths[at] = 512
		}
	}
	const pattern = "gemma4.attention.sliding_window_pattern"
	for name, more := range map[string]map[string]any{
		"truths": {pattern: truths}, "a number": {pattern: 6}, "absent": {}, "left out": {pattern: nil}, "letters": {pattern: "LLLLLG"},
		"a length for each layer": {pattern: truths, "gemma4.attention.key_length": lengths, "gemma4.attention.value_length": lengths,
			"gemma4.attention.key_length_swa": nil, "gemma4.attention.value_length_swa": nil},
	} {
		n := read(t, keys(more)).Need(Options{Context: 32768})
		wantBytes(t, name, n.KV, 20480*32768+204800*1536)
	}
}

// Case 1: windows whose length or whose layers are told in part are not charged in full.
func TestWindowsToldInPart(t *testing.T) {
	const head = `{"general.architecture":"something-new","block_count":4,"attention.head_count":8,"attention.head_count_kv":8,"attention.key_length":64,"attention.`
	for text, want := range map[string]Reason{
		head + `sliding_window_pattern":[true,false,true,false]}`:                                 ReasonWindow,
		head + `sliding_window_pattern":[true,false,true,false],"attention.sliding_window":null}`: ReasonWindow,
		head + `sliding_window":[512,512]}`:                                                       ReasonListLeftOut,
		head + `sliding_window_pattern":"4","attention.sliding_window":512}`:                      ReasonWindow,
		head + `sliding_window_pattern":[true,false,true,false],"attention.sliding_window":0}`:    "",
		head + `sliding_window_pattern":[true,false,true,false],"attention.sliding_window":512}`:  "",
		head + `sliding_window":[512,0,512,0]}`:                                                   "",
	} {
		if m := readText(t, text); m.Unknown != want {
			t.Errorf("%s: %q, want %q", text, m.Unknown, want)
		}
	}
}

// Case 25: what is no number is no length, and is not passed over for another.
func TestUnreadableValues(t *testing.T) {
	for name, value := range map[string]string{
		"text": `"128"`, "negative": `-1`, "fraction": `12.5`, "too long": `1000000000000`, "infinite": `1e999`, "truth": `true`,
	} {
		m := readText(t, strings.Replace(`{"general.architecture":"gemma3","block_count":4,"embedding_length":4096,"attention.head_count":32,
			"attention.key_length":VALUE}`, "VALUE", value, 1))
		if m.Unknown != ReasonImplausible {
			t.Errorf("a key length that is %s: %q, want %q", name, m.Unknown, ReasonImplausible)
		}
	}
	m := readText(t, `{"general.architecture":"gemma3","block_count":4,"embedding_length":4096,"attention.head_count":32,"attention.sliding_window":"1024"}`)
	if m.Unknown != ReasonImplausible {
		t.Errorf("a window that is a text: %q, want %q", m.Unknown, ReasonImplausible)
	}
	n := readText(t, `{"general.architecture":"rwkv7"}`).Need(Options{})
	wantBytes(t, "the cache of a recurrent model without a number of layers", n.KV, 0)
	if n.State != nil {
		t.Errorf("its state is %s, want it absent", show(n.State))
	}
}

// Case 14: what a token takes is the same however many slots there are.
func TestPerTokenOfOneSlot(t *testing.T) {
	m := read(t, map[string]any{"general.architecture": "qwen2", "block_count": 28, "attention.head_count": 28, "attention.head_count_kv": 4, "embedding_length": 3584})
	n := m.Need(Options{Context: 4096, Slots: 4})
	wantBytes(t, "per token", n.PerToken, 57344)
	wantBytes(t, "cache", n.KV, 57344*4096*4)
}

package fit

import "strings"

// kvHeads is the number of heads whose keys and values each layer keeps. A model
// that does not tell it keeps those of all its heads.
func (b *builder) kvHeads() ([]int, Reason) {
	for _, name := range []string{"attention.head_count_kv", "attention.head_count"} {
		if b.leftOut(name) {
			return nil, ReasonListLeftOut
		}
		if n, told := b.number(name, mostHeads); told {
			heads := make([]int, b.blocks)
			for at := range heads {
				heads[at] = n
			}
			return heads, ""
		}
		if list, told := b.list(name, mostHeads); told {
			// Prediction layers may stand behind the list.
			for len(list) < b.blocks && len(list) >= b.blocks-b.number1("nextn_predict_layers") {
				list = append(list, list[len(list)-1])
			}
			if len(list) < b.blocks {
				return nil, ReasonListLeftOut
			}
			return list[:b.blocks], ""
		}
		if _, there := b.find(name); there {
			return nil, ReasonImplausible
		}
	}
	if b.attention() == Latent {
		heads := make([]int, b.blocks)
		for at := range heads {
			heads[at] = 1
		}
		return heads, ""
	}
	return nil, ReasonNoHeads
}

// lengths are the lengths of a key and a value: as they are told, before the
// width ÷ heads. A value's that is not told is the key's.
func (b *builder) lengths(at int, window bool) (key, value int, unknown Reason) {
	for _, name := range []string{"attention.key_length", "attention.value_length", "attention.key_length_swa", "attention.value_length_swa", "attention.head_dim"} {
		if b.unreadable(name, mostLength) {
			return 0, 0, ReasonImplausible
		}
	}
	if window {
		key, value = b.at("attention.key_length_swa", at), b.at("attention.value_length_swa", at)
	}
	ofWindow := key > 0
	if key == 0 {
		key = b.at("attention.key_length", at)
	}
	if key == 0 {
		key = b.at("attention.head_dim", at)
	}
	if value == 0 && !ofWindow {
		value = b.at("attention.value_length", at)
	}
	if key == 0 {
		width, heads := b.width(), b.headsOf(at)
		if width == 0 || heads == 0 {
			return 0, 0, ReasonNoHeads
		}
		key, b.rough = width/heads, true
		if value == 0 {
			value = width / heads
		}
	}
	if value == 0 {
		value = key
	}
	return key, value, ""
}

// at is a length that is told for all layers or for each, 0 where it is not.
func (b *builder) at(name string, at int) int {
	if list, told := b.list(name, mostLength); told {
		if at < len(list) {
			return list[at]
		}
		return 0
	}
	return b.number1(name)
}

// width is embedding_length.
func (b *builder) width() int {
	n, _ := b.number("embedding_length", mostLength<<3)
	return n
}

// headsOf is the number of query heads of a layer, 0 where not told.
func (b *builder) headsOf(at int) int {
	if n, told := b.number("attention.head_count", mostHeads); told {
		return n
	}
	most := 0
	if list, told := b.list("attention.head_count", mostHeads); told {
		if at < len(list) && list[at] > 0 {
			return list[at]
		}
		for _, n := range list {
			most = max(most, n)
		}
	}
	return most
}

// layer is one layer of a kind.
func (b *builder) layer(at int, kind Kind) (Layers, Reason) {
	one := Layers{Kind: kind}
	if kind == Recurrent {
		one.State = b.state()
		return one, ""
	}
	if kind == Latent {
		return b.latent(one, at)
	}
	var unknown Reason
	one.KVHeads = b.heads[at]
	if one.Key, one.Value, unknown = b.lengths(at, kind == Window); unknown != "" {
		return one, unknown
	}
	switch kind {
	case Window:
		one.Window = b.window(at)
		if n := b.number1("attention.head_count_kv_swa"); n > 0 {
			one.KVHeads = n
		}
	case Both:
		one.State = b.state()
	case Cross:
		one.State = new(times(uint64(one.KVHeads), uint64(one.Key+one.Value), 4, crossTokens, crossTiles))
	}
	return one, ""
}

// latent is a layer of which one compressed vector a token is kept. What it comes to
// when an engine keeps keys and values expanded is told beside it.
func (b *builder) latent(one Layers, at int) (Layers, Reason) {
	one.KVHeads, one.Key, one.Value = 1, b.number1("attention.kv_lora_rank"), b.number1("rope.dimension_count")
	key, value := b.number1("attention.key_length_mla"), b.number1("attention.value_length_mla")
	if key == 0 || value == 0 {
		key, value = b.number1("attention.key_length"), b.number1("attention.value_length")
		if one.Value == 0 && key > one.Key { // as llama.cpp writes it: latent + rope
			one.Value, key = key-one.Key, 0
		}
	}
	if one.Value == 0 {
		return one, ReasonLatent
	}
	if compressed := one.Key + one.Value; key != compressed && value > 0 {
		one.Expanded = b.headsOf(at) * (key + value)
	}
	return one, ""
}

// rwkvHead is the length of a head of every RWKV since version 5, for those that do
// not tell it.
const rwkvHead = 64

// state is what a recurrent layer keeps for a slot, in bytes, all of it f32: the
// last inputs of its convolution and its state proper (n_embd_r and n_embd_s in
// llama-hparams.cpp). nil where the model's numbers do not tell.
func (b *builder) state() *uint64 {
	width := uint64(b.width())
	size := uint64(b.number1("wkv.head_size"))
	if size == 0 && strings.Contains(b.family, "rwkv") {
		size = rwkvHead
	}
	if size > 0 && width > 0 { // RWKV
		shifts := uint64(2)
		if n, told := b.number("token_shift_count", 16); told {
			shifts = uint64(n)
		}
		return new(times(4, width, shifts+size))
	}
	if cached := uint64(b.number1("shortconv.l_cache")); cached > 0 && width > 0 { // LFM2
		return new(times(4, width, cached-1))
	}
	if size := uint64(b.number1("kda.head_dim")); size > 0 && b.headsOf(0) > 0 { // Kimi Linear
		conv := uint64(max(b.number1("ssm.conv_kernel"), 1))
		return new(times(4, uint64(b.headsOf(0)), size, plus(3*(conv-1), size)))
	}
	inner, _ := b.number("ssm.inner_size", mostLength<<3)
	state, groups, conv := uint64(b.number1("ssm.state_size")), uint64(b.number1("ssm.group_count")), uint64(b.number1("ssm.conv_kernel"))
	if inner == 0 || state == 0 {
		return nil
	}
	var shifted uint64
	if conv > 0 {
		shifted = times(conv-1, plus(uint64(inner), times(2, groups, state)))
	}
	return new(times(4, plus(shifted, times(state, uint64(inner)))))
}

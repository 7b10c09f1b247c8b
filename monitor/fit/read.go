package fit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Read makes a Model of what is known of its build, in JSON: a reply of Ollama's
// /api/show, its model_info alone, or the config.json of a safetensors model. The
// error means that it is no such thing; what it does not tell is told by the Model.
func Read(data []byte) (Model, error) {
	top, err := decode(data)
	if err != nil {
		return Model{}, fmt.Errorf("reading a model's details: %w", err)
	}
	reply, _ := top["model_info"].(map[string]any)
	_, isReply := top["model_info"]
	details := object(top, "details")
	switch {
	case isReply:
	case isConfig(top):
		reply = configInfo(top)
	default:
		reply = top
	}
	i := newInfo(reply)
	if i.architecture == "" {
		i.architecture, _ = details["family"].(string)
	}
	m := i.model()
	m.Format, _ = details["format"].(string)
	if level, _ := details["quantization_level"].(string); level != "" && level != "unknown" {
		m.Quantization = level
	}
	m.reply(top)
	m.finish(i, replyTensors(top))
	return m, nil
}

// model is what the keys tell of a model.
func (i info) model() Model {
	b := &builder{info: i, family: familyName(i.architecture)}
	for _, name := range []string{"decoder_block_count", "block_count"} {
		if n, told := b.number(name, mostLayers); told && b.blocks == 0 {
			b.blocks = n
		}
	}
	m := Model{Architecture: i.architecture, Blocks: b.blocks, Width: b.width(), Heads: b.headsOf(0)}
	if len(i.keys) == 0 {
		m.Unknown = ReasonNoInfo
	} else {
		m.Layers, m.Predict, m.Unknown = b.layers()
	}
	m.Rough = b.rough
	if _, told := i.find("block_count"); told && b.blocks == 0 && m.Unknown == ReasonNoLayers {
		m.Unknown = ReasonImplausible
	}
	m.Trained, _ = i.number("context_length", mostContext)
	m.Vocabulary, _ = i.number("vocab_size", mostContext)
	if m.Feed, _ = i.number("feed_forward_length", mostLength<<8); m.Feed == 0 {
		if list, told := i.list("feed_forward_length", mostLength<<8); told {
			m.Feed = slices.Max(list)
		}
	}
	m.Experts, _ = i.number("expert_count", mostExperts)
	m.ExpertsUsed, _ = i.number("expert_used_count", mostExperts)
	if parameters, ok := i.keys["general.parameter_count"].(float64); ok {
		m.Parameters, _ = whole(parameters, 1<<53)
	}
	if kind, ok := i.keys["general.file_type"].(float64); ok {
		if n, ok := whole(kind, 1<<10); ok {
			m.Quantization = levels[int(n)]
		}
	}
	_, pools := i.find("pooling_type")
	m.Embedding = encoders[m.family()] || pools
	_, sees := i.find("vision.block_count")
	m.Vision = sees
	return m
}

// finish adds what the tensors tell, or what is worked out in place of them.
func (m *Model) finish(i info, tensors []tensor) {
	b := &builder{info: i, family: m.family(), blocks: m.Blocks}
	predictFrom := 0
	if n := b.number1("nextn_predict_layers"); n > 0 && n < m.Blocks {
		predictFrom = m.Blocks - n
	}
	m.weigh(tensors, predictFrom)
	m.guessWeights()
	m.guessActive(b)
}

// reply adds what the rest of a reply of /api/show tells.
func (m *Model) reply(top map[string]any) {
	capabilities, _ := top["capabilities"].([]any)
	for _, c := range capabilities {
		switch c {
		case "vision", "audio":
			m.Vision = true
		case "embedding":
			m.Embedding = true
		}
	}
	if len(object(top, "projector_info")) > 0 {
		m.Vision = true
	}
	for _, key := range []string{"remote_host", "remote_model"} {
		if remote, _ := top[key].(string); remote != "" {
			m.Cloud = true
		}
	}
	parameters, _ := top["parameters"].(string)
	for line := range strings.Lines(parameters) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "num_ctx" {
			if n, err := strconv.ParseUint(words[1], 10, 40); err == nil {
				m.Own = int(n)
			}
		}
	}
}

// mostTensors is beyond every model's.
const mostTensors = 1 << 17

// replyTensors are the tensors in a reply of /api/show, which every server since
// v0.5.8 lists. nil when one of them is not told whole.
func replyTensors(top map[string]any) []tensor {
	all, _ := top["tensors"].([]any)
	if len(all) > mostTensors {
		return nil
	}
	list := make([]tensor, 0, len(all))
	for _, one := range all {
		o, _ := one.(map[string]any)
		t := tensor{values: 1}
		t.name, _ = o["name"].(string)
		t.kind, _ = o["type"].(string)
		shape, _ := o["shape"].([]any)
		if t.name == "" || len(shape) == 0 {
			return nil
		}
		for _, side := range shape {
			f, _ := side.(float64)
			n, ok := whole(f, mostContext)
			if !ok || n == 0 {
				return nil
			}
			t.values, t.rows = times(t.values, n), n
		}
		list = append(list, t)
	}
	return list
}

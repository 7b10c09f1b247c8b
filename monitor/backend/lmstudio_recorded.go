package backend

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// LMStudioModel is a model in a recorded list of LM Studio, of /api/v0/models (ID,
// Loaded) or of /api/v1/models (Key, Instances). What the server left out is nil.
type LMStudioModel struct {
	ID  *string `json:"id"`
	Key *string `json:"key"`
	// Type is "llm", "vlm", "embeddings" (v1: "embedding").
	Type         *string `json:"type"`
	Engine       *string `json:"engine"` // v0: "gguf", "mlx"
	Format       *string `json:"format"` // v1, the same words
	Quantization *string `json:"quantization"`
	Loaded       *bool   `json:"loaded"`
	Size         *uint64 `json:"size_bytes"`
	MaxContext   *int    `json:"max_context_length"`
	// Instances are what is in memory of it. Empty for v1, nil for v0.
	Instances []LMStudioInstance `json:"loaded_instances"`
}

// LMStudioInstance is a model in LM Studio's memory.
type LMStudioInstance struct {
	ID string `json:"id"`
	// Context is for each of Parallel requests at once, in tokens.
	Context        *int  `json:"context_length"`
	Parallel       *int  `json:"parallel"`
	FlashAttention *bool `json:"flash_attention"`
	CacheOnGPU     *bool `json:"kv_on_gpu"`
}

// LMStudioFinal is what LM Studio says of a finished request, of /api/v0 or /api/v1.
type LMStudioFinal struct {
	Model           string   `json:"model"`
	PromptTokens    *int     `json:"prompt_tokens"`
	DecodeTokens    *int     `json:"decode_tokens"`
	ReasoningTokens *int     `json:"reasoning_tokens"`
	TTFT            *float64 `json:"time_to_first_token_seconds"`
	Generation      *float64 `json:"generation_seconds"`
	Load            *float64 `json:"load_seconds"`
	// DecodeReported is the server's own rate in tokens per second. It is not always
	// tokens ÷ generation time, which Decode is; v1 tells no such time.
	DecodeReported *float64 `json:"decode_tokens_per_second_reported"`
	Decode         *float64 `json:"decode_tokens_per_second"`
	// Prefill is never told: the time to the first token holds more than reading.
	Prefill      *float64 `json:"prefill_tokens_per_second"`
	StopReason   *string  `json:"stop_reason"`
	Context      *int     `json:"context_length"`
	Quantization *string  `json:"quantization"`
	Format       *string  `json:"format"`
	OutputItems  *int     `json:"output_items"` // v1
	ToolCalls    *int     `json:"tool_calls"`   // v1
}

// DecodeLMStudio reads one recording of what LM Studio's own API said, whichever it
// is: a list of models, one model, a finished request. Its errors are
// *RecordedError; its value is never nil. No text of prompt or answer is kept.
func DecodeLMStudio(data []byte) (any, error) {
	var fields map[string]json.RawMessage
	record, err := lastRecord(data)
	if err == nil && record == nil {
		return struct{}{}, &RecordedError{"truncated", errors.New("nothing in it")}
	}
	if err == nil {
		err = json.Unmarshal(record, &fields)
	}
	if err != nil {
		return struct{}{}, &RecordedError{notJSON(err), err}
	}
	var value any
	switch {
	case fields["models"] != nil:
		value, err = lmStudioModels(fields["models"])
	case fields["data"] != nil:
		value, err = lmStudioModels(fields["data"])
	case fields["stats"] != nil:
		value, err = lmStudioFinal(record)
	case fields["compatibility_type"] != nil, fields["state"] != nil:
		value, err = lmStudioModels(append(append([]byte("["), record...), ']'))
	default:
		err = errors.New("no field that is known")
	}
	if err != nil {
		return struct{}{}, &RecordedError{"labels_not_recognised", err}
	}
	return value, nil
}

// lmStudioModels reads a list of models of either version.
func lmStudioModels(list json.RawMessage) (any, error) {
	var entries []struct {
		ID, Key, Type, State, Format *string
		Compatibility                *string `json:"compatibility_type"`
		Quantization                 json.RawMessage
		Size                         *int64 `json:"size_bytes"`
		MaxContext                   *int   `json:"max_context_length"`
		Instances                    *[]struct {
			ID     string
			Config struct {
				Context        *int  `json:"context_length"`
				Parallel       *int  `json:"parallel"`
				FlashAttention *bool `json:"flash_attention"`
				CacheOnGPU     *bool `json:"offload_kv_cache_to_gpu"`
			}
		} `json:"loaded_instances"`
	}
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, fmt.Errorf("reading the models: %w", err)
	}
	models, loaded := make([]LMStudioModel, 0, len(entries)), 0
	for _, e := range entries {
		m := LMStudioModel{ID: e.ID, Key: e.Key, Type: e.Type, Engine: e.Compatibility, Format: e.Format,
			Quantization: lmStudioQuantization(e.Quantization), Size: bytes64(e.Size), MaxContext: e.MaxContext}
		if e.State != nil {
			m.Loaded = new(*e.State == "loaded")
		}
		if e.Instances != nil {
			m.Instances = []LMStudioInstance{}
			for _, i := range *e.Instances {
				m.Instances = append(m.Instances, LMStudioInstance{i.ID, i.Config.Context, i.Config.Parallel, i.Config.FlashAttention, i.Config.CacheOnGPU})
			}
		}
		if m.Loaded != nil && *m.Loaded || len(m.Instances) > 0 {
			loaded++
		}
		models = append(models, m)
	}
	return map[string]any{"models": models, "loaded_count": loaded}, nil
}

// lmStudioQuantization is a word in v0 and an object with its name in v1.
func lmStudioQuantization(raw json.RawMessage) *string {
	if word := read[string](raw); word != nil {
		return word
	}
	if object := read[struct{ Name *string }](raw); object != nil {
		return object.Name
	}
	return nil
}

// lmStudioFinal reads a finished request of either version.
func lmStudioFinal(record []byte) (any, error) {
	var r struct {
		Model    string
		Instance string `json:"model_instance_id"`
		Usage    struct {
			Prompt     *int `json:"prompt_tokens"`
			Completion *int `json:"completion_tokens"`
		}
		Stats struct {
			Rate       *float64 `json:"tokens_per_second"`
			TTFT       *float64 `json:"time_to_first_token"`
			TTFTv1     *float64 `json:"time_to_first_token_seconds"`
			Generation *float64 `json:"generation_time"`
			Load       *float64 `json:"model_load_time_seconds"`
			StopReason *string  `json:"stop_reason"`
			Input      *int     `json:"input_tokens"`
			Output     *int     `json:"total_output_tokens"`
			Reasoning  *int     `json:"reasoning_output_tokens"`
		}
		Info struct {
			Quant   *string
			Format  *string
			Context *int `json:"context_length"`
		} `json:"model_info"`
		Output *[]struct{ Type string }
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, fmt.Errorf("reading a finished request: %w", err)
	}
	s := r.Stats
	f := &LMStudioFinal{
		Model: cmp.Or(r.Model, r.Instance), PromptTokens: firstOf(r.Usage.Prompt, s.Input), DecodeTokens: firstOf(r.Usage.Completion, s.Output),
		ReasoningTokens: s.Reasoning, TTFT: firstOf(s.TTFT, s.TTFTv1), Generation: s.Generation, Load: s.Load, DecodeReported: s.Rate,
		StopReason: s.StopReason, Context: r.Info.Context, Quantization: r.Info.Quant, Format: r.Info.Format,
	}
	if f.DecodeTokens != nil && f.Generation != nil && *f.DecodeTokens > 0 && *f.Generation > 0 {
		f.Decode = new(math.Round(float64(*f.DecodeTokens) / *f.Generation * 1e6) / 1e6)
	}
	if r.Output != nil {
		calls := 0
		for _, item := range *r.Output {
			if item.Type == "tool_call" {
				calls++
			}
		}
		f.OutputItems, f.ToolCalls = new(len(*r.Output)), &calls
	}
	return f, nil
}

func firstOf[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

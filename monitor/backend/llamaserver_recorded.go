package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LlamaFinal is what llama-server says at the end of a request. What it left out is
// nil.
type LlamaFinal struct {
	Model  string `json:"model"`
	Reason string `json:"finish_reason"`
	// PromptTokens is the whole prompt, of which CachedTokens were not read again.
	PromptTokens *int     `json:"prompt_tokens"`
	CachedTokens *int     `json:"prompt_tokens_cached"`
	PromptTime   *float64 `json:"prompt_ms"`
	DecodeTokens *int     `json:"decode_tokens"`
	DecodeTime   *float64 `json:"decode_ms"`
	TotalTokens  *int     `json:"total_tokens"`
	// Rates in tokens per second: from tokens and time, and as the server says.
	Prefill         *float64 `json:"prefill_tokens_per_second"`
	PrefillReported *float64 `json:"prefill_tokens_per_second_reported"`
	Decode          *float64 `json:"decode_tokens_per_second"`
	DecodeReported  *float64 `json:"decode_tokens_per_second_reported"`
	// Done: the stream had its end.
	Done bool `json:"stream_done"`
}

// RecordedSlot is a slot of a recorded /slots.
type RecordedSlot struct {
	ID          *int  `json:"id"`
	Task        *int  `json:"task_id"`
	Context     *int  `json:"context_length"`
	Processing  bool  `json:"is_processing"`
	Speculative *bool `json:"speculative"`
	Tokens      *int  `json:"prompt_tokens"`
	Read        *int  `json:"prompt_tokens_processed"`
	Cached      *int  `json:"prompt_tokens_cached"`
	Target      *int  `json:"prompt_tokens_target"`
	Decoded     *int  `json:"decode_tokens"`
	// Prefill is how much of the prompt has been read, in percent: of the target, which
	// few builds tell, or else of the prompt's tokens, where they are not only those
	// that are held so far.
	Prefill *float64 `json:"prefill_percent_with_target"`
	Part    *float64 `json:"prefill_percent_without_target"`
}

// RecordedTotals is what a recorded /metrics says. Rates are made of the counters;
// those reported are gauges, means over a while that nobody knows.
type RecordedTotals struct {
	PromptTokens    *float64 `json:"prompt_tokens"`
	PromptSeconds   *float64 `json:"prompt_seconds"`
	Prefill         *float64 `json:"prefill_tokens_per_second"`
	PrefillReported *float64 `json:"prefill_tokens_per_second_reported"`
	DecodeTokens    *float64 `json:"decode_tokens"`
	DecodeSeconds   *float64 `json:"decode_seconds"`
	Decode          *float64 `json:"decode_tokens_per_second"`
	DecodeReported  *float64 `json:"decode_tokens_per_second_reported"`
	CacheUsage      *float64 `json:"kv_cache_usage_ratio"`
	CacheTokens     *float64 `json:"kv_cache_tokens"`
	MostTokens      *float64 `json:"max_tokens_seen"`
	Processing      *float64 `json:"requests_processing"`
	Deferred        *float64 `json:"requests_deferred"`
}

// DecodeLlamaServer reads one recording of what a llama-server said, whichever it
// is: /slots, /metrics, or the end of a request, streamed or not. Its errors are
// *RecordedError; its value is never nil. No text of prompt or answer is kept.
func DecodeLlamaServer(data []byte) (any, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(data) == 0:
		return struct{}{}, &RecordedError{"truncated", errors.New("nothing in it")}
	case bytes.Contains(data, []byte("llamacpp:")) && data[0] != '{' && data[0] != '[':
		return recordedTotals(string(data)), nil
	case bytes.HasPrefix(data, []byte("data:")) || bytes.Contains(data, []byte("\ndata:")):
		return recordedStream(data)
	}
	value, err := recordedLlamaJSON(data)
	if err != nil {
		if plain, ok := fromJSON5(string(data)); ok {
			if again, failed := recordedLlamaJSON([]byte(plain)); failed == nil {
				value, err = again, nil
			}
		}
	}
	if err == nil {
		return value, nil
	}
	if known, ok := errors.AsType[*RecordedError](err); ok {
		return struct{}{}, known
	}
	return struct{}{}, &RecordedError{notJSON(err), err}
}

// recordedLlamaJSON reads slots or the reply to a request.
func recordedLlamaJSON(data []byte) (any, error) {
	if !json.Valid(data) {
		var any any
		return nil, json.NewDecoder(bytes.NewReader(data)).Decode(&any)
	}
	if final, err := decodeLlamaFinal(data); err == nil {
		return final, nil
	}
	slots, named := []RecordedSlot{}, false
	err := scanSlots(bytes.NewReader(data), func(s recordedSlot) {
		named = named || s.id != nil || s.Task != nil
		slots = append(slots, s.recorded())
	})
	switch {
	case err != nil:
		return nil, &RecordedError{"labels_not_recognised", err}
	case len(slots) > 0 && !named:
		return nil, &RecordedError{"labels_not_recognised", errors.New("no field that is known")}
	}
	return map[string]any{"slots": slots}, nil
}

func (s recordedSlot) recorded() RecordedSlot {
	r := RecordedSlot{
		ID: s.id, Task: s.Task, Context: s.Context, Processing: s.Processing, Speculative: s.speculative,
		Tokens: s.Tokens, Read: s.Read, Cached: s.Cached, Target: s.target, Decoded: s.Decoded,
	}
	if s.Read == nil {
		return r
	}
	percent := func(of int) *float64 { return new(math.Round(1e6*float64(*s.Read)/float64(of)) / 1e4) }
	if s.target != nil && *s.target > 0 {
		r.Prefill = percent(*s.target)
	} else if held := *s.Read + *either(s.Cached, new(0)); s.Tokens != nil && *s.Tokens > held && *either(s.Decoded, new(0)) == 0 {
		r.Part = percent(*s.Tokens)
	}
	return r
}

// recordedStream reads the events of a streamed reply; its statistics are in the
// last but the end marker.
func recordedStream(data []byte) (any, error) {
	found, done := LlamaFinal{}, false
	err := errors.New("no statistics in it")
	for line := range bytes.Lines(data) {
		event, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if event = bytes.TrimSpace(event); !ok {
			continue
		}
		if string(event) == "[DONE]" {
			done = true
		} else if final, failed := decodeLlamaFinal(event); failed == nil {
			found, err = final, nil
		}
	}
	if err != nil {
		return struct{}{}, &RecordedError{"labels_not_recognised", err}
	}
	found.Done = done || found.Done
	return found, nil
}

// decodeLlamaFinal reads the statistics of one reply or event.
func decodeLlamaFinal(data []byte) (LlamaFinal, error) {
	var r struct {
		Model   string
		Stop    *bool
		Choices []struct {
			Reason string `json:"finish_reason"`
		}
		StopType  string `json:"stop_type"`
		Predicted *int   `json:"tokens_predicted"`
		Evaluated *int   `json:"tokens_evaluated"`
		Usage     struct {
			Prompt     *int `json:"prompt_tokens"`
			Completion *int `json:"completion_tokens"`
			Total      *int `json:"total_tokens"`
		}
		Timings *struct {
			Cached      *int     `json:"cache_n"`
			Prompt      *int     `json:"prompt_n"`
			PromptTime  *float64 `json:"prompt_ms"`
			PromptRate  *float64 `json:"prompt_per_second"`
			Decoded     *int     `json:"predicted_n"`
			DecodedTime *float64 `json:"predicted_ms"`
			DecodedRate *float64 `json:"predicted_per_second"`
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return LlamaFinal{}, fmt.Errorf("reading a reply of %s: %w", llamaServer, err)
	}
	if r.Timings == nil {
		return LlamaFinal{}, fmt.Errorf("reading a reply of %s: no timings", llamaServer)
	}
	t := r.Timings
	f := LlamaFinal{
		Model: r.Model, Reason: r.StopType, PromptTokens: either(r.Usage.Prompt, r.Evaluated), CachedTokens: t.Cached,
		PromptTime: t.PromptTime, DecodeTokens: either(r.Usage.Completion, r.Predicted, t.Decoded), DecodeTime: t.DecodedTime,
		TotalTokens: r.Usage.Total, PrefillReported: t.PromptRate, DecodeReported: t.DecodedRate, Done: r.Stop != nil && *r.Stop,
	}
	for _, c := range r.Choices {
		f.Reason = c.Reason
	}
	if f.PromptTokens == nil && t.Cached != nil && t.Prompt != nil {
		f.PromptTokens = new(*t.Prompt + *t.Cached)
	} else if f.PromptTokens == nil {
		f.PromptTokens = t.Prompt
	}
	f.Prefill, f.Decode = perSecond(t.Prompt, t.PromptTime), perSecond(t.Decoded, t.DecodedTime)
	return f, nil
}

// either is the first number that is there.
func either(list ...*int) *int {
	for _, n := range list {
		if n != nil {
			return n
		}
	}
	return nil
}

// perSecond is a rate of tokens and milliseconds, absent without both.
func perSecond(tokens *int, ms *float64) *float64 {
	if tokens == nil || ms == nil || *tokens <= 0 || *ms <= 0 {
		return nil
	}
	return new(float64(*tokens) / (*ms / 1000))
}

func recordedTotals(text string) RecordedTotals {
	t := decodeTotals(text)
	r := RecordedTotals{PromptTokens: t.PromptTokens, PromptSeconds: t.PromptSeconds, DecodeTokens: t.DecodeTokens, DecodeSeconds: t.DecodeSeconds}
	quotient := func(a, b *float64) *float64 {
		if a == nil || b == nil || *b <= 0 {
			return nil
		}
		return new(*a / *b)
	}
	r.Prefill, r.Decode = quotient(t.PromptTokens, t.PromptSeconds), quotient(t.DecodeTokens, t.DecodeSeconds)
	gauges := map[string]**float64{
		"prompt_tokens_seconds": &r.PrefillReported, "predicted_tokens_seconds": &r.DecodeReported,
		"kv_cache_usage_ratio": &r.CacheUsage, "kv_cache_tokens": &r.CacheTokens, "n_tokens_max": &r.MostTokens,
		"requests_processing": &r.Processing, "requests_deferred": &r.Deferred,
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if to := gauges[strings.TrimPrefix(name, "llamacpp:")]; to != nil {
			if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
				*to = &v
			}
		}
	}
	return r
}

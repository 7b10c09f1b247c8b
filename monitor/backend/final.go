package backend

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Final is what Ollama says at the end of a request: the last record of
// /api/generate and /api/chat, or what "ollama run --verbose" prints. The server
// leaves out every field that is 0, and all of them after a load or an unload, so
// each is absent alone. Up to v0.17.4 a cached prompt is not marked: its tokens
// are counted whole and only its duration shrinks, so PrefillRate may be fiction.
type Final struct {
	Model string `json:"model,omitzero"`
	Done  bool   `json:"done,omitzero"`
	// DoneReason is "stop", "length", "load", "unload". Absent before v0.1.39.
	DoneReason     *string        `json:"done_reason,omitempty"`
	Total          *time.Duration `json:"total_duration_ns,omitempty"`
	Load           *time.Duration `json:"load_duration_ns,omitempty"`
	PromptTokens   *int           `json:"prompt_tokens,omitempty"`
	PromptDuration *time.Duration `json:"prompt_duration_ns,omitempty"`
	DecodeTokens   *int           `json:"decode_tokens,omitempty"`
	DecodeDuration *time.Duration `json:"decode_duration_ns,omitempty"`
	// Rates in tokens per second, from the fields above; absent without both.
	PrefillRate *float64 `json:"prefill_tokens_per_second,omitempty"`
	DecodeRate  *float64 `json:"decode_tokens_per_second,omitempty"`
	// Rates as --verbose prints them, rounded.
	PrefillPrinted *float64 `json:"prefill_tokens_per_second_reported,omitempty"`
	DecodePrinted  *float64 `json:"decode_tokens_per_second_reported,omitempty"`
}

// DecodeFinal reads the last record of a request.
func DecodeFinal(record []byte) (Final, error) {
	var r struct {
		Model              string
		Done               bool
		DoneReason         *string        `json:"done_reason"`
		TotalDuration      *time.Duration `json:"total_duration"`
		LoadDuration       *time.Duration `json:"load_duration"`
		PromptEvalCount    *int           `json:"prompt_eval_count"`
		PromptEvalDuration *time.Duration `json:"prompt_eval_duration"`
		EvalCount          *int           `json:"eval_count"`
		EvalDuration       *time.Duration `json:"eval_duration"`
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return Final{}, fmt.Errorf("reading a request's last record: %w", err)
	}
	if !r.Done {
		return Final{}, fmt.Errorf("reading a request's last record: it is not the last")
	}
	f := Final{
		Model: r.Model, Done: r.Done, DoneReason: r.DoneReason, Total: r.TotalDuration, Load: r.LoadDuration,
		PromptTokens: r.PromptEvalCount, PromptDuration: r.PromptEvalDuration,
		DecodeTokens: r.EvalCount, DecodeDuration: r.EvalDuration,
	}
	f.rates()
	return f, nil
}

func (f *Final) rates() {
	f.PrefillRate = rate(f.PromptTokens, f.PromptDuration)
	f.DecodeRate = rate(f.DecodeTokens, f.DecodeDuration)
}

func rate(tokens *int, d *time.Duration) *float64 {
	if tokens == nil || d == nil || *tokens <= 0 || *d <= 0 {
		return nil
	}
	return new(float64(*tokens) / d.Seconds())
}

// DecodeVerbose reads the statistics that "ollama run --verbose" prints after an
// answer. Lines of another kind are passed over; without any of these it is an
// error.
func DecodeVerbose(text string) (Final, error) {
	var f Final
	found := false
	for line := range strings.Lines(text) {
		label, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		read := verboseLines[label]
		if !ok || read == nil {
			continue
		}
		if err := read(&f, strings.TrimSpace(value)); err != nil {
			return Final{}, fmt.Errorf("reading %q of --verbose: %w", label, err)
		}
		found = true
	}
	if !found {
		return Final{}, fmt.Errorf("reading --verbose: no statistics in it")
	}
	f.rates()
	return f, nil
}

var verboseLines = map[string]func(*Final, string) error{
	"total duration":       func(f *Final, s string) error { return duration(&f.Total, s) },
	"load duration":        func(f *Final, s string) error { return duration(&f.Load, s) },
	"prompt eval count":    func(f *Final, s string) error { return first(&f.PromptTokens, "%d token(s)", s) },
	"prompt eval duration": func(f *Final, s string) error { return duration(&f.PromptDuration, s) },
	"prompt eval rate":     func(f *Final, s string) error { return first(&f.PrefillPrinted, "%g tokens/s", s) },
	"eval count":           func(f *Final, s string) error { return first(&f.DecodeTokens, "%d token(s)", s) },
	"eval duration":        func(f *Final, s string) error { return duration(&f.DecodeDuration, s) },
	"eval rate":            func(f *Final, s string) error { return first(&f.DecodePrinted, "%g tokens/s", s) },
}

func duration(to **time.Duration, s string) error {
	d, err := time.ParseDuration(s)
	if err == nil {
		*to = &d
	}
	return err
}

func first[T int | float64](to **T, format, s string) error {
	var v T
	if _, err := fmt.Sscanf(s, format, &v); err != nil {
		return err
	}
	*to = &v
	return nil
}

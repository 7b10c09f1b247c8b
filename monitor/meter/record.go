package meter

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// record is what one record of an answer says, in the words of any server: those
// of Ollama, of OpenAI's and Anthropic's interfaces, of llama-server and of LM
// Studio do not contradict each other.
type record struct {
	kind  string // "type": which event it is
	model string
	// token: it bears text, thinking or a tool call. Of delta and content the kind
	// says whether they do.
	token, delta bool
	// last: it ends the answer. closing: it ends the text of it, and servers
	// differ in whether a mark of the end follows.
	last, closing bool
	reason        string // Ollama's done_reason
	failed        bool
	message       string // of the error
	told          figures
}

// field is what is done with a scalar at one path.
type field func(r *record, kind byte, text []byte, size int)

// fields are the paths that mean something.
var fields = map[string]field{
	"type":              func(r *record, _ byte, text []byte, _ int) { r.kind = string(text) },
	"model":             named,
	"model_instance_id": named, // LM Studio, /api/v1

	// Ollama. Times in nanoseconds.
	"response":             text,
	"thinking":             text,
	"message.content":      text,
	"message.thinking":     text,
	"done":                 func(r *record, kind byte, _ []byte, _ int) { r.last = kind == 't' },
	"done_reason":          func(r *record, _ byte, text []byte, _ int) { r.reason = string(text) },
	"total_duration":       number(func(f *figures) **float64 { return &f.total }, 1e-9),
	"load_duration":        number(func(f *figures) **float64 { return &f.load }, 1e-9),
	"prompt_eval_count":    count(func(f *figures) **int { return &f.prompt }),
	"prompt_eval_duration": number(func(f *figures) **float64 { return &f.promptTime }, 1e-9),
	"eval_count":           count(func(f *figures) **int { return &f.output }),
	"eval_duration":        number(func(f *figures) **float64 { return &f.decodeTime }, 1e-9),

	// OpenAI's chat and completions; reasoning is named differently by servers
	// (github.com/vllm-project/guidellm/issues/737).
	"choices.text":                              text,
	"choices.delta.content":                     text,
	"choices.delta.reasoning":                   text,
	"choices.delta.reasoning_content":           text,
	"choices.delta.thinking":                    text,
	"choices.delta.refusal":                     text,
	"choices.delta.content.text":                text,
	"choices.delta.reasoning_details.text":      text,
	"choices.delta.function_call.name":          text,
	"choices.delta.function_call.arguments":     text,
	"choices.finish_reason":                     closing,
	"usage.prompt_tokens":                       count(func(f *figures) **int { return &f.prompt }),
	"usage.completion_tokens":                   count(func(f *figures) **int { return &f.output }),
	"usage.prompt_tokens_details.cached_tokens": count(func(f *figures) **int { return &f.cached }),

	// OpenAI's responses.
	"delta":              func(r *record, kind byte, _ []byte, size int) { r.delta = r.delta || kind == '"' && size > 0 },
	"usage.input_tokens": count(func(f *figures) **int { return &f.prompt }),
	"usage.input_tokens_details.cached_tokens": count(func(f *figures) **int { return &f.cached }),
	"usage.output_tokens":                      count(func(f *figures) **int { return &f.output }),

	// Anthropic's messages, whose input_tokens leave out what was cached.
	"delta.text":                        text,
	"delta.thinking":                    text,
	"delta.partial_json":                text,
	"delta.stop_reason":                 closing,
	"content_block.text":                text,
	"content_block.thinking":            text,
	"content_block.name":                text,
	"usage.cache_read_input_tokens":     count(func(f *figures) **int { return &f.cacheRead }),
	"usage.cache_creation_input_tokens": count(func(f *figures) **int { return &f.cacheMade }),

	// llama-server. Times in milliseconds.
	"content":              func(r *record, kind byte, _ []byte, size int) { r.delta = r.delta || kind == '"' && size > 0 },
	"stop":                 func(r *record, kind byte, _ []byte, _ int) { r.last = r.last || kind == 't' },
	"tokens_evaluated":     count(func(f *figures) **int { return &f.prompt }),
	"timings.prompt_n":     count(func(f *figures) **int { return &f.read }),
	"timings.prompt_ms":    number(func(f *figures) **float64 { return &f.promptTime }, 1e-3),
	"timings.cache_n":      count(func(f *figures) **int { return &f.cached }),
	"timings.predicted_n":  count(func(f *figures) **int { return &f.output }),
	"timings.predicted_ms": number(func(f *figures) **float64 { return &f.decodeTime }, 1e-3),

	// LM Studio, /api/v0 and /api/v1. Times in seconds.
	"stats.tokens_per_second":           number(func(f *figures) **float64 { return &f.decodeRate }, 1),
	"stats.generation_time":             number(func(f *figures) **float64 { return &f.decodeTime }, 1),
	"stats.time_to_first_token":         number(func(f *figures) **float64 { return &f.ttft }, 1),
	"stats.time_to_first_token_seconds": number(func(f *figures) **float64 { return &f.ttft }, 1),
	"stats.model_load_time_seconds":     number(func(f *figures) **float64 { return &f.load }, 1),
	"stats.input_tokens":                count(func(f *figures) **int { return &f.prompt }),
	"stats.total_output_tokens":         count(func(f *figures) **int { return &f.output }),
	"model_info.context_length":         count(func(f *figures) **int { return &f.context }),

	"error":   failure,
	"message": func(r *record, _ byte, text []byte, _ int) { r.message = unescaped(text) },
}

// errorFields are the members of an "error" that is an object.
var errorFields = map[string]field{"message": failure, "type": failed, "code": failed}

// wrappers are what the events of a stream wrap around the words of a whole reply:
// OpenAI's responses, Anthropic's messages, LM Studio's chats.
var wrappers = [][]byte{[]byte("response."), []byte("message."), []byte("result.")}

// ofEvents are the paths that mean something in an event alone, and something else
// in the reply that it wraps.
var ofEvents = map[string]bool{"type": true, "delta": true, "content": true}

// toolCalls is part of the path of everything that a tool call says.
var toolCalls = []byte("tool_calls")

// value takes one scalar of the record.
func (r *record) value(path []byte, kind byte, text []byte, size int) {
	if f, ok := fields[string(path)]; ok {
		f(r, kind, text, size)
		return
	}
	for _, w := range wrappers {
		if inner, ok := bytes.CutPrefix(path, w); ok {
			path = inner
			if f, ok := fields[string(inner)]; ok && !ofEvents[string(inner)] {
				f(r, kind, text, size)
			}
			break
		}
	}
	if member, ok := bytes.CutPrefix(path, []byte("error.")); ok {
		if f, ok := errorFields[string(member)]; ok {
			f(r, kind, text, size)
		}
	}
	r.token = r.token || kind == '"' && size > 0 && bytes.Contains(path, toolCalls)
}

// settle draws conclusions from the whole record.
func (r *record) settle() {
	switch r.kind {
	case "response.completed", "response.incomplete", "message_stop", "chat.end":
		r.last = true
	case "response.failed", "error":
		r.failed = true
	}
	if r.delta && (r.kind == "" || strings.HasSuffix(r.kind, ".delta")) {
		r.token = true
	}
}

func text(r *record, kind byte, _ []byte, size int) { r.token = r.token || kind == '"' && size > 0 }

func named(r *record, kind byte, text []byte, size int) {
	if kind == '"' && size > 0 {
		r.model = unescaped(text)
	}
}

func closing(r *record, kind byte, _ []byte, size int) {
	r.closing = r.closing || kind == '"' && size > 0
}

func failure(r *record, kind byte, text []byte, size int) {
	if kind == '"' && size > 0 {
		r.failed, r.message = true, unescaped(text)
	}
}

func failed(r *record, kind byte, _ []byte, _ int) { r.failed = r.failed || kind != 'n' }

func count(of func(*figures) **int) field {
	return func(r *record, kind byte, text []byte, _ int) {
		if kind == '0' {
			*of(&r.told) = countIn(text)
		}
	}
}

func number(of func(*figures) **float64, unit float64) field {
	return func(r *record, kind byte, text []byte, _ int) {
		if kind != '0' {
			return
		}
		if f := numberIn(text); f != nil {
			*of(&r.told) = new(*f * unit)
		}
	}
}

// unescaped is the text of a string of which only the beginning may be there.
func unescaped(text []byte) string {
	for cut := 0; cut <= len(text) && cut < 12; cut++ { // an escape, or a pair of them, may be cut
		var s string
		if json.Unmarshal([]byte(`"`+string(text[:len(text)-cut])+`"`), &s) == nil {
			return strings.TrimRight(s, string(utf8.RuneError))
		}
	}
	return ""
}

package meter

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor/request"
)

// Numbers that cannot be are not told, and those that were not counted are not 0.
func TestNumbersThatCannotBe(t *testing.T) {
	const words = `data: {"choices":[{"delta":{"content":"w"}}]}` + "\n\n"
	for _, c := range []struct {
		name, path, kind, body string
		prompt, output         int // −1: absent
		implausible, rate      bool
	}{
		{"a prompt of 0", "/v1/chat/completions", jsonOf, `{"usage":{"prompt_tokens":0,"completion_tokens":8}}`, -1, 8, false, false},
		{"no usage in the stream, only zeros", "/v1/chat/completions", sse, strings.Repeat(words, 8) + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}` + "\n\ndata: [DONE]\n\n", 9, 8, false, false},
		{"a thousand million tokens", "/v1/chat/completions", jsonOf, `{"usage":{"prompt_tokens":1000000000,"completion_tokens":1000000000}}`, -1, -1, false, false},
		{"more than any machine makes", "/v1/chat/completions", jsonOf, `{"usage":{"prompt_tokens":9,"completion_tokens":90000000}}`, 9, 90000000, false, false},
		{"as many in a moment", "/api/chat", jsonOf, `{"done":true,"prompt_eval_count":10,"eval_count":1000000,"eval_duration":25000000}`, 10, 1000000, true, false},
		{"a TTFT of a day", "/api/v0/chat/completions", jsonOf, `{"usage":{"prompt_tokens":24,"completion_tokens":53},"stats":{"time_to_first_token":86400}}`, 24, 53, true, false},
		{"a TTFT of 0", "/api/v0/chat/completions", jsonOf, `{"usage":{"prompt_tokens":24,"completion_tokens":53},"stats":{"time_to_first_token":0}}`, 24, 53, false, false},
		{"a rate that would have taken a week", "/api/v0/chat/completions", jsonOf, `{"usage":{"prompt_tokens":24,"completion_tokens":53},"stats":{"tokens_per_second":0.0001}}`, 24, 53, true, false},
		{"a rate in order", "/api/v0/chat/completions", jsonOf, `{"usage":{"prompt_tokens":24,"completion_tokens":53},"stats":{"tokens_per_second":50}}`, 24, 53, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, takes(4*time.Second, c.kind, c.body), nil)
			f := b.metered(t, c.path, `{"model":"m","messages":[{"content":"x"}]}`)
			if counted(f.PromptTokens) != c.prompt || counted(f.OutputTokens) != c.output || slices.Contains(f.Notes, request.NoteImplausible) != c.implausible {
				t.Errorf("%s: prompt %d, output %d, %v", c.name, counted(f.PromptTokens), counted(f.OutputTokens), f.Notes)
			}
			if (f.Decode != nil) != c.rate || c.kind == jsonOf && f.TTFT != nil || f.Queue != nil || slices.Contains(f.Notes, request.NoteTiny) {
				t.Errorf("%s: decode %v, TTFT %v, queue %v, %v", c.name, f.Decode, f.TTFT, f.Queue, f.Notes)
			}
			if f.Session != nil && f.Session.Value > mostRate {
				t.Errorf("%s: session rate %v", c.name, f.Session.Value)
			}
		})
	}
}

// The beginning of an Anthropic stream counts where its end says nothing of the prompt,
// and only when the end came.
func TestMessageStart(t *testing.T) {
	start := func(usage string) string {
		return `data: {"type":"message_start","message":{"model":"m","type":"message","usage":` + usage + "}}\n\n"
	}
	const word = `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"w"}}` + "\n\n"
	end := func(usage string) string {
		return `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + "}\n\ndata: {\"type\":\"message_stop\"}\n\n"
	}
	for _, c := range []struct {
		name, body             string
		prompt, cached, output int
	}{
		{"at its beginning", start(`{"input_tokens":25,"cache_read_input_tokens":75,"output_tokens":1}`) + word + end(`{"output_tokens":9}`), 100, 75, 9},
		{"an estimate, then counted", start(`{"input_tokens":30,"output_tokens":0}`) + word + end(`{"input_tokens":25,"output_tokens":9}`), 25, -1, 9},
		{"an estimate alone", start(`{"input_tokens":30,"output_tokens":1}`) + word, -1, -1, 1},
	} {
		b := newBench(t, says(sse, c.body), nil)
		f := b.metered(t, "/v1/messages", `{"model":"m","messages":[{"content":"x"}]}`)
		if counted(f.PromptTokens) != c.prompt || counted(f.CachedTokens) != c.cached || counted(f.OutputTokens) != c.output {
			t.Errorf("%s: prompt %d, cached %d, output %d", c.name, counted(f.PromptTokens), counted(f.CachedTokens), counted(f.OutputTokens))
		}
	}
}

// Whatever bears what the model makes is a chunk of the answer.
func TestWhatBearsTokens(t *testing.T) {
	for delta, bears := range map[string]bool{
		`{"content":[{"type":"text","text":"x"}]}`:                     true,
		`{"reasoning_details":[{"type":"reasoning.text","text":"x"}]}`: true,
		`{"function_call":{"name":"f","arguments":"{"}}`:               true,
		`{"role":"assistant","content":""}`:                            false,
		`{"function_call":null,"content":null}`:                        false,
	} {
		b := newBench(t, says(sse, `data: {"choices":[{"delta":`+delta+"}]}\n\ndata: [DONE]\n\n"), nil)
		if f := b.metered(t, "/v1/chat/completions", `{"model":"m","messages":[{"content":"x"}]}`); (f.TTFT != nil) != bears {
			t.Errorf("%s: TTFT %v", delta, f.TTFT)
		}
	}
}

// A server's time too short for a rate is not replaced by what the way made of it: the
// chunks of 8 ms of work came over 40 ms here.
func TestShortAnswerThatCameSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", ndjson)
			for range 41 {
				io.WriteString(w, `{"model":"m","response":"x","done":false}`+"\n")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
			io.WriteString(w, final(20, 5, 41, 8))
		}, nil)
		f := b.metered(t, "/api/generate", asks)
		if f.Decode != nil || !slices.Contains(f.Notes, request.NoteTiny) || counted(f.OutputTokens) != 41 {
			t.Errorf("decode %+v of %d tokens, %v", f.Decode, counted(f.OutputTokens), f.Notes)
		}
	})
}

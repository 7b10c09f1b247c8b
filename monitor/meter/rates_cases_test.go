package meter

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor/request"
)

// Case 93: few tokens in no time are no rate.
func TestTooLittleForARate(t *testing.T) {
	var rows []struct {
		Count  int      `json:"eval_count"`
		Took   int64    `json:"eval_duration"`
		Expect *float64 `json:"expect"`
	}
	if err := json.Unmarshal(shared(t, "093.json"), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				time.Sleep(time.Duration(row.Took) + time.Millisecond)
				w.Header().Set("Content-Type", jsonOf)
				fmt.Fprintf(w, `{"model":"m","response":"x","done":true,"total_duration":%d,"prompt_eval_count":9,"prompt_eval_duration":1,"eval_count":%d,"eval_duration":%d}`, row.Took, row.Count, row.Took)
			}, nil)
			f := b.metered(t, "/api/generate", asks)
			switch {
			case row.Expect == nil && f.Decode != nil:
				t.Errorf("%d tokens in %d ns became %g tokens/s", row.Count, row.Took, f.Decode.Value)
			case row.Expect != nil:
				near(t, "decode", f.Decode, *row.Expect, 0.001)
			}
		})
	}
}

// Case 94: a prompt of the cache is not read at 18,828 tokens/s.
func TestACachedPromptIsNoPrefillRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := []int{48000, 128, 128}
		n := 0
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			slow(2410, took[n-1], 20, 500)(w, r)
		}, nil)
		prompt := strings.Repeat("one two three four five ", 400)
		first := b.metered(t, "/api/generate", `{"model":"m","prompt":"`+prompt+`"}`)
		near(t, "the first prefill", first.Prefill, 2410/48.0, 1e-6)
		has(t, first.Request)
		for _, again := range []string{prompt + " and six", strings.Repeat("something else altogether ", 400)} { // the meter may not have seen what the cache holds
			f := b.metered(t, "/api/generate", `{"model":"m","prompt":"`+again+`"}`)
			if f.Prefill != nil || counted(f.PromptTokens) != 2410 {
				t.Errorf("a cached prompt is told as %+v", f)
			}
			has(t, f.Request, request.NoteCached)
			near(t, "decode", f.Decode, 40, 1e-6)
		}
	})
}

// Case 96: no count of the prompt, as all of it was cached.
func TestThePromptsCountIsMissing(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSpace(string(shared(t, "096.ndjson"))), "\n")
	synctest.Test(t, func(t *testing.T) {
		n := 0
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			time.Sleep(1300 * time.Millisecond)
			w.Header().Set("Content-Type", jsonOf)
			io.WriteString(w, lines[n])
			n++
		}, nil)
		first := b.metered(t, "/api/chat", `{"model":"orca2","messages":[{"content":"x"}],"stream":false}`)
		near(t, "prefill", first.Prefill, 39.93, 0.001)
		near(t, "decode", first.Decode, 65.54, 0.001)
		if !first.Prefill.Approximate {
			t.Error("the rate of 11 tokens is not marked as an estimate")
		}
		second := b.metered(t, "/api/chat", `{"model":"orca2","messages":[{"content":"x"}],"stream":false}`)
		near(t, "decode", second.Decode, 65.75, 0.001)
		if second.Prefill != nil || second.PromptTokens != nil {
			t.Errorf("told as %+v", second)
		}
		has(t, second.Request, request.NoteCached)
	})
}

// Case 99: the first token is the first thing that is not empty, whatever it is called.
func TestTheFirstTokenIsNotTheFirstEvent(t *testing.T) {
	events := strings.SplitAfter(string(shared(t, "099.sse")), "\n\n")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", sse)
			for _, e := range events {
				time.Sleep(time.Second)
				io.WriteString(w, e)
				w.(http.Flusher).Flush()
			}
		}, nil)
		f := b.metered(t, "/v1/chat/completions", `{"model":"m","messages":[{"content":"x"}],"stream":true}`)
		near(t, "TTFT", f.TTFT, 2, 1e-6)
		if counted(f.OutputTokens) != 4 || !f.OutputApproximate || f.Outcome != request.OutcomeFinished {
			t.Errorf("told as %+v", f)
		}
	})
	for _, first := range []string{
		`{"choices":[{"delta":{"thinking":"a"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}`,
		`{"type":"response.output_text.delta","delta":"a"}`, `{"delta":"{","type":"response.function_call_arguments.delta"}`,
		`{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}}`, `{"content":"a","stop":false}`,
		`{"type":"message.delta","content":"a"}`, `{"choices":[{"text":"a"}]}`,
	} {
		b := newBench(t, says(sse, "data: {\"type\":\"response.created\",\"response\":{\"model\":\"m\"}}\n\n", "data: "+first+"\n\n"), nil)
		if f := b.metered(t, "/v1/responses", `{"input":"x"}`); f.TTFT == nil || counted(f.OutputTokens) != 1 || f.Outcome != request.OutcomeCut {
			t.Errorf("%s is no token: %+v", first, f)
		}
	}
}

// Case 100: eval_count includes thinking.
func TestThinkingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", ndjson)
			for i := range 40 {
				time.Sleep(25 * time.Millisecond)
				text := `{"message":{"content":"","thinking":"hm"},"done":false}`
				if i > 36 {
					text = `{"message":{"content":"Yes"},"done":false}`
				}
				io.WriteString(w, text+"\n")
				w.(http.Flusher).Flush()
			}
			io.WriteString(w, final(20, 20, 41, 980))
		}, nil)
		f := b.metered(t, "/api/chat", `{"model":"m","messages":[{"content":"x"}],"think":true}`)
		near(t, "TTFT", f.TTFT, 0.025, 1e-6)
		near(t, "decode", f.Decode, 41/0.98, 1e-6)
		if counted(f.OutputTokens) != 41 || f.OutputApproximate {
			t.Errorf("told as %+v", f)
		}
	})
}

// Case 101: with speculative decoding a chunk holds several tokens.
func TestChunksAreNotTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words, perWord = 60, 4.6
		usage := fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":35,"completion_tokens":%d}}`, int(words*perWord))
		b := newBench(t, chat(words, 200*time.Millisecond, usage), nil)
		const body = `{"model":"m","messages":[{"content":"x"}],"stream":true}`
		for round, want := range []float64{5, 5 * perWord} { // the first answer cannot know
			f := b.metered(t, "/v1/chat/completions", body)
			near(t, "decode", f.Decode, (words*perWord-1)/(59*0.2), 0.001)
			near(t, "live", f.Live, want, 0.001)
			if !f.Live.Approximate {
				t.Errorf("round %d: the live rate is not marked as an estimate", round)
			}
		}
		for _, r := range b.reports { // once known, no estimate lies above what the server counts by more than rounding
			if r.Live != nil && r.Live.Value > 5*perWord*1.01 {
				t.Errorf("a live rate of %g was told, the mean is %g", r.Live.Value, 5*perWord)
			}
		}
	})
}

// Case 105: the same chat, read again from its beginning.
func TestAChatReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type turn struct{ prompt, ms int }
		turns := []turn{{2000, 20000}, {2100, 1100}, {2200, 22000}}
		n := 0
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			slow(turns[n].prompt, turns[n].ms, 20, 500)(w, r)
			n++
		}, nil)
		text := strings.Repeat("what was said before ", 380)
		for i, notes := range [][]request.Note{nil, {request.NoteCached}, {request.NoteReread}} {
			f := b.metered(t, "/api/chat", `{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`)
			has(t, f.Request, notes...)
			if (f.Prefill == nil) != (i == 1) || counted(f.PromptTokens) != turns[i].prompt {
				t.Errorf("turn %d is told as %+v", i, f)
			}
			text += " and one more thing"
		}
	})
}

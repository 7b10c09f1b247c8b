package meter

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor/request"
)

// takes answers with one value after a time.
func takes(d time.Duration, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		time.Sleep(d)
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
}

// TestFiguresOfEveryServer reads statistics written as each server writes them.
func TestFiguresOfEveryServer(t *testing.T) {
	for _, c := range []struct {
		name, path, kind, body       string
		prompt, cached, output       int // −1 where it is not told
		decode, prefill, load, queue float64
		ttft                         float64
		context                      int
		source                       request.Source
	}{
		{"Ollama", "/api/generate", jsonOf, `{"model":"a","response":"x","done":true,"done_reason":"stop","total_duration":3000000000,"load_duration":500000000,"prompt_eval_count":100,"prompt_eval_duration":1000000000,"eval_count":40,"eval_duration":1250000000}`,
			100, -1, 40, 32, 100, 0.5, 0.25, 0, 0, request.SourceServer},
		{"llama-server", "/v1/chat/completions", jsonOf, `{"model":"a","choices":[{"finish_reason":"length","message":{"content":"x"}}],"usage":{"completion_tokens":25,"prompt_tokens":112,"total_tokens":137},"timings":{"cache_n":100,"prompt_n":12,"prompt_ms":120,"predicted_n":25,"predicted_ms":500}}`,
			112, 100, 25, 50, 100, 0, -1, 0, 0, request.SourceServer},
		{"an old llama-server", "/completion", jsonOf, `{"content":"x","stop":true,"tokens_evaluated":112,"tokens_predicted":25,"timings":{"prompt_n":112,"prompt_ms":1120,"predicted_n":25,"predicted_ms":500}}`,
			112, 0, 25, 50, 100, 0, -1, 0, 0, request.SourceServer},
		{"LM Studio, v0", "/api/v0/chat/completions", jsonOf, `{"model":"a","choices":[],"usage":{"prompt_tokens":24,"completion_tokens":60,"total_tokens":84},"stats":{"tokens_per_second":57,"time_to_first_token":0.11,"generation_time":1.2,"stop_reason":"eosFound"},"model_info":{"context_length":4096}}`,
			24, -1, 60, 50, 0, 0, -1, 0.11, 4096, request.SourceServer},
		{"LM Studio, v1", "/api/v1/chat", jsonOf, `{"model_instance_id":"a","output":[{"type":"message","content":"x"}],"stats":{"input_tokens":640,"total_output_tokens":58,"tokens_per_second":29,"time_to_first_token_seconds":1.1,"model_load_time_seconds":2.5}}`,
			640, -1, 58, 29, 0, 2.5, -1, 1.1, 0, request.SourceServer},
		{"OpenAI with a cache", "/v1/chat/completions", jsonOf, `{"model":"a","usage":{"prompt_tokens":100,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":80}}}`,
			100, 80, 8, 0, 0, 0, -1, 0, 0, ""},
		{"responses", "/v1/responses", jsonOf, `{"model":"a","usage":{"input_tokens":100,"output_tokens":8,"input_tokens_details":{"cached_tokens":0}}}`,
			100, -1, 8, 0, 0, 0, -1, 0, 0, ""},
		{"messages", "/v1/messages", jsonOf, `{"model":"a","usage":{"input_tokens":10,"cache_read_input_tokens":80,"cache_creation_input_tokens":10,"output_tokens":8}}`,
			100, 80, 8, 0, 0, 0, -1, 0, 0, ""},
		{"embeddings", "/api/embed", jsonOf, `{"model":"a","embeddings":[[0.5,-1e-3]],"total_duration":9000000,"load_duration":1000000,"prompt_eval_count":12}`,
			12, -1, -1, 0, 0, 0.001, -1, 0, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, takes(4*time.Second, c.kind, c.body), nil)
			f := b.metered(t, c.path, `{"prompt":"x","input":"x"}`)
			if counted(f.PromptTokens) != c.prompt || counted(f.CachedTokens) != c.cached || counted(f.OutputTokens) != c.output || f.Model != "a" && c.name[:2] != "an" || f.Outcome != request.OutcomeFinished {
				t.Errorf("%s: told as %+v: %d, %d, %d", c.name, f, counted(f.PromptTokens), counted(f.CachedTokens), counted(f.OutputTokens))
			}
			for _, n := range []struct {
				what string
				got  *request.Number
				want float64
			}{{"decode", f.Decode, c.decode}, {"prefill", f.Prefill, c.prefill}, {"TTFT", f.TTFT, c.ttft}} {
				if n.want == 0 && n.got != nil {
					t.Errorf("%s: %s is %v, want none", c.name, n.what, n.got)
				} else if n.want > 0 {
					near(t, c.name+": "+n.what, n.got, n.want, 1e-9)
				}
			}
			if c.source != "" && f.Decode.Source != c.source {
				t.Errorf("%s: the rate comes from %s", c.name, f.Decode.Source)
			}
			if c.load > 0 && (f.Load == nil || *f.Load != c.load) || c.queue > 0 && (f.Queue == nil || *f.Queue < c.queue-1e-9 || *f.Queue > c.queue+1e-9) || c.queue < 0 && f.Queue != nil {
				t.Errorf("%s: load %v, queue %v", c.name, f.Load, f.Queue)
			}
			if c.context > 0 && counted(f.Context) != c.context {
				t.Errorf("%s: context %v", c.name, f.Context)
			}
			if c.output > 0 {
				near(t, c.name+": session", f.Session, float64(c.output)/4, 1e-9)
			}
		})
	}
}

// TestDurationsThatCannotBe: a server whose clock runs otherwise.
func TestDurationsThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, slow(100, 100, 50, 1000), nil)
		f := b.metered(t, "/api/generate", asks)
		has(t, f.Request)
		b = newBench(t, func(w http.ResponseWriter, r *http.Request) {
			chat := strings.Repeat(`{"model":"m","response":"x","done":false}`+"\n", 1)
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", ndjson)
			for range 50 {
				io.WriteString(w, chat)
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
			io.WriteString(w, final(100, 100, 50, 30000))
		}, nil)
		f = b.metered(t, "/api/generate", asks)
		has(t, f.Request, request.NoteImplausible)
		near(t, "decode", f.Decode, 50, 1e-6) // measured instead
		if f.Decode.Source != request.SourceMeter || f.Prefill != nil || f.Queue != nil || counted(f.OutputTokens) != 50 {
			t.Errorf("told as %+v", f)
		}
	})
}

// TestADurationTooShortForItsWords: words that came for a second were not made in a
// millisecond.
func TestADurationTooShortForItsWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", ndjson)
			for range 51 {
				io.WriteString(w, `{"model":"m","response":"x","done":false}`+"\n")
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
			io.WriteString(w, final(100, 0, 51, 30))
		}, nil)
		f := b.metered(t, "/api/generate", asks)
		has(t, f.Request, request.NoteImplausible)
		near(t, "decode", f.Decode, 50, 1e-6)
		if f.Decode.Source != request.SourceMeter {
			t.Errorf("it is told as %+v", f.Decode)
		}
	})
}

// TestASlowReaderIsNoSlowModel: a client that reads slowly holds the answer up.
func TestASlowReaderIsNoSlowModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, chat(20, 10*time.Millisecond, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":20}}`), nil)
		answer, err := b.client.Post(b.url+"/v1/chat/completions", "", strings.NewReader(asks))
		if err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 64)
		for err == nil {
			time.Sleep(100 * time.Millisecond)
			_, err = answer.Body.Read(buffer)
		}
		answer.Body.Close()
		f := b.next(t)
		if f.Decode == nil || !f.Decode.Approximate {
			t.Errorf("the rate is told as %+v", f.Decode)
		}
	})
}

// TestAToolCallIsNoRate: it comes whole, after all its tokens.
func TestAToolCallIsNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, chat(2, time.Second, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":400}}`), nil)
		if f := b.metered(t, "/v1/chat/completions", asks); f.Decode != nil || f.Live != nil || counted(f.OutputTokens) != 400 {
			t.Errorf("told as %+v", f)
		}
	})
}

// TestLiveRate: within 3 % of the final one after 2 s, at any speed.
func TestLiveRate(t *testing.T) {
	for _, rate := range []float64{0.5, 3, 11, 60, 300, 5000} {
		synctest.Test(t, func(t *testing.T) {
			words := int(max(rate*6, 12))
			b := newBench(t, chat(words, time.Duration(float64(time.Second)/rate), fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, words)), nil)
			f := b.metered(t, "/v1/chat/completions", asks)
			lives := 0
			for _, r := range b.reports {
				if r.Live == nil || r.Phase != request.PhaseDecode {
					continue
				}
				lives++
				if r.Changed.Sub(f.Began).Seconds()-f.TTFT.Value >= 2 {
					near(t, fmt.Sprintf("live at %g/s", rate), r.Live, f.Decode.Value, 0.03)
				}
			}
			near(t, fmt.Sprintf("live at the end at %g/s", rate), f.Live, f.Decode.Value, 0.03)
			if lives < 4 {
				t.Errorf("at %g/s there were %d live rates", rate, lives)
			}
			if len(b.pace().steps) > paceMost {
				t.Errorf("%d moments are kept", len(b.pace().steps))
			}
		})
	}
}

// pace is one that has seen a thousand chunks a second for a minute.
func (b *bench) pace() *pace {
	var p pace
	for i := range 60_000 {
		p.add(time.UnixMilli(int64(i)), i+1)
	}
	return &p
}

// TestALateTokenLowersTheLiveRate: between two tokens of a slow model the wait is
// the most that its rate can be.
func TestALateTokenLowersTheLiveRate(t *testing.T) {
	var p pace
	at := time.Unix(0, 0)
	for i := range 20 {
		p.add(at.Add(time.Duration(i)*100*time.Millisecond), i+1)
	}
	last := at.Add(1900 * time.Millisecond)
	for wait, want := range map[time.Duration]float64{0: 10, 90 * time.Millisecond: 10, time.Second: 1, 10 * time.Second: 0.1} {
		if got, ok := p.live(last.Add(wait)); !ok || got < want*0.999 || got > want*1.001 {
			t.Errorf("%v after the last token the rate is %g, want %g", wait, got, want)
		}
	}
}

// TestFixturesOfOtherServers reads the recordings of others where they are.
func TestFixturesOfOtherServers(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "fixtures")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Skipf("the recordings are not here: %v", err)
		}
		return string(text)
	}
	for _, c := range []struct {
		file, path, kind string
		prompt, output   int
		decode           float64
	}{
		{"llama_server/chat-stream-final-timings-b6097-01.txt", "/v1/chat/completions", sse, 12, 25, 336.143493},
		{"lmstudio/v0-chat-completions-01.json", "/api/v0/chat/completions", jsonOf, 24, 53, 55.555556},
		{"lmstudio/v0-completions-01.json", "/api/v0/completions", jsonOf, 5, 9, 57.692308},
		{"lmstudio/v1-chat-images-01.json", "/api/v1/chat", jsonOf, 17, 50, 51.037627},
		{"lmstudio/v1-chat-mcp-01.json", "/api/v1/chat", jsonOf, 646, 586, 29.753901},
		{"ollama_api/docs-generate-stream-final-01.json", "/api/generate", ndjson, 26, 259, 61.190112},
		{"ollama_api/docs-usage-01.json", "/api/generate", jsonOf, 11, 18, 342.989707},
	} {
		text := read(c.file)
		if c.kind == ndjson {
			text = strings.Join(strings.Fields(text), "") + "\n"
		}
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, takes(time.Minute, c.kind, text), nil)
			f := b.metered(t, c.path, `{"input":"x","prompt":"x"}`)
			near(t, c.file, f.Decode, c.decode, 1e-6)
			if counted(f.PromptTokens) != c.prompt || counted(f.OutputTokens) != c.output || f.Outcome != request.OutcomeFinished {
				t.Errorf("%s: told as %+v", c.file, f)
			}
		})
	}
}

// FuzzReply: whatever a server sends, however it is cut, the meter says something
// that can be: no count below zero, no rate that is none, no more words than came.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		final(20, 100, 50, 1000), `{"error":{"message":"x","code":1}}`, `{"model":"m","done":true,"eval_count":-3,"eval_duration":1e400,"prompt_eval_count":1e99}`,
		"data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":99999999999999999999}}\n\ndata: [DONE]\n\n", `{"timings":{"prompt_n":1,"cache_n":9,"predicted_n":3,"predicted_ms":0}}`,
		"event: error\ndata: {\"type\":\"error\"}\n\n", `{"stats":{"tokens_per_second":1e-300,"total_output_tokens":5}}`,
	} {
		f.Add(s, uint8(3), uint8(framingLines))
		f.Add(s, uint8(200), uint8(framingEvents))
	}
	f.Fuzz(func(t *testing.T, text string, cut, how uint8) {
		m := New(Config{Upstream: &url.URL{Scheme: "http", Host: "server"}})
		x := m.begin(t.Context(), "/api/generate")
		x.prompt.feed([]byte(asks))
		x.passOn()
		x.answered(200, framing(how%4), false)
		lines := strings.Count(text, "\n") + strings.Count(text, "{") + strings.Count(text, "\r")
		for rest := []byte(text); len(rest) > 0; {
			n := min(max(int(cut), 1), len(rest))
			x.passed(rest[:n], time.Now(), 0)
			rest = rest[n:]
		}
		x.endOfBytes(nil)
		x.end()
		r := x.last
		for _, n := range []*int{r.PromptTokens, r.CachedTokens, r.ReadTokens, r.OutputTokens, r.Context} {
			if n != nil && *n < 0 {
				t.Errorf("%q is told as %+v", text, r)
			}
		}
		for _, n := range []*request.Number{r.TTFT, r.Prefill, r.Decode, r.Live, r.Session} {
			if n != nil && (n.Value < 0 || math.IsNaN(n.Value) || math.IsInf(n.Value, 0)) {
				t.Errorf("%q is told as %+v", text, n)
			}
		}
		if _, err := json.Marshal(r); err != nil || len(r.Error) > errorLimit || x.reply.chunks > lines || x.reply.unparsed > lines+1 {
			t.Errorf("%q: %v, %d bytes of error, %d chunks, %d unread", text, err, len(r.Error), x.reply.chunks, x.reply.unparsed)
		}
	})
}

// FuzzPrompt: whatever a client sends, it is looked at up to the limit, and nothing
// of it is kept.
func FuzzPrompt(f *testing.F) {
	f.Add(`{"model":"m","prompt":"x","options":{"num_ctx":4096}}`, 5)
	f.Add(`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:"}}]}],"max_tokens":-1}`, 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		p := newPrompt()
		for rest := []byte(text); len(rest) > 0; {
			n := min(max(cut, 1), len(rest))
			p.feed(rest[:n])
			rest = rest[n:]
		}
		if p.size != int64(len(text)) || p.tokens() < 0 || p.text > len(text)*3 || len(p.print.marks) > lookLimit/64 || len(p.model) > 3*textLimit {
			t.Errorf("%q: size %d, %d tokens, %d marks", text, p.size, p.tokens(), len(p.print.marks))
		}
		if whole := newPrompt(); p.asks {
			whole.feed([]byte(text))
			if s := p.print.shared(&whole.print); s != 1 && p.print.size > 0 {
				t.Errorf("%q shares %g with itself", text, s)
			}
		}
	})
}

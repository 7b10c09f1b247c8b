package meter

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor/request"
)

// shared reads a file of the shared cases, and skips the test where there is none.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "cases", name))
	if err != nil {
		t.Skipf("the shared cases are not here: %v", err)
	}
	return text
}

// Case 77: one JSON line cut in two by the transport.
func TestALineCutByTheTransport(t *testing.T) {
	var c struct {
		Chunks []string
		Expect struct {
			Lines   int
			Eval    float64 `json:"eval_tps"`
			Prefill float64 `json:"prefill_tps"`
		}
	}
	if err := json.Unmarshal(shared(t, "077.json"), &c); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", ndjson)
			for _, chunk := range c.Chunks {
				io.WriteString(w, chunk)
				w.(http.Flusher).Flush()
				time.Sleep(500 * time.Millisecond)
			}
		}, nil)
		answer, err := b.client.Post(b.url+"/api/chat", "application/json", strings.NewReader(`{"model":"gemma4:26b","messages":[{"content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		// Half a line arrives at once, before the other half is written.
		began, got := time.Now(), make([]byte, len(c.Chunks[0]))
		if _, err := io.ReadFull(answer.Body, got); err != nil || string(got) != c.Chunks[0] || time.Since(began) > 0 {
			t.Errorf("the first half came after %v as %q, %v", time.Since(began), got, err)
		}
		rest, err := io.ReadAll(answer.Body)
		if err != nil || string(rest) != strings.Join(c.Chunks[1:], "") {
			t.Errorf("the rest is %q, %v", rest, err)
		}
		f := b.next(t)
		near(t, "decode", f.Decode, c.Expect.Eval, 1e-9)
		near(t, "prefill", f.Prefill, c.Expect.Prefill, 1e-9)
		if f.Unparsed != 0 || f.Outcome != request.OutcomeFinished || *f.OutputTokens != 50 || f.Decode.Source != request.SourceServer {
			t.Errorf("it is told as %+v", f)
		}
	})
}

// Case 80: raw control characters and a byte-order mark.
func TestLinesThatAStrictReaderRefuses(t *testing.T) {
	for _, bad := range []string{"{\"model\":\"m\",\"response\":\"a\tb\",\"done\":false}\n", "{\"response\":\"\x1b[0m\"}\n", "\ufeff{\"response\":\"a\"}\n"} {
		b := newBench(t, says(ndjson, bad, `{"model":"m","response":"x","done":false}`+"\n", final(20, 5, 50, 60)), nil)
		_, got := b.ask(t, "/api/generate", asks)
		if !strings.HasPrefix(got, bad) {
			t.Errorf("%q came as %q", bad, got)
		}
		f := b.next(t)
		if f.Unparsed != 1 || counted(f.OutputTokens) != 50 || f.Outcome != request.OutcomeFinished {
			t.Errorf("after %q: %d lines unread, %d tokens, %s", bad, f.Unparsed, counted(f.OutputTokens), f.Outcome)
		}
		has(t, f.Request, request.NoteUnparsed)
	}
}

// final is Ollama's last line; times in milliseconds.
func final(prompt, promptMS, output, decodeMS int) string {
	return fmt.Sprintf(`{"model":"m","response":"","done":true,"done_reason":"stop","total_duration":%d,"load_duration":1000000,"prompt_eval_count":%d,"prompt_eval_duration":%d,"eval_count":%d,"eval_duration":%d}`+"\n",
		(promptMS+decodeMS+3)*1e6, prompt, promptMS*1e6, output, decodeMS*1e6)
}

// slow answers with the lines of a generate that takes as long as its last one
// says, so that it is plausible.
func slow(prompt, promptMS, output, decodeMS int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", ndjson)
		time.Sleep(time.Duration(promptMS+3) * time.Millisecond)
		for i := range output {
			if i > 0 {
				time.Sleep(time.Duration(decodeMS) * time.Millisecond / time.Duration(max(output-1, 1)))
			}
			io.WriteString(w, `{"model":"m","response":"x","done":false}`+"\n")
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, final(prompt, promptMS, output, decodeMS))
	}
}

// Case 82: very long lines.
func TestLongLines(t *testing.T) {
	for _, size := range []int{64 << 10, 1 << 20, 4 << 20, 16 << 20} {
		long := `{"model":"m","message":{"role":"assistant","content":"` + strings.Repeat("x", size) + `"},"done":true,` +
			`"total_duration":1200000,"load_duration":100000,"prompt_eval_count":20,"prompt_eval_duration":100000,"eval_count":50,"eval_duration":1000000}` + "\n"
		b := newBench(t, says(ndjson, `{"message":{"content":"y"},"done":false}`+"\n", long), nil)
		_, got := b.ask(t, "/api/chat", `{"model":"m","messages":[{"content":"x"}]}`)
		if !strings.HasSuffix(got, long) {
			t.Errorf("a line of %d bytes came changed", size)
		}
		if f := b.next(t); counted(f.OutputTokens) != 50 || counted(f.PromptTokens) != 20 || f.Unparsed != 0 {
			t.Errorf("a line of %d bytes: output %d, prompt %d, unread %d", size, counted(f.OutputTokens), counted(f.PromptTokens), f.Unparsed)
		}
	}
}

// Case 83: the client leaves during a stream.
func TestStopReachesTheServer(t *testing.T) {
	left := make(chan time.Time, 1)
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", ndjson)
		for range 6 {
			io.WriteString(w, `{"model":"m","response":"x","done":false}`+"\n")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		left <- time.Now()
	}, nil)
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/api/generate", strings.NewReader(asks))
	answer, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(answer.Body, make([]byte, 6*len(`{"model":"m","response":"x","done":false}`+"\n")))
	leave()
	answer.Body.Close()
	select {
	case <-left:
	case <-time.After(deadline):
		t.Fatal("the server was not told that the client left")
	}
	f := b.next(t)
	if f.Outcome != request.OutcomeCancelled || counted(f.OutputTokens) != 6 || !f.OutputApproximate || len(f.Notes) > 0 {
		t.Errorf("told as %+v", f)
	}
}

// Case 84: the client leaves while the prompt is read, and nothing was sent yet.
func TestStopDuringThePrompt(t *testing.T) {
	here, left := make(chan bool), make(chan bool)
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		here <- true
		<-r.Context().Done()
		left <- true
	}, nil)
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/api/generate", strings.NewReader(`{"model":"m","prompt":"x","stream":false}`))
	failed := make(chan error, 1)
	go func() {
		_, err := b.client.Do(r)
		failed <- err
	}()
	<-here
	leave()
	<-left
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	f := b.next(t)
	if f.Outcome != request.OutcomeCancelled || f.OutputTokens != nil || f.Decode != nil {
		t.Errorf("told as %+v", f)
	}
	has(t, f.Request, request.NoteOrphan)
}

// Case 85: a server that says nothing for ten minutes.
func TestAServerMayBeSilentForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			time.Sleep(10 * time.Minute)
			w.Header().Set("Content-Type", ndjson)
			io.WriteString(w, `{"response":"x","done":false}`+"\n")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Minute)
			io.WriteString(w, `{"done":true,"eval_count":2}`+"\n")
		}, nil)
		answer, got := b.ask(t, "/api/generate", asks)
		if answer.StatusCode != http.StatusOK || strings.Count(got, "\n") != 2 {
			t.Errorf("status %d, %q", answer.StatusCode, got)
		}
		f := b.next(t)
		near(t, "TTFT", f.TTFT, 600, 1e-6)
		if f.Outcome != request.OutcomeFinished || f.Wall < 1200 {
			t.Errorf("told as %+v", f)
		}
		if first := b.reports[0]; first.Phase != request.PhaseQueued || first.Model != "m" {
			t.Errorf("meanwhile it is told as %+v", first)
		}
	})
}

// Case 86: each write arrives by itself and at once, headers are kept.
func TestNothingIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pieces = 50
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", sse)
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("X-Served-By", "a model")
			for i := range pieces {
				time.Sleep(20 * time.Millisecond)
				fmt.Fprintf(w, "data: %02d\n\n", i)
				w.(http.Flusher).Flush()
			}
		}, nil)
		began := time.Now()
		answer, err := b.client.Post(b.url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"content":"x"}],"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		for name, want := range map[string]string{"Content-Type": sse, "Cache-Control": "no-cache", "X-Served-By": "a model"} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		buffer := make([]byte, 4096)
		for i := range pieces {
			n, err := answer.Body.Read(buffer)
			if got, want := string(buffer[:n]), fmt.Sprintf("data: %02d\n\n", i); got != want || err != nil && err != io.EOF {
				t.Fatalf("read %q, %v, want %q alone", got, err, want)
			}
			if late := time.Since(began) - time.Duration(i+1)*20*time.Millisecond; late != 0 {
				t.Fatalf("%q came %v late", buffer[:n], late)
			}
		}
	})
}

// Case 87: Host is the server's, Origin and Authorization are the client's, and a
// 403 comes back as it is.
func TestHostAndOrigin(t *testing.T) {
	seen := make(chan *http.Request, 1)
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.Header()["Content-Type"] = nil
		w.WriteHeader(http.StatusForbidden)
	}, nil)
	ask := func(host, origin, agent string) (*http.Request, *http.Response) {
		r, _ := http.NewRequest(http.MethodPost, b.url+"/api/chat?a=%zz;b", strings.NewReader(asks))
		r.Host = host
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("X-Forwarded-For", "10.0.0.9")
		r.Header.Set("User-Agent", agent)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		answer, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return <-seen, answer
	}
	got, answer := ask("mac.local:11435", "null", "Mozilla/5.0")
	if got.Host != "server.internal:11434" || got.Header.Get("Origin") != "null" || got.Header.Get("Authorization") != "Bearer secret" ||
		got.Header.Get("X-Forwarded-For") != "10.0.0.9" || got.URL.RawQuery != "a=%zz;b" || got.Header.Get("Accept-Encoding") != "" || len(got.Header["Via"]) > 0 {
		t.Errorf("the server saw Host %q and %v", got.Host, got.Header)
	}
	if answer.StatusCode != http.StatusForbidden || answer.Header.Get("Content-Type") != "" {
		t.Errorf("the client got %d, %v", answer.StatusCode, answer.Header)
	}
	f := b.next(t)
	if f.Outcome != request.OutcomeFailed || f.Status != http.StatusForbidden {
		t.Errorf("told as %+v", f)
	}
	has(t, f.Request, request.NoteOrigin)
	if text, _ := json.Marshal(f); bytes.Contains(text, []byte("secret")) {
		t.Errorf("what a client proves itself with is told: %s", text)
	}
	for _, c := range []struct{ host, origin, agent, want string }{
		{"evil.example:11435", "", "Mozilla/5.0", "evil.example:11435"}, // a page that leads its own name here
		{"evil.example", "http://evil.example", "x", "evil.example"},
		{"mini.example:11435", "", "curl/8", "server.internal:11434"}, // a program may use any name
		{"127.0.0.1:11435", "", "Mozilla/5.0", "server.internal:11434"},
		{"[::1]:11435", "", "Mozilla/5.0", "server.internal:11434"},
		{"mini:11435", "", "Mozilla/5.0", "server.internal:11434"},
	} {
		if got, _ := ask(c.host, c.origin, c.agent); got.Host != c.want {
			t.Errorf("Host %q by %q: the server saw %q, want %q", c.host, c.agent, got.Host, c.want)
		}
		b.next(t)
	}
}

// Case 89: no usage in the stream.
func TestNoUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, chat(30, 100*time.Millisecond, ""), nil)
		f := b.metered(t, "/v1/chat/completions", `{"model":"m","messages":[{"content":"x"}],"stream":true}`)
		if counted(f.OutputTokens) != 30 || !f.OutputApproximate || f.PromptTokens != nil || f.Prefill != nil || f.Outcome != request.OutcomeFinished {
			t.Errorf("told as %+v", f)
		}
		near(t, "decode", f.Decode, 10, 1e-6)
		if !f.Decode.Approximate || f.Decode.Source != request.SourceMeter {
			t.Errorf("the rate is told as %+v", f.Decode)
		}
		b = newBench(t, chat(30, 100*time.Millisecond, `{"choices":[],"usage":{"prompt_tokens":35,"completion_tokens":31,"total_tokens":66}}`), nil)
		f = b.metered(t, "/v1/chat/completions", `{"model":"m","messages":[{"content":"x"}],"stream":true}`)
		near(t, "decode with usage", f.Decode, 30/2.9, 1e-6) // (n−1) ÷ (last − first)
		if counted(f.PromptTokens) != 35 || counted(f.OutputTokens) != 31 || f.Prefill != nil || f.OutputApproximate {
			t.Errorf("told as %+v", f)
		}
	})
}

// chat streams words as OpenAI's interface does, and one more event if there is one.
func chat(words int, apart time.Duration, last string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", sse)
		event := func(s string) {
			io.WriteString(w, "data: "+s+"\n\n")
			w.(http.Flusher).Flush()
		}
		event(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
		for range words {
			time.Sleep(apart)
			event(`{"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}`)
		}
		event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		if last != "" {
			event(last)
		}
		event("[DONE]")
	}
}

// Case 91: compressed answers pass as they are.
func TestCompressedAnswers(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, final(20, 100, 50, 1000))
	z.Close()
	asked := make(chan string, 2)
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Type", ndjson)
		if r.Header.Get("Accept-Encoding") != "" {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		}
	}, nil)
	r, _ := http.NewRequest(http.MethodPost, b.url+"/api/generate", strings.NewReader(asks))
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if !bytes.Equal(got, packed.Bytes()) || answer.Header.Get("Content-Encoding") != "gzip" || <-asked != "gzip" {
		t.Errorf("%d bytes came, want the %d that were sent", len(got), packed.Len())
	}
	f := b.next(t)
	if f.Outcome != request.OutcomeFinished || f.OutputTokens != nil {
		t.Errorf("told as %+v", f)
	}
	has(t, f.Request, request.NoteEncoded)
	b.ask(t, "/api/generate", asks)
	if got := <-asked; got != "" {
		t.Errorf("the meter asked for %q, the client for nothing", got)
	}
}

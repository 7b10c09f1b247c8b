package meter

import (
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

package meter

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor/request"
)

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

// A server that closes connections without a word fails no request: those that are
// kept for the next one are given up then.
func TestServerThatClosesWithoutAWord(t *testing.T) {
	m := New(Config{Upstream: raw(t, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")})
	defer m.Close()
	m.chain.closed.Store(new(time.Now())) // as the first that is noticed does
	up := listen(t, m, io.Discard)
	for i := range 300 {
		answer, err := http.Post(up.String()+"/api/chat", "application/json", strings.NewReader(`{"model":"m","messages":[{"content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %s", i, answer.Status)
		}
	}
	m.chain.closed.Store(nil)
	for range 1000 { // one is kept, and found closed
		answer, err := http.Post(up.String()+"/api/chat", "application/json", strings.NewReader(`{"model":"m","messages":[{"content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if m.chain.closed.Load() != nil {
			return
		}
	}
	t.Error("that the server closes connections was not noticed")
}

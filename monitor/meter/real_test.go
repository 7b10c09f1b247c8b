package meter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"plimsoll/build/ollama/server"
	"plimsoll/monitor/request"
)

// real is a meter before a real Ollama.
type real struct {
	t        *testing.T
	ollama   *server.Server
	front    *url.URL
	finished chan Finished
	sent     chan struct{} // told when a request has passed to the server
}

func newReal(t *testing.T) *real {
	t.Helper()
	r := &real{t: t, ollama: server.Run(t, server.Versions[0]), finished: make(chan Finished, 64), sent: make(chan struct{}, 1024)}
	up, err := url.Parse(r.ollama.URL)
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{Upstream: up, Backend: "ollama", Finished: func(f Finished) { r.finished <- f }, Report: func(q request.Request) {
		if q.Phase == request.PhaseQueued {
			r.sent <- struct{}{}
		}
	}})
	r.front = listen(t, m, io.Discard)
	if err := m.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *real) post(ctx context.Context, path, body string, header map[string]string) *http.Response {
	r.t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.front.String()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range header {
		q.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		q.Host = host
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func (r *real) next() Finished {
	r.t.Helper()
	select {
	case f := <-r.finished:
		return f
	case <-time.After(deadline):
		r.t.Fatal("no request was finished")
		panic("unreachable")
	}
}

// TestRealTotals: what the meter tells is what a real server's final statistics
// say, to the token and to the nanosecond.
func TestRealTotals(t *testing.T) {
	r := newReal(t)
	const say = `"messages":[{"role":"user","content":"Say something"}]`
	for _, c := range []struct{ path, body string }{
		{"/api/generate", `{"model":"stop","prompt":"Hello"}`},
		{"/api/generate", `{"model":"stop","prompt":"Hello","stream":false}`},
		{"/api/generate", `{"model":"slow","prompt":"Hello","options":{"num_predict":100}}`},
		{"/api/chat", `{"model":"tiny",` + say + `,"options":{"num_predict":77}}`},
		{"/api/chat", `{"model":"think","think":true,` + say + `}`},
		{"/api/chat", `{"model":"tool",` + say + `,"tools":[{"type":"function","function":{"name":"get_weather","description":"w","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}`},
		{"/api/embed", `{"model":"embed","input":["Hello","and again"]}`},
		{"/v1/chat/completions", `{"model":"tiny","max_tokens":40,` + say + `,"stream":true,"stream_options":{"include_usage":true}}`},
		{"/v1/chat/completions", `{"model":"tiny","max_tokens":40,` + say + `}`},
		{"/v1/completions", `{"model":"tiny","max_tokens":40,"prompt":"Hello","stream":true,"stream_options":{"include_usage":true}}`},
		{"/v1/responses", `{"model":"tiny","max_output_tokens":40,"input":"Hello","stream":true}`},
		{"/v1/messages", `{"model":"tiny","max_tokens":40,` + say + `,"stream":true}`},
		{"/v1/messages", `{"model":"tiny","max_tokens":40,` + say + `}`},
	} {
		answer := r.post(t.Context(), c.path, c.body, nil)
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %.300s, %v", c.path, answer.Status, text, err)
		}
		prompt, output, _ := plain(text)
		f := r.next()
		if prompt != counted(f.PromptTokens) || output != counted(f.OutputTokens) || f.OutputApproximate || f.Outcome != request.OutcomeFinished || f.Unparsed > 0 {
			t.Errorf("%s %s: told %d and %d tokens, %s; the server says %d and %d", c.path, c.body, counted(f.PromptTokens), counted(f.OutputTokens), f.Outcome, prompt, output)
		}
		r.durations(c.path+" "+c.body, text, f)
	}
	answer := r.post(t.Context(), "/v1/chat/completions", `{"model":"stop",`+say+`,"stream":true}`, nil)
	io.Copy(io.Discard, answer.Body)
	if f := r.next(); !f.OutputApproximate || counted(f.OutputTokens) != 40 || f.PromptTokens != nil || f.TTFT == nil {
		t.Errorf("without usage it is told as %+v", f)
	}
}

// durations holds load, queue and rate against Ollama's last line.
func (r *real) durations(name string, text []byte, f Finished) {
	r.t.Helper()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var last struct {
		Total  int64 `json:"total_duration"`
		Load   int64 `json:"load_duration"`
		Prompt int64 `json:"prompt_eval_duration"`
		Eval   int64 `json:"eval_duration"`
		Count  int   `json:"eval_count"`
	}
	if json.Unmarshal([]byte(lines[len(lines)-1]), &last) != nil || last.Eval == 0 {
		return
	}
	if f.Load == nil || int64(*f.Load*1e9+0.5) != last.Load || f.Queue == nil || *f.Queue > float64(last.Total-last.Load-last.Prompt-last.Eval)/1e9+1e-9 {
		r.t.Errorf("%s: load %v and queue %v of %+v", name, f.Load, f.Queue, last)
	}
	if want := request.Rate(last.Count, time.Duration(last.Eval)); want != nil {
		near(r.t, name, f.Decode, *want, 1e-9)
	} else if f.Decode != nil {
		r.t.Errorf("%s: a rate of %g of %d tokens in %d ns", name, f.Decode.Value, last.Count, last.Eval)
	}
}

// TestRealRefusals: another name for the meter is fine, a foreign page is not.
func TestRealRefusals(t *testing.T) {
	r := newReal(t)
	const body = `{"model":"stop","prompt":"Hello","stream":false}`
	for _, c := range []struct {
		header map[string]string
		status int
	}{
		{nil, http.StatusOK},
		{map[string]string{"Host": "my-mac.example:11435"}, http.StatusOK},
		{map[string]string{"Origin": "http://localhost:3000"}, http.StatusOK},
		{map[string]string{"Origin": "null"}, http.StatusForbidden},
		{map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		{map[string]string{"Host": "evil.example", "User-Agent": "Mozilla/5.0"}, http.StatusForbidden},
	} {
		answer := r.post(t.Context(), "/api/generate", body, c.header)
		io.Copy(io.Discard, answer.Body)
		f := r.next()
		if answer.StatusCode != c.status || f.Status != c.status {
			t.Errorf("%v: %d, told as %d, want %d", c.header, answer.StatusCode, f.Status, c.status)
		}
		if origin := strings.Contains(noted(f), "origin"); origin != (c.status == http.StatusForbidden) {
			t.Errorf("%v: notes %q", c.header, f.Notes)
		}
	}
}

// TestRealStop: a client that leaves stops a real server, during the answer and
// before it.
func TestRealStop(t *testing.T) {
	r := newReal(t)
	ctx, leave := context.WithCancel(t.Context())
	answer := r.post(ctx, "/api/generate", `{"model":"forever","prompt":"Hello"}`, nil)
	lines := bufio.NewScanner(answer.Body)
	for range 10 {
		if !lines.Scan() {
			t.Fatalf("the answer ended: %v", lines.Err())
		}
	}
	leave()
	f := r.next()
	if f.Outcome != request.OutcomeCancelled || counted(f.OutputTokens) < 10 || !f.OutputApproximate {
		t.Errorf("told as %+v", f)
	}
	// The server has one place for this model: the next request is answered because
	// the first one was stopped, and long before its end, which takes minutes.
	answer = r.post(t.Context(), "/api/generate", `{"model":"forever","prompt":"Hello","stream":false,"options":{"num_predict":5}}`, nil)
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `"eval_count":5`) {
		t.Errorf("the next request: %s, %v", text, err)
	}
	if f := r.next(); f.Outcome != request.OutcomeFinished {
		t.Errorf("told as %+v", f)
	}
	// And before anything was said: the server is reading a long prompt. (One that is
	// stopped while it loads a model does not end for ten seconds when it is told to.)
	answer = r.post(t.Context(), "/api/generate", `{"model":"slow","prompt":"Hello","stream":false,"options":{"num_ctx":4096,"num_predict":1}}`, nil)
	io.Copy(io.Discard, answer.Body)
	r.next()
	long := fmt.Sprintf(`{"model":"slow","prompt":"%s","stream":false,"options":{"num_ctx":4096}}`, strings.Repeat("word ", 3000))
	ctx, leave = context.WithCancel(t.Context())
	defer leave()
	q, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.front.String()+"/api/generate", strings.NewReader(long))
	for len(r.sent) > 0 {
		<-r.sent
	}
	go func() {
		<-r.sent // the prompt has passed
		leave()
	}()
	if answer, err := http.DefaultClient.Do(q); err == nil {
		answer.Body.Close()
		t.Error("a prompt of 3000 words was answered at once")
	}
	if f := r.next(); f.Outcome != request.OutcomeCancelled || !strings.Contains(noted(f), "orphan") {
		t.Errorf("told as %+v", f)
	}
}

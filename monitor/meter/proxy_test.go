package meter

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor/request"
)

// listen serves a handler at a port of this machine, and returns its address.
// What net/http has to say goes to complaints.
func listen(t testing.TB, h http.Handler, complaints io.Writer) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: h, ErrorLog: log.New(complaints, "", 0)}
	go web.Serve(l)
	t.Cleanup(func() { web.Close() })
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

// TestAnAnswerThatDoesNotWaitForItsRequest: servers, and the meter, refuse without
// reading what they were sent. The client's connection must stay good for the next
// request (golang/go#68560).
func TestAnAnswerThatDoesNotWaitForItsRequest(t *testing.T) {
	server := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":"too large"}`, http.StatusRequestEntityTooLarge)
	}), io.Discard)
	for _, c := range []struct {
		boundary Boundary
		want     int
	}{{Boundary{}, http.StatusRequestEntityTooLarge}, {Boundary{Context: 8192, Refuse: true}, http.StatusTooManyRequests}} {
		var complaints bytes.Buffer
		front := listen(t, New(Config{Upstream: server, Boundary: c.boundary}), &complaints)
		client := &http.Client{Timeout: deadline, Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for i := range 100 {
			body := io.MultiReader(strings.NewReader(`{"model":"m","prompt":"`), strings.NewReader(strings.Repeat("x", 200<<10)), strings.NewReader(`"}`))
			answer, err := client.Post(front.String()+"/api/generate", "application/json", body)
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != c.want {
				t.Fatalf("request %d: %d %q, %v", i, answer.StatusCode, text, err)
			}
		}
		if complaints.Len() > 0 {
			t.Errorf("net/http says %.300s", complaints.String())
		}
	}
}

// TestCutsPassAsCuts: what the server does not finish the client does not get as
// finished.
func TestCutsPassAsCuts(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
	line := `{"model":"m","response":"x","done":false}` + "\n"
	chunk := "2a\r\n" + line + "\r\n"
	for _, c := range []struct {
		name, answer string
		cut          bool
		outcome      request.Outcome
	}{
		{"within the chunks", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk, true, request.OutcomeCut},
		{"short of its length", head + "Content-Length: 100\r\n\r\n" + line, true, request.OutcomeCut},
		{"a plain end, no last line", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n", false, request.OutcomeCut},
		{"an end by closing", head + "Connection: close\r\n\r\n" + line, false, request.OutcomeCut},
		{"no answer at all", "", false, request.OutcomeFailed},
	} {
		done := make(chan Finished, 1)
		m := New(Config{Upstream: raw(t, c.answer), Finished: func(f Finished) { done <- f }})
		front := listen(t, m, io.Discard)
		answer, err := http.Post(front.String()+"/api/generate", "application/json", strings.NewReader(asks))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if (err != nil) != c.cut {
			t.Errorf("%s: the client got %q and %v", c.name, got, err)
		}
		select {
		case f := <-done:
			if f.Outcome != c.outcome {
				t.Errorf("%s: told as %s, want %s", c.name, f.Outcome, c.outcome)
			}
		case <-time.After(deadline):
			t.Fatalf("%s: it was not told", c.name)
		}
	}
}

func TestErrorsUnderAGoodStatus(t *testing.T) {
	const crash = `{"error":"an error was encountered while running the model: unexpected EOF"}`
	for _, c := range []struct {
		name, path, kind string
		pieces           []string
		outcome          request.Outcome
		says             string
	}{
		{"a runner that died", "/api/generate", ndjson, []string{`{"model":"m","response":"x","done":false}` + "\n", crash + "\n"}, request.OutcomeFailed, "unexpected EOF"},
		{"the same, OpenAI", "/v1/chat/completions", sse, []string{"data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n",
			"data: {\"model\":\"\",\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":null}]}\n\n"}, request.OutcomeCut, ""},
		{"an error event", "/v1/responses", sse, []string{"event: error\ndata: {\"type\":\"error\",\"message\":\"no memory\"}\n\n"}, request.OutcomeFailed, "no memory"},
		{"a failed response", "/v1/responses", sse, []string{"data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"no slot\"}}}\n\n"}, request.OutcomeFailed, "no slot"},
		{"Anthropic's", "/v1/messages", sse, []string{"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"}, request.OutcomeFailed, "busy"},
		{"an old llama-server", "/v1/chat/completions", sse, []string{"error: {\"code\":500,\"message\":\"no \\\"slot\\\"\"}\n\n"}, request.OutcomeFailed, `no "slot"`},
		{"an error in one value", "/api/chat", jsonOf, []string{`{"error":{"message":"nothing"}}`}, request.OutcomeFailed, "nothing"},
		{"no error", "/v1/responses", jsonOf, []string{`{"status":"completed","error":null,"usage":{"input_tokens":3,"output_tokens":4}}`}, request.OutcomeFinished, ""},
	} {
		b := newBench(t, says(c.kind, c.pieces...), nil)
		_, got := b.ask(t, c.path, `{"model":"m","prompt":"x"}`)
		if got != strings.Join(c.pieces, "") {
			t.Errorf("%s: came as %q", c.name, got)
		}
		if f := b.next(t); f.Outcome != c.outcome || !strings.Contains(f.Error, c.says) || c.says == "" && f.Error != "" {
			t.Errorf("%s: %s with %q", c.name, f.Outcome, f.Error)
		}
	}
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonOf)
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":"model \"m\" not found"}`)
	}, nil)
	if f := b.metered(t, "/api/chat", `{"model":"m","messages":[{"content":"x"}]}`); f.Status != 404 || f.Outcome != request.OutcomeFailed || f.Error != `model "m" not found` || len(f.Notes) > 0 {
		t.Errorf("told as %+v", f)
	}
}

// TestNoServer: the client reads why, as its interface shows errors.
func TestNoServer(t *testing.T) {
	gone := raw(t, "")
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	gone.Host = l.Addr().String()
	l.Close()
	done := make(chan Finished, 8)
	m := New(Config{Upstream: gone, Finished: func(f Finished) { done <- f }})
	front := listen(t, m, io.Discard)
	for path, want := range map[string]string{
		"/api/chat": `{"error":"plimsoll meter: the model server at `, "/v1/chat/completions": `{"error":{"code":"api_error","message":"plimsoll meter: `,
		"/v1/messages": `{"error":{"message":"plimsoll meter: `, "/api/tags": `{"error":"plimsoll meter: `,
	} {
		answer, err := http.Post(front.String()+path, "application/json", strings.NewReader(asks))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadGateway || !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), "refused") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	for range 3 {
		if f := <-done; f.Outcome != request.OutcomeFailed || f.Status != http.StatusBadGateway || !strings.Contains(f.Error, "refused") {
			t.Errorf("told as %+v", f)
		}
	}
}

// TestOtherRequestsPassUntouched: what is not counted passes with everything it has.
func TestOtherRequestsPassUntouched(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		w.Header().Set("X-Path", r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusTeapot)
		io.Copy(w, r.Body)
	}, func(c *Config) { c.Upstream.Path = "/base/" })
	r, _ := http.NewRequest(http.MethodPut, b.url+"/a%2Fb/c?x=%20&y", strings.NewReader("\x00\xff"))
	answer, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, _ := io.ReadAll(answer.Body)
	if string(got) != "\x00\xff" || answer.StatusCode != http.StatusTeapot || answer.Header.Get("X-Path") != "PUT /base/a%2Fb/c?x=%20&y" ||
		answer.Header.Get("Content-Type") != "" || answer.Header.Get("Date") != "" {
		t.Errorf("%d %v %q", answer.StatusCode, answer.Header, got)
	}
	if len(b.reports) > 0 || b.meter.InFlight() > 0 {
		t.Errorf("it was counted: %+v", b.reports)
	}
}

// TestLoadingIsNoRequest: a prompt that is empty only loads or unloads a model.
func TestLoadingIsNoRequest(t *testing.T) {
	b := newBench(t, says(jsonOf, `{"model":"m","response":"","done":true,"done_reason":"unload"}`), nil)
	for _, body := range []string{`{"model":"m","keep_alive":0}`, `{"model":"m","prompt":"","keep_alive":-1}`, `{"model":"m","messages":[]}`} {
		b.ask(t, "/api/generate", body)
	}
	if len(b.reports) > 0 || len(b.finished) > 0 {
		t.Errorf("told as %+v", b.reports)
	}
}

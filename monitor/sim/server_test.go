package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// serve starts the server on loopback. Its clock runs at speed.
func serve(t *testing.T, speed float64) (*Mac, *Clock) {
	t.Helper()
	clock := NewClock(noon, speed)
	m := New(Config{Clock: clock, Seed: 11})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return m, clock
}

func address(m *Mac) string {
	for m.Address() == "" { // Serve has been called and is about to set it
		runtime.Gosched()
	}
	return m.Address()
}

// deadline is how long a test waits for anything before it gives up.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually looks until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for ctx := deadline(t); !so(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// inStream sends a request on a frozen clock and steps it into the answer.
func inStream(t *testing.T, ctx context.Context, m *Mac, clock *Clock, body string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, "POST", address(m)+"/api/generate", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan *http.Response, 1)
	go func() {
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Errorf("asking: %v", err)
		}
		answers <- resp
	}()
	eventually(t, "the request is taken in", func() bool { return m.Truth().Answered > 0 })
	clock.Advance(3 * time.Second)
	resp := <-answers
	if resp == nil {
		t.FailNow()
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// call asks the handler without a socket, for what is answered at once.
func call(m *Mac, method, path, body string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, q)
	return w
}

func running(t *testing.T, m *Mac) []psModel {
	t.Helper()
	var reply struct{ Models []psModel }
	w := call(m, "GET", "/api/ps", "")
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body, err)
	}
	return reply.Models
}

func TestCancel(t *testing.T) {
	m, clock := serve(t, 0)
	ctx, leave := context.WithCancel(deadline(t))
	resp := inStream(t, ctx, m, clock, `{"model":"qwen2.5:7b","prompt":"count"}`)
	lines := bufio.NewScanner(resp.Body)
	for range 3 {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
	}
	if resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Error(resp.Header)
	}
	leave()
	eventually(t, "the request has ended", func() bool { return len(m.Truth().Requests) == 0 })
	if list := running(t, m); len(list) != 1 {
		t.Errorf("listed after the cancel: %+v", list)
	}
	if m.Truth().Models[0].Busy {
		t.Error("still busy")
	}
}

// TestFrozenClockAndSocket: stepping the clock moves a stream on a real socket,
// and what it says depends on the clock alone.
func TestFrozenClockAndSocket(t *testing.T) {
	stream := func() string {
		m, clock := serve(t, 0)
		done := make(chan string, 1)
		go func() {
			resp, err := http.Post(address(m)+"/api/generate", "application/json", strings.NewReader(`{"model":"qwen2.5:7b","prompt":"count","options":{"num_predict":30}}`))
			if err != nil {
				done <- err.Error()
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			done <- string(body)
		}()
		for m.Truth().Answered == 0 { // on its way through the socket
			runtime.Gosched()
		}
		clock.Advance(10 * time.Second)
		select {
		case body := <-done:
			return body
		case <-deadline(t).Done():
			t.Fatal("the stream did not end")
			return ""
		}
	}
	a, b := stream(), stream()
	if a != b || strings.Count(a, "\n") != 31 {
		t.Errorf("two courses:\n%s\n%s", a, b)
	}
}

func TestHang(t *testing.T) {
	m, _ := serve(t, 1)
	m.Hang(true)
	m.Hang(true)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := client(t, m).Version(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hung server: %v", err)
	}
	if mem, err := m.Memory(); err != nil || mem.Total == nil {
		t.Error("memory hangs with the server")
	}
	m.Hang(false)
	m.Hang(false)
	if v, err := client(t, m).Version(deadline(t)); err != nil || v == "" {
		t.Error(v, err)
	}
}

func TestCloudIsNeverLocal(t *testing.T) {
	m, _ := still(t, Config{})
	if w := call(m, "POST", "/api/generate", `{"model":"gpt-oss:120b-cloud","keep_alive":0}`); w.Code != http.StatusUnauthorized {
		t.Error(w.Code, w.Body)
	}
	if _, err := m.Ask(ModelCloud, 1, 1); err == nil {
		t.Error("asked a model of the cloud")
	}
	if truth := m.Truth(); truth.CloudRequests != 1 || truth.Answered != 0 || len(running(t, m)) != 0 {
		t.Errorf("%+v", truth)
	}
	if w := call(m, "POST", "/api/show", `{"model":"gpt-oss:120b-cloud"}`); !bytes.Contains(w.Body.Bytes(), []byte(`"remote_host":"https://ollama.com:443"`)) {
		t.Error(w.Body)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	m := New(Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := m.Serve(ctx, l); err != nil {
		t.Error(err)
	}
	if err := m.Serve(context.Background(), l); err == nil {
		t.Error("served on a closed listener")
	}
}

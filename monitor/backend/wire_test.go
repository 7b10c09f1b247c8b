package backend

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain fails when connections or goroutines are left at the end.
func TestMain(m *testing.M) {
	if os.Getenv(proxyChild) != "" {
		os.Exit(proxyMain())
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		os.Exit(code) // the fuzzing engine leaves a goroutine of its own
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for end := time.Now().Add(5 * time.Second); code == 0 && runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			fmt.Printf("goroutines are left:\n%s\n", stacks[:runtime.Stack(stacks, true)])
			code = 1
		}
	}
	os.Exit(code)
}

// fake is a server on the wire: it answers by "METHOD /path" and remembers what
// it was asked.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]http.HandlerFunc
	asked   []asked
	opened  atomic.Int64 // connections
}

type asked struct{ what, body string }

// newFake serves the answers given, and those of a v0.17.4 server with nothing in
// memory for the rest of what a poll asks.
func newFake(t *testing.T, answers map[string]http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{answers: map[string]http.HandlerFunc{
		"GET /api/version": says(`{"version":"0.17.4"}`),
		"GET /api/ps":      says(`{"models":[]}`),
		"GET /api/tags":    says(`{"models":[]}`),
		"POST /api/show":   says(`{}`),
	}}
	maps.Copy(f.answers, answers)
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			f.opened.Add(1)
		}
	}
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	what := r.Method + " " + r.URL.Path
	f.mu.Lock()
	f.asked = append(f.asked, asked{what, string(body)})
	answer := f.answers[what]
	f.mu.Unlock()
	if answer == nil {
		http.NotFound(w, r)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	answer(w, r)
}

// set changes an answer.
func (f *fake) set(what string, answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[what] = answer
}

// requests are what was asked since the last call, in order.
func (f *fake) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

// sent are the requests that could load, keep or drop a model.
func sent(all []asked) []asked {
	return slices.DeleteFunc(slices.Clone(all), func(r asked) bool {
		switch r.what {
		case "GET /api/version", "GET /api/ps", "GET /api/tags", "POST /api/show":
			return true
		}
		return false
	})
}

// says answers with JSON.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, body)
	}
}

// fails answers with a status.
func fails(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// backendAt makes the backend under test and closes it with the test.
func backendAt(t *testing.T, server string, opts ...Option) *ollama {
	t.Helper()
	b, err := NewOllama(server, opts...)
	if err != nil {
		t.Fatal(err)
	}
	o := b.(*ollama)
	t.Cleanup(func() { o.Close() })
	return o
}

// recordings are the folders of testdata, one a server.
var recordings = []string{"v0.17.4-default", "v0.17.4-new-engine", "v0.6.5"}

// recorded is a reply of a real server: the same case has another number in
// another folder.
func recorded(t *testing.T, folder, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "[0-9][0-9][0-9]-"+name))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s/%s: %d files (%v)", folder, name, len(files), err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// replay answers as the recording does, headers and status included.
func replay(t *testing.T, folder, name string) http.HandlerFunc {
	t.Helper()
	var meta struct {
		Status  string
		Headers http.Header
	}
	if err := json.Unmarshal([]byte(recorded(t, folder, name+".meta.json")), &meta); err != nil {
		t.Fatal(err)
	}
	var status int
	if _, err := fmt.Sscan(meta.Status, &status); err != nil {
		t.Fatal(err)
	}
	body := ""
	if files, _ := filepath.Glob(filepath.Join("testdata", folder, "*-"+name+".body.*")); len(files) > 0 {
		body = recorded(t, folder, name+".body.*")
	}
	return fails(status, meta.Headers.Get("Content-Type"), body)
}

// pretty is a value as a failed test shows it.
func pretty(v any) string {
	text, err := json.Marshal(v)
	return cmp.Or(string(text), fmt.Sprint(err))
}

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

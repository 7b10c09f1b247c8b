package backend

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

// llamaModels is what a llama-server says of its model at /v1/models.
const llamaModels = `{"object":"list","data":[{"id":"/home/user/models/m512.gguf","object":"model","created":1764500000,"owned_by":"llamacpp",
	"meta":{"vocab_type":2,"n_vocab":512,"n_ctx_train":4096,"n_embd":512,"n_params":31800000,"size":127000000}}]}`

// newLlama is a llama-server on the wire, of which nothing of an Ollama is known.
func newLlama(t *testing.T) *fake {
	t.Helper()
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /health":    says(string(llamaRecorded(t, "health.json"))),
		"GET /props":     says(string(llamaRecorded(t, "props.json"))),
		"GET /v1/models": says(llamaModels),
		"GET /slots":     says(string(llamaRecorded(t, "slots-never-used.json"))),
	})
	for _, path := range []string{"GET /api/version", "GET /api/ps", "GET /api/tags"} {
		f.set(path, fails(404, "application/json", `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`))
	}
	return f
}

func llamaAt(t *testing.T, server string, opts ...Option) *llama {
	t.Helper()
	b, err := NewLlamaServer(server, opts...)
	if err != nil {
		t.Fatal(err)
	}
	l := b.(*llama)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLlamaServer(t *testing.T) {
	f := newLlama(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l := llamaAt(t, f.URL, WithClock(func() time.Time { return now }))
	a := l.Poll(t.Context())
	if s := a.Status; s.State != Running || s.Kind != "llama-server" || s.Name != "llama-server" || s.Version != "b1-x" || s.RoundTrip == nil || s.Answered == nil {
		t.Fatalf("%s", pretty(a.Status))
	}
	if len(a.Residents) != 1 {
		t.Fatalf("%s", pretty(a))
	}
	r := a.Residents[0]
	if r.Model != "m512.gguf" || *r.Size != 127000000 || *r.Context != 2048 || *r.TrainedContext != 4096 || r.Parameters != "31.8M" ||
		r.Weights != "/srv/models/m512.gguf" || !r.Pinned || r.GPU != nil || r.Backend != "llama-server" {
		t.Errorf("%s", pretty(r))
	}
	f.requests()
	l.Poll(t.Context())
	if got := f.requests(); len(got) != 2 { // it is known what it was started with
		t.Errorf("a second look asks for %v", got)
	}
	now = now.Add(propsAge)
	l.Poll(t.Context())
	if got := f.requests(); len(got) != 3 {
		t.Errorf("a minute later it asks for %v", got)
	}
	slots, err := l.Slots().Read(t.Context())
	if err != nil || len(slots) != 2 {
		t.Errorf("%s (%v)", pretty(slots), err)
	}
}

func TestLlamaServerStates(t *testing.T) {
	f := newLlama(t)
	l := llamaAt(t, f.URL)
	loading := fails(503, "application/json", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)
	for _, c := range []struct {
		name, path string
		answer     http.HandlerFunc
		want       State
		cause      string
		residents  int
	}{
		{"loading", "GET /health", loading, Running, "", 0},
		{"another 503", "GET /health", fails(503, "text/plain", "down for maintenance"), Failed, "", 0},
		{"a key is needed", "GET /props", fails(401, "application/json", `{"error":{"code":401,"message":"Invalid API Key"}}`), LoginNeeded, "", 0},
		{"another server", "GET /props", says(`{"a":1}`), Failed, "not_this_server", 0},
		{"a page", "GET /health", fails(200, "text/html", "<html>hello</html>"), Failed, "not_this_server", 0},
		{"no health", "GET /health", http.NotFound, Failed, "not_this_server", 0},
		{"no list", "GET /v1/models", says(`{}`), Failed, "not_this_server", 0},
		{"asleep", "GET /props", says(`{"total_slots":1,"is_sleeping":true}`), Running, "", 0},
		{"of several, one loaded", "GET /v1/models", says(`{"data":[{"id":"b","status":{"value":"loaded"}},{"id":"a","status":{"value":"unloaded"}}]}`), Running, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.mu.Lock()
			was := f.answers[c.path]
			f.mu.Unlock()
			f.set(c.path, c.answer)
			defer f.set(c.path, was)
			l := llamaAt(t, f.URL)
			a := l.Poll(t.Context())
			if a.Status.State != c.want || a.Status.Cause != c.cause || len(a.Residents) != c.residents {
				t.Errorf("%s", pretty(a))
			}
		})
	}
	f.Close()
	if a := l.Poll(t.Context()); a.Status.State != NotRunning {
		t.Errorf("%s", pretty(a.Status))
	}
}

// TestFixedModel: nothing is sent for what the server cannot do.
func TestFixedModel(t *testing.T) {
	f := newLlama(t)
	l := llamaAt(t, f.URL)
	for _, err := range []error{l.Unload(t.Context(), "m512.gguf"), l.Keep(t.Context(), "m512.gguf", Forever)} {
		var coded interface{ Code() string }
		if !errors.Is(err, ErrFixed) || !errors.As(err, &coded) || coded.Code() != "fixed_model" {
			t.Errorf("%v", err)
		}
	}
	if got := f.requests(); len(got) != 0 {
		t.Errorf("%v was sent", got)
	}
}

// TestKindIsFoundOut: who is at an address is told by who answers, and by who
// answers next.
func TestKindIsFoundOut(t *testing.T) {
	f := newLlama(t)
	b, err := New(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	d := b.(*detected)
	defer d.Close()
	if d.Name() != "ollama" || d.Slots() != nil {
		t.Errorf("before the first answer it is %s", d.Name())
	}
	if a := d.Poll(t.Context()); a.Status.Kind != "llama-server" || a.Status.State != Running || len(a.Residents) != 1 || d.Name() != "llama-server" || d.Slots() == nil {
		t.Errorf("%s", pretty(a))
	}
	if err := d.Unload(t.Context(), "m512.gguf"); !errors.Is(err, ErrFixed) {
		t.Errorf("unloading: %v", err)
	}
	if _, err := d.Describe(t.Context(), "m512.gguf"); !errors.Is(err, ErrNotFound) {
		t.Errorf("describing: %v", err)
	}
	f.requests()
	d.Poll(t.Context())
	for _, r := range f.requests() {
		if r.what == "GET /api/version" {
			t.Error("it is asked again what it is")
		}
	}
	// Now an Ollama is there.
	for path, answer := range newFake(t, nil).answers {
		f.set(path, answer)
	}
	f.set("GET /health", http.NotFound)
	if a := d.Poll(t.Context()); a.Status.Kind != "ollama" || a.Status.State != Running {
		t.Errorf("%s", pretty(a.Status))
	}
	// Something that is neither counts as what it was.
	f.set("GET /api/version", http.NotFound)
	d.Poll(t.Context())
	f.set("GET /api/ps", http.NotFound)
	d.now().(*ollama).versionAt = time.Time{}
	if a := d.Poll(t.Context()); a.Status.Kind != "ollama" || a.Status.State != Failed || a.Status.Cause != "not_this_server" {
		t.Errorf("%s", pretty(a.Status))
	}
	f.Close()
	if a := d.Poll(t.Context()); a.Status.State != NotRunning {
		t.Errorf("%s", pretty(a.Status))
	}
	if _, err := New("http://a b"); !errors.Is(err, ErrAddress) {
		t.Errorf("an address that is none: %v", err)
	}
}

// TestRealLlamaServer looks at the one that PLIMSOLL_LLAMA_SERVER names.
func TestRealLlamaServer(t *testing.T) {
	address := os.Getenv("PLIMSOLL_LLAMA_SERVER")
	if address == "" {
		t.Skip("PLIMSOLL_LLAMA_SERVER names no server")
	}
	l := llamaAt(t, address)
	a := l.Poll(t.Context())
	if a.Status.State != Running {
		t.Fatalf("%s", pretty(a))
	}
	slots, err := l.Slots().Read(t.Context())
	if err != nil || len(slots) == 0 {
		t.Errorf("%s (%v)", pretty(slots), err)
	}
	if text, _ := json.Marshal(slots); len(text) > 4096 {
		t.Errorf("slots of %d bytes", len(text))
	}
}

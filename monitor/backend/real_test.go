package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/build/ollama/server"
)

// TestRealServer runs everything against real Ollama servers: the newest that the
// module proxy serves, with PLIMSOLL_OLLAMA_ALL=1 v0.6.5 too.
func TestRealServer(t *testing.T) {
	versions := server.Versions[:1]
	if os.Getenv("PLIMSOLL_OLLAMA_ALL") == "1" {
		versions = server.Versions
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			r := real{t: t, version: version, Server: server.Run(t, version)}
			r.o = backendAt(t, r.URL)
			t.Run("nothing in memory", r.empty)
			t.Run("two models", r.twoModels)
			t.Run("unload", r.unload)
			t.Run("embedding model", r.embedding)
			t.Run("keep and pin", r.keep)
			t.Run("unload while busy", r.busy)
			t.Run("what is refused", r.refused)
			t.Run("paused", r.paused)
			t.Run("stopped", r.stopped)
		})
	}
}

type real struct {
	*server.Server
	t       *testing.T
	version string
	o       *ollama
}

// request sends what only a user of the server sends.
func (r *real) request(t *testing.T, path, body string) string {
	t.Helper()
	resp, err := http.Post(r.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %v %s", path, body, err, reply)
	}
	return string(reply)
}

func (r *real) poll(t *testing.T) Answer {
	t.Helper()
	a := r.o.Poll(t.Context())
	if a.Status.State != Running {
		t.Fatalf("%s", pretty(a.Status))
	}
	return a
}

// until polls until the answer is as wanted.
func (r *real) until(t *testing.T, what string, good func(Answer) bool) Answer {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		a := r.o.Poll(t.Context())
		if good(a) {
			return a
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not come about: %s", what, pretty(a))
		}
	}
}

func names(a Answer) []string {
	var names []string
	for _, r := range a.Residents {
		names = append(names, r.Model)
	}
	return names
}

func (r *real) without(t *testing.T, model string) {
	t.Helper()
	r.until(t, model+" gone", func(a Answer) bool { return a.Status.State == Running && !slices.Contains(names(a), model) })
}

func (r *real) resident(t *testing.T, model string) Resident {
	t.Helper()
	for _, m := range r.poll(t).Residents {
		if m.Model == model {
			return m
		}
	}
	t.Fatalf("%s is not in memory", model)
	return Resident{}
}

func (r *real) empty(t *testing.T) {
	a := r.poll(t)
	if a.Status.Version != strings.TrimPrefix(r.version, "v") || a.Status.Address != r.URL || *a.Status.RoundTrip <= 0 {
		t.Errorf("%s", pretty(a.Status))
	}
	if a.Residents == nil || len(a.Residents) != 0 || len(a.Models) != len(server.Models) || *a.Status.Cloud != 0 {
		t.Errorf("%s", pretty(a))
	}
}

func (r *real) twoModels(t *testing.T) {
	r.request(t, "/api/generate", `{"model":"tiny","prompt":"Hello","stream":false,"options":{"num_predict":5}}`)
	r.request(t, "/api/generate", `{"model":"stop","prompt":"Hello","stream":false,"keep_alive":"45s"}`)
	// Until the server has noticed that a request is over, the expiry is another at
	// each look.
	last := ""
	a := r.until(t, "two models that stay as they are", func(a Answer) bool {
		now := pretty(a.Residents)
		same := now == last
		last = now
		return len(a.Residents) == 2 && same
	})
	if got := fmt.Sprint(names(a)); got != "[stop:latest tiny:latest]" {
		t.Errorf("residents %s", got)
	}
	var ps struct {
		Models []struct {
			Model      string
			Size       uint64
			Expires_at time.Time
		}
	}
	resp, err := http.Get(r.URL + "/api/ps")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&ps); err != nil {
		t.Fatal(err)
	}
	for _, m := range a.Residents {
		i := slices.IndexFunc(ps.Models, func(p struct {
			Model      string
			Size       uint64
			Expires_at time.Time
		}) bool {
			return p.Model == m.Model
		})
		if i < 0 || *m.Size != ps.Models[i].Size || !m.Expires.Equal(ps.Models[i].Expires_at) {
			t.Errorf("%s, the server says %s", pretty(m), pretty(ps))
		}
		if m.GPU == nil || *m.GPU != 0 || *m.TrainedContext != 8192 || m.Family != "llama" || m.Pinned {
			t.Errorf("%s", pretty(m))
		}
		if data, err := os.ReadFile(m.Weights); err != nil || !strings.HasPrefix(string(data), "GGUF") {
			t.Errorf("weights of %s in %q: %v", m.Model, m.Weights, err)
		}
	}
	if left := time.Until(*a.Residents[0].Expires); left > 45*time.Second || left < 20*time.Second {
		t.Errorf("kept for 45 s, it expires in %v", left)
	}
	// Looking moves nothing.
	before := r.resident(t, "tiny:latest").Expires
	for range 50 {
		r.poll(t)
	}
	if after := r.resident(t, "tiny:latest").Expires; !after.Equal(*before) {
		t.Errorf("50 polls moved the expiry from %v to %v", before, after)
	}
}

func (r *real) unload(t *testing.T) {
	if err := r.o.Unload(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	r.without(t, "tiny:latest")
	if got := fmt.Sprint(names(r.poll(t))); got != "[stop:latest]" {
		t.Errorf("residents %s", got)
	}
}

func (r *real) embedding(t *testing.T) {
	r.request(t, "/api/embed", `{"model":"embed","input":"Hello"}`)
	m := r.resident(t, "embed:latest")
	if r.version != "v0.6.5" && !slices.Equal(m.Capabilities, []string{"embedding"}) {
		t.Errorf("capabilities %q", m.Capabilities)
	}
	if err := r.o.Keep(t.Context(), "embed", Forever); err != nil {
		t.Fatal(err)
	}
	r.until(t, "embed pinned", func(a Answer) bool {
		return slices.ContainsFunc(a.Residents, func(m Resident) bool { return m.Model == "embed:latest" && m.Pinned })
	})
	if err := r.o.Unload(t.Context(), "embed"); err != nil {
		t.Fatal(err)
	}
	r.without(t, "embed:latest")
	// The way for servers that refuse generate for such a model.
	r.request(t, "/api/embed", `{"model":"embed","input":"Hello"}`)
	if err := r.o.embed(t.Context(), order{Model: "embed:latest"}); err != nil {
		t.Fatal(err)
	}
	r.without(t, "embed:latest")
}

func (r *real) keep(t *testing.T) {
	// A client chose a context of its own: to keep must not load the model anew.
	r.request(t, "/api/generate", `{"model":"tiny","prompt":"Hello","stream":false,"options":{"num_predict":2,"num_ctx":1024}}`)
	if err := r.o.Keep(t.Context(), "tiny", time.Hour); err != nil {
		t.Fatal(err)
	}
	a := r.until(t, "an hour", func(a Answer) bool {
		return slices.ContainsFunc(a.Residents, func(m Resident) bool {
			return m.Model == "tiny:latest" && m.Expires != nil && time.Until(*m.Expires) > 50*time.Minute
		})
	})
	if m := a.Residents[slices.Index(names(a), "tiny:latest")]; r.version != "v0.6.5" && *m.Context != 1024 {
		t.Errorf("keeping changed the context to %d", *m.Context)
	}
	if err := r.o.Keep(t.Context(), "tiny", Forever); err != nil {
		t.Fatal(err)
	}
	r.until(t, "pinned", func(a Answer) bool {
		return slices.ContainsFunc(a.Residents, func(m Resident) bool { return m.Model == "tiny:latest" && m.Pinned && m.Expires == nil })
	})
	log, err := os.ReadFile(r.Dir + "/serve.log")
	if err != nil {
		t.Fatal(err)
	}
	started := strings.Count(string(log), "llama runner started")
	r.request(t, "/api/generate", `{"model":"tiny","prompt":"Hello","stream":false,"options":{"num_predict":2,"num_ctx":1024}}`)
	if log, _ = os.ReadFile(r.Dir + "/serve.log"); r.version != "v0.6.5" && strings.Count(string(log), "llama runner started") != started {
		t.Error("the client's next request had to load the model again")
	}
	if !r.resident(t, "tiny:latest").Pinned && r.version != "v0.6.5" {
		t.Error("a request without keep_alive undid the pin")
	}
	if err := r.o.Unload(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	r.without(t, "tiny:latest")
}

func (r *real) busy(t *testing.T) {
	resp, err := http.Post(r.URL+"/api/generate", "application/json", strings.NewReader(`{"model":"forever","prompt":"Hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil { // the first token is there
		t.Fatal(err)
	}
	began := time.Now()
	if err := r.o.Unload(t.Context(), "forever"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > commandLimit {
		t.Errorf("unloading a busy model took %v", took)
	}
	m := r.resident(t, "forever:latest")
	if m.Expires == nil || m.Expires.After(time.Now()) {
		t.Errorf("it is busy and expires %v", m.Expires)
	}
	resp.Body.Close() // the client goes, and with it the request
	r.without(t, "forever:latest")
}

func (r *real) refused(t *testing.T) {
	if err := r.o.Unload(t.Context(), "no-such-model"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unload: %v", err)
	}
	if err := r.o.Keep(t.Context(), "slow", time.Hour); !errors.Is(err, ErrNotResident) {
		t.Errorf("keep: %v", err)
	}
	if got := names(r.poll(t)); slices.Contains(got, "slow:latest") {
		t.Errorf("it was loaded: %v", got)
	}
	// Had the model gone between look and command, the server would say this.
	if err := r.o.generate(t.Context(), order{Model: "no-such-model"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("generate: %v", err)
	}
}

func (r *real) paused(t *testing.T) {
	r.poll(t)
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	a := r.o.Poll(t.Context())
	took := time.Since(began)
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if a.Status.State != NotAnswering || took > 2*time.Second {
		t.Errorf("%s after %v", a.Status.State, took)
	}
	a = r.until(t, "running again", func(a Answer) bool { return a.Status.State == Running })
	if len(a.Models) != len(server.Models) || a.Status.Detail != "" {
		t.Errorf("%s", pretty(a))
	}
}

func (r *real) stopped(t *testing.T) {
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if a := r.o.Poll(t.Context()); a.Status.State != NotRunning {
		t.Errorf("%s", pretty(a.Status))
	}
}

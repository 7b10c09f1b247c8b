package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// twoResident is a server with a talking and an embedding model in memory, one
// more on disk, and cloud models.
func twoResident(t *testing.T) *fake {
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /api/ps": says(`{"models":[
			{"name":"talker:latest","model":"talker:latest","size":9,"digest":"dt","context_length":4096},
			{"name":"bge-m3:latest","model":"bge-m3:latest","size":9,"digest":"de","context_length":8192}]}`),
		"GET /api/tags": says(strings.Replace(cloudTags, `"models":[`, `"models":[
			{"name":"talker:latest","model":"talker:latest","size":500000,"digest":"dt","details":{"format":"gguf"}},
			{"name":"bge-m3:latest","model":"bge-m3:latest","size":500000,"digest":"de","details":{"format":"gguf"}},`, 1)),
		"POST /api/show": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "bge") {
				says(`{"model_info":{"general.architecture":"bert","bert.context_length":8192},"capabilities":["embedding"]}`)(w, r)
			} else {
				says(`{"model_info":{"general.architecture":"llama","llama.context_length":131072},"capabilities":["completion","tools"]}`)(w, r)
			}
		},
		"POST /api/generate": func(w http.ResponseWriter, r *http.Request) {
			var send struct{ Model string }
			json.NewDecoder(r.Body).Decode(&send)
			if send.Model == "bge-m3:latest" {
				fails(400, "application/json", `{"error":"\"bge-m3:latest\" does not support generate"}`)(w, r)
			} else {
				says(`{"model":"talker","created_at":"2030-01-01T00:00:00Z","response":"","done":true,"done_reason":"load"}`)(w, r)
			}
		},
		"POST /api/embed": says(`{"model":"bge-m3:latest","embeddings":[]}`),
	})
	return f
}

func TestCommandsOnTheWire(t *testing.T) {
	for _, row := range []struct {
		what string
		do   func(*testing.T, *ollama) error
		want []string
	}{
		{"unload", func(t *testing.T, o *ollama) error { return o.Unload(t.Context(), "talker:latest") },
			[]string{`/api/generate {"model":"talker:latest","keep_alive":0}`}},
		{"unload without a tag, in capitals", func(t *testing.T, o *ollama) error { return o.Unload(t.Context(), "Talker") },
			[]string{`/api/generate {"model":"talker:latest","keep_alive":0}`}},
		{"unload an embedding model of an old server", func(t *testing.T, o *ollama) error { return o.Unload(t.Context(), "bge-m3") },
			[]string{`/api/generate {"model":"bge-m3:latest","keep_alive":0}`, `/api/embed {"model":"bge-m3:latest","input":[],"keep_alive":0}`}},
		{"keep an hour", func(t *testing.T, o *ollama) error { return o.Keep(t.Context(), "talker", time.Hour) },
			[]string{`/api/generate {"model":"talker:latest","keep_alive":3600,"options":{"num_ctx":4096}}`}},
		{"pin", func(t *testing.T, o *ollama) error { return o.Keep(t.Context(), "talker", Forever) },
			[]string{`/api/generate {"model":"talker:latest","keep_alive":-1,"options":{"num_ctx":4096}}`}},
		{"keep a part of a second", func(t *testing.T, o *ollama) error { return o.Keep(t.Context(), "talker", time.Millisecond) },
			[]string{`/api/generate {"model":"talker:latest","keep_alive":1,"options":{"num_ctx":4096}}`}},
		{"pin an embedding model at its trained context", func(t *testing.T, o *ollama) error { return o.Keep(t.Context(), "bge-m3", Forever) },
			[]string{`/api/embed {"model":"bge-m3:latest","input":[],"keep_alive":-1}`}},
	} {
		for _, looked := range []bool{false, true} { // before the first poll, and after
			f := twoResident(t)
			o := backendAt(t, f.URL)
			if looked {
				o.Poll(t.Context())
			}
			f.requests()
			if err := row.do(t, o); err != nil {
				t.Errorf("%s: %v", row.what, err)
			}
			var got []string
			for _, r := range sent(f.requests()) {
				got = append(got, strings.TrimPrefix(r.what, "POST ")+" "+r.body)
			}
			if fmt.Sprint(got) != fmt.Sprint(row.want) {
				t.Errorf("%s: sent %v, want %v", row.what, got, row.want)
			}
		}
	}
}

// TestCommandsThatAreRefused: none of these may reach the server, where it would
// load a model or be forwarded to another.
func TestCommandsThatAreRefused(t *testing.T) {
	for model, want := range map[string]error{
		"far": ErrCloud, "big:480b-cloud": ErrCloud, "some:cloud": ErrCloud, "unheard-of:cloud": ErrCloud,
		"local": ErrNotResident, "local:latest": ErrNotResident, "home-cloud": ErrNotResident,
		"nothing": ErrNotFound, "talker:7b": ErrNotFound, "": ErrNotFound,
	} {
		for _, looked := range []bool{false, true} {
			f := twoResident(t)
			o := backendAt(t, f.URL)
			if looked {
				o.Poll(t.Context())
				f.requests()
			}
			if err := o.Unload(t.Context(), model); !errors.Is(err, want) {
				t.Errorf("unload %q: %v, want %v", model, err, want)
			}
			if err := o.Keep(t.Context(), model, time.Hour); !errors.Is(err, want) {
				t.Errorf("keep %q: %v, want %v", model, err, want)
			}
			asked := f.requests()
			if commands := sent(asked); len(commands) > 0 {
				t.Errorf("%q: sent %v", model, commands)
			}
			if want == ErrCloud && looked && len(asked) > 0 {
				t.Errorf("%q: a known cloud model needs no question: %v", model, asked)
			}
		}
	}
	f := twoResident(t)
	for _, d := range []time.Duration{0, -2, -time.Hour} {
		if err := backendAt(t, f.URL).Keep(t.Context(), "talker", d); err == nil {
			t.Errorf("keeping for %v is taken", d)
		}
	}
	if asked := f.requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

// TestContextIsKept: a request with other options than the model was loaded with
// makes the server load it anew.
func TestContextIsKept(t *testing.T) {
	for what, row := range map[string]struct {
		context int
		trained *int
		want    string
	}{
		"below the trained length":                 {4096, new(8192), "map[num_ctx:4096]"},
		"trained length unknown":                   {4096, nil, "map[num_ctx:4096]"},
		"at the trained length, or asked for more": {8192, new(8192), "map[]"},
	} {
		if got := fmt.Sprint(options(loaded{ContextLength: &row.context}, &shown{trained: row.trained})); got != row.want {
			t.Errorf("%s: %s, want %s", what, got, row.want)
		}
	}
	if got := options(loaded{}, &shown{}); got != nil {
		t.Errorf("an old server's model: %v", got)
	}
}

func TestRecordedUnloads(t *testing.T) {
	for _, folder := range recordings {
		for _, name := range []string{"unload-generate", "unload-not-loaded", "stopping-unload-request"} {
			f := twoResident(t)
			f.set("POST /api/generate", replay(t, folder, name))
			if err := backendAt(t, f.URL).Unload(t.Context(), "talker"); err != nil {
				t.Errorf("%s %s: %v", folder, name, err)
			}
		}
		f := twoResident(t)
		f.set("POST /api/generate", replay(t, folder, "load-only-generate"))
		if err := backendAt(t, f.URL).Keep(t.Context(), "talker", time.Hour); err != nil {
			t.Errorf("%s keep: %v", folder, err)
		}
		f.set("POST /api/generate", replay(t, folder, "err-generate-on-embedding-model"))
		f.requests()
		if err := backendAt(t, f.URL).Unload(t.Context(), "talker"); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		if commands := sent(f.requests()); len(commands) != 2 || commands[1].what != "POST /api/embed" {
			t.Errorf("%s: sent %v", folder, commands)
		}
		// A model that goes between the look and the command.
		f.set("POST /api/generate", replay(t, folder, "err-unknown-model"))
		if err := backendAt(t, f.URL).Unload(t.Context(), "talker"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, want %v", folder, err, ErrNotFound)
		}
	}
}

func TestUnloadAnswersThatAreNone(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"not done":      says(`{"model":"talker","response":"","done":false}`),
		"another error": fails(500, "application/json", `{"error":"out of memory"}`),
		"a bad request": fails(400, "application/json", `{"error":"time: missing unit in duration \"-1\""}`),
		"login":         fails(401, "application/json", `{"error":"unauthorized"}`),
		"a page":        fails(200, "text/html", "<html>"),
		"nothing":       fails(200, "", ""),
		"half of it":    says(`{"model":"talker","do`),
	} {
		f := twoResident(t)
		f.set("POST /api/generate", answer)
		var state *StateError
		err := backendAt(t, f.URL).Unload(t.Context(), "talker")
		if !errors.As(err, &state) || !strings.HasPrefix(fmt.Sprint(err), "unloading talker: ollama at http://127.0.0.1:") {
			t.Errorf("%s: %v", what, err)
		}
		if what == "login" && state != nil && state.State != LoginNeeded {
			t.Errorf("%s: %v", what, state.State)
		}
	}
}

// TestEmbeddingModelOfTheCases follows the conversation that the case describes.
func TestEmbeddingModelOfTheCases(t *testing.T) {
	var c struct {
		Request json.RawMessage
		Status  int
		Body    json.RawMessage
	}
	if err := json.Unmarshal(shared(t, "cases", "071.json"), &c); err != nil {
		t.Fatal(err)
	}
	f := twoResident(t)
	f.set("POST /api/generate", fails(c.Status, "application/json", string(c.Body)))
	if err := backendAt(t, f.URL).Unload(t.Context(), "bge-m3:latest"); err != nil {
		t.Fatal(err)
	}
	commands := sent(f.requests())
	last := commands[len(commands)-1]
	if last.what != "POST /api/embed" || last.body != `{"model":"bge-m3:latest","input":[],"keep_alive":0}` {
		t.Errorf("sent %v", commands)
	}
}

package backend

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestExpiryLongPast: a model that does not go keeps its old expiry and its size.
func TestExpiryLongPast(t *testing.T) {
	var list struct {
		Now    time.Time
		Models json.RawMessage
	}
	if err := json.Unmarshal(shared(t, "cases", "067.json"), &list); err != nil {
		t.Fatal(err)
	}
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/ps": says(`{"models":` + string(list.Models) + `}`)})
	a := backendAt(t, f.URL, WithClock(func() time.Time { return list.Now })).Poll(t.Context())
	want := `[{"backend":"ollama","model":"gpt-oss:120b","size_bytes":89000000000,"gpu_bytes":89000000000,"context_tokens":131072,"expires":"2026-02-22T12:00:00Z"}]`
	if got := pretty(a.Residents); got != want {
		t.Errorf("residents %s, want %s", got, want)
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for what, row := range map[string]struct{ entry, want string }{
		"only a name":         {`"name":"a"`, `{"backend":"ollama","model":"a"}`},
		"only a model":        {`"model":"a"`, `{"backend":"ollama","model":"a"}`},
		"on the CPU":          {`"model":"a","size":5,"size_vram":0,"context_length":9`, `{"backend":"ollama","model":"a","size_bytes":5,"gpu_bytes":0,"context_tokens":9}`},
		"nulls":               {`"model":"a","size":null,"size_vram":null,"context_length":null,"expires_at":null`, `{"backend":"ollama","model":"a"}`},
		"zero time":           {`"model":"a","expires_at":"0001-01-01T00:00:00Z"`, `{"backend":"ollama","model":"a"}`},
		"nonsense":            {`"model":"a","size":-1,"size_vram":-5,"context_length":0`, `{"backend":"ollama","model":"a"}`},
		"past":                {`"model":"a","expires_at":"2029-12-31T23:00:00Z"`, `{"backend":"ollama","model":"a","expires":"2029-12-31T23:00:00Z"}`},
		"nine years":          {`"model":"a","expires_at":"2039-01-01T00:00:00Z"`, `{"backend":"ollama","model":"a","expires":"2039-01-01T00:00:00Z"}`},
		"eleven years":        {`"model":"a","expires_at":"2041-01-01T00:00:00Z"`, `{"backend":"ollama","model":"a","pinned":true}`},
		"for ever":            {`"model":"a","expires_at":"2318-12-05T21:47:02.903047553Z"`, `{"backend":"ollama","model":"a","pinned":true}`},
		"a cloud model's tag": {`"model":"a:480b-cloud","size":5,"size_vram":5`, `{"backend":"ollama","model":"a:480b-cloud","cloud":true}`},
	} {
		f := newFake(t, map[string]http.HandlerFunc{"GET /api/ps": says(`{"models":[{` + row.entry + `}]}`)})
		a := backendAt(t, f.URL, WithClock(func() time.Time { return now })).Poll(t.Context())
		if got := pretty(a.Residents); got != "["+row.want+"]" {
			t.Errorf("%s: %s, want %s", what, got, row.want)
		}
	}
}

// cloudTags is a list with models that run elsewhere, as such entries look.
const cloudTags = `{"models":[
	{"name":"local:latest","model":"local:latest","size":4683075271,"digest":"d1","details":{"format":"gguf","family":"qwen2"}},
	{"name":"far:latest","model":"far:latest","size":382,"digest":"d2","remote_model":"far","remote_host":"https://ollama.com:443"},
	{"name":"big:480b-cloud","model":"big:480b-cloud","size":340,"digest":"d3","details":{"format":""}},
	{"name":"some:cloud","model":"some:cloud","size":340,"digest":"d4"},
	{"name":"home-cloud:latest","model":"home-cloud:latest","size":4683075271,"digest":"d5","details":{"format":"gguf"}}]}`

func TestCloudModelsAreMarkedAndNotCounted(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /api/tags": says(cloudTags),
		"GET /api/ps":   says(`{"models":[{"name":"far:latest","model":"far:latest","size":382,"size_vram":382,"digest":"d2"},{"name":"home-cloud:latest","model":"home-cloud:latest","size":7,"size_vram":7,"digest":"d5"}]}`),
	})
	a := backendAt(t, f.URL).Poll(t.Context())
	if *a.Status.Installed != 2 || *a.Status.Cloud != 3 {
		t.Errorf("installed %d, cloud %d; want 2 and 3", *a.Status.Installed, *a.Status.Cloud)
	}
	for _, m := range a.Models {
		if cloud := m.Model != "local:latest" && m.Model != "home-cloud:latest"; m.Cloud != cloud || (m.Size == nil) != cloud {
			t.Errorf("%s", pretty(m))
		}
	}
	far, home := a.Residents[0], a.Residents[1]
	if !far.Cloud || far.Size != nil || far.GPU != nil {
		t.Errorf("a cloud model counts: %s", pretty(far))
	}
	if home.Cloud || home.Size == nil {
		t.Errorf("a local model with such a name does not count: %s", pretty(home))
	}
	for _, r := range f.requests() {
		if strings.Contains(r.body, "far") {
			t.Errorf("a cloud model was asked about: %s %s", r.what, r.body)
		}
	}
}

func TestCloudByRemoteHost(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/tags": says(string(shared(t, "cases", "076.json")))})
	a := backendAt(t, f.URL).Poll(t.Context())
	if len(a.Models) != 1 || !a.Models[0].Cloud || a.Models[0].Size != nil || *a.Status.Installed != 0 {
		t.Errorf("%s", pretty(a))
	}
}

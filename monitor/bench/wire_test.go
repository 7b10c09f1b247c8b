package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor"
)

// replies is a server that says what a test lays down, by path.
func replies(t *testing.T, by map[string]string) *ollama {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := by[r.URL.Path]
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"error":"model 'm' not found"}`))
		case strings.HasPrefix(text, "500 "):
			w.WriteHeader(http.StatusInternalServerError)
			w.Write([]byte(text[4:]))
		default:
			w.Write([]byte(text))
		}
	}))
	t.Cleanup(s.Close)
	server, err := NewOllama(strings.Replace(s.URL, "//", "//ada:secret@", 1), monitor.SystemClock(), false)
	if err != nil {
		t.Fatal(err)
	}
	return server.(*ollama)
}

func TestDescribe(t *testing.T) {
	by := map[string]string{
		"/api/version": `{"version":"0.17.4"}`,
		"/api/show":    `{"details":{"family":"qwen2","parameter_size":"7.6B","quantization_level":"Q4_0"},"model_info":{"general.architecture":"qwen2","qwen2.context_length":32768},"capabilities":["completion"]}`,
		"/api/tags":    `{"models":[{"name":"other:latest","digest":"o","size":1},{"name":"m:latest","digest":"abc","size":4100000000}]}`,
		"/api/ps":      `{"models":[{"name":"m:latest","expires_at":"2319-01-01T00:00:00Z","context_length":4096}]}`,
	}
	s := replies(t, by)
	m, err := s.Describe(t.Context(), "M")
	if err != nil || m.Name != "m:latest" || m.Digest != "abc" || *m.SizeBytes != 4100000000 || *m.Trained != 32768 || *m.Resident != 4096 || !m.Pinned || m.Embedding || m.Cloud || m.Quantization != "Q4_0" {
		t.Errorf("%+v %v", m, err)
	}
	if about, err := s.About(t.Context()); err != nil || about.Version != "0.17.4" || strings.Contains(about.Address, "secret") {
		t.Errorf("%+v %v", about, err)
	}
	for name, change := range map[string]string{
		"embedding": `{"model_info":{"general.architecture":"bert"},"capabilities":["embedding"]}`,
		"pooling":   `{"model_info":{"general.architecture":"bert","bert.pooling_type":1}}`,
		"cloud":     `{"remote_model":"gpt-oss:120b","capabilities":["completion"]}`,
	} {
		by["/api/show"] = change
		if m, err := s.Describe(t.Context(), "m"); err != nil || !m.Embedding && name != "cloud" || m.Cloud != (name == "cloud") {
			t.Errorf("%s: %+v %v", name, m, err)
		}
	}
	delete(by, "/api/show")
	if _, err := s.Describe(t.Context(), "m"); !IsKind(err, CodeNoModel) {
		t.Errorf("a model that is not there: %v", err)
	}
	by["/api/show"] = "<html>log in</html>"
	if _, err := s.Describe(t.Context(), "m"); !IsKind(err, CodeServer) {
		t.Errorf("a page: %v", err)
	}
}

func TestAsk(t *testing.T) {
	const last = `{"created_at":"2026-11-30T12:00:05Z","done":true,"done_reason":"length","total_duration":5000000000,"load_duration":1000000000,"prompt_eval_count":350,"prompt_eval_duration":1000000000,"eval_count":60,"eval_duration":3000000000}` + "\n"
	token := `{"created_at":"2026-11-30T12:00:02Z","response":"word","done":false}` + "\n"
	for _, row := range []struct {
		name, text string
		tokens     int
		kind       string
	}{
		{"an answer", token + token + "\n" + last, 2, ""},
		{"thinking bears tokens, an empty line does not", `{"response":"","thinking":"hm"}` + "\n" + `{"response":""}` + "\n" + last, 1, ""},
		{"cut", token + token, 2, CodeCut},
		{"nothing", "", 0, CodeCut},
		{"an error in the middle", token + `{"error":"the runner died"}` + "\n", 1, CodeRefused},
		{"no JSON", token + "oops\n", 1, CodeServer},
		{"refused", `500 {"error":"model requires more system memory"}`, 0, CodeRefused},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := replies(t, map[string]string{"/api/generate": row.text})
			n := 0
			a, err := s.Ask(t.Context(), Prompt{Model: "m", Output: 60, Keep: stay}, func(time.Time) { n++ })
			if n != row.tokens || (row.kind == "") != (err == nil) || err != nil && !IsKind(err, row.kind) {
				t.Fatalf("%d chunks, %v; want %d, %q", n, err, row.tokens, row.kind)
			}
			if err == nil && (*a.PromptTokens != 350 || *a.OutputTokens != 60 || a.Decode != 3*time.Second || a.queued() != 0 || a.Reason != "length" || a.First <= 0 || a.Wall < a.First) {
				t.Errorf("%+v", a)
			}
		})
	}
	// A simulated server's own moments count.
	s := replies(t, map[string]string{"/api/generate": token + last})
	s.simulated = true
	if a, err := s.Ask(t.Context(), Prompt{Model: "m", Output: 60}, nil); err != nil || a.First != 2*time.Second || a.Wall != 5*time.Second {
		t.Errorf("%+v %v, want the first token after 2 of 5 s", a, err)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	server, err := NewOllama("127.0.0.1:1", monitor.SystemClock(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.About(t.Context()); !IsKind(err, CodeServer) {
		t.Errorf("nobody listens: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Ask(ctx, Prompt{Model: "m", Output: 1}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a person who left: %v", err)
	}
	if _, err := NewOllama("ftp://x", monitor.SystemClock(), false); err == nil {
		t.Error("ftp was taken for a model server")
	}
}

// Whatever a server says, an answer is read to its end or fails, and no rate that
// is made of it is absurd.
func FuzzFollow(f *testing.F) {
	f.Add([]byte(`{"response":"a"}` + "\n" + `{"done":true,"eval_count":5,"eval_duration":1000000000}` + "\n"))
	f.Add([]byte(`{"error":"x"}`))
	f.Add([]byte(`{"done":true,"eval_count":-5,"eval_duration":-1,"total_duration":9223372036854775807,"load_duration":-9223372036854775808}`))
	f.Add([]byte("{}\n\n[]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, simulated := range []bool{false, true} {
			o := &ollama{clock: monitor.SystemClock(), simulated: simulated}
			a, err := o.follow(t.Context(), strings.NewReader(string(data)), "m", 0, func(time.Time) {})
			if err != nil {
				continue
			}
			r := rates(a)
			for name, v := range map[string]*float64{"decode": r.Decode, "prefill": r.Prefill, "session": r.Session, "TTFT": r.TTFT, "wall": r.Wall} {
				if v != nil && !(*v >= 0 && *v < 1e20) {
					t.Errorf("%s is %v of %+v", name, *v, a)
				}
			}
			a.queued()
		}
	})
}

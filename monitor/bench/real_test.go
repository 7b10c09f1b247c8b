//go:build !race

package bench

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"plimsoll/build/ollama/server"
	"plimsoll/monitor"
)

// real is a benchmark of a tiny model on a real Ollama.
func real(t *testing.T) (Config, *server.Server) {
	t.Helper()
	o := server.Run(t, server.Versions[0])
	s, err := NewOllama(o.URL, monitor.SystemClock(), false)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	return Config{Server: s, Clock: monitor.SystemClock(), Model: "tiny", Plan: Plan{Runs: 2, Output: 128, Seed: 1},
		Unique: func() string { n++; return strconv.Itoa(n * 104729) }}, o
}

func TestRealOllama(t *testing.T) {
	c, o := real(t)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range r.Tests {
		if len(test.Void) > 0 || test.Decode == nil || test.Prefill == nil || test.TTFT == nil || test.Session == nil || test.Decode.Runs != 2 {
			t.Errorf("%s: %+v, void %v", test.Kind, test, test.Void)
		}
		for _, run := range test.Runs {
			if run.OutputTokens == nil || *run.OutputTokens != 128 || run.Ended != "length" {
				t.Errorf("%s: %+v", test.Kind, run)
			}
		}
	}
	if r.Load == nil || r.Load.Seconds <= 0 || r.Model.Digest == "" || r.Server.Version != "0.17.4" || !r.Unobserved {
		t.Errorf("load %+v, model %+v, server %+v", r.Load, r.Model, r.Server)
	}
	if _, listed, err := c.Server.Listed(t.Context(), "tiny"); listed || err != nil {
		t.Errorf("the model is still in memory (%v)", err)
	}
	for model, want := range map[string]string{"none": CodeNoModel, "embed": CodeEmbedding} {
		c.Model = model
		if _, err := Run(t.Context(), c); !IsKind(err, want) {
			t.Errorf("%s: %v, want %s", model, err, want)
		}
	}
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), c); !IsKind(err, CodeServer) {
		t.Errorf("a server that ended: %v", err)
	}
}

// A second client of the same model voids what it disturbs.
func TestRealSecondClientVoids(t *testing.T) {
	c, o := real(t)
	c.Plan.Runs = 1
	var over atomic.Bool
	var client sync.WaitGroup
	client.Go(func() {
		for !over.Load() { // its last request ends too: a server that loses it while it loads does not end
			body := `{"model":"tiny","prompt":"hello","stream":false,"options":{"num_predict":500,"num_ctx":4096}}`
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL+"/api/generate", strings.NewReader(body))
			if resp, err := http.DefaultClient.Do(req); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	})
	r, err := Run(t.Context(), c)
	over.Store(true)
	client.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range r.Tests {
		if test.Decode != nil || len(test.Void) == 0 {
			t.Errorf("%s: %+v, void %v", test.Kind, test.Decode, test.Void)
		}
	}
}

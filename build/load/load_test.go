package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plimsoll/build/ollama/server"
)

// drives runs the tool and returns its sum.
func drives(t *testing.T, args ...string) (*sum, bool) {
	t.Helper()
	var out strings.Builder
	good, err := drive(t.Context(), append(args, "--json"), &out)
	if err != nil {
		t.Fatal(err)
	}
	s := new(sum)
	if err := json.Unmarshal([]byte(out.String()), s); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return s, good
}

func TestLoadOnARealServer(t *testing.T) {
	ollama := server.Run(t, server.Versions[0])
	for _, path := range []string{"/api/generate", "/api/chat", "/v1/chat/completions", "/v1/completions"} {
		s, good := drives(t, "--url", ollama.URL, "--path", path, "--model", "tiny", "--clients", "3", "--requests", "12", "--output", "20")
		if !good || s.Finished != 12 || s.Tokens != 12*20 || s.Approximate || s.TTFT == nil || s.Decode == nil {
			t.Errorf("%s: %+v", path, s)
		}
	}
	if s, good := drives(t, "--url", ollama.URL, "--model", "nothing", "--requests", "2"); good || s.Failed != 2 || !strings.Contains(s.First, "not found") {
		t.Errorf("an unknown model: %+v", s)
	}
}

// TestCancelsAndSlowReaders has a server of its own: a real Ollama v0.17.4 may keep
// the place of a request for ever whose client leaves between two lines (its
// handler waits for a reader of the next one), and then answers nobody.
func TestCancelsAndSlowReaders(t *testing.T) {
	lines := strings.Repeat(`{"response":"x","done":false}`+"\n", 20) + `{"response":"","done":true,"eval_count":20}` + "\n"
	whole := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, lines)
	}))
	defer whole.Close()
	s, good := drives(t, "--url", whole.URL, "--model", "m", "--requests", "30", "--cancel", "0.5", "--slow", "0.3", "--slow-rate", "200000")
	if !good || s.Cancelled < 5 || s.Cancelled > 25 || s.Finished+s.Cancelled != 30 || s.Tokens < s.Finished*20 {
		t.Errorf("with cancels: %+v", s)
	}
}

func TestCutAnswersAreSeen(t *testing.T) {
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"message":{"content":"x"},"done":false}`+"\n")
	}))
	defer cut.Close()
	s, good := drives(t, "--url", cut.URL, "--model", "m", "--requests", "3")
	if good || s.Cut != 3 || s.First == "" {
		t.Errorf("%+v", s)
	}
}

func TestRandomStreams(t *testing.T) {
	var out strings.Builder
	good, err := random(t.Context(), []string{"--n", "100", "--seed", "7"}, &out)
	if err != nil || !good || !strings.Contains(out.String(), "100 streams") || !strings.Contains(out.String(), "0 changed, 0 lost") {
		t.Errorf("%v, %v: %s", good, err, out.String())
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{nil, {"--model", "m", "x"}, {"--model", "m", "--clients", "0"}, {"--model", "m", "--cancel", "2"}, {"--model", "m", "--path", "/x"}} {
		if _, err := drive(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestSpan(t *testing.T) {
	if s := spanOf([]float64{5, 1, 4, 2, 3}); *s != (span{3, 1, 5, 5}) || spanOf(nil) != nil {
		t.Errorf("%+v", s)
	}
}

package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// post sends one request and returns the whole body.
func post(t *testing.T, s *Server, path, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, resp.Status, all)
	}
	return string(all)
}

func TestModelsSayWhatTheyAreMadeFor(t *testing.T) {
	for _, version := range tested() {
		t.Run(version, func(t *testing.T) {
			s := Run(t, version)
			for _, row := range []struct{ what, path, body, want string }{
				{"forty words and an end", "/api/generate", `{"model":"stop","prompt":"Hello","stream":false}`, `w0038 w0039","done":true,"done_reason":"stop"`},
				{"an endless chain", "/api/generate", `{"model":"tiny","prompt":"Hello","stream":false,"options":{"num_predict":36}}`, `Then.\n\n the tide lifts a`},
				{"a character split over tokens", "/api/generate", `{"model":"forever","prompt":"Hello","stream":false,"options":{"num_predict":40}}`, `🙂 the tide`},
				{"a chosen rate", "/api/generate", `{"model":"slow","prompt":"Hello","stream":false}`, `w0199","done":true`},
				{"a tool call", "/api/chat", `{"model":"tool","stream":false,"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"get_weather","description":"weather","parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}}]}`, `"name":"get_weather","arguments":{`},
				{"an embedding", "/api/embed", `{"model":"embed","input":"Hello"}`, `"embeddings":[[`},
			} {
				if got := post(t, s, row.path, row.body); !strings.Contains(got, row.want) {
					t.Errorf("%s: want %s in\n%s", row.what, row.want, got)
				}
			}
			if version != "v0.6.5" { // it knows no thinking
				got := post(t, s, "/api/chat", `{"model":"think","stream":false,"think":true,"messages":[{"role":"user","content":"Hello"}]}`)
				if !strings.Contains(got, `"content":"Hello, and welcome to the harbour.","thinking":"The user wants a greeting. A short one will do."`) {
					t.Errorf("thinking and answer are not told apart in\n%s", got)
				}
			}
			capabilities(t, s, version)
		})
	}
}

// tested are the versions to run: the newest, and all when asked for.
func tested() []string {
	if os.Getenv("PLIMSOLL_OLLAMA_ALL") == "1" {
		return Versions
	}
	return Versions[:1]
}

func capabilities(t *testing.T, s *Server, version string) {
	t.Helper()
	if version == "v0.6.5" {
		return // thinking came later
	}
	for model, want := range map[string][]string{"tiny": {"completion"}, "think": {"completion", "thinking"}, "tool": {"completion", "tools"}, "embed": {"embedding"}} {
		var shown struct{ Capabilities []string }
		if err := json.Unmarshal([]byte(post(t, s, "/api/show", `{"model":"`+model+`"}`)), &shown); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(shown.Capabilities, want) {
			t.Errorf("%s can %q, want %q", model, shown.Capabilities, want)
		}
	}
}

func TestPauseResumeStop(t *testing.T) {
	s := Run(t, Versions[0])
	get := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := get(10 * time.Second); err != nil {
		t.Fatalf("running: %v", err)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := get(300 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("paused: %v, want a time-out", err)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := get(10 * time.Second); err != nil {
		t.Errorf("resumed: %v", err)
	}
	if err := s.Pause(); err != nil { // a paused one must be stoppable
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(s.Pid(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", s.Pid(), err)
	}
}

func TestFindTellsWhatIsMissing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("PLIMSOLL_OLLAMA", "")
	t.Setenv("PLIMSOLL_CACHE", cache)
	path, ok := Find("v0.17.4")
	if want := filepath.Join(cache, "ollama", "v0.17.4", "ollama"); ok || path != want {
		t.Errorf("found %q %v, want %q and not built", path, ok, want)
	}
	if _, err := Start(t.Context(), t.TempDir()); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("starting: %v, want %v", err, ErrNotBuilt)
	}
	program := filepath.Join(t.TempDir(), "ollama")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLIMSOLL_OLLAMA", program)
	if path, ok := Find("v0.17.4"); !ok || path != program {
		t.Errorf("found %q %v, want the one that PLIMSOLL_OLLAMA names", path, ok)
	}
	if _, ok := Find("v0.6.5"); ok {
		t.Error("PLIMSOLL_OLLAMA was taken for an old version too")
	}
	if _, err := Start(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("a program that ends at once: %v", err)
	}
}

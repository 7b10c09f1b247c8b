package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestHungServer: it answers, falls silent, and comes back; each in the time that
// a poll has.
func TestHungServer(t *testing.T) {
	hang := make(chan struct{})
	f := newFake(t, nil)
	o := backendAt(t, f.URL)
	if a := o.Poll(t.Context()); a.Status.State != Running {
		t.Fatalf("%s", pretty(a.Status))
	}
	hung := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	f.set("GET /api/ps", hung)
	began := time.Now()
	a := o.Poll(t.Context())
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the poll took %v", took)
	}
	if a.Status.State != NotAnswering || a.Residents != nil || a.Status.Version != "0.17.4" {
		t.Errorf("%s", pretty(a))
	}
	var state *StateError
	if err := o.Unload(t.Context(), "tiny"); !errors.As(err, &state) || state.State != NotAnswering {
		t.Errorf("unload: %v", err)
	}
	f.set("GET /api/ps", says(`{"models":[]}`))
	if a := o.Poll(t.Context()); a.Status.State != Running {
		t.Errorf("%s", pretty(a.Status))
	}
	// A slow list of models must not make a good answer bad.
	f.set("GET /api/tags", hung)
	o.modelsAt = time.Time{}
	if a := o.Poll(t.Context()); a.Status.State != Running || a.Residents == nil {
		t.Errorf("with /api/tags silent: %s", pretty(a.Status))
	}
	close(hang)
}

func TestCallerWhoGivesUpLearnsNothing(t *testing.T) {
	asked := make(chan struct{}, 1)
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/version": func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}})
	o := backendAt(t, f.URL)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan Answer)
	go func() { answer <- o.Poll(ctx) }()
	<-asked
	cancel()
	select {
	case a := <-answer:
		if a.Status.State != NotAnswering || o.status.State != "" {
			t.Errorf("%s, remembered as %q", pretty(a.Status), o.status.State)
		}
	case <-time.After(time.Second):
		t.Error("the poll goes on after its context ended")
	}
}

func TestCredentialsAreSentAndNeverShown(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/ps": func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "captain" || password != "s3cret@" {
			fails(401, "", "")(w, r)
			return
		}
		says(`{"models":[]}`)(w, r)
	}})
	host := strings.TrimPrefix(f.URL, "http://")
	o := backendAt(t, "http://captain:s3cret%40@"+host)
	if a := o.Poll(t.Context()); a.Status.State != Running {
		t.Errorf("%s", pretty(a.Status))
	}
	if o.Address() != f.URL {
		t.Errorf("the address is %s, want %s", o.Address(), f.URL)
	}
	wrong := backendAt(t, "http://captain:s3cret@"+host)
	closed := backendAt(t, "http://captain:s3cret@"+unused(t))
	for _, o := range []*ollama{wrong, closed} {
		a := o.Poll(t.Context())
		err := o.Unload(t.Context(), "tiny")
		for _, text := range []string{pretty(a), o.Address(), fmt.Sprint(err)} {
			if strings.Contains(text, "s3cret") || strings.Contains(text, "captain") {
				t.Errorf("credentials in %s", text)
			}
		}
	}
}

func TestConnectionsDoNotGrow(t *testing.T) {
	f := newFake(t, nil)
	o := backendAt(t, f.URL)
	for range 200 {
		if a := o.Poll(t.Context()); a.Status.State != Running {
			t.Fatalf("%s", pretty(a.Status))
		}
	}
	if n := f.opened.Load(); n > 2 {
		t.Errorf("200 polls opened %d connections", n)
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil && len(entries) > 100 {
		t.Errorf("%d files are open", len(entries))
	}
}

package meter

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestLoopsAreSeenBeforeTheStart(t *testing.T) {
	tcp := func(s string) net.Addr { a, _ := net.ResolveTCPAddr("tcp", s); return a }
	for _, c := range []struct {
		listen, upstream string
		loop             bool
	}{
		{"127.0.0.1:11435", "http://127.0.0.1:11434", false},
		{"127.0.0.1:11435", "http://127.0.0.1:11435", true},
		{"127.0.0.1:11435", "http://localhost:11435", true},
		{"127.0.0.1:11435", "http://0.0.0.0:11435", true},
		{"0.0.0.0:11435", "http://127.0.0.1:11435", true},
		{"[::]:11435", "http://localhost:11435", true},
		{"[::1]:11435", "http://127.0.0.1:11435", false},
		{"127.0.0.1:11435", "http://192.0.2.7:11435", false},
		{"127.0.0.1:11435", "http://no-such-host.invalid:11435", false},
	} {
		u, _ := url.Parse(c.upstream)
		if err := Loops(t.Context(), tcp(c.listen), u); errors.Is(err, ErrLoop) != c.loop {
			t.Errorf("listening at %s before %s: %v", c.listen, c.upstream, err)
		}
	}
}

// TestAMeterBeforeItself: the server's place was taken by the meter after the start.
func TestAMeterBeforeItself(t *testing.T) {
	up := &url.URL{Scheme: "http", Host: "to be known"}
	m := New(Config{Upstream: up})
	front := listen(t, m, io.Discard)
	up.Host = front.Host
	if err := m.Probe(t.Context()); !errors.Is(err, ErrLoop) {
		t.Errorf("the probe says %v", err)
	}
	for _, path := range []string{"/api/chat", "/"} {
		answer, err := http.Post(front.String()+path, "application/json", strings.NewReader(asks))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusLoopDetected || !strings.Contains(string(text), "--upstream") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestMetersBeforeEachOther: a leads to b, and b to a; and then b to a server.
func TestMetersBeforeEachOther(t *testing.T) {
	toA, toB := &url.URL{Scheme: "http"}, &url.URL{Scheme: "http"}
	a, b := New(Config{Upstream: toB}), New(Config{Upstream: toA})
	frontA, frontB := listen(t, a, io.Discard), listen(t, b, io.Discard)
	toA.Host, toB.Host = frontA.Host, frontB.Host
	if err := a.Probe(t.Context()); !errors.Is(err, ErrLoop) {
		t.Fatalf("the probe says %v", err)
	}
	if s := a.Status(); !s.Loop {
		t.Errorf("the status is %+v", s)
	}
	good := listen(t, says("text/plain", "Ollama is running"), io.Discard)
	c := New(Config{Upstream: good})
	toB.Host = listen(t, c, io.Discard).Host // a meter before a meter is no loop
	if err := a.Probe(t.Context()); err != nil {
		t.Errorf("the probe says %v", err)
	}
	answer, err := http.Get(frontA.String())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if string(text) != "Ollama is running" {
		t.Errorf("the answer is %d %q", answer.StatusCode, text)
	}
}

// TestTheKindOfServer: requests are told under the name that the monitor has for it.
func TestTheKindOfServer(t *testing.T) {
	for want, front := range map[string]http.HandlerFunc{
		"ollama": says("text/plain", "Ollama is running"),
		"llama-server": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "llama.cpp")
			io.WriteString(w, "<html>")
		},
		"": says("text/html", "<html>"),
	} {
		m := New(Config{Upstream: listen(t, front, io.Discard)})
		if err := m.Probe(t.Context()); err != nil || m.backend() != want {
			t.Errorf("%q is told as %q, %v", want, m.backend(), err)
		}
	}
}

// TestTheMeterTellsOfItself to who asks it, and to nobody else.
func TestTheMeterTellsOfItself(t *testing.T) {
	server := listen(t, says("text/plain", "the server"), io.Discard)
	server.User = url.UserPassword("name", "secret")
	m := New(Config{Upstream: server})
	front := listen(t, m, io.Discard)
	ask := func(header string) string {
		r, _ := http.NewRequest(http.MethodGet, front.String(), nil)
		if header != "" {
			r.Header.Set(header, "status")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	if got := ask(""); got != "the server" {
		t.Errorf("a plain question is answered with %q", got)
	}
	var s Status
	text := ask(StatusHeader)
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Upstream != "http://"+server.Host || strings.Contains(text, "secret") {
		t.Errorf("%v in %q", err, text)
	}
	if got := ask(probeHeader); got != "the server" { // another meter's probe passes
		t.Errorf("another's probe is answered with %q", got)
	}
}

// TestCredentialsOfTheAddress are sent where the client has none of its own.
func TestCredentialsOfTheAddress(t *testing.T) {
	seen := make(chan string, 2)
	server := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") }), io.Discard)
	server.User = url.UserPassword("name", "secret")
	front := listen(t, New(Config{Upstream: server}), io.Discard)
	for own, want := range map[string]string{"": "Basic bmFtZTpzZWNyZXQ=", "Bearer mine": "Bearer mine"} {
		r, _ := http.NewRequest(http.MethodGet, front.String(), nil)
		if own != "" {
			r.Header.Set("Authorization", own)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := <-seen; got != want {
			t.Errorf("with %q the server saw %q, want %q", own, got, want)
		}
	}
}

package backend

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// raw listens and hands every connection to a function, which owns it.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// silent accepts and says nothing until the client goes.
func silent(c net.Conn) { io.Copy(io.Discard, c) }

// bytesThenClose answers any request with bytes of its own.
func bytesThenClose(s string) func(net.Conn) {
	return func(c net.Conn) {
		c.Read(make([]byte, 4096))
		io.WriteString(c, s)
	}
}

// unused is an address where nothing listens.
func unused(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func tlsServer(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// answering is a fake that gives one answer to everything.
func answering(t *testing.T, answer http.HandlerFunc) string {
	return newFake(t, map[string]http.HandlerFunc{
		"GET /api/version": answer, "GET /api/ps": answer, "GET /api/tags": answer,
	}).URL
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestStates(t *testing.T) {
	const html = "<!doctype html><title>Sign in</title>"
	good := newFake(t, nil)
	tls := tlsServer(t, good)
	for _, row := range []struct {
		what, server string
		state        State
		cause        string
		detail       string // part of Detail
	}{
		{"a server", good.URL, Running, "", ""},
		{"nothing listens", unused(t), NotRunning, "", "connection refused"},
		{"no such name", "no-such-host.invalid", NotRunning, "no_such_host", "no such host"},
		{"accepted and silent", raw(t, silent), NotAnswering, "", ""},
		{"https, accepted and silent", "https://" + raw(t, silent), NotAnswering, "", ""},
		{"basic login", answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="models"`)
			w.WriteHeader(http.StatusUnauthorized)
		}), LoginNeeded, "", "401 Unauthorized"},
		{"bearer login with a JSON body", answering(t, fails(401, "application/json", `{"error":"missing token"}`)), LoginNeeded, "", "missing token"},
		{"a login page under 403", answering(t, fails(403, "text/html", html)), LoginNeeded, "", "403 Forbidden"},
		{"a redirect to a login page", answering(t, redirect("https://id.example.com/oauth2/login?next=/")), LoginNeeded, "", "another address"},
		{"a bare 403, as Ollama refuses a foreign Host", answering(t, replay(t, "v0.17.4-default", "err-foreign-host")), Failed, "forbidden_host", "403 Forbidden"},
		{"https to a plain server", "https://" + strings.TrimPrefix(good.URL, "http://"), Failed, "tls_to_plain", "HTTP response to HTTPS client"},
		{"https to a server that speaks no TLS", "https://" + raw(t, bytesThenClose("SSH-2.0-OpenSSH_9.2\r\n")), Failed, "tls_to_plain", ""},
		{"plain to a TLS server", "http://" + strings.TrimPrefix(tls.URL, "https://"), Failed, "plain_to_tls", "HTTP request to an HTTPS server"},
		{"plain to a TLS server that sends an alert", raw(t, bytesThenClose("\x15\x03\x01\x00\x02\x02\x16")), Failed, "plain_to_tls", ""},
		{"plain, redirected to https", answering(t, redirect("https://127.0.0.1/api/version")), Failed, "plain_to_tls", ""},
		{"a certificate nobody knows", tls.URL, Failed, "bad_certificate", "certificate"},
		{"something that speaks no HTTP", raw(t, bytesThenClose("SSH-2.0-OpenSSH_9.2\r\n\r\n")), Failed, "not_this_server", "malformed HTTP"},
		{"another web server", answering(t, http.NotFound), Failed, "not_this_server", "404 Not Found"},
		{"a page for every path", answering(t, fails(200, "text/html", html)), Failed, "not_this_server", "web page"},
		{"JSON of another server", answering(t, says(`{"status":"ok"}`)), Failed, "not_this_server", ""},
		{"a JSON list", answering(t, says(`[]`)), Failed, "not_this_server", ""},
		{"text", answering(t, fails(200, "text/plain", "Hello")), Failed, "not_this_server", "not JSON"},
		{"an empty reply", answering(t, fails(200, "", "")), Failed, "not_this_server", "empty"},
		{"a redirect elsewhere", answering(t, redirect("https://www.example.com/")), Failed, "not_this_server", ""},
		{"an error of the server", answering(t, fails(500, "application/json", `{"error":"out of file handles"}`)), Failed, "", "500 Internal Server Error: out of file handles"},
		{"a gateway without a server behind it", answering(t, fails(502, "text/html", html)), Failed, "", "502 Bad Gateway"},
		{"a reply cut off", raw(t, bytesThenClose("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"version\":")), Failed, "", "unexpected EOF"},
		{"half a JSON object", answering(t, says(`{"version":"0.1`)), Failed, "", "JSON"},
		{"closed at once", raw(t, bytesThenClose("")), Failed, "closed", "EOF"},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			o := backendAt(t, row.server)
			a := o.Poll(t.Context())
			if a.Status.State != row.state || a.Status.Cause != row.cause || !strings.Contains(a.Status.Detail, row.detail) {
				t.Errorf("%s %q %q, want %s %q with %q", a.Status.State, a.Status.Cause, a.Status.Detail, row.state, row.cause, row.detail)
			}
			if (a.Residents != nil) != (row.state == Running) {
				t.Errorf("residents are %v", a.Residents)
			}
			if (a.Status.Answered != nil) != (row.state == Running) || (a.Status.RoundTrip != nil) != (row.state == Running) {
				t.Errorf("answered %v after %v", a.Status.Answered, a.Status.RoundTrip)
			}
			if a.Status.Name != "ollama" || a.Status.Kind != "ollama" || a.Status.Address != o.Address() {
				t.Errorf("it is %s", pretty(a.Status))
			}
			if row.state != Running {
				err := o.Unload(t.Context(), "tiny")
				var state *StateError
				if !errors.As(err, &state) || state.State != row.state || state.Cause != row.cause {
					t.Errorf("unload: %v, want a StateError with %s %q", err, row.state, row.cause)
				}
			}
		})
	}
}

func TestNoDowngradeFromHTTPS(t *testing.T) {
	f := newFake(t, nil)
	o := backendAt(t, "https://"+strings.TrimPrefix(f.URL, "http://"))
	if a := o.Poll(t.Context()); a.Status.Cause != "tls_to_plain" {
		t.Errorf("%s %q", a.Status.State, a.Status.Cause)
	}
	if asked := f.requests(); len(asked) > 0 {
		t.Errorf("it was asked in plain: %v", asked)
	}
}

func TestUnknownBrokenRunningLists(t *testing.T) {
	for what, body := range map[string]string{
		"half a reply":      `{"models":[{"name":"tiny:latest","model":"tiny:latest","si`,
		"another type":      `{"models":{"tiny":1}}`,
		"a size in words":   `{"models":[{"name":"tiny","model":"tiny","size":"big"}]}`,
		"a date that fails": `{"models":[{"name":"tiny","model":"tiny","expires_at":"soon"}]}`,
		"no list":           `{}`,
	} {
		f := newFake(t, map[string]http.HandlerFunc{"GET /api/tags": replay(t, "v0.17.4-default", "tags")})
		o := backendAt(t, f.URL)
		if a := o.Poll(t.Context()); a.Status.State != Running || len(a.Models) != 10 {
			t.Fatalf("%s: %s %s, %d models", what, a.Status.State, a.Status.Detail, len(a.Models))
		}
		f.set("GET /api/ps", says(body))
		a := o.Poll(t.Context())
		if a.Status.State != Failed || a.Status.Detail == "" || a.Residents != nil {
			t.Errorf("%s: %s", what, pretty(a))
		}
		if len(a.Models) != 10 || a.Status.Version != "0.17.4" || a.Status.Answered == nil {
			t.Errorf("%s: what was known is lost: %s", what, pretty(a))
		}
		f.set("GET /api/ps", says(`{"models":null}`))
		if a := o.Poll(t.Context()); a.Status.State != Running || a.Status.Detail != "" || a.Residents == nil {
			t.Errorf("%s: it does not come back: %s", what, pretty(a))
		}
	}
}

func TestEndlessReplyIsCutOff(t *testing.T) {
	sent := make(chan int64, 1)
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/ps": func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"models":[`)
		n, chunk := int64(0), []byte(strings.Repeat(" ", 64<<10))
		for {
			m, err := w.Write(chunk)
			if n += int64(m); err != nil {
				sent <- n
				return
			}
		}
	}})
	a := backendAt(t, f.URL).Poll(t.Context())
	if a.Status.State != Failed || !strings.Contains(a.Status.Detail, "longer than 8 MiB") {
		t.Errorf("%s %q", a.Status.State, a.Status.Detail)
	}
	select {
	case n := <-sent:
		if n > 64<<20 {
			t.Errorf("%d bytes were taken", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("the connection stays open")
	}
}

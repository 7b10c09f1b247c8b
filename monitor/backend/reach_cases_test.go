package backend

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// through replaces how the backend connects.
func through(t *testing.T, server string, dial func(context.Context, string, string) (net.Conn, error)) *ollama {
	t.Helper()
	b, err := NewOllama(server)
	if err != nil {
		t.Fatal(err)
	}
	o := b.(*ollama)
	o.http.Transport.(*transport).next.DialContext = dial
	return o
}

// silentNet is a network where nobody is: packets get no answer. A dial outlives
// its request, so it has a limit of its own.
func silentNet(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	return nil, ctx.Err()
}

func refusing(err error) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, network, address string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", err)}
	}
}

// A machine that is asleep, a network that is away and a server that accepts and
// says nothing ask for different things of a person.
func TestUnreachableIsNotSilent(t *testing.T) {
	for _, test := range []struct {
		what, server string
		dial         func(context.Context, string, string) (net.Conn, error)
		state        State
		cause        string
	}{
		{"a machine that is asleep", "192.168.1.13", silentNet, NotAnswering, "unreachable"},
		{"a name that nobody could look up in time", "studio.local", func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", Name: "studio.local", IsTimeout: true}}
		}, NotAnswering, "unreachable"},
		{"a name server that is broken", "studio.local", func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "studio.local", IsTemporary: true}}
		}, NotAnswering, "unreachable"},
		{"no route", "192.168.1.13", refusing(syscall.EHOSTUNREACH), NotAnswering, "unreachable"},
		{"no network", "10.0.0.7", refusing(syscall.ENETUNREACH), NotAnswering, "unreachable"},
		{"this machine, too busy to accept", "127.0.0.1", silentNet, NotAnswering, ""},
		{"this machine by name", "localhost", silentNet, NotAnswering, ""},
		{"nothing listens", "192.168.1.13", refusing(syscall.ECONNREFUSED), NotRunning, ""},
		{"accepted and silent", raw(t, silent), nil, NotAnswering, ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			o := backendAt(t, test.server)
			if test.dial != nil {
				o = through(t, test.server, test.dial)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if s := o.Poll(ctx).Status; s.State != test.state || s.Cause != test.cause {
				t.Errorf("%s %q (%s), want %s %q", s.State, s.Cause, s.Detail, test.state, test.cause)
			}
			err := o.Unload(ctx, "m")
			var state *StateError
			if !errors.As(err, &state) || state.State != test.state {
				t.Errorf("unload: %v, want a StateError with %s", err, test.state)
			}
		})
	}
}

// A connection that was there before and fell silent is no unreachable machine.
func TestSilenceOnAnOldConnection(t *testing.T) {
	mute := make(chan struct{})
	quiet := func(http.ResponseWriter, *http.Request) { <-mute }
	f := newFake(t, nil)
	defer close(mute)
	o := through(t, "192.168.1.13:11434", func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(f.URL, "http://"))
	})
	if s := o.Poll(t.Context()).Status; s.State != Running {
		t.Fatalf("%s %s", s.State, s.Detail)
	}
	f.set("GET /api/ps", quiet)
	f.set("GET /api/version", quiet)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if s := o.Poll(ctx).Status; s.State != NotAnswering || s.Cause != "" {
		t.Errorf("%s %q, want not answering and no cause", s.State, s.Cause)
	}
}

// A connection that ends without a word, as a container's port does while no
// server listens inside.
func TestConnectionsThatAreClosed(t *testing.T) {
	reset := func(c net.Conn) {
		c.Read(make([]byte, 4096))
		c.(*net.TCPConn).SetLinger(0)
	}
	for what, serve := range map[string]func(net.Conn){"closed": bytesThenClose(""), "reset": reset} {
		if s := backendAt(t, raw(t, serve)).Poll(t.Context()).Status; s.State != Failed || s.Cause != "closed" {
			t.Errorf("%s: %s %q (%s), want failed and closed", what, s.State, s.Cause, s.Detail)
		}
	}
}

// A proxy that refuses is not taken for the server behind it.
func TestProxyThatRefuses(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="company"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	for _, at := range []string{proxy.URL, "http://" + unused(t)} {
		by, _ := url.Parse(at)
		o := backendAt(t, "http://models.example.com:11434")
		o.http.Transport.(*transport).next.Proxy = http.ProxyURL(by)
		if s := o.Poll(t.Context()).Status; s.State != Failed || s.Cause != "proxy" {
			t.Errorf("%s %q (%s), want failed by the proxy", s.State, s.Cause, s.Detail)
		}
	}
}

// Half a URL is told as such and not looked up as a machine named "http".
func TestHalfURLs(t *testing.T) {
	for _, s := range []string{"http:/127.0.0.1:11434", "http//127.0.0.1:11434", "https:/box", "HTTP:/box/", "http:", "https"} {
		if u, err := ParseHost(s); !errors.Is(err, ErrAddress) {
			t.Errorf("%q is %v, want an error", s, u)
		} else if want := "://"; !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say how it is written", s, err)
		}
	}
	if u, err := ParseHost("http://http:8080"); err != nil || u.Host != "http:8080" {
		t.Errorf("%v, %v: a machine may be named so", u, err)
	}
}

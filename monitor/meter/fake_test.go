package meter

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/monitor/request"
)

// deadline is how long a test waits for what must come.
const deadline = 30 * time.Second

// pipes is a network in memory: a listener and the way to it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bench is a server, a meter before it and a client, in memory.
type bench struct {
	meter  *Meter
	client *http.Client
	url    string

	mu       sync.Mutex
	reports  []request.Request
	finished chan Finished
}

// newBench puts a meter before a server. stop ends both and waits for nothing.
func newBench(t *testing.T, server http.HandlerFunc, change func(*Config)) *bench {
	t.Helper()
	b := &bench{finished: make(chan Finished, 1024), url: "http://meter.internal"}
	front, back := newPipes(), newPipes()
	c := Config{
		Upstream: &url.URL{Scheme: "http", Host: "server.internal:11434"}, Backend: "ollama", Dial: back.dial,
		Report:   func(r request.Request) { b.mu.Lock(); b.reports = append(b.reports, r); b.mu.Unlock() },
		Finished: func(f Finished) { b.finished <- f },
	}
	if change != nil {
		change(&c)
	}
	b.meter = New(c)
	up, own := &http.Server{Handler: server, ErrorLog: quiet}, &http.Server{Handler: b.meter, ErrorLog: quiet}
	go up.Serve(back)
	go own.Serve(front)
	web := &http.Transport{DialContext: front.dial, DisableCompression: true}
	b.client = &http.Client{Transport: web}
	t.Cleanup(func() {
		web.CloseIdleConnections()
		own.Close()
		b.meter.Close()
		up.Close()
	})
	return b
}

// ask posts a body and returns the answer and its bytes.
func (b *bench) ask(t *testing.T, path, body string) (*http.Response, string) {
	t.Helper()
	answer, err := b.client.Post(b.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%v after %q", err, all)
	}
	return answer, string(all)
}

// next is the next request that is over.
func (b *bench) next(t *testing.T) Finished {
	t.Helper()
	select {
	case f := <-b.finished:
		return f
	case <-time.After(deadline):
		t.Fatal("no request was finished")
		panic("unreachable")
	}
}

// told reports whether anything was finished, once nothing is in flight.
func (b *bench) told() bool {
	for b.meter.InFlight() > 0 {
		runtime.Gosched()
	}
	return len(b.finished) > 0
}

// metered asks and returns what the meter says of it.
func (b *bench) metered(t *testing.T, path, body string) Finished {
	t.Helper()
	b.ask(t, path, body)
	return b.next(t)
}

// says answers with pieces, each written by itself and flushed.
func says(contentType string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		for _, p := range pieces {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

const (
	ndjson = "application/x-ndjson"
	sse    = "text/event-stream"
	jsonOf = "application/json; charset=utf-8"
	asks   = `{"model":"m","prompt":"Say something"}`
)

// raw is a server that reads one request and writes bytes as they stand.
func raw(t *testing.T, answer string) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				io.Copy(io.Discard, r.Body)
				io.WriteString(conn, answer)
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func near(t *testing.T, what string, got *request.Number, want, share float64) {
	t.Helper()
	if got == nil || got.Value < want*(1-share) || got.Value > want*(1+share) {
		t.Errorf("%s is %v, want %g", what, got, want)
	}
}

func has(t *testing.T, r request.Request, notes ...request.Note) {
	t.Helper()
	if len(r.Notes) != len(notes) {
		t.Errorf("notes are %q, want %q", r.Notes, notes)
		return
	}
	for i, n := range notes {
		if r.Notes[i] != n {
			t.Errorf("notes are %q, want %q", r.Notes, notes)
		}
	}
}

func counted(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// Package meter carries requests to a model server and counts what passes: how
// long until the first token, how many tokens, how fast.
//
//	client ─► ServeHTTP ─► gate ─► httputil.ReverseProxy ─► model server
//	                        │            │
//	                     prompt        reply ─► Report, Finished
//
// Every byte passes unchanged and at once. What is counted is read beside the way:
// JSON that goes by is scanned and not kept (scan), answers are divided into
// records however they are framed and cut (records), and figures are settled at
// the end. Nothing that fails here reaches a client: an answer that cannot be read
// passes as well as one that can.
//
// It is a process of its own (plimsoll meter), so that neither agent nor window can
// take a request down, and it logs nothing: what it has to say are reports.
package meter

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/monitor/request"
)

// Config is what a Meter is made of. Upstream is needed, the rest may be left out.
type Config struct {
	// Upstream is the base URL of the model server. User and password in it are
	// sent where a client sends no Authorization of its own.
	Upstream *url.URL
	// Backend is the name under which the monitor knows that server; "" is the
	// usual one of its kind.
	Backend string
	// Report is told of a request when it begins, when its first token comes, about
	// twice a second while tokens come, and when it ends; Finished of each that is
	// over. Neither may block, nor call the meter.
	Report   func(request.Request)
	Finished func(Finished)
	// Boundary is what requests may ask for, Pace how long a new one waits at most
	// while the GPU is slowed (0: it does not).
	Boundary Boundary
	Pace     time.Duration
	// Dial connects to the server; nil is the network's own way.
	Dial Dial
	// Proxy is for servers outside of this network; nil uses none, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

// Meter is an http.Handler. Its methods may be called from any goroutine.
type Meter struct {
	config Config
	proxy  *httputil.ReverseProxy
	web    *http.Transport
	single *http.Transport // a connection for each request
	known  known
	nonce  string
	number atomic.Uint64
	chain  chain
	pacer  pacer

	mu       sync.Mutex
	flying   map[*exchange]struct{}
	admitted int         // past the gate and not over
	clock    *time.Timer // runs while anything is in flight
}

// sampleEvery is how often requests in flight are told of.
const sampleEvery = 500 * time.Millisecond

// New makes a Meter. It contacts nobody yet.
func New(config Config) *Meter {
	m := &Meter{config: config, nonce: nonce(), flying: map[*exchange]struct{}{}, known: known{models: map[string]*knownModel{}}}
	m.pacer.open = make(chan struct{})
	close(m.pacer.open)
	m.chain.own = map[ends]bool{}
	m.web, m.single = m.transport(keptConnections), m.transport(-1)
	m.proxy = &httputil.ReverseProxy{
		Rewrite: m.rewrite, Transport: m, FlushInterval: -1, BufferPool: buffers{},
		ModifyResponse: m.answered, ErrorHandler: m.unreached, ErrorLog: quiet,
	}
	return m
}

func nonce() string {
	b := make([]byte, 8)
	rand.Read(b) //nolint:errcheck // it never fails
	return hex.EncodeToString(b)
}

// nextID is unique among all meters: agents see several, one after the other.
func (m *Meter) nextID() string { return fmt.Sprintf("meter-%s-%d", m.nonce[:8], m.number.Add(1)) }

// endpoints are the paths, asked with POST, that make a model work.
var endpoints = map[string]bool{
	"/api/generate": true, "/api/chat": true, "/api/embed": true, "/api/embeddings": true,
	"/v1/chat/completions": true, "/v1/completions": true, "/v1/responses": true, "/v1/messages": true, "/v1/embeddings": true,
	// llama-server's own, and LM Studio's.
	"/completion": true, "/completions": true, "/chat/completions": true, "/infill": true, "/embedding": true, "/embeddings": true,
	"/api/v0/chat/completions": true, "/api/v0/completions": true, "/api/v0/embeddings": true, "/api/v1/chat": true,
}

// ServeHTTP passes a request on and its answer back. Requests that make a model
// work are counted.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.own(w, r) {
		return
	}
	// What the server does not say, net/http would make up.
	w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
	// Without this, net/http closes the request's body when the answer begins, and
	// streams are cut (golang/go#40747: 65 of 600 with a fast server, 0 with it).
	http.NewResponseController(w).EnableFullDuplex() //nolint:errcheck // HTTP/2 has it anyway
	// And with it, a body that the server did not read to its end makes the next
	// request of this client fail (golang/go#68560), unless it is closed here.
	defer r.Body.Close()
	if r.Method != http.MethodPost || !endpoints[r.URL.Path] {
		m.proxy.ServeHTTP(w, r)
		return
	}
	x := m.begin(r.Context(), r.URL.Path)
	defer x.end()
	r = r.WithContext(withExchange(r.Context(), x))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &sentBody{ReadCloser: r.Body, x: x}
	}
	leave, ok := m.admit(w, r, x)
	defer leave()
	if !ok {
		return
	}
	x.passOn()
	m.proxy.ServeHTTP(w, r)
}

// enterFlight and leaveFlight keep what is under way, and the clock that reports
// it while there is anything.
func (m *Meter) enterFlight(x *exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flying[x] = struct{}{}
	if m.clock == nil {
		m.clock = time.AfterFunc(sampleEvery, m.sample)
	} else if len(m.flying) == 1 {
		m.clock.Reset(sampleEvery)
	}
}

func (m *Meter) leaveFlight(x *exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.flying, x); len(m.flying) == 0 {
		m.clock.Stop()
	}
}

// sample reports what is in flight.
func (m *Meter) sample() {
	m.mu.Lock()
	flying := slices.Collect(maps.Keys(m.flying))
	if len(flying) > 0 {
		m.clock.Reset(sampleEvery)
	}
	m.mu.Unlock()
	for _, x := range flying {
		x.mu.Lock()
		if !x.over && x.ready() {
			x.report()
		}
		x.mu.Unlock()
	}
}

// InFlight is how many counted requests are under way.
func (m *Meter) InFlight() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.flying)
}

// Close drops the connections to the server that are not in use.
func (m *Meter) Close() { m.web.CloseIdleConnections() }

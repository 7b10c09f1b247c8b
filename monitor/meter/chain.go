package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrLoop says that the server which is to be asked is the meter itself.
var ErrLoop = errors.New("the meter would ask itself")

const (
	// probeHeader marks the question with which a meter finds out whether what it
	// asks leads back to it. StatusHeader, with any value, asks the meter itself
	// for its Status. Neither is on requests that pass.
	probeHeader  = "Plimsoll-Probe"
	StatusHeader = "Plimsoll-Meter"
	// probePatience is how long a server may take to answer the probe.
	probePatience = 3 * time.Second
)

// chain is what the meter knows of the way client → meter → server.
type chain struct {
	mu   sync.Mutex
	own  map[ends]bool // the connections to the server
	down atomic.Bool   // the server did not accept the last connection
	loop atomic.Bool   // the server is this meter, over one or more others
	// closed is when the server last closed a connection.
	closed atomic.Pointer[time.Time]
	// probing: one probe is under way.
	probing atomic.Bool
	kind    atomic.Pointer[string] // of the server, nil when it did not say
}

// ends are both addresses of a connection, as its beginning has them: one alone
// may be another connection's too.
type ends struct{ from, to string }

// Loops fails with ErrLoop when a server at an upstream address is what listens at
// an address of this machine. Names are resolved; one that cannot be is no loop.
func Loops(ctx context.Context, listen net.Addr, upstream *url.URL) error {
	at, err := netip.ParseAddrPort(listen.String())
	if err != nil || upstream.Port() != fmt.Sprint(at.Port()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", upstream.Hostname())
	if err != nil {
		return nil
	}
	here := addresses()
	for _, ip := range found {
		ip = ip.Unmap().WithZone("")
		own := ip.IsLoopback() || ip.IsUnspecified() || here[ip]
		if ip == at.Addr().Unmap() || own && (at.Addr().IsUnspecified() || ip.IsUnspecified()) {
			return fmt.Errorf("%w: %s is where it listens", ErrLoop, upstream.Host)
		}
	}
	return nil
}

// addresses are those of this machine.
func addresses() map[netip.Addr]bool {
	here := map[netip.Addr]bool{}
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			here[p.Addr().Unmap().WithZone("")] = true
		}
	}
	return here
}

// dialled notes a connection to the server, by which a request that comes back is
// known, and finds out where the chain leads when the server has begun to answer.
func (m *Meter) dialled(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		m.chain.down.Store(true)
		return nil, err
	}
	if m.chain.down.Swap(false) {
		go m.Probe(context.Background()) //nolint:errcheck // it is for what it notes
	}
	if _, tcp := conn.LocalAddr().(*net.TCPAddr); !tcp {
		return conn, nil
	}
	own := &ownConn{conn, &m.chain, ends{conn.LocalAddr().String(), conn.RemoteAddr().String()}}
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	m.chain.own[own.ends] = true
	return own, nil
}

// ownConn is a connection to the server.
type ownConn struct {
	net.Conn
	chain *chain
	ends  ends
}

// Read notes that the server closed the connection, which one that answers over
// HTTP/1.1 does not do unless it says so before.
func (c *ownConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		c.chain.closed.Store(new(time.Now()))
	}
	return n, err
}

func (c *ownConn) Close() error {
	c.chain.mu.Lock()
	delete(c.chain.own, c.ends)
	c.chain.mu.Unlock()
	return c.Conn.Close()
}

// own answers what is not to be passed on: requests that came from this meter, and
// questions to it.
func (m *Meter) own(w http.ResponseWriter, r *http.Request) bool {
	asked := r.Header.Get(StatusHeader) != "" && fromHere(r)
	if m.chain.loop.Load() {
		go m.Probe(context.Background()) //nolint:errcheck // it notes when that is over
	}
	switch {
	case m.fromOwn(r), m.chain.loop.Load() && !asked, r.Header.Get(probeHeader) == m.nonce:
		w.Header().Set(StatusHeader, "loop")
		refuse(w, r, http.StatusLoopDetected, "loop", fmt.Sprintf("plimsoll meter: the model server's address (%s) leads back to the meter; name the server itself with --upstream", m.config.Upstream.Host))
		return true
	case !asked:
		return false
	}
	w.Header().Set(StatusHeader, "status")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(m.Status()) //nolint:errcheck // who asked may be gone
	return true
}

// fromOwn reports a request that came over a connection of this meter.
func (m *Meter) fromOwn(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	return m.chain.own[ends{r.RemoteAddr, at.String()}]
}

// fromHere reports a client on this machine.
func fromHere(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err != nil || at.Addr().Unmap().IsLoopback()
}

// Status is the meter itself.
type Status struct {
	Upstream string `json:"upstream"`
	InFlight int    `json:"in_flight"`
	Counted  uint64 `json:"counted"`
	Loop     bool   `json:"loop,omitzero"`
}

// Status tells what the meter does now.
func (m *Meter) Status() Status {
	up := *m.config.Upstream
	up.User = nil
	return Status{Upstream: up.String(), InFlight: m.InFlight(), Counted: m.number.Load(), Loop: m.chain.loop.Load()}
}

// kindOf tells the kind of server by its front page, under the names that the
// monitor has for them.
func kindOf(header http.Header, page []byte) string {
	switch {
	case header.Get("Server") == "llama.cpp":
		return "llama-server"
	case bytes.HasPrefix(page, []byte("Ollama is running")):
		return "ollama"
	}
	return ""
}

// backend is the name under which the monitor knows the server, "" when the meter
// cannot tell.
func (m *Meter) backend() string {
	if kind := m.chain.kind.Load(); m.config.Backend == "" && kind != nil {
		return *kind
	}
	return m.config.Backend
}

// Probe asks the server's front page, which loads nothing, and fails with ErrLoop
// when that question comes back to this meter, or with why there is no answer.
func (m *Meter) Probe(ctx context.Context) error {
	if m.chain.probing.Swap(true) {
		return nil // the answer to the other one tells
	}
	defer m.chain.probing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.config.Upstream.String(), nil)
	if err != nil {
		return fmt.Errorf("asking the model server: %w", err)
	}
	r.Header.Set(probeHeader, m.nonce)
	answer, err := m.web.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("asking the model server: %w", err)
	}
	defer answer.Body.Close()
	page, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // what can be read of it
	if kind := kindOf(answer.Header, page); kind != "" {
		m.chain.kind.Store(&kind)
	}
	loop := answer.StatusCode == http.StatusLoopDetected && answer.Header.Get(StatusHeader) == "loop"
	m.chain.loop.Store(loop)
	if loop {
		return fmt.Errorf("%w over %s", ErrLoop, m.config.Upstream.Host)
	}
	return nil
}

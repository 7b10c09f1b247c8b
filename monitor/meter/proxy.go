package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Dial is net.Dialer.DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	// dialPatience is for the connection alone.
	dialPatience = 10 * time.Second
	// idleConnection is how long a connection to the server is kept for the next
	// request. LM Studio's server closes one after 5 s: a request on its way then
	// would fail for no fault of its own.
	idleConnection = 2 * time.Second
	// keptConnections is how many are kept.
	keptConnections = 16
	// closesFor is how long a server counts as one that closes connections without a
	// word after it did.
	closesFor = time.Minute
	// copySize is the most bytes that pass at once.
	copySize = 32 << 10
)

// RoundTrip asks the server over a connection that is kept, or over one of its own
// where the server closes those without a word: a request that meets that would fail
// (32 of 1500 did), and may not be sent twice.
func (m *Meter) RoundTrip(r *http.Request) (*http.Response, error) {
	if at := m.chain.closed.Load(); at != nil && time.Since(*at) < closesFor && r.Method == http.MethodPost {
		return m.single.RoundTrip(r)
	}
	return m.web.RoundTrip(r)
}

// transport has no time-out for anything but connecting: a server is silent for
// as long as it loads, queues and reads a prompt. It keeps so many connections for
// the next request.
func (m *Meter) transport(kept int) *http.Transport {
	dial := m.config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialPatience, KeepAlive: 15 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy: m.config.Proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return m.dialled(conn, err)
		},
		DisableCompression:  true, // it would ask for what the client did not
		MaxIdleConnsPerHost: kept,
		IdleConnTimeout:     idleConnection,
		TLSHandshakeTimeout: dialPatience,
	}
}

// rewrite turns the request to the server. But for the server's name in Host, and
// what belongs to one connection alone, it is as the client wrote it.
func (m *Meter) rewrite(p *httputil.ProxyRequest) {
	up := m.config.Upstream
	p.Out.URL.Scheme, p.Out.URL.Host = up.Scheme, up.Host
	if base := strings.TrimSuffix(up.EscapedPath(), "/"); base != "" {
		joined, err := url.Parse(base + p.In.URL.EscapedPath())
		if err == nil {
			p.Out.URL.Path, p.Out.URL.RawPath = joined.Path, joined.RawPath
		}
	}
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = up.Host
	if stranger(p.In) {
		p.Out.Host = p.In.Host
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
	if up.User != nil && p.In.Header.Get("Authorization") == "" {
		password, _ := up.User.Password()
		p.Out.SetBasicAuth(up.User.Username(), password)
	}
}

// stranger reports a browser that came by a name which is not a local one. A page
// can make its own name lead to this machine (DNS rebinding); servers refuse such
// a Host, so it must reach them. Other programs may use any name.
func stranger(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	for _, end := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, end) {
			return false
		}
	}
	return strings.HasPrefix(r.UserAgent(), "Mozilla/") || r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" ||
		r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Accept-Language") != ""
}

// answered puts the counting body around an answer.
func (m *Meter) answered(answer *http.Response) error {
	x := exchangeOf(answer.Request.Context())
	if x == nil || answer.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	coding := strings.ToLower(answer.Header.Get("Content-Encoding"))
	x.answered(answer.StatusCode, framingOf(answer.Header.Get("Content-Type")), coding != "" && coding != "identity")
	answer.Body = &replyBody{ReadCloser: answer.Body, x: x}
	return nil
}

// unreached answers a client for whom there is no server, in the words that the
// clients of each interface show.
func (m *Meter) unreached(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	if r.Context().Err() != nil || errors.Is(err, errClientGone) {
		if x != nil {
			x.fail(err, 0)
		}
		return
	}
	if x != nil {
		x.fail(err, http.StatusBadGateway)
	}
	refuse(w, r, http.StatusBadGateway, "api_error", fmt.Sprintf("plimsoll meter: the model server at %s cannot be reached: %v", m.config.Upstream.Host, err))
}

// errClientGone is why a request's body could not be read to its end.
var errClientGone = errors.New("the client has gone")

// sentBody is the body of a request on its way.
type sentBody struct {
	io.ReadCloser
	x *exchange
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	b.x.prompt.feed(p[:n])
	if err == io.EOF {
		b.x.report()
	} else if err != nil {
		err = fmt.Errorf("%w: %w", errClientGone, err)
	}
	return n, err
}

// replyBody is the body of an answer on its way. What a Read returned is looked at
// when the next one is asked for, by when it has been passed on: nobody waits.
type replyBody struct {
	io.ReadCloser
	x      *exchange
	behind []byte // read, passed on, not looked at
	came   time.Time
}

func (b *replyBody) Read(p []byte) (int, error) {
	b.look()
	n, err := b.ReadCloser.Read(p)
	b.came = time.Now()
	b.behind = append(b.behind[:0], p[:n]...)
	switch {
	case err == io.EOF:
		b.look()
		b.x.endOfBytes(nil)
	case err != nil:
		b.look()
		b.x.endOfBytes(err)
	}
	return n, err
}

// look counts what was passed on.
func (b *replyBody) look() {
	if len(b.behind) == 0 {
		return
	}
	b.x.passed(b.behind, b.came, time.Since(b.came))
	b.behind = b.behind[:0]
}

func (b *replyBody) Close() error {
	b.look()
	return b.ReadCloser.Close()
}

// buffers are shared by all answers on their way.
type buffers struct{}

var pool = sync.Pool{New: func() any { return new([copySize]byte) }}

func (buffers) Get() []byte  { return pool.Get().(*[copySize]byte)[:] }
func (buffers) Put(b []byte) { pool.Put((*[copySize]byte)(b)) }

// quiet takes what net/http has to say of broken connections.
var quiet = log.New(io.Discard, "", 0)

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

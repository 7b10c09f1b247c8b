package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	// pollLimit is the most that one Poll takes. With polls 2 s apart, a server
	// that falls silent is seen within 4 s.
	pollLimit = 1800 * time.Millisecond
	// commandLimit is the most that a command takes. A server answers an unload
	// in milliseconds even while the model is busy.
	commandLimit = 5 * time.Second
	// replyLimit is the longest reply that is read. /api/show of a model with a
	// licence and thousands of tensors stays under 1 MB; /api/tags needs 350
	// bytes a model.
	replyLimit = 8 << 20
)

var (
	errTooLong  = fmt.Errorf("the reply is longer than %d MiB", replyLimit>>20)
	errRedirect = errors.New("the server sends to another address")
)

// exchange is one request and its reply, as the transport saw them. The client
// library keeps of a reply only what it decodes; the rest of it, that a field was
// absent above all, is read from here.
type exchange struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration // until the end of the body
	// connected: a connection came about. Dials run in goroutines of their own.
	connected atomic.Bool
}

type exchangeKey struct{}

// observed makes calls with the context leave their exchange.
func observed(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				x.connected.Store(true)
			}
		},
		GotConn: func(httptrace.GotConnInfo) { x.connected.Store(true) }, // one of an earlier call
	})
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// transport reads replies whole, up to replyLimit, and adds the credentials,
// which therefore are in no URL and in no error.
type transport struct {
	next *http.Transport
	user *url.Userinfo
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	if t.user != nil {
		req = req.Clone(req.Context())
		password, _ := t.user.Password()
		req.SetBasicAuth(t.user.Username(), password)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, replyLimit+1))
	resp.Body.Close()
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x != nil {
		x.status, x.header, x.body, x.took = resp.StatusCode, resp.Header, body, time.Since(began)
	}
	if err == nil && len(body) > replyLimit {
		err = errTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// newClient makes the HTTP client for one server.
func newClient(base *url.URL, proxy func(*http.Request) (*url.URL, error)) *http.Client {
	dialer := &net.Dialer{Timeout: pollLimit, KeepAlive: 15 * time.Second}
	next := &http.Transport{
		DialContext: dialer.DialContext,
		// A second connection is for a command while a poll is under way.
		MaxIdleConnsPerHost:    2,
		MaxConnsPerHost:        4,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    pollLimit,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a reply must not unfold into gigabytes
	}
	if !local(base.Hostname()) {
		next.Proxy = proxy
	}
	return &http.Client{
		Transport: &transport{next: next, user: base.User},
		// No server of this kind redirects; what does is a login page or
		// something else, and neither is to see requests meant for the server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

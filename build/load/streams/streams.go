// Package streams sends answers of random shape, cut at random places, through
// something that should pass them unchanged, and compares every byte.
//
//	client ─► what is tried ─► server
//
// Client and server make the same exchange from the same number, so neither needs
// to be told what the other expects. It is for the tests of the meter and for
// build/load.
package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what is sent. Through is needed.
type Config struct {
	// Through puts what is tried before a server and returns its address.
	Through func(server *url.URL) (*url.URL, error)
	// Seed makes a run the same as another; Count is how many exchanges it has,
	// Clients how many are under way at once.
	Seed    uint64
	Count   int
	Clients int
	// Each, if it is set, is told of every exchange that passed unchanged.
	Each func(Exchange)
}

// Result is what came of a run.
type Result struct {
	Count   int           `json:"streams"`
	Bytes   int64         `json:"bytes"`
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// Changed arrived with other bytes, status or headers, Lost did not arrive to
	// their end. First says what was wrong with the first of them.
	Changed int    `json:"changed"`
	Lost    int    `json:"lost"`
	First   string `json:"first_problem,omitzero"`
}

// Good reports that every exchange passed unchanged.
func (r Result) Good() bool { return r.Changed == 0 && r.Lost == 0 }

// errChanged is wrapped by what is wrong with an exchange that arrived.
var errChanged = errors.New("changed")

// Run sends Count exchanges, or as many as there were before ctx ended.
func Run(ctx context.Context, c Config) (Result, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Result{}, fmt.Errorf("starting a server: %w", err)
	}
	server := &http.Server{Handler: handler(c.Seed)}
	go server.Serve(l) //nolint:errcheck // it ends by Close
	defer server.Close()
	through, err := c.Through(&url.URL{Scheme: "http", Host: l.Addr().String()})
	if err != nil {
		return Result{}, err
	}
	web := &http.Transport{MaxIdleConnsPerHost: c.Clients, DisableCompression: true}
	defer web.CloseIdleConnections()
	run := &run{config: c, web: web, through: through}
	began := time.Now()
	var clients sync.WaitGroup
	for range max(c.Clients, 1) {
		clients.Go(func() { run.client(ctx) })
	}
	clients.Wait()
	run.result.Took = time.Since(began)
	run.result.Seconds = run.result.Took.Seconds()
	return run.result, ctx.Err()
}

type run struct {
	config  Config
	web     *http.Transport
	through *url.URL
	next    atomic.Int64

	mu     sync.Mutex
	result Result
}

func (r *run) client(ctx context.Context) {
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= r.config.Count {
			return
		}
		x := Make(r.config.Seed, i)
		err := r.send(ctx, x)
		if ctx.Err() != nil {
			return
		}
		r.count(x, err)
		if err == nil && r.config.Each != nil {
			r.config.Each(x)
		}
	}
}

func (r *run) count(x Exchange, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Count++
	r.result.Bytes += int64(x.size())
	switch {
	case err == nil:
		return
	case errors.Is(err, errChanged):
		r.result.Changed++
	default:
		r.result.Lost++
	}
	if r.result.First == "" {
		r.result.First = fmt.Sprintf("stream %d (%s): %v", x.Number, x, err)
	}
}

// send sends one exchange and compares what comes back.
func (r *run) send(ctx context.Context, x Exchange) error {
	var body io.Reader = bytes.NewReader(x.Body)
	if x.chunked {
		body = io.MultiReader(body) // of no length that net/http knows
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.through.String()+x.Path+"?i="+strconv.Itoa(x.Number), body)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := r.web.RoundTrip(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("after %d of %d bytes: %w", len(got), len(x.whole()), err)
	}
	switch {
	case answer.StatusCode != x.status:
		return fmt.Errorf("%w: status %d, want %d: %.200q", errChanged, answer.StatusCode, x.status, got)
	case answer.Header.Get("Content-Type") != x.kind:
		return fmt.Errorf("%w: content type %q, want %q", errChanged, answer.Header.Get("Content-Type"), x.kind)
	case !bytes.Equal(got, x.whole()):
		return fmt.Errorf("%w: %d bytes, want %d, the same up to %d", errChanged, len(got), len(x.whole()), same(got, x.whole()))
	}
	return nil
}

// same is how many bytes two texts begin with together.
func same(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// check reads a request whose answer has begun, and breaks that off where the
// request is not as it was made.
func (x Exchange) check(r *http.Request) {
	if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, x.Body) {
		panic(http.ErrAbortHandler)
	}
}

// handler answers each exchange as it was made, and with 400 where the request is
// not as it was made.
func handler(seed uint64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.URL.Query().Get("i"))
		if err != nil {
			return // a question for the front page
		}
		x := Make(seed, i)
		http.NewResponseController(w).EnableFullDuplex() //nolint:errcheck // HTTP/1.1 has it
		if !x.early {
			if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, x.Body) {
				http.Error(w, fmt.Sprintf("the request came with %d bytes of %d: %v", len(got), len(x.Body), err), http.StatusBadRequest)
				return
			}
		}
		w.Header()["Content-Type"] = []string{x.kind}
		if x.sized {
			w.Header().Set("Content-Length", strconv.Itoa(len(x.whole())))
		}
		w.WriteHeader(x.status)
		for n, piece := range x.pieces {
			w.Write(piece) //nolint:errcheck // a client that left is seen by the client
			if x.flushed {
				w.(http.Flusher).Flush()
			}
			if n == 0 && x.early {
				x.check(r)
			}
		}
		if len(x.pieces) == 0 && x.early {
			x.check(r)
		}
	})
}

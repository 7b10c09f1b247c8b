package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"plimsoll/monitor/request"
)

// Boundary is what a machine can do well, as a person sees it.
type Boundary struct {
	// Context is the most tokens of context, Requests the most at once. 0 is no bound.
	Context, Requests int
	// Refuse answers requests over it with 429; without it they are only marked.
	Refuse bool
}

// told is the boundary as requests carry it.
func (b Boundary) told() *request.Boundary {
	told := &request.Boundary{}
	if b.Context > 0 {
		told.Context = &b.Context
	}
	if b.Requests > 0 {
		told.Queue = &b.Requests
	}
	return told
}

// A request is read up to holdLeast before it is passed on, and up to holdMost
// where the boundary is so far out, when what it says decides.
const holdLeast, holdMost = 64 << 10, 256 << 10

// admit lets a request pass, marks it, holds it back while the GPU is slowed, or
// refuses it. leave is called when it is over.
func (m *Meter) admit(w http.ResponseWriter, r *http.Request, x *exchange) (leave func(), ok bool) {
	leave = func() {}
	if m.config.Boundary.Refuse || m.config.Pace > 0 {
		hold(r, int64(min(holdLeast+m.config.Boundary.Context*4, holdMost)))
	}
	if x.idle() {
		return leave, true // loading and unloading is no work for the model
	}
	bound := m.config.Boundary
	over := bound.Context > 0 && x.asks() > bound.Context
	if over {
		x.note(request.NoteOverContext)
		if bound.Refuse {
			m.refused(w, r, x, "over_context", fmt.Sprintf("this request asks for about %d tokens of context; the boundary here is %d (plimsoll meter --max-context)", x.asks(), bound.Context))
			return leave, false
		}
	}
	entered := m.enter(bound)
	if !entered {
		x.note(request.NoteOverQueue)
		if bound.Refuse {
			w.Header().Set("Retry-After", "1")
			m.refused(w, r, x, "over_queue", fmt.Sprintf("%d requests are under way already, as many as the boundary here allows (plimsoll meter --max-queue); try again when one is over", bound.Requests))
			return leave, false
		}
	}
	leave = m.leave
	if m.config.Pace > 0 && m.pacer.slowed() {
		x.note(request.NotePaced)
		x.tell()
		m.pacer.wait(r.Context().Done(), m.config.Pace)
	}
	return leave, true
}

// enter counts a request in, and reports whether it is within the boundary. One
// that is to be refused is not counted.
func (m *Meter) enter(bound Boundary) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	within := bound.Requests <= 0 || m.admitted < bound.Requests
	if within || !bound.Refuse {
		m.admitted++
	}
	return within
}

func (m *Meter) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.admitted--
}

// hold reads the beginning of a request's body, and puts it back before the rest.
func hold(r *http.Request, limit int64) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	var head bytes.Buffer
	if r.ContentLength > 0 {
		head.Grow(int(min(r.ContentLength, limit)) + bytes.MinRead)
	}
	_, err := head.ReadFrom(io.LimitReader(r.Body, limit))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&head, rest), r.Body}
}

// failing is a body that could not be read further.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// asks is how many tokens of context a request asks for, as far as it was read.
func (x *exchange) asks() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return max(x.prompt.context, x.prompt.tokens())
}

// idle is asksNothing for those who do not hold the lock.
func (x *exchange) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asksNothing()
}

// tell reports the exchange as it is.
func (x *exchange) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.report()
}

func (m *Meter) refused(w http.ResponseWriter, r *http.Request, x *exchange, code, text string) {
	x.note(request.NoteRefused)
	x.fail(fmt.Errorf("refused: %s", text), http.StatusTooManyRequests)
	refuse(w, r, http.StatusTooManyRequests, code, "plimsoll meter: "+text)
}

// refuse answers in the meter's own words, as an error of the interface that was
// asked: clients show them.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, text string) {
	var body any = map[string]string{"error": text}
	switch {
	case r.URL.Path == "/v1/messages":
		kind := "api_error"
		if status == http.StatusTooManyRequests {
			kind = "rate_limit_error"
		}
		body = map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": text}}
	case !strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/api/v"):
		body = map[string]any{"error": map[string]any{"message": text, "type": code, "code": code, "param": nil}}
	}
	line, _ := json.Marshal(body) // of strings alone
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(line, '\n')) //nolint:errcheck // a client that left does not read it
}

// pacer is the gate before which new requests wait while the GPU is slowed.
type pacer struct {
	mu   sync.Mutex
	open chan struct{} // closed while nobody has to wait
	shut bool
}

// SetThrottled says whether the GPU is slowed now. When nobody can tell, it is not.
func (m *Meter) SetThrottled(throttled bool) {
	p := &m.pacer
	p.mu.Lock()
	defer p.mu.Unlock()
	if throttled == p.shut {
		return
	}
	if p.shut = throttled; throttled {
		p.open = make(chan struct{})
		return
	}
	close(p.open)
}

func (p *pacer) slowed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shut
}

// wait returns when the GPU is as fast as ever, the bound is over or gone is closed.
func (p *pacer) wait(gone <-chan struct{}, bound time.Duration) {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-open:
	case <-gone:
	case <-timer.C:
	}
}

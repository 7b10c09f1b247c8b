package meter

import (
	"context"
	"errors"
	"sync"
	"time"

	"plimsoll/monitor/request"
)

// exchange is one request and its answer on their way through. The goroutines of
// the handler, of the body that is sent and of the clock that samples meet in it.
type exchange struct {
	meter    *Meter
	id       string
	endpoint string
	client   context.Context // ends when the client leaves
	began    time.Time

	mu     sync.Mutex
	prompt *prompt
	notes  map[request.Note]bool
	// sent is when it was passed on, after pacing.
	sent   time.Time
	reply  reply
	status int // of the answer, as the client got it
	err    error
	// hidden: it asks nothing, so it is no request to a model.
	hidden bool
	told   bool // of its beginning
	over   bool
	last   request.Request // as it was told last
}

// reply is what was seen of an answer.
type reply struct {
	begun    bool // its headers came
	streamed bool
	metered  bool // it is read
	ended    bool // its bytes ended in good order
	record   record
	records  *records
	// first and newest are when the first and the latest record came that bears
	// text, chunks how many did.
	first, newest time.Time
	chunks        int
	pace          pace
	held          time.Duration // how long the client kept the meter from reading on
	unparsed      int
	model         string
	told          figures
	start         figures // of an answer's beginning, where its end does not say
	last, closing bool
	reason        string
	failed        bool
	message       string
}

// begin is the exchange for a request to an endpoint that is counted.
func (m *Meter) begin(client context.Context, endpoint string) *exchange {
	x := &exchange{
		meter: m, id: m.nextID(), endpoint: endpoint, client: client, began: time.Now(),
		prompt: newPrompt(), notes: map[request.Note]bool{},
	}
	m.enterFlight(x)
	return x
}

// answered takes the beginning of an answer and how it is to be read.
func (x *exchange) answered(status int, f framing, encoded bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &x.reply
	x.status, r.begun = status, true
	if encoded {
		x.notes[request.NoteEncoded] = true
		return
	}
	r.metered, r.streamed = f != framingNone, f == framingLines || f == framingEvents
	r.records = newRecords(f, func(path []byte, kind byte, text []byte, size int) { r.record.value(path, kind, text, size) })
	r.records.broken = func() { r.record = record{}; r.unparsed++ }
	r.records.finished = func() { r.last = true }
}

// passed takes bytes of the answer that came at a moment and took so long to be
// passed on.
func (x *exchange) passed(b []byte, at time.Time, took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.reply.metered {
		return
	}
	if x.reply.chunks > 0 {
		x.reply.held += took
	}
	before := x.reply.chunks
	x.reply.records.whole = func() { x.reply.take(at) }
	x.reply.records.feed(b)
	if before == 0 && x.reply.chunks > 0 {
		x.report()
	}
}

// take counts a whole record.
func (r *reply) take(at time.Time) {
	c := &r.record
	if string(r.records.event.name) == "error" {
		c.failed = true
	}
	c.settle()
	if c.kind == "message_start" {
		r.start.add(c.told)
		r.start.output = nil // one, or an estimate
	} else {
		r.told.add(c.told)
	}
	if c.model != "" {
		r.model = c.model
	}
	if c.reason != "" {
		r.reason = c.reason
	}
	r.last, r.closing = r.last || c.last, r.closing || c.closing
	if c.failed {
		r.failed = true
		if c.message != "" {
			r.message = c.message
		}
	}
	if c.token && r.streamed {
		if r.chunks == 0 {
			r.first = at
		}
		r.newest = at
		r.chunks++
		r.pace.add(at, r.chunks)
	}
	r.record = record{}
}

// endOfBytes notes how the bytes of the answer ended: err is nil for a good end.
func (x *exchange) endOfBytes(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.reply.ended = true
		if x.reply.metered {
			x.reply.records.whole = func() { x.reply.take(time.Now()) }
			x.reply.records.end()
		}
		return
	}
	if x.err == nil {
		x.err = err
	}
}

// fail notes why no answer came.
func (x *exchange) fail(err error, status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err, x.status = err, status
}

func (x *exchange) note(n request.Note) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notes[n] = true
}

// passOn notes that the request leaves for the server.
func (x *exchange) passOn() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = time.Now()
}

// ready reports that enough was seen to say what kind of request it is.
func (x *exchange) ready() bool {
	return x.prompt.scan.state == scanDone || x.prompt.scan.state == scanFailed || x.prompt.looked == lookLimit || x.reply.begun
}

// end is when the handler is done with it, however it came to that.
func (x *exchange) end() {
	defer x.meter.leaveFlight(x) // when all has been told
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	x.report()
}

// outcome is how it ended.
func (x *exchange) outcome() request.Outcome {
	r := &x.reply
	gone := x.client.Err() != nil || errors.Is(x.err, errClientGone)
	good := r.ended && (r.last || r.closing || !r.streamed)
	switch {
	case r.failed, x.status >= 400:
		return request.OutcomeFailed
	case good, r.last:
		return request.OutcomeFinished
	case gone, r.begun && !r.ended && x.err == nil: // it could not be written any more
		return request.OutcomeCancelled
	case r.begun:
		return request.OutcomeCut
	}
	return request.OutcomeFailed
}

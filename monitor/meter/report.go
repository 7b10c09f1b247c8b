package meter

import (
	"maps"
	"slices"
	"time"

	"plimsoll/monitor/request"
)

// Finished is what the meter says of a request that is over: with --json, one
// line each.
type Finished struct {
	request.Request
	// Status is the HTTP status as the client got it, absent when it got none.
	Status int `json:"status,omitzero"`
	// Unparsed counts lines of the answer that passed unread.
	Unparsed int `json:"unparsed_lines,omitzero"`
	// Wall is the time from its arrival to its end, in seconds.
	Wall float64 `json:"wall_seconds"`
}

// report tells of the exchange as it is now. The caller holds its lock, so that
// reports come in order.
func (x *exchange) report() {
	if x.hidden = x.hidden || x.asksNothing(); x.hidden && !x.told {
		return
	}
	x.told = true
	now := time.Now()
	r := x.now(now)
	if x.over {
		r = x.final(now)
	}
	if same(r, x.last) {
		return
	}
	x.last = r
	m := x.meter
	if m.config.Report != nil {
		m.config.Report(r)
	}
	if x.over && m.config.Finished != nil {
		m.config.Finished(Finished{Request: r, Status: x.status, Unparsed: x.reply.unparsed, Wall: now.Sub(x.began).Seconds()})
	}
}

// asksNothing reports a request that only loads or unloads a model: Ollama takes
// one without a prompt for that.
func (x *exchange) asksNothing() bool {
	if x.endpoint != "/api/generate" && x.endpoint != "/api/chat" {
		return false
	}
	return x.reply.reason == "load" || x.reply.reason == "unload" || x.prompt.whole() && !x.prompt.asks
}

// same reports that two reports differ in their time alone.
func same(a, b request.Request) bool {
	return a.ID == b.ID && a.Phase == b.Phase && a.Model == b.Model && len(a.Notes) == len(b.Notes) &&
		valueOf(a.OutputTokens) == valueOf(b.OutputTokens) && (a.Live == nil) == (b.Live == nil) &&
		(a.Live == nil || a.Live.Value == b.Live.Value)
}

// now is the request in flight. Which of loading, waiting and reading the server
// does before its first word, it does not say.
func (x *exchange) now(at time.Time) request.Request {
	r := request.Request{
		ID: x.id, Backend: x.meter.backend(), Model: x.model(), Endpoint: x.endpoint,
		Sources: []request.Source{request.SourceMeter}, Phase: request.PhaseQueued,
		Began: x.began, Changed: at,
	}
	if x.prompt.context > 0 {
		r.Context = new(x.prompt.context)
	}
	if limit := x.meter.config.Boundary.Context; limit > 0 && max(x.prompt.context, x.prompt.tokens()) > limit {
		x.notes[request.NoteOverContext] = true
	}
	r.Boundary = x.meter.config.Boundary.told()
	r.Notes = slices.Sorted(maps.Keys(x.notes))
	p := &x.reply
	if p.chunks == 0 {
		return r
	}
	r.Phase, r.Changed = request.PhaseDecode, p.newest
	r.TTFT = measured(p.first.Sub(x.began).Seconds(), p.first)
	ratio := x.meter.known.perChunk(x.knownAs())
	r.OutputTokens, r.OutputApproximate = new(int(float64(p.chunks)*ratio+0.5)), true
	if told := p.told.output; told != nil && *told >= p.chunks { // it counts as it goes
		r.OutputTokens, r.OutputApproximate = told, false
	}
	r.Live = x.live(at)
	return r
}

// live is the decode rate over the last seconds up to a moment, made of chunks.
func (x *exchange) live(at time.Time) *request.Number {
	rate, ok := x.reply.pace.live(at)
	if !ok {
		return nil
	}
	n := measured(rate*x.meter.known.perChunk(x.knownAs()), at)
	n.Approximate = true
	return n
}

func measured(value float64, at time.Time) *request.Number {
	return &request.Number{Value: value, Source: request.SourceMeter, At: at}
}

// model is its name as the client wrote it, else as the server did.
func (x *exchange) model() string {
	if x.prompt.model != "" {
		return x.prompt.model
	}
	return x.reply.model
}

// knownAs is the model under its endpoint: what comes in a chunk differs by both.
func (x *exchange) knownAs() string { return x.endpoint + " " + x.model() }

// final is the request when it is over.
func (x *exchange) final(at time.Time) request.Request {
	r := x.now(at)
	p := &x.reply
	r.Phase, r.Outcome, r.Changed, r.Ended = request.PhaseDone, x.outcome(), at, new(at)
	r.Live = x.live(p.newest) // as it was when the last word came
	f := settled{exchange: x, request: &r, told: p.told, at: at}
	if r.Outcome == request.OutcomeFinished && f.told.prompt == nil {
		f.told.prompt, f.told.cached = p.start.prompt, p.start.cached
	}
	f.settle()
	x.annotate(&r)
	return r
}

// annotate adds the words that only the end tells.
func (x *exchange) annotate(r *request.Request) {
	p := &x.reply
	if r.Outcome == request.OutcomeFailed {
		r.Error = x.problem()
		// Ollama refuses a Host or Origin with a bare 403 (gin's AbortWithStatus).
		if x.status == 403 && !p.metered {
			x.notes[request.NoteOrigin] = true
		}
	}
	if p.unparsed > 0 {
		x.notes[request.NoteUnparsed] = true
	}
	if r.Outcome == request.OutcomeCancelled && p.chunks == 0 && !x.sent.IsZero() {
		x.notes[request.NoteOrphan] = true
	}
	if limit := x.meter.config.Boundary.Context; limit > 0 && r.PromptTokens != nil { // counted, not estimated
		delete(x.notes, request.NoteOverContext)
		if max(*r.PromptTokens+valueOf(r.OutputTokens), x.prompt.context) > limit {
			x.notes[request.NoteOverContext] = true
		}
	}
	r.Notes = slices.Sorted(maps.Keys(x.notes))
}

// problem is what went wrong, in the words of the server or of the connection.
func (x *exchange) problem() string {
	switch {
	case x.notes[request.NoteRefused]:
		return x.err.Error() // the meter's own words
	case x.reply.message != "":
		return said(x.reply.message, x.model())
	case x.err != nil:
		return said(x.err.Error(), x.model())
	}
	return ""
}

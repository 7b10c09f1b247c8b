package meter

import (
	"slices"
	"time"

	"plimsoll/monitor/request"
)

const (
	// A server's durations may exceed the time that passed outside of it by this
	// much before they are not believed: clocks and rounding.
	wallShare, wallSlack = 1.02, 100 * time.Millisecond
	// heldShare is the part of the time for an answer that its client may take for
	// reading before the pace that was measured is the client's and not the model's.
	heldShare = 0.2
	// chunkful is the most tokens a chunk may hold for the time between chunks to
	// say how fast tokens were made: a tool call comes whole, after all its tokens.
	chunkful = 16
	// mostRate is far above the tokens/s of any machine: a count or a time that makes
	// more is in another unit than it should be.
	mostRate = 1e6
)

// settled makes the final numbers of a request.
type settled struct {
	*exchange
	request *request.Request
	told    figures
	at      time.Time
}

func (s *settled) settle() {
	r := s.request
	if s.told.read != nil && s.told.prompt == nil {
		s.told.prompt = new(*s.told.read + valueOf(s.told.cached))
	}
	if s.told.read != nil && s.told.cached == nil && s.told.prompt != nil && *s.told.prompt >= *s.told.read {
		s.told.cached = new(*s.told.prompt - *s.told.read)
	}
	r.PromptTokens, r.CachedTokens, r.ReadTokens = s.told.prompt, s.told.cached, s.told.read
	if s.told.context != nil {
		r.Context = s.told.context
	}
	if valueOf(s.told.output) == 0 && s.reply.chunks > 0 {
		s.told.output = nil // a server that does not count
	}
	if s.told.output != nil {
		r.OutputTokens, r.OutputApproximate = s.told.output, false
	}
	if !s.plausible() {
		s.notes[request.NoteImplausible] = true
		s.told.promptTime, s.told.decodeTime, s.told.decodeRate, s.told.total, s.told.load, s.told.ttft = nil, nil, nil, nil, nil, nil
	}
	s.waiting()
	s.decode()
	switch {
	case r.Outcome == request.OutcomeFinished:
		s.prefill()
		s.teach()
	case s.reply.chunks > 0: // its prompt was read, and may be in the cache now
		s.meter.known.judge(s.model(), s.exchange.prompt.print, 0, 0, s.at)
	}
	if wall := s.at.Sub(s.began).Seconds(); r.OutputTokens != nil && *r.OutputTokens > 0 && float64(*r.OutputTokens) < mostRate*wall {
		r.Session = measured(float64(*r.OutputTokens)/wall, s.at)
		r.Session.Approximate = r.OutputApproximate
	}
	if s.told != (figures{}) {
		r.Sources = slices.Sorted(slices.Values([]request.Source{request.SourceMeter, request.SourceServer}))
	}
}

// decodeTime is the time for the answer in seconds as its server told it, in one way
// or another, nil where it did not.
func (s *settled) decodeTime() *float64 {
	if t := &s.told; t.decodeTime == nil && t.output != nil && secondsOf(t.decodeRate) > 0 {
		return new(float64(*t.output) / *t.decodeRate)
	}
	return s.told.decodeTime
}

// plausible holds the server's durations against the time that passed here.
func (s *settled) plausible() bool {
	if s.sent.IsZero() {
		return true
	}
	most := s.at.Sub(s.sent).Seconds()*wallShare + wallSlack.Seconds()
	sum := secondsOf(s.told.load) + secondsOf(s.told.promptTime) + secondsOf(s.told.decodeTime)
	if sum > most || secondsOf(s.decodeTime()) > most || secondsOf(s.told.total) > most || secondsOf(s.told.ttft) > most {
		return false
	}
	if took := s.decodeTime(); took != nil && float64(valueOf(s.told.output)) > mostRate*max(*took, request.LeastTime.Seconds()) {
		return false
	}
	// Nor can words come for far longer than they were made, unless their client
	// held them up.
	p := &s.reply
	came := (p.newest.Sub(p.first) - p.held).Seconds()
	return s.told.decodeTime == nil || came <= 2*(*s.told.decodeTime)+2*wallSlack.Seconds()
}

func secondsOf(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

func durationOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// waiting tells load and queue. total − load − prompt − eval is the time spent in
// the queue and 1 to 20 ms more; it cannot be more than passed before the first
// word, though total grows with a client that reads slowly.
func (s *settled) waiting() {
	t, r := &s.told, s.request
	r.Load = t.load
	if secondsOf(t.total) == 0 || t.decodeTime == nil {
		return
	}
	queue := *t.total - secondsOf(t.load) - secondsOf(t.promptTime) - *t.decodeTime
	if s.reply.chunks > 0 {
		queue = min(queue, s.reply.first.Sub(s.sent).Seconds()-secondsOf(t.load)-secondsOf(t.promptTime))
	}
	r.Queue = new(max(queue, 0))
}

// decode is the rate of the answer: the server's own if it told one, else
// measured between the first and the last chunk, in which one token less was made.
// Where the server told a time that is too short for a rate, so are the chunks: that
// they came over a longer one is the way's doing, not the model's.
func (s *settled) decode() {
	t, r, p := &s.told, s.request, &s.reply
	if p.chunks == 0 && secondsOf(t.ttft) > 0 {
		r.TTFT = s.fromServer(*t.ttft)
	}
	took := s.decodeTime()
	if t.output != nil && took != nil {
		if rate := request.Rate(*t.output, durationOf(*took)); rate != nil {
			r.Decode = s.fromServer(*rate)
		}
	}
	tokens, span := valueOf(r.OutputTokens), p.newest.Sub(p.first)
	if r.Decode == nil && took == nil && p.chunks >= request.LeastTokens && tokens >= request.LeastTokens && tokens <= p.chunks*chunkful && span >= request.LeastTime {
		r.Decode = measured(float64(tokens-1)/span.Seconds(), s.at)
		r.Decode.Approximate = r.OutputApproximate || p.held.Seconds() > heldShare*span.Seconds()
	}
	if r.Outcome == request.OutcomeFinished && r.Decode == nil && r.OutputTokens != nil && (tokens < request.LeastTokens || took != nil && *took < request.LeastTime.Seconds()) {
		s.notes[request.NoteTiny] = true
	}
}

func (s *settled) fromServer(value float64) *request.Number {
	return &request.Number{Value: value, Source: request.SourceServer, At: s.at}
}

// prefill is the rate at which the prompt was read, cached tokens left out. Where
// the server hides their number there is a rate only if nothing was cached.
func (s *settled) prefill() {
	t, r := &s.told, s.request
	took := secondsOf(t.promptTime)
	switch {
	case t.output != nil && t.prompt == nil && t.total != nil:
		s.notes[request.NoteCached] = true // Ollama leaves the count out when all was there
		return
	case t.prompt == nil:
		return
	}
	read := *t.prompt
	if t.cached != nil {
		read = max(read-*t.cached, 0)
		if *t.cached*2 >= *t.prompt {
			s.notes[request.NoteCached] = true
		}
	}
	if t.read != nil {
		read = *t.read
	}
	if t.cached == nil && t.read == nil {
		switch s.meter.known.judge(s.model(), s.exchange.prompt.print, read, took, s.at) {
		case readCached:
			s.notes[request.NoteCached] = true
			return
		case readAgain:
			s.notes[request.NoteReread] = true
		case readUnclear:
			return
		}
	}
	if rate := request.Rate(read, durationOf(took)); rate != nil {
		r.Prefill = s.fromServer(*rate)
		r.Prefill.Approximate = read < shortPrompt
	}
}

// teach remembers how many tokens a chunk held.
func (s *settled) teach() {
	if p := &s.reply; s.told.output != nil && p.chunks >= 2*request.LeastTokens {
		s.meter.known.setPerChunk(s.knownAs(), *s.told.output, p.chunks, s.at)
	}
}

package request

import "time"

// seen is a request as a slot's counters show it.
type seen struct {
	origin     Origin
	slot, task *int
	phase      Phase
	// It began after one reply and no later than another moment. Nothing is known
	// of that where it was under way at the first reply (baseline).
	after, before Moment
	baseline      bool
	missed        bool // between two replies
	context       *int
	read, cached  *int
	whole         *int // prompt
	decoded       *int
	final         bool // decoded is all there was
	tokens        window
	prompt        window
	// unread is the newest reply without a token, first the first with one.
	unread Moment
	first  *Moment
	firstN int
	ttft   *Number       // as it was worked out when enough was known
	held   time.Duration // the longest silence in which another's prompt was read
	// changed is when something last moved, newest the newest reply.
	changed, newest Moment
	ended           *Moment
	done            *Request // as it was at the end
}

// update takes a reply while the slot works on the request.
func (s *seen) update(r Reading, slot Slot) {
	now := r.Came
	s.newest = now
	s.context = slot.Context
	if value(slot.Read) != value(s.read) || value(slot.Decoded) != value(s.decoded) {
		s.changed = now
	}
	if slot.Read != nil {
		s.read = slot.Read
	}
	if slot.Cached != nil {
		s.cached = slot.Cached
	}
	if slot.Decoded != nil {
		s.decoded = slot.Decoded
		s.tokens.add(now.Awake, *slot.Decoded, r.slow())
	}
	if value(slot.Decoded) == 0 {
		s.phase, s.unread = PhasePrefill, now
		if slot.Read != nil {
			s.prompt.add(now.Awake, *slot.Read, r.slow())
		}
		if n := value(slot.Tokens); n > value(s.read)+value(s.cached) {
			s.whole = &n // the build tells the whole prompt, not what is held of it
		}
		return
	}
	s.phase = PhaseDecode
	if s.first == nil {
		s.first, s.firstN = &now, *slot.Decoded
	}
	if len(s.tokens.steps) <= liveSteps {
		s.ttft = s.began()
	}
	if s.read != nil && s.cached != nil {
		s.whole = new(*s.read + *s.cached)
	}
}

// patience is how long the next token may take: a few times what one took lately.
func (s *seen) patience() time.Duration {
	rate, _, ok := s.tokens.pace()
	if !ok || rate <= 0 {
		return orphanFor // not known yet
	}
	return time.Duration(3 / rate * float64(time.Second))
}

// prompted reports that the request's prompt was being read during a question.
func (s *seen) prompted(r Reading) bool {
	return s.phase == PhasePrefill || s.first != nil && s.first.Awake == r.Came.Awake
}

// ending is what is known of an end: it lies between the newest reply that shows
// the request at work and another moment.
type ending struct {
	between Moment
	final   *int // all its tokens
	lost    bool // the time holds a silence, which says nothing of the rate
}

// end closes the request and keeps of it what stays.
func (s *seen) end(e ending) {
	if e.final != nil {
		s.decoded, s.final = e.final, true
	}
	if s.read != nil && s.cached != nil && s.whole == nil {
		s.whole = new(*s.read + *s.cached)
	}
	done := s.request(s.tokens.last.at, false)
	at := s.rest(e, &done)
	done.Phase, done.Outcome, done.Ended = PhaseDone, OutcomeUnknown, new(at.Wall)
	done.OutputApproximate = done.OutputTokens != nil && !s.final
	s.ended, s.done, s.phase = &at, &done, PhaseDone
	s.tokens, s.prompt = window{}, window{}
}

// rest works out the time between the newest reply and the end, and with it the
// rate of the whole answer. What was made in that time was made at the last pace:
// as many tokens as are missing, or else half of what the time allows.
func (s *seen) rest(e ending, done *Request) Moment {
	rate, off, ok := s.tokens.whole()
	live, _, lively := s.tokens.pace()
	if !lively {
		return e.between
	}
	first, last := s.tokens.first, s.tokens.last
	span := max(0, e.between.Awake-last.at).Seconds()
	tail := live * span / 2
	if s.final {
		tail = min(live*span, float64(*s.decoded-last.n))
	}
	took := (last.at - first.at).Seconds()
	if e.lost && span-tail/live > exactly*(took+span) {
		ok = false // how much of the silence was its own is not known
	}
	if newest := s.tokens.steps[len(s.tokens.steps)-1]; ok && newest.at == last.at {
		rate = (float64(last.n-first.n) + tail) / (took + tail/live)
	}
	if ok {
		done.Decode = s.number(rate, off*rate, SourceSlots, s.newest.Wall)
	}
	early := time.Duration((span - tail/live) * float64(time.Second))
	return Moment{Wall: e.between.Wall.Add(-early), Awake: e.between.Awake - early}
}

// number is a value with its spread, where that is worth telling.
func (s *seen) number(value, spread float64, source Source, at time.Time) *Number {
	n := &Number{Value: value, Source: source, At: at}
	if spread > exactly*value {
		n.Approximate, n.Spread = true, &spread
	}
	return n
}

// request is what the slot tells, with the live rate as of a moment.
func (s *seen) request(until time.Duration, silent bool) Request {
	if s.done != nil {
		return *s.done
	}
	r := Request{
		Backend: s.origin.Backend, Model: s.origin.Model, Sources: []Source{SourceSlots}, Phase: s.phase,
		Began: s.before.Wall, Changed: s.changed.Wall, Slot: s.slot, Context: s.context,
		PromptTokens: s.whole, CachedTokens: s.cached, ReadTokens: s.read,
	}
	if s.decoded != nil && (*s.decoded > 0 || s.phase == PhaseDecode) {
		r.OutputTokens = s.decoded
	}
	if rate, off, ok := s.tokens.live(until); ok {
		r.Live = s.number(rate, off*rate, SourceSlots, s.newest.Wall)
	}
	r.TTFT = s.ttft
	r.Prefill = s.prefill(r.TTFT)
	if patience := s.patience(); s.held > patience || silent && s.phase == PhaseDecode && until-s.tokens.last.at > patience {
		r.Note(NoteOtherPrompt)
	}
	return r
}

// began is the time to the first token as the replies bound it, nil where they do
// not bound it to within itself.
func (s *seen) began() *Number {
	if s.first == nil || s.baseline || s.missed {
		return nil
	}
	from, to := s.unread.Awake, s.first.Awake
	// The tokens since then took their time too.
	if rate, _, ok := s.tokens.live(s.tokens.last.at); ok {
		latest := to - time.Duration(float64(s.firstN-1)/rate*float64(time.Second))
		earliest := to - time.Duration(float64(s.firstN)/rate*float64(time.Second))
		from, to = max(from, min(earliest, to)), min(to, max(latest, from))
	}
	start := (s.after.Awake + s.before.Awake) / 2
	t := ((from+to)/2 - start).Seconds()
	spread := ((to - from) / 2).Seconds() + ((s.before.Awake - s.after.Awake) / 2).Seconds()
	if t <= 0 || spread > t {
		return nil
	}
	return &Number{Value: t, Source: SourceSlots, At: s.first.Wall, Approximate: true, Spread: &spread}
}

// prefill is the rate at which the prompt is or was read, cached tokens excluded.
func (s *seen) prefill(ttft *Number) *Number {
	if s.read == nil || *s.read < tinyPrompt || s.cached == nil {
		return nil
	}
	if rate, off, ok := s.prompt.whole(); ok && len(s.prompt.steps) > 1 && s.prompt.last.n*2 >= *s.read {
		return s.number(rate, off*rate, SourceSlots, s.newest.Wall)
	}
	if ttft == nil || *ttft.Spread > vague*ttft.Value {
		return nil
	}
	rate := float64(*s.read) / ttft.Value
	spread := rate * *ttft.Spread / ttft.Value
	return &Number{Value: rate, Source: SourceSlots, At: ttft.At, Approximate: true, Spread: &spread}
}

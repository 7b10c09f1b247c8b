package request

import "time"

// Rate is tokens per second of a server's own count and duration, nil when they
// are too few or too short to say anything: one token in 13 µs is no rate.
func Rate(tokens int, d time.Duration) *float64 {
	if tokens < LeastTokens || d < LeastTime {
		return nil
	}
	return new(float64(tokens) / d.Seconds())
}

const (
	// cachedAbove is how many times a model's best uncached rate a prompt must seem
	// to have been read with to have come from the cache
	// (github.com/dogkeeper886/ollama37/pull/473: 18,828 tokens/s where 50 are usual).
	cachedAbove = 3
	// tinyPrompt is the number of tokens below which fixed costs make the rate.
	tinyPrompt = 32
	// loadedFor is the load time from which on a model was brought into memory for
	// this request: it had no cache then.
	loadedFor = 200 * time.Millisecond
	// A prompt was read again when it goes on from one of rereadFrom tokens or more
	// within rereadWithin, and has grown by no more than a turn of a chat does.
	rereadFrom   = 512
	rereadWithin = 30 * time.Minute
	rereadTurn   = 2048
)

// judge decides what of a finished request's rates can be believed, given what is
// usual for its model. It removes what cannot and says why in Notes.
func judge(r *Request, usual *speed) {
	if r.Phase == PhaseDecode && r.CachedTokens != nil && usual.reread(r) {
		r.Note(NoteReread) // the prompt is read, so this is known already
	}
	if r.Phase != PhaseDone {
		return
	}
	if wall := r.Session; wall != nil && r.Decode != nil && r.Decode.Value < 0.9*wall.Value {
		r.Note(NoteImplausible) // decoding cannot take longer than all of it
	}
	output := 0
	if r.OutputTokens != nil {
		output = *r.OutputTokens
	}
	if r.OutputTokens != nil && output < LeastTokens {
		r.Note(NoteTiny)
		r.Decode = nil
	}
	judgePrefill(r, usual)
	if usual.reread(r) {
		r.Note(NoteReread)
	}
}

func judgePrefill(r *Request, usual *speed) {
	final := r.Decode != nil && r.Decode.Source == SourceServer || r.Prefill != nil && r.Prefill.Source == SourceServer
	switch {
	case r.PromptTokens == nil && r.Prefill == nil:
		if final && r.has(SourceMeter) {
			r.Note(NoteCached) // Ollama leaves the count out when there was nothing to read
		}
		return
	case r.CachedTokens != nil:
		if r.PromptTokens != nil && *r.CachedTokens*2 >= *r.PromptTokens {
			r.Note(NoteCached)
		}
		read := r.ReadTokens
		if read == nil && r.PromptTokens != nil {
			read = new(*r.PromptTokens - *r.CachedTokens)
		}
		if r.Prefill != nil && read != nil && *read < tinyPrompt {
			r.Note(NoteTiny)
		}
		return
	case r.Prefill == nil, r.Prefill.Source != SourceServer && r.Prefill.Source != SourceMeter:
		return // counters tell what was read alone
	}
	// The server hides how much of the prompt came from the cache.
	switch best, known := usual.reference(); {
	case known && r.Prefill.Value > cachedAbove*best:
		r.Note(NoteCached)
		r.Prefill = nil
	case r.noted(NoteCached):
		r.Prefill = nil
	case r.PromptTokens != nil && *r.PromptTokens < tinyPrompt:
		r.Note(NoteTiny)
	}
}

// fresh reports a request that brought its model into memory: nothing was cached.
func (r *Request) fresh() bool { return r.Load != nil && *r.Load >= loadedFor.Seconds() }

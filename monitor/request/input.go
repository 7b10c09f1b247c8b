package request

import "time"

// Moment is one point in time twice: by the wall clock, for people, and as the
// time that the machine was awake since some fixed start, for rates and ages,
// which neither sleep nor a changed clock may spoil.
type Moment struct {
	Wall  time.Time
	Awake time.Duration
}

// Origin is where a reading comes from: one process that holds one model.
type Origin struct {
	Backend string
	// Model is the name under which the server lists what the process holds.
	Model string
	// Process is unique to the process, so that a new one is not taken for the old:
	// its pid and start, or the server's address.
	Process string
	// Sole: the process answers for any name that a client writes, as a stand-alone
	// llama-server does. Names then do not keep reports apart.
	Sole bool
}

// Reading is one reply of /slots.
type Reading struct {
	Origin Origin
	// Asked is when it was asked for, Came when the reply came: the counters are
	// as of then.
	Asked, Came Moment
	Slots       []Slot
}

// Slot is what one slot of a server tells. Counters that it does not tell are nil.
type Slot struct {
	ID int
	// Task is the server's number of the request, nil on a slot never used.
	Task       *int
	Processing bool
	Context    *int
	// Tokens is n_prompt_tokens: in some builds the whole prompt, in others what the
	// slot holds of it so far, answer included.
	Tokens *int
	// Read are tokens of the prompt read for this request so far, Cached those that
	// were there already.
	Read, Cached *int
	Decoded      *int
}

// Totals are a server's counters since it started (/metrics). Each is nil when it
// was not told.
type Totals struct {
	PromptTokens, DecodeTokens   *float64
	PromptSeconds, DecodeSeconds *float64
}

// Line is what one line of a server's log tells of a request. What the line does
// not say is nil or "". It holds no text of prompt or answer.
type Line struct {
	Kind    LineKind
	Backend string
	// Model is the name or the digest ("sha256-…") that the line or an earlier one
	// named. Slot and Task are the server's numbers.
	Model      string
	Slot, Task *int
	// At is when the line was written, or read where it bears no time.
	At time.Time
	// PromptTokens is the whole prompt, of which CachedTokens were there and
	// ReadTokens have been read, in PromptTime.
	PromptTokens, CachedTokens, ReadTokens *int
	PromptTime                             *time.Duration
	OutputTokens                           *int
	DecodeTime                             *time.Duration
	// Derived: the times were worked out of the times of lines; the server told none.
	Derived bool
	// Total is the whole request as its server measured it.
	Total *time.Duration
	// Path and Status are those of a request line.
	Path   string
	Status int
	// Error is what the server said when it failed, at most 300 bytes of it.
	Error string
}

// LineKind is what a line of a log is about.
type LineKind string

const (
	// LineLoading: the model is being brought into memory; LineLoaded: it is there.
	LineLoading LineKind = "loading"
	LineLoaded  LineKind = "loaded"
	// LinePrompt: a prompt was taken up, or so much of it has been read.
	LinePrompt LineKind = "prompt"
	// LineDecode: so many tokens have been made.
	LineDecode LineKind = "decode"
	// LineTruncated: part of the prompt was dropped; PromptTokens is what was sent
	// and ReadTokens what was left.
	LineTruncated LineKind = "truncated"
	// LineReread: the cache did not serve and the whole prompt is read again.
	LineReread LineKind = "reread"
	// LineTimings: the server's final statistics.
	LineTimings LineKind = "timings"
	// LineReply: the request line of the web server, written when it is over.
	LineReply LineKind = "reply"
	// LineFailed: it failed; Error says how.
	LineFailed LineKind = "failed"
)

// Package request says what one request to a model server is: its phases, its
// tokens, and its rates with their source and age. A server's own counters, a
// server's log and the meter all tell requests in these words, and Tracker makes
// one request of what several of them tell.
//
// It is a leaf of arithmetic: no clock, no network, no file. Time comes in as an
// argument. Absent is never zero: a number that nobody told is nil.
package request

import (
	"slices"
	"time"
)

// Phase is what a request is doing.
type Phase string

// The phases, in the order in which a request goes through them.
const (
	// PhaseLoading: the model is being brought into memory.
	PhaseLoading Phase = "loading"
	// PhaseQueued: it waits for others.
	PhaseQueued Phase = "queued"
	// PhasePrefill: the prompt is being read.
	PhasePrefill Phase = "prefill"
	// PhaseDecode: tokens are being made.
	PhaseDecode Phase = "decode"
	// PhaseDone: it ended; Outcome says how.
	PhaseDone Phase = "done"
)

// Outcome is how a request ended.
type Outcome string

const (
	// OutcomeFinished: the answer is whole, as its server said.
	OutcomeFinished Outcome = "finished"
	// OutcomeCancelled: the client left before the end.
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeFailed: the server refused it or reported an error, under any status.
	OutcomeFailed Outcome = "failed"
	// OutcomeCut: the stream ended without its end.
	OutcomeCut Outcome = "cut"
	// OutcomeUnknown: it is over, and nobody saw how (counters alone).
	OutcomeUnknown Outcome = "unknown"
)

// Source is where a number came from.
type Source string

// The sources, the best first: where two tell the same, the earlier one counts.
const (
	// SourceServer: the server's own final statistics.
	SourceServer Source = "server"
	// SourceMeter: measured by the meter, which carries the request.
	SourceMeter Source = "meter"
	// SourceSlots: differences of a server's slot counters.
	SourceSlots Source = "slots"
	// SourceMetrics: differences of a server's total counters.
	SourceMetrics Source = "metrics"
	// SourceLog: lines of the server's log.
	SourceLog Source = "log"
	// SourceBenchmark: a benchmark that a person started.
	SourceBenchmark Source = "benchmark"
	// SourceEstimate: computed, not measured.
	SourceEstimate Source = "estimate"
)

// Number is a number with where it came from and when. The unit is in the name
// of the field that holds it.
type Number struct {
	Value  float64   `json:"value"`
	Source Source    `json:"source"`
	At     time.Time `json:"at"`
	// Approximate marks an estimate, shown with "~"; Spread is how far off it may
	// be, in the same unit, where that is known.
	Approximate bool     `json:"approximate,omitzero"`
	Spread      *float64 `json:"spread,omitempty"`
}

// Request is one request, as far as anybody told of it. It holds no word of
// prompt or answer.
type Request struct {
	// ID is unique in one agent's life.
	ID      string `json:"id"`
	Backend string `json:"backend,omitzero"`
	// Model is the name as the client or the server wrote it.
	Model string `json:"model,omitzero"`
	// Endpoint is the path that was asked, "/api/chat". Only the meter sees it.
	Endpoint string `json:"endpoint,omitzero"`
	// Sources are those that told of it, sorted.
	Sources []Source `json:"sources"`

	Phase   Phase   `json:"phase"`
	Outcome Outcome `json:"outcome,omitzero"`
	// Error is what the server said when it failed, at most 300 bytes of it and
	// without what it may quote of prompt or answer.
	Error string `json:"error,omitzero"`

	// Began is when it arrived (meter) or was first seen (counters), Changed when
	// anything about it last changed, Ended when it was over.
	Began   time.Time  `json:"began"`
	Changed time.Time  `json:"changed"`
	Ended   *time.Time `json:"ended,omitempty"`

	// Slot is the server's slot that works on it.
	Slot *int `json:"slot,omitempty"`
	// PromptTokens is the whole prompt, of which CachedTokens were taken from the
	// cache and ReadTokens were read so far. Each is absent when it was not told.
	PromptTokens *int `json:"prompt_tokens,omitempty"`
	CachedTokens *int `json:"cached_tokens,omitempty"`
	ReadTokens   *int `json:"read_tokens,omitempty"`
	// OutputTokens are the tokens made so far, thinking included; Counted by the
	// server, or else made of the chunks that came (OutputApproximate).
	OutputTokens      *int `json:"output_tokens,omitempty"`
	OutputApproximate bool `json:"output_approximate,omitzero"`
	// Context is the context length of the model as it runs, in tokens.
	Context *int `json:"context_tokens,omitempty"`

	// Queue and Load are seconds spent waiting and loading.
	Queue *float64 `json:"queue_seconds,omitempty"`
	Load  *float64 `json:"load_seconds,omitempty"`
	// TTFT is the time to the first token-bearing chunk, in seconds.
	TTFT *Number `json:"ttft_seconds,omitempty"`
	// Prefill excludes cached tokens; absent when the server hides their count and
	// the rate is not plausible without.
	Prefill *Number `json:"prefill_tokens_per_second,omitempty"`
	// Decode is the rate of the whole answer, once there is one.
	Decode *Number `json:"decode_tokens_per_second,omitempty"`
	// Live is the decode rate over the last seconds in flight. It stays after the
	// end as it was last, to be held against Decode.
	Live *Number `json:"live_decode_tokens_per_second,omitempty"`
	// Session is output tokens ÷ wall time, prefill included.
	Session *Number `json:"session_tokens_per_second,omitempty"`

	// Boundary is what NoteOverContext and NoteOverQueue are measured by. Absent
	// where there is none.
	Boundary *Boundary `json:"boundary,omitempty"`
	// Notes are facts about it worth a word, sorted.
	Notes []Note `json:"notes,omitempty"`
}

// Boundary is up to where a machine serves well: tokens of context and requests at
// once, each absent where there is no bound.
type Boundary struct {
	Context *int `json:"context_tokens,omitempty"`
	Queue   *int `json:"requests_at_once,omitempty"`
}

// Note is a fact about a request.
type Note string

const (
	// NoteCached: the prompt, or most of it, came from the cache.
	NoteCached Note = "cached"
	// NoteReread: a prompt of this chat was in the cache before and was read again.
	NoteReread Note = "reread"
	// NoteTruncated: the server dropped part of the prompt.
	NoteTruncated Note = "truncated"
	// NoteOverContext and NoteOverQueue: over the boundary that the user set for
	// context length and for requests at once.
	NoteOverContext Note = "over_context"
	NoteOverQueue   Note = "over_queue"
	// NotePaced: it was held back while the GPU was slowed.
	NotePaced Note = "paced"
	// NoteRefused: the meter refused it with 429 at the boundary.
	NoteRefused Note = "refused"
	// NoteTiny: too few tokens for a rate to say much.
	NoteTiny Note = "tiny"
	// NoteImplausible: the server's durations do not agree with the wall clock.
	NoteImplausible Note = "implausible"
	// NoteUnparsed: lines of the answer could not be read; it passed unchanged.
	NoteUnparsed Note = "unparsed"
	// NoteEncoded: the answer was compressed in a way that is not read.
	NoteEncoded Note = "encoded"
	// NoteOrphan: its client is gone and the server may still be reading the prompt.
	NoteOrphan Note = "orphan"
	// NoteOrigin: the server refused it with 403 for its Origin or Host.
	NoteOrigin Note = "origin"
	// NoteOtherPrompt: its answer stood still while another request's prompt was read.
	NoteOtherPrompt Note = "other_prompt"
)

// Note adds a note once, in order.
func (r *Request) Note(n Note) {
	if i, there := slices.BinarySearch(r.Notes, n); !there {
		r.Notes = slices.Insert(slices.Clone(r.Notes), i, n)
	}
}

// noted reports a note.
func (r *Request) noted(n Note) bool { return slices.Contains(r.Notes, n) }

// has reports that a source told of the request.
func (r *Request) has(s Source) bool { return slices.Contains(r.Sources, s) }

// Speed is what is usual for one model here: medians of finished requests.
// Cancelled, failed, tiny and implausible ones are not in them.
type Speed struct {
	Backend string `json:"backend"`
	Model   string `json:"model"`
	// Runs is the number of requests behind it.
	Runs int `json:"runs"`
	// Decode is the median decode rate at shallow context, under ShallowContext
	// tokens; Depths the same by how deep the context was.
	Decode *Number `json:"decode_tokens_per_second,omitempty"`
	Depths []Depth `json:"depths,omitempty"`
	// Prefill is the median rate of prompts that were not cached, Best the best.
	Prefill     *Number `json:"prefill_tokens_per_second,omitempty"`
	BestPrefill *Number `json:"best_prefill_tokens_per_second,omitempty"`
	TTFT        *Number `json:"ttft_seconds,omitempty"`
	// Last is the newest finished request that has a decode rate.
	Last *Number `json:"last_decode_tokens_per_second,omitempty"`
}

// Depth is the median decode rate between two depths of context.
type Depth struct {
	From   int     `json:"from_tokens"`
	To     int     `json:"to_tokens"` // exclusive
	Decode float64 `json:"decode_tokens_per_second"`
	Runs   int     `json:"runs"`
}

// ShallowContext is the depth in tokens below which a decode rate is the model's
// own: its cache adds little to the bytes read per token.
const ShallowContext = 4096

// Guards of a rate: what is made of fewer tokens or in less time says nothing
// (a real llama-server reply claims 35,714 tokens/s for one token).
const (
	LeastTokens = 5
	LeastTime   = 20 * time.Millisecond
)

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Server is what a benchmark asks of a model server. A person asked for it, so
// unlike package backend it generates, loads and unloads.
type Server interface {
	// About says what the server is.
	About(ctx context.Context) (About, error)
	// Describe says what the model is. It fails with ErrNoModel.
	Describe(ctx context.Context, model string) (Model, error)
	// Listed tells whether the model is in memory, and until when by the server's
	// clock: zero where it does not say.
	Listed(ctx context.Context, model string) (until time.Time, ok bool, err error)
	// Unload drops the model, or fails with errors.ErrUnsupported.
	Unload(ctx context.Context, model string) error
	// Ask sends a prompt and reads the answer to its end. each is called for every
	// chunk that bears tokens, with the moment it came.
	Ask(ctx context.Context, p Prompt, each func(at time.Time)) (Answer, error)
	// Keep sets how long the model stays; below zero for ever.
	Keep(ctx context.Context, model string, d time.Duration) error
}

// Prompt is one request.
type Prompt struct {
	Model        string
	System, Text string
	// Output is the most tokens of the answer; with 0 the model is only loaded.
	Output int
	// Context is the context length to load it with, in tokens; 0 is the server's.
	Context     int
	Seed        int
	Temperature float64
	Keep        time.Duration
}

// Answer is how a request went. A number that the server did not tell is nil or 0.
type Answer struct {
	// PromptTokens is the whole prompt, of which CachedTokens came from a cache.
	PromptTokens, CachedTokens, OutputTokens *int
	// The server's own durations. What is left of Total was spent waiting for others.
	Total, Load, Prompt, Decode time.Duration
	// First is from the request to the first token, Wall to the end.
	First, Wall time.Duration
	// Ended is the end by the server's clock.
	Ended  time.Time
	Reason string
}

// read is how many tokens of the prompt were read, nil when that is not known.
func (a Answer) read() *int {
	if a.PromptTokens == nil {
		return nil
	}
	if a.CachedTokens != nil {
		return new(max(0, *a.PromptTokens-*a.CachedTokens))
	}
	return a.PromptTokens
}

// queued is the time spent waiting for other requests: 1 to 20 ms of it are the
// server's own work.
func (a Answer) queued() time.Duration { return a.Total - a.Load - a.Prompt - a.Decode }

// Error is why there is nothing to measure. A screen translates its Code.
type Error struct {
	Kind  string // one of the Code constants
	Model string
	cause error
}

// The kinds of an Error.
const (
	CodeNoModel   = "bench_no_model"
	CodeCloud     = "bench_cloud"
	CodeEmbedding = "bench_embedding"
	CodeServer    = "bench_server" // it does not answer, or not as it should
	CodeBusy      = "bench_busy"   // somebody else's request is in flight
	CodeRefused   = "bench_refused"
	// CodeCut: the answer ended in the middle.
	CodeCut = "bench_cut"
)

var sayings = map[string]string{
	CodeNoModel: "there is no such model", CodeCloud: "it runs in the cloud", CodeEmbedding: "it makes vectors and no words",
	CodeServer: "the server does not answer as it should", CodeBusy: "a request is in flight", CodeRefused: "the server refused",
	CodeCut: "the answer ended in the middle",
}

func (e *Error) Error() string {
	text := fmt.Sprintf("measuring %s: %s", e.Model, sayings[e.Kind])
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Code is the kind of the error.
func (e *Error) Code() string  { return e.Kind }
func (e *Error) Unwrap() error { return e.cause }

// IsKind reports an Error of one kind.
func IsKind(err error, kind string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

// Package backend talks to model servers: which models are resident, and the
// few commands that a person's click sends. It never sends a request that makes
// a model load, generate or stay longer by itself.
//
// A server is one file with one type that implements Backend and one line in
// the table of Known. Answers come as they are: what a resident model is doing
// (busy, stopping, stuck) is judged by package monitor, which sees time pass.
package backend

import (
	"context"
	"time"
)

// Backend is one model server. Its methods may be called from several
// goroutines; each ends when ctx ends and never later than the server's own
// time-out of a few seconds.
type Backend interface {
	// Name is short and unique among the backends of one monitor, "ollama".
	Name() string
	// Address is the base URL as it is contacted, without credentials.
	Address() string
	// Poll asks what the server is doing. It never fails: a server that is
	// away, silent or closed is a State.
	Poll(ctx context.Context) Answer
	// Unload asks the server to drop a model. nil means that the server
	// accepted, not that the memory is back. A cloud model is refused with
	// ErrCloud before anything is sent.
	Unload(ctx context.Context, model string) error
	// Keep sets how long a model stays resident after its last request;
	// Forever pins it. Nothing is generated.
	Keep(ctx context.Context, model string, d time.Duration) error
}

// Describer is a Backend that can tell how a model is built.
type Describer interface {
	// Describe is what the server says of a model on its disk, in the server's own
	// words: Ollama's reply of /api/show. It neither loads nor keeps the model.
	Describe(ctx context.Context, model string) ([]byte, error)
}

// Forever pins a model: keep_alive −1.
const Forever time.Duration = -1

// State is what a server is to a client.
type State string

const (
	// NotRunning: nothing listens at the address.
	NotRunning State = "not_running"
	// NotAnswering: something accepts, or held an earlier connection, and said nothing in time.
	NotAnswering State = "not_answering"
	// LoginNeeded: 401 or 403.
	LoginNeeded State = "login_needed"
	// Running: it answered as this kind of server should.
	Running State = "running"
	// Failed: it answered something else. Status.Detail says what.
	Failed State = "failed"
)

// Status is a server at one moment.
type Status struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Address string `json:"address"`
	State   State  `json:"state"`
	// Cause is a machine-readable reason for a State other than Running, where
	// one is known: "tls_to_plain" (https spoken to a plain server),
	// "plain_to_tls", "no_such_host", "bad_address", "port_taken" (Detail names who
	// holds it), "not_this_server", "forbidden_host", "bad_certificate",
	// "unreachable" (no connection came about), "closed" (one did, and ended
	// without a word), "proxy" (the proxy on the way refused).
	Cause string `json:"cause,omitzero"`
	// Detail is the error in the words of the library or the server.
	Detail string `json:"detail,omitzero"`
	// Version is what the server says of itself. Absent before the first answer.
	Version string `json:"version,omitzero"`
	// Answered is when the server last answered. Absent if it never did.
	Answered *time.Time `json:"answered,omitempty"`
	// RoundTrip is how long that answer took, in seconds.
	RoundTrip *float64 `json:"round_trip_seconds,omitempty"`
	// Installed is the number of models on disk, and Cloud how many more the
	// server lists that run elsewhere. Absent until they were listed.
	Installed *int `json:"installed_models,omitempty"`
	Cloud     *int `json:"cloud_models,omitempty"`
}

// Resident is a model that a backend holds in memory now.
type Resident struct {
	Backend string `json:"backend"`
	// Model is the name as the server lists it, "qwen3:14b".
	Model  string `json:"model"`
	Digest string `json:"digest,omitzero"`
	// Size is what the server says it occupies, in bytes, of which GPU is on
	// the GPU. Both are the engine's estimate. Absent when it did not say, and
	// always absent for cloud models.
	Size *uint64 `json:"size_bytes,omitempty"`
	GPU  *uint64 `json:"gpu_bytes,omitempty"`
	// Context is the context length it was loaded with, in tokens.
	Context *int `json:"context_tokens,omitempty"`
	// TrainedContext is the most the model was made for, in tokens.
	TrainedContext *int     `json:"trained_context_tokens,omitempty"`
	Quantization   string   `json:"quantization,omitzero"`
	Parameters     string   `json:"parameter_size,omitzero"`
	Family         string   `json:"family,omitzero"`
	Capabilities   []string `json:"capabilities,omitempty"`
	// Expires is when the server will drop it, by the server's clock. Absent
	// when it is pinned (Pinned) or the server did not say.
	Expires *time.Time `json:"expires,omitempty"`
	Pinned  bool       `json:"pinned,omitzero"`
	// Cloud marks a model that runs elsewhere: 0 bytes here, never unloaded.
	Cloud bool `json:"cloud,omitzero"`
	// Weights is the file that the runner has open, as the server names it. It
	// finds the runner's process. Not published.
	Weights string `json:"-"`
}

// Model is a model that a backend has on disk.
type Model struct {
	Backend      string     `json:"backend"`
	Model        string     `json:"model"`
	Size         *uint64    `json:"size_bytes,omitempty"`
	Quantization string     `json:"quantization,omitzero"`
	Parameters   string     `json:"parameter_size,omitzero"`
	Family       string     `json:"family,omitzero"`
	Capabilities []string   `json:"capabilities,omitempty"`
	Cloud        bool       `json:"cloud,omitzero"`
	Modified     *time.Time `json:"modified,omitempty"`
	// Digest tells two models of one name apart. Not published.
	Digest string `json:"-"`
}

// Answer is the outcome of one Poll.
type Answer struct {
	Status Status
	// Residents is sorted by model. It is nil unless State is Running.
	Residents []Resident
	// Models is what is on disk, sorted by model. nil when it is not known yet.
	Models []Model
	// Described is what this poll learned of how models are built: of each digest it
	// is told once.
	Described []Description
}

// Description is what a server says of one model, in its own words.
type Description struct {
	Model string
	// Digest tells builds apart; the model's name where the server has none.
	Digest string
	// Size is the model's files in bytes, where it is on disk.
	Size *uint64
	// Reply is JSON as Describer has it.
	Reply []byte
}

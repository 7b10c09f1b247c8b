// Package serverlog reads the log of a local model server: Ollama's server.log,
// with what its runners (llama-server, the older runner, MLX) write into it.
//
//	file ─► Follower ─► Parser ─► Event, Settings, Load
//
// Such a log has no promised form, and it changes from version to version. So a
// line is told by the text of its message, the few numbers behind it are read, and
// everything else is passed over. With OLLAMA_DEBUG=2 a server writes whole prompts
// into its log: no line is kept, none is told on, and of none more is read than the
// numbers and names below.
//
// Absent is never zero: what no line told is nil or "".
package serverlog

import "time"

// Kind says what happened by a log.
type Kind string

// The kinds of Event.
const (
	// Configured: the server started and told its settings.
	Configured Kind = "configured"
	// Loading: a runner was started for a model; Loaded: it is ready. Both have
	// Load; what it occupies may still come in.
	Loading Kind = "loading"
	Loaded  Kind = "loaded"
	// LoadFailed: the server gave a load up. Load is there.
	LoadFailed Kind = "load_failed"
	// Evicted: the server dropped a model, or looks for one to drop, to make room.
	// Model is there where the line names it.
	Evicted Kind = "evicted"
	// Truncated: a prompt was longer than the context and lost a part. Cut is there.
	Truncated Kind = "truncated"
	// OutOfMemory: the GPU, or the system, did not give memory. Cause says which.
	OutOfMemory Kind = "out_of_memory"
	// CacheRefused: a quantised cache was asked for and cannot be had without flash
	// attention.
	CacheRefused Kind = "cache_refused"
	// Answered: a request to the server ended. Answer is there.
	Answered Kind = "answered"
	// Worked: a runner told how far it is with a request. Work is there.
	Worked Kind = "worked"
)

// Causes of OutOfMemory.
const (
	// CauseCommandBuffer: Metal broke a command buffer off
	// (kIOGPUCommandBufferCallbackErrorOutOfMemory).
	CauseCommandBuffer = "command_buffer"
	// CauseAllocation: a buffer was not given.
	CauseAllocation = "allocation"
	// CauseSystem: the server says that the machine has too little memory.
	CauseSystem = "system"
)

// Event is something that a line told.
type Event struct {
	Kind Kind
	// Time is the line's own, or when it was read where it has none.
	Time time.Time
	// Stamp is the time as it stands in the line, "" without one.
	Stamp string
	// Model is the model's name where the line has it.
	Model  string
	Cause  string
	Load   *Load
	Cut    *Cut
	Answer *Answer
	Work   *Work
}

// Cut is a prompt that was too long, in tokens.
type Cut struct {
	Limit  int // the context
	Prompt int // as it came
	Keep   int // kept from its beginning
	New    int // as it was read
}

// Answer is one request as the server's own line on it tells: no model, no tokens.
type Answer struct {
	Status   int
	Duration time.Duration
	Method   string
	Path     string // without a query
}

// Settings are what a server says of itself at its start. A setting that is unset
// there, or written as "the server decides", is absent.
type Settings struct {
	// At is when the server told them.
	At time.Time
	// Version, and the Port it listens at; "" and 0 before they were told.
	Version string
	Port    int
	// Parallel is the number of requests that one model answers at once.
	Parallel *int
	// Context is the context length that a request has without asking, in tokens:
	// as it was set, or as the server made it of the GPU's memory.
	Context *int
	// ContextSet tells that a person set it.
	ContextSet bool
	// CacheType is the type of the cache that was asked for, "q8_0".
	CacheType string
	// FlashAttention is true where it was asked for. Otherwise the server decides
	// by the model.
	FlashAttention bool
	MaxLoaded      *int
	MaxQueue       *int
	// KeepAlive is how long a model stays; below zero is for ever.
	KeepAlive *time.Duration
	// Models is the folder of the models.
	Models string
}

// Load is one model that a runner loaded, with what it took. Of the memory each
// figure is the sum over all devices and all lines.
type Load struct {
	// Engine is "llama-server", "mlx" or "runner" (the server's own of before).
	Engine string
	// Model is its name, where a line has it; Weights is the file.
	Model   string
	Weights string
	// Arguments are those that the runner was started with.
	Arguments Arguments
	Began     time.Time
	// Ready is how long it took, in seconds. Absent before it is ready.
	Ready  *float64
	Failed bool
	// WeightsBytes, CacheBytes (keys and values, and the state of recurrent layers)
	// and ComputeBytes are in memory for it. Estimated marks figures that the server
	// worked out, rounded to 0.1 of their unit, and no buffers that were allocated.
	WeightsBytes, CacheBytes, ComputeBytes *uint64
	Estimated                              bool
	// Cells is the length of the whole cache in tokens: context × Slots.
	Cells *int
	Slots *int
	// CacheType is the type that the cache has ("f16"), as the runner told.
	CacheType      string
	FlashAttention *bool
	// Layers is the number of layers, of which GPULayers are on the GPU.
	Layers, GPULayers *int
}

// Work is one request as its runner tells it. Each figure is absent until a line
// had it.
type Work struct {
	// Engine is "llama-server" or "mlx". Slot and Task are llama-server's; for MLX,
	// which has neither, Task counts.
	Engine     string
	Slot, Task int
	Began      time.Time
	// Context is the length of the slot, in tokens.
	Context *int
	// Prompt is the whole prompt, of which Cached were taken from the cache and Read
	// were read so far, in ReadSeconds.
	Prompt, Cached, Read *int
	ReadSeconds          *float64
	// Output are the tokens made so far, in OutputSeconds; Recent is the decode rate
	// over the last seconds, in tokens per second, as the runner prints it.
	Output        *int
	OutputSeconds *float64
	Recent        *float64
	// Reread: the whole prompt is read although a part of it was in the cache.
	Reread bool
	// Done: these are the last figures, but for what MLX tells after the end.
	Done bool
	// Seconds is the wall time of the whole request. MLX tells it.
	Seconds *float64
}

// Prefill is the prefill rate in tokens per second, cached tokens left out.
func (w *Work) Prefill() *float64 { return perSecond(w.Read, w.ReadSeconds) }

// Decode is the decode rate in tokens per second.
func (w *Work) Decode() *float64 { return perSecond(w.Output, w.OutputSeconds) }

func perSecond(tokens *int, seconds *float64) *float64 {
	if tokens == nil || seconds == nil || *tokens <= 0 || *seconds <= 0 {
		return nil
	}
	return new(float64(*tokens) / *seconds)
}

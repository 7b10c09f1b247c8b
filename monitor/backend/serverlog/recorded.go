package serverlog

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// RecordedError says why a recording of a log cannot be read.
type RecordedError struct {
	// Kind is "truncated", "labels_not_recognised", or what the log tells of:
	// "gpu_out_of_memory", "kv_cache_refused".
	Kind string
	// Detail is what is wrong, in words.
	Detail string
}

func (e *RecordedError) Error() string {
	return "reading a server's log: " + strings.ReplaceAll(e.Kind, "_", " ") + ": " + e.Detail
}

// ErrorKind is Kind, for those who do not know the type.
func (e *RecordedError) ErrorKind() string { return e.Kind }

// Usable says that the log itself is whole and its error is what it tells about.
func (e *RecordedError) Usable() bool {
	return e.Kind == kindOutOfMemory || e.Kind == kindCacheRefused
}

const (
	kindOutOfMemory  = "gpu_out_of_memory"
	kindCacheRefused = "kv_cache_refused"
)

// Recorded is all that a log tells, with the names and units of a recording's
// values. What no line told is null. Of several servers, loads or requests of
// llama-server in one log it is the last one.
type Recorded struct {
	Event *string `json:"event"`

	Version       *string  `json:"version"`
	KeepAlive     *string  `json:"keep_alive"`
	Parallel      *int     `json:"parallel"`
	MaxQueue      *int     `json:"max_queue"`
	MaxLoaded     *int     `json:"max_loaded_models"`
	CacheAsked    *string  `json:"kv_cache_type"`
	Default       *int     `json:"default_context_length"`
	LowVRAM       *bool    `json:"low_vram_mode"`
	LowVRAMBelow  *float64 `json:"low_vram_threshold_gib"`
	Blobs         *int     `json:"total_blobs"`
	LoadedRunners *int     `json:"loaded_runners"`

	Library      *string  `json:"library"`
	Device       *string  `json:"device"`
	DeviceType   *string  `json:"device_type"`
	GPUTotal     *float64 `json:"gpu_total_gib"`
	GPUAvailable *float64 `json:"gpu_available_gib"`
	WorkingSet   *float64 `json:"working_set_mb"`
	WorkingMiB   *float64 `json:"working_set_mib"`
	GPUFree      *int     `json:"gpu_free_mib"`
	LibraryTook  *float64 `json:"library_load_seconds"`
	SystemTotal  *float64 `json:"system_total_gib"`
	SystemFree   *float64 `json:"system_free_gib"`
	LoadGPU      *float64 `json:"gpu_available_for_load_gib"`
	LoadGPUFree  *float64 `json:"gpu_free_for_load_gib"`

	Model          *string   `json:"model"`
	LoadSeconds    *float64  `json:"load_seconds"`
	LoadSecondsAll []float64 `json:"load_seconds_all"`
	Port           *int      `json:"server_port"`
	Batch          *int      `json:"batch_size"`
	Layers         *int      `json:"model_layers"`
	GPULayers      *int      `json:"gpu_layers"`
	Flash          *bool     `json:"flash_attention"`
	PromptCache    *bool     `json:"prompt_cache"`
	Checkpoints    *int      `json:"checkpoints_max"`
	Weights        *float64  `json:"weights_gib"`
	Cache          *float64  `json:"kv_gib"`
	Graph          *float64  `json:"graph_gib"`
	Total          *float64  `json:"total_gib"`
	WeightsMiB     *float64  `json:"weights_mib"`
	CacheMiB       *float64  `json:"kv_mib"`
	CacheBytes     *uint64   `json:"kv_bytes"`
	ComputeMiB     *float64  `json:"compute_mib"`
	CacheType      *string   `json:"kv_cache_type_in_use"`
	Slots          *int      `json:"slots"`
	Context        *int      `json:"context_length"`

	Architecture *string `json:"architecture"`
	Blocks       *int    `json:"block_count"`
	KVHeads      *int    `json:"head_count_kv"`
	Trained      *int    `json:"context_length_trained"`
	// CacheOfShape is what the cache takes by the model's shape: context × layers ×
	// KV heads × (key + value length) × 2 bytes.
	CacheOfShape *uint64 `json:"kv_bytes_from_shape"`

	Prompt          *int             `json:"prompt_tokens_total"`
	Cached          *int             `json:"prompt_tokens_cached"`
	Read            *int             `json:"prompt_tokens_read"`
	ReadMs          *float64         `json:"prompt_ms"`
	Prefill         *float64         `json:"prefill_tokens_per_second"`
	PrefillReported *float64         `json:"prefill_tokens_per_second_reported"`
	Output          *int             `json:"decode_tokens"`
	OutputMs        *float64         `json:"decode_ms"`
	Decode          *float64         `json:"decode_tokens_per_second"`
	DecodeReported  *float64         `json:"decode_tokens_per_second_reported"`
	TotalMs         *float64         `json:"total_ms"`
	TotalTokens     *int             `json:"total_tokens"`
	Reread          *bool            `json:"full_reprocessing"`
	ProgressLines   *int             `json:"progress_lines"`
	ProgressFirst   *RecordedRead    `json:"progress_first"`
	ProgressLast    *RecordedRead    `json:"progress_last"`
	DecodeLines     []RecordedDecode `json:"decode_lines"`

	// Requests are those that MLX answered where it is the engine (RecordedMLX), else
	// the server's lines on requests (RecordedAnswer).
	Requests    any           `json:"requests"`
	Cut         *int          `json:"incomplete_request_lines"`
	Polls       *int          `json:"polls_of_ps"`
	Truncations []RecordedCut `json:"truncations"`

	Lines     []RecordedLine `json:"lines"` // those with a time
	LineCount int            `json:"line_count"`
	TimeCount int            `json:"line_count_with_time"`
}

// RecordedRead is one line on a prompt's progress.
type RecordedRead struct {
	Tokens   *int     `json:"prompt_tokens"`
	Progress *float64 `json:"progress_ratio"`
	Seconds  *float64 `json:"seconds"`
	Rate     *float64 `json:"prefill_tokens_per_second_reported"`
}

// RecordedDecode is one line on an answer's progress.
type RecordedDecode struct {
	Tokens *int     `json:"decode_tokens"`
	Rate   *float64 `json:"decode_tokens_per_second_reported"`
	Recent *float64 `json:"decode_tokens_per_second_3s_reported"`
}

// RecordedAnswer is the server's line on one request.
type RecordedAnswer struct {
	Time     string        `json:"time"`
	Status   int           `json:"status"`
	Duration time.Duration `json:"duration_ns"`
	Method   string        `json:"method"`
	Path     string        `json:"path"`
}

// RecordedMLX is one request that MLX answered.
type RecordedMLX struct {
	Prompt         *int           `json:"prompt_tokens"`
	Cached         *int           `json:"prompt_tokens_cached"`
	Left           *int           `json:"prompt_tokens_left"`
	Read           *int           `json:"progress_tokens"`
	ReadSeconds    *float64       `json:"prefill_seconds"`
	Prefill        *float64       `json:"prefill_tokens_per_second"`
	Iterations     *int           `json:"speculative_iterations"`
	Drafted        *int           `json:"speculative_drafted"`
	Accepted       *int           `json:"speculative_accepted"`
	Output         *int           `json:"decode_tokens"`
	Duration       *time.Duration `json:"duration_ns"`
	ClientDuration *time.Duration `json:"client_duration_ns"`
	PeakMemory     *float64       `json:"peak_memory_gib"`
}

// RecordedCut is one prompt that lost a part.
type RecordedCut struct {
	Time   *string `json:"time"`
	Limit  int     `json:"limit_tokens"`
	Prompt int     `json:"prompt_tokens"`
	Keep   int     `json:"keep_tokens"`
	New    int     `json:"new_tokens"`
	Lost   int     `json:"lost_tokens"`
}

// RecordedLine is the beginning of a line.
type RecordedLine struct {
	Time   string `json:"time"`
	Level  string `json:"level"`
	Source string `json:"source"`
}

// mostRecordedLines bounds the beginnings that are listed.
const mostRecordedLines = 1000

// DecodeRecorded reads a recording of a server's log. Its errors are
// *RecordedError; its value is never nil.
func DecodeRecorded(data []byte) (any, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if strings.TrimSpace(text) == "" {
		return &Recorded{}, &RecordedError{"truncated", "nothing in it"}
	}
	r := &recording{}
	for line := range strings.Lines(text) {
		r.line(strings.TrimRight(line, "\r\n"))
	}
	r.conclude()
	switch {
	case r.failure != "":
		return &r.Recorded, &RecordedError{r.failure, "the log tells of it"}
	case !r.known:
		return &r.Recorded, &RecordedError{"labels_not_recognised", fmt.Sprintf("no line of %d is known", r.LineCount)}
	}
	return &r.Recorded, nil
}

// rounded is x with so many decimals.
func rounded(x *float64, decimals int) *float64 {
	if x == nil {
		return nil
	}
	scale := math.Pow10(decimals)
	return new(math.Round(*x*scale) / scale)
}

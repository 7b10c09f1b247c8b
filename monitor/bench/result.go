package bench

import "time"

// Result is what one benchmark measured, and all that has to be known to hold it
// against another. Absent is never zero.
type Result struct {
	// ID is the number under which the history keeps it.
	ID int64 `json:"id,omitzero"`
	// Taken is when it began, Seconds how long it took.
	Taken   time.Time `json:"taken"`
	Seconds float64   `json:"seconds"`
	// Prompts names the set of texts.
	Prompts string `json:"prompts"`
	// Simulated marks a simulated machine, Unobserved one that nobody looked at: the
	// server runs elsewhere, or the agent went away.
	Simulated  bool `json:"simulated,omitzero"`
	Unobserved bool `json:"unobserved,omitzero"`
	// Interrupted: it was ended before its end, and holds what was there by then.
	Interrupted bool `json:"interrupted,omitzero"`
	// Failure is the error that ended it.
	Failure string `json:"failure,omitzero"`

	Machine Machine `json:"machine"`
	Server  About   `json:"server"`
	Model   Model   `json:"model"`
	Options Options `json:"options"`
	// Before and After are the state of the machine around it.
	Before Conditions `json:"before"`
	After  Conditions `json:"after"`

	Load      *Load      `json:"load,omitempty"`
	Tests     []Test     `json:"tests,omitempty"`
	Cached    *Cached    `json:"cached_prefill,omitempty"`
	Sustained *Sustained `json:"sustained,omitempty"`
}

// Machine is where it was measured.
type Machine struct {
	Chip     string  `json:"chip,omitzero"`
	Model    string  `json:"model,omitzero"`
	OS       string  `json:"os,omitzero"`
	RAMBytes *uint64 `json:"ram_bytes,omitempty"`
}

// About is the server.
type About struct {
	// Engine is the kind of server, "ollama".
	Engine  string `json:"engine"`
	Version string `json:"version,omitzero"`
	Address string `json:"address"`
}

// Model is the model as its server describes it.
type Model struct {
	Name         string  `json:"name"`
	Digest       string  `json:"digest,omitzero"`
	SizeBytes    *uint64 `json:"size_bytes,omitempty"`
	Quantization string  `json:"quantization,omitzero"`
	Parameters   string  `json:"parameter_size,omitzero"`
	Family       string  `json:"family,omitzero"`
	// Trained is the longest context it was made for, in tokens.
	Trained *int `json:"trained_context_tokens,omitempty"`
	// Resident is its context length in memory before the benchmark. Absent when it
	// was not in memory.
	Resident *int `json:"resident_context_tokens,omitempty"`

	// Show is the server's own description of its build, for package fit.
	Show []byte `json:"-"`
	// Cloud and Embedding models cannot be measured.
	Cloud     bool `json:"-"`
	Embedding bool `json:"-"`
	// Pinned: it was to stay for ever.
	Pinned bool `json:"-"`
}

// Options are what every request asked for.
type Options struct {
	// Context is the context length that the model was loaded with, in tokens.
	Context     int     `json:"context_tokens"`
	Output      int     `json:"output_tokens"`
	Seed        int     `json:"seed"`
	Temperature float64 `json:"temperature"`
	Runs        int     `json:"runs"`
}

// Conditions are the state of the machine at one moment, as far as it was told.
type Conditions struct {
	OnBattery   *bool    `json:"on_battery,omitempty"`
	LowPower    *bool    `json:"low_power_mode,omitempty"`
	Thermal     string   `json:"thermal_pressure,omitzero"`
	Throttled   *bool    `json:"throttled,omitempty"`
	Temperature *float64 `json:"temperature_celsius,omitempty"`
	Clock       *float64 `json:"clock_mhz,omitempty"`
	SwapUsed    *uint64  `json:"swap_used_bytes,omitempty"`
	Pressure    string   `json:"pressure,omitzero"`
	Headroom    *uint64  `json:"headroom_bytes,omitempty"`
	// GPUShare is the part of the measured model on the GPU, 0 to 1.
	GPUShare *float64 `json:"gpu_share_ratio,omitempty"`
	// Others are the other models in memory.
	Others []string `json:"other_models,omitempty"`
}

// Load is bringing the model into memory, after it was dropped.
type Load struct {
	// Seconds is what the server counts, Wall what the client waited.
	Seconds float64 `json:"seconds"`
	Wall    float64 `json:"wall_seconds"`
	// Bytes are its weights on disk, Rate Bytes ÷ Seconds. A rate above the disk's
	// says that the system still had the file in memory.
	Bytes *uint64  `json:"bytes,omitempty"`
	Rate  *float64 `json:"bytes_per_second,omitempty"`
	// From is the kind of volume that holds the file, in the words of metal.Volume;
	// "" where it is not known.
	From string `json:"from,omitzero"`
	// Context is what it was loaded with, in tokens.
	Context int `json:"context_tokens"`
}

// Test is one kind of measurement: a run that does not count, then the ones that do.
type Test struct {
	Kind Kind `json:"kind"`
	// Depth is how deep the context is in the middle of an answer, in tokens; 0 is a
	// short prompt.
	Depth int    `json:"depth_tokens,omitzero"`
	Runs  []Pass `json:"runs,omitempty"`

	// Decode, Prefill and Session are tokens per second, TTFT seconds. Prefill is of
	// prompts that were in no cache; Session is output ÷ wall time, prefill included.
	Decode  *Spread `json:"decode_tokens_per_second,omitempty"`
	Prefill *Spread `json:"prefill_tokens_per_second,omitempty"`
	TTFT    *Spread `json:"ttft_seconds,omitempty"`
	Session *Spread `json:"session_tokens_per_second,omitempty"`

	// Drop is how much slower decoding is than behind a short prompt of the same
	// kind, 0 to 1, Expected how much reading the longer cache explains. Steep: the
	// rest is the engine's, as nothing else interfered.
	Drop     *float64 `json:"decode_drop_ratio,omitempty"`
	Expected *float64 `json:"expected_drop_ratio,omitempty"`
	Steep    bool     `json:"steep,omitzero"`

	// Skipped is why it was not measured, Void why what was measured does not count.
	Skipped *Reason  `json:"skipped,omitempty"`
	Void    []Reason `json:"void,omitempty"`
}

// Pass is one run: a request and its answer.
type Pass struct {
	// Dropped marks the first run, which does not count. Void is why one does not.
	Dropped bool     `json:"dropped,omitzero"`
	Void    []Reason `json:"void,omitempty"`

	PromptTokens *int `json:"prompt_tokens,omitempty"`
	OutputTokens *int `json:"output_tokens,omitempty"`
	// Ended is the server's word for why it ended, "length" or "stop".
	Ended string `json:"ended,omitzero"`

	Decode  *float64 `json:"decode_tokens_per_second,omitempty"`
	Prefill *float64 `json:"prefill_tokens_per_second,omitempty"`
	TTFT    *float64 `json:"ttft_seconds,omitempty"`
	Session *float64 `json:"session_tokens_per_second,omitempty"`
	Wall    *float64 `json:"wall_seconds,omitempty"`
}

// Cached is the same long prompt again, which the server still has in its cache.
type Cached struct {
	PromptTokens int    `json:"prompt_tokens"`
	TTFT         Spread `json:"ttft_seconds"`
}

// Spread is a median of runs, with the least and the most of them.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Runs   int     `json:"runs"`
}

// Sustained is decoding without a pause.
type Sustained struct {
	Seconds float64  `json:"seconds"`
	Minutes []Minute `json:"minutes,omitempty"`
	// Kept is the median rate of the last third ÷ that of the first minute.
	Kept *float64 `json:"kept_ratio,omitempty"`
	// Void is what interfered; heat does not: it is what this looks for.
	Void []Reason `json:"void,omitempty"`
}

// Minute is one minute of it. What nobody told is absent.
type Minute struct {
	Minute int `json:"minute"` // from 1 on
	Tokens int `json:"output_tokens"`
	// Decode is tokens per second while tokens came.
	Decode      *float64 `json:"decode_tokens_per_second,omitempty"`
	Temperature *float64 `json:"temperature_celsius,omitempty"` // the most
	Clock       *float64 `json:"clock_mhz,omitempty"`           // the mean
	Power       *float64 `json:"power_watts,omitempty"`         // the mean
	Thermal     string   `json:"thermal_pressure,omitzero"`     // the last
	// Throttled is the share of the looks at which the GPU was slowed, Cause why.
	Throttled *float64 `json:"throttled_ratio,omitempty"`
	Cause     string   `json:"throttle_cause,omitzero"`
}

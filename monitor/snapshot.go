package monitor

import (
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/request"
)

// Snapshot is everything Plimsoll knew at one moment. It is immutable: nobody
// changes one after the tick that made it, so it is shared without copying.
//
// A section that this machine cannot tell is nil, and Problems holds the reason
// under the section's JSON name. A field that can be absent alone is a pointer
// (or "" or an empty list); absent is never zero. JSON names carry units, and
// assets has one line on each field in every language ("field.…"), which
// plimsoll replay --fields prints.
type Snapshot struct {
	// Taken is when the tick began, by the wall clock.
	Taken time.Time `json:"taken"`
	// Awake is the time the machine was awake since the agent started, in
	// seconds. It tells sleep and clock changes from the passing of time. Absent
	// in lines written by hand.
	Awake *float64 `json:"awake_seconds,omitempty"`
	// Interval is the time to the next tick as planned, in seconds.
	Interval *float64 `json:"interval_seconds,omitempty"`
	// Simulated marks a snapshot of the simulated Mac.
	Simulated bool `json:"simulated,omitzero"`

	Machine  *metal.Machine `json:"machine,omitempty"`
	Memory   *metal.Memory  `json:"memory,omitempty"`
	Swap     *Swap          `json:"swap,omitempty"`
	GPU      *metal.GPU     `json:"gpu,omitempty"`
	Thermal  *metal.Thermal `json:"thermal,omitempty"`
	Power    *metal.Power   `json:"power,omitempty"`
	Throttle *Throttle      `json:"throttle,omitempty"`
	Headroom *Headroom      `json:"headroom,omitempty"`
	Limit    *Limit         `json:"limit,omitempty"`

	Backends  []backend.Status `json:"backends,omitempty"`
	Residents []Resident       `json:"residents,omitempty"`
	// Requests are those in flight, oldest first, then the recent ones, newest
	// first, at most 32 together. Speeds are what is usual for each model, sorted by model.
	Requests []request.Request `json:"requests,omitempty"`
	Speeds   []request.Speed   `json:"speeds,omitempty"`
	// ServerSettings is how the model servers of this machine were set up, as far as
	// their logs and the arguments of their processes tell.
	ServerSettings []ServerSettings `json:"server_settings,omitempty"`
	// Efficiencies are the shares of the memory bandwidth that engines reach here, of
	// at least three requests each.
	Efficiencies []fit.Learned `json:"efficiencies,omitempty"`
	// LargestFit is the biggest model on disk that fits now as its server would load
	// it. Absent when none is known to.
	LargestFit *LargestFit `json:"largest_fit,omitempty"`
	// Consumers are the biggest memory users that are not model runners, biggest
	// first, at most three. Absent unless somebody looks (an open menu or
	// window) or a swap alert has just begun.
	Consumers []Consumer `json:"consumers,omitempty"`
	// Held is memory that runners still hold after their model was unloaded.
	Held []Held `json:"held,omitempty"`
	// Leaked is wired memory that no live process accounts for.
	Leaked *Leaked `json:"leaked,omitempty"`
	// Diagnosis says how fast models run now and why.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`
	// Background are the system's own programs that work while models are slow,
	// busiest first, at most three. Read only during such an episode.
	Background []Background `json:"background,omitempty"`
	// GPUUsers are other programs that work on the GPU, likewise.
	GPUUsers []GPUUser `json:"gpu_users,omitempty"`

	Problems map[Section]Problem `json:"problems,omitempty"`
}

// Section is the JSON name of a part of a Snapshot.
type Section string

// The sections that can be absent with a reason.
const (
	SectionMachine   Section = "machine"
	SectionMemory    Section = "memory"
	SectionSwap      Section = "swap"
	SectionGPU       Section = "gpu"
	SectionThermal   Section = "thermal"
	SectionPower     Section = "power"
	SectionHeadroom  Section = "headroom"
	SectionLimit     Section = "limit"
	SectionConsumers Section = "consumers"
)

// Problem is why a section is absent.
type Problem struct {
	// Reason is one of the Reason constants; a screen translates it.
	Reason string `json:"reason"`
	// Detail is the error in the words of the system.
	Detail string `json:"detail,omitzero"`
}

// Reasons of a Problem.
const (
	ReasonUnsupported  = "unsupported"
	ReasonNotPermitted = "not_permitted"
	ReasonFailed       = "failed"
)

// Swap is swap space and its traffic.
type Swap struct {
	metal.Swap
	// InRate and OutRate are bytes per second since the last tick, from the
	// counters and the time awake. Absent at the first tick, after sleep, after
	// a clock change and when a counter went back.
	InRate  *float64 `json:"swap_in_bytes_per_second,omitempty"`
	OutRate *float64 `json:"swap_out_bytes_per_second,omitempty"`
	// OutToday is what was written to swap today, in bytes, as far as it can be
	// told: from OutSince on, which is midnight by Taken's clock, the start of the
	// system where that was later, or else the agent's first reading today.
	OutToday *uint64    `json:"swap_out_today_bytes,omitempty"`
	OutSince *time.Time `json:"swap_out_today_since,omitempty"`
}

// Headroom is what the next model may take now.
type Headroom struct {
	// Bytes is the smallest of the limits that are known, never below zero.
	Bytes uint64 `json:"bytes"`
	// Binding names the limit that is the smallest.
	Binding Binding `json:"binding"`
	// The three limits, each absent when one of its parts is.
	GPU         *uint64 `json:"gpu_limit_bytes,omitempty"`
	Reclaimable *uint64 `json:"reclaimable_bytes,omitempty"`
	RAM         *uint64 `json:"ram_less_reserve_bytes,omitempty"`
	// Reserve is the memory kept for the system, in bytes.
	Reserve *uint64 `json:"reserve_bytes,omitempty"`
	// Mapped is weights of resident models that the system counts as file pages it
	// can give up, in bytes: it is taken off Reclaimable, for they are in use, and
	// off RAM, for no footprint holds them. Absent when there are none.
	Mapped *uint64 `json:"mapped_weights_bytes,omitempty"`
}

// Binding names one of headroom's three limits.
type Binding string

// The three limits.
const (
	BindingGPU         Binding = "gpu_limit"        // working set − in use
	BindingReclaimable Binding = "reclaimable"      // memory the system can give up
	BindingRAM         Binding = "ram_less_reserve" // RAM − reserve − models
)

// Activity is what a resident model is doing, judged from the server's answers
// over time and from its runner's processor time.
type Activity string

const (
	// ActivityIdle: resident, nothing seen to run.
	ActivityIdle Activity = "idle"
	// ActivityBusy: its runner works, or the server moves its expiry at every poll.
	ActivityBusy Activity = "busy"
	// ActivityStopping: the expiry is past, or an unload was asked and it is still listed.
	ActivityStopping Activity = "stopping"
	// ActivityStuck: stopping for over a minute while its runner does nothing.
	ActivityStuck Activity = "stuck"
)

// Resident is a model in memory, as its server tells it and as measured.
type Resident struct {
	backend.Resident
	// Activity is absent for cloud models.
	Activity Activity `json:"activity,omitzero"`
	// Since is when Activity began.
	Since *time.Time `json:"activity_since,omitempty"`
	// Unloading is set from a click on Unload until the model is gone.
	Unloading bool `json:"unloading,omitzero"`
	// RunnerPID and Footprint belong to the process that holds the model, when
	// it could be told apart. Footprint is measured, in bytes.
	RunnerPID *int    `json:"runner_pid,omitempty"`
	Footprint *uint64 `json:"footprint_bytes,omitempty"`
	// Growth is how fast Footprint grows, in bytes per second. Absent as long as
	// that is no trend: ten minutes of growth, in both halves of the time.
	Growth *float64 `json:"footprint_growth_bytes_per_second,omitempty"`
	// ReadPerToken is the weights that are read for every token, and CachePerToken
	// what each token of context adds to that, in bytes: as planned. Absent where the
	// model's shape is not known.
	ReadPerToken  *float64 `json:"weights_read_bytes_per_token,omitempty"`
	CachePerToken *float64 `json:"cache_read_bytes_per_token,omitempty"`
	// Volume is where its file lies. Absent where that was not told.
	Volume *metal.Volume `json:"volume,omitempty"`
	// Planned is what it was planned to take, in bytes, with the context that it runs
	// with; PlannedCache the part of it that is cache and state. Absent where the plan
	// is not known, for the reason Unplanned.
	Planned      *uint64    `json:"planned_bytes,omitempty"`
	PlannedCache *uint64    `json:"planned_cache_bytes,omitempty"`
	Unplanned    fit.Reason `json:"unplanned,omitzero"`
	// Asked is the context that its Modelfile or the server's setting asks for, in
	// tokens, where its server runs it with another. Absent where both agree, where
	// nobody asks, and where the server only keeps to a least context of its family.
	Asked *int `json:"asked_context_tokens,omitempty"`
	// Expected is how fast it can be with a short context.
	Expected *fit.Expected `json:"expected,omitempty"`
	// Efficiency is the share of its ceiling that its usual or newest decode rate
	// comes to, 0 to 1.
	Efficiency *float64 `json:"efficiency_ratio,omitempty"`
	// Comfort is one word on how it is to work with, from measured medians.
	Comfort fit.Comfort `json:"comfort,omitzero"`
	// Answered is when its server last answered: older than one poll means the
	// whole row is as of then.
	Answered *time.Time `json:"answered,omitempty"`
}

// LargestFit is a model on disk that could be loaded now.
type LargestFit struct {
	Backend string `json:"backend"`
	Model   string `json:"model"`
	// Needs is what it is planned to take, in bytes, with Context tokens of context.
	Needs   uint64 `json:"needs_bytes"`
	Context int    `json:"context_tokens"`
	// Borderline says that little is left then.
	Borderline bool `json:"borderline,omitzero"`
}

// Held is memory that was not given back: its server no longer lists the model,
// and ten seconds later at least half of it was still in use.
type Held struct {
	Backend string    `json:"backend"`
	Model   string    `json:"model"`
	Since   time.Time `json:"since"`
	// Bytes is the footprint of the process, or the model's size when no process
	// could be told to hold it; then PID and Process are absent.
	Bytes   *uint64 `json:"bytes,omitempty"`
	PID     *int    `json:"pid,omitempty"`
	Process string  `json:"process,omitzero"`
}

// Consumer is a memory user grouped by application.
type Consumer struct {
	Name      string `json:"name"`
	Footprint uint64 `json:"footprint_bytes"`
	Processes int    `json:"processes"`
}

package monitor

import (
	"time"
)

// Update is what every subscriber gets: the newest Snapshot, the alerts that
// stand, and what happened since the subscriber last looked. Its JSON, one a
// line, is the API's stream, status --json --watch, the recording and the
// replay format alike.
type Update struct {
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Alerts   []Alert   `json:"alerts,omitempty"`
	Events   []Event   `json:"events,omitempty"`
}

// Severity orders alerts.
type Severity string

// The severities, mildest first.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityCritical Severity = "critical"
)

// Alert is a rule that holds now. Its words are made in package view from
// "alert.RULE.title" and "alert.RULE.text" and Evidence.
type Alert struct {
	// ID is unique among standing alerts: the rule, and the subject if there can
	// be several ("server_down:ollama").
	ID       string    `json:"id"`
	Rule     string    `json:"rule"`
	Severity Severity  `json:"severity"`
	Since    time.Time `json:"since"`
	Evidence Evidence  `json:"evidence,omitzero"`
	// Action is what a click may do about it. Absent when only a person can.
	Action *Command `json:"action,omitempty"`
}

// Evidence is the numbers that an alert or event rests on. Each is absent when
// it plays no part.
type Evidence struct {
	Backend string `json:"backend,omitzero"`
	Address string `json:"address,omitzero"`
	State   string `json:"state,omitzero"`
	Cause   string `json:"cause,omitzero"`
	Model   string `json:"model,omitzero"`
	// Consumer is the biggest memory user, a model when ConsumerIsModel.
	Consumer        string   `json:"consumer,omitzero"`
	ConsumerIsModel bool     `json:"consumer_is_model,omitzero"`
	ConsumerBytes   *uint64  `json:"consumer_bytes,omitempty"`
	SwapUsed        *uint64  `json:"swap_used_bytes,omitempty"`
	SwapTotal       *uint64  `json:"swap_total_bytes,omitempty"`
	SwapOutRate     *float64 `json:"swap_out_bytes_per_second,omitempty"`
	SwapInRate      *float64 `json:"swap_in_bytes_per_second,omitempty"`
	SwapGrowth      *uint64  `json:"swap_growth_bytes,omitempty"`
	Pressure        string   `json:"pressure,omitzero"`
	Bytes           *uint64  `json:"bytes,omitempty"`
	// Planned is what a model was planned to take, where Bytes is what it took.
	Planned *uint64  `json:"planned_bytes,omitempty"`
	Freed   *uint64  `json:"freed_bytes,omitempty"`
	PID     *int     `json:"pid,omitempty"`
	Process string   `json:"process,omitzero"`
	Seconds *float64 `json:"seconds,omitempty"`
	Count   *int     `json:"count,omitempty"`
	Detail  string   `json:"detail,omitzero"`
	// Heat: now, and as it usually is at full load. TemperatureLimit is a person's
	// own, where Temperature has reached it.
	Temperature      *float64 `json:"temperature_celsius,omitempty"`
	TemperatureLimit *float64 `json:"temperature_limit_celsius,omitempty"`
	Clock            *float64 `json:"clock_mhz,omitempty"`
	TopClock         *float64 `json:"top_clock_mhz,omitempty"`
	UsualClock       *float64 `json:"usual_clock_mhz,omitempty"`
	Power            *float64 `json:"power_watts,omitempty"`
	UsualPower       *float64 `json:"usual_power_watts,omitempty"`
	DecodeRate       *float64 `json:"decode_tokens_per_second,omitempty"`
	UsualDecodeRate  *float64 `json:"usual_decode_tokens_per_second,omitempty"`
	ThermalPressure  string   `json:"thermal_pressure,omitzero"`
	// Limit is what Bytes should stay below, GrowthRate how they grow.
	Limit      *uint64  `json:"limit_bytes,omitempty"`
	GrowthRate *float64 `json:"growth_bytes_per_second,omitempty"`
	// Since is from when on Bytes were counted.
	Since *time.Time `json:"since,omitempty"`
	// Slowness: the part of a model on the GPU or of the GPU's time that another
	// takes, tokens of prompt or context, the share of a rate that is lost to them,
	// how fast a model was loaded and from which volume, processor cores that
	// others take, and what Bytes were before.
	GPUShare *float64 `json:"gpu_share_ratio,omitempty"`
	Tokens   *int     `json:"tokens,omitempty"`
	// KeptTokens are those of Tokens that were left of a prompt.
	KeptTokens *int     `json:"kept_tokens,omitempty"`
	Drop       *float64 `json:"expected_drop_ratio,omitempty"`
	LoadRate   *float64 `json:"load_bytes_per_second,omitempty"`
	Volume     string   `json:"volume,omitzero"`
	Cores      *float64 `json:"processor_cores,omitempty"`
	Before     *uint64  `json:"before_bytes,omitempty"`
}

// Event is something that happened once.
type Event struct {
	Time     time.Time `json:"time"`
	Kind     EventKind `json:"kind"`
	Alert    *Alert    `json:"alert,omitempty"`
	Evidence Evidence  `json:"evidence,omitzero"`
}

// EventKind is what happened.
type EventKind string

const (
	EventAlertRaised  EventKind = "alert_raised"
	EventAlertCleared EventKind = "alert_cleared"
	// EventAlertChanged: the same alert became more severe.
	EventAlertChanged EventKind = "alert_changed"
	EventModelLoaded  EventKind = "model_loaded"
	EventModelGone    EventKind = "model_gone"
	EventServer       EventKind = "server_changed"
	// EventUnloadAsked: the server accepted an unload; Evidence.State is the
	// model's activity ("busy": it goes after this answer).
	EventUnloadAsked EventKind = "unload_asked"
	// EventUnloaded: the entry is gone and memory was given back; Freed tells
	// how much, absent when this machine cannot measure it.
	EventUnloaded EventKind = "unloaded"
	// EventUnloadHeld: the entry is gone but Bytes are still held by PID.
	EventUnloadHeld EventKind = "unload_held"
	// EventUnloadFailed: refused, or still listed and idle after the wait.
	EventUnloadFailed EventKind = "unload_failed"
	// EventSlept: the machine slept for Seconds.
	EventSlept EventKind = "slept"
	// EventClock: the wall clock jumped by Seconds.
	EventClock EventKind = "clock_changed"
	// EventLimit: the GPU's limit changed; Evidence.State is one of the Limit
	// constants, Bytes what is in force, Seconds how long a trial lasts.
	EventLimit EventKind = "limit_changed"
	// EventOutOfMemory: a server's log tells that memory was not given, to the GPU or
	// (Cause "system") at all.
	EventOutOfMemory EventKind = "out_of_memory"
	// EventTruncated: a prompt of Tokens was longer than the context; KeptTokens were
	// read.
	EventTruncated EventKind = "prompt_truncated"
	// EventCacheRefused: a quantised cache was asked for and cannot be had without
	// flash attention.
	EventCacheRefused EventKind = "cache_refused"
	// EventEvicted: a server drops a model to make room for another.
	EventEvicted EventKind = "model_evicted"
	// EventGap: this subscriber was too slow and Count updates are missing.
	EventGap EventKind = "gap"
	// EventDiagnosis: a cause has slowed a model for some seconds, and was not told of
	// it in the last minutes; Evidence.State is it.
	EventDiagnosis EventKind = "diagnosis"
	// EventPostMortem: the system had to restart by itself before; told once.
	EventPostMortem EventKind = "post_mortem"
	// EventProblem and EventProblemGone: a section became absent, or is back.
	EventProblem     EventKind = "problem"
	EventProblemGone EventKind = "problem_gone"
)

// Command is what a click asks for. It says whether it was accepted; its effect
// is seen in the next Snapshot and in Events.
type Command struct {
	Kind    CommandKind `json:"kind"`
	Backend string      `json:"backend,omitzero"`
	Model   string      `json:"model,omitzero"`
	// Keep is for CommandKeep, in seconds; −1 pins.
	Keep *float64 `json:"keep_seconds,omitempty"`
	// PID is for CommandEndRunner.
	PID *int `json:"pid,omitempty"`
	// Bytes is for CommandSetLimit: the limit in bytes, whole MiB.
	Bytes *uint64 `json:"bytes,omitempty"`
	// Lease is for CommandSetLimit: how long a raised limit is on trial, in seconds,
	// from wired.LeaseLeast to wired.LeaseMost. Absent: wired.LeaseDefault.
	Lease *float64 `json:"lease_seconds,omitempty"`
}

// CommandKind names a command.
type CommandKind string

const (
	// CommandUnload drops Model from Backend ("" means: the one that holds it).
	CommandUnload CommandKind = "unload"
	// CommandUnloadAll drops every resident model that is not in the cloud.
	CommandUnloadAll CommandKind = "unload_all"
	// CommandKeep sets how long Model stays.
	CommandKeep CommandKind = "keep"
	// CommandEndRunner politely ends (SIGTERM) the process PID, which must be
	// the runner of an EventUnloadHeld that still stands.
	CommandEndRunner CommandKind = "end_runner"
	// CommandSetLimit sets the GPU's wired limit to Bytes; raised, it is on trial
	// until it is confirmed. CommandResetLimit goes back to the system's default.
	CommandSetLimit     CommandKind = "set_limit"
	CommandConfirmLimit CommandKind = "confirm_limit"
	CommandResetLimit   CommandKind = "reset_limit"
	// CommandRestartServer ends the model server of Backend and starts it again.
	// It is refused while a request is in flight.
	CommandRestartServer CommandKind = "restart_server"
)

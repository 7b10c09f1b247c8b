package monitor

import (
	"context"
	"time"

	"plimsoll/metal/wired"
)

// Limiter changes the wired limit and tells how it stands. The helper's client
// implements it, through the simulated Mac's helper in the demo.
type Limiter interface {
	// State reads what is set, remembered and on trial. It takes microseconds,
	// starts no process and needs no rights. It fails with wired.ErrNoKey where
	// the system has no adjustable limit.
	State() (wired.State, error)
	// Helper says how the helper stands; it is asked now and then, not every tick.
	Helper(context.Context) HelperState
	Set(ctx context.Context, limit wired.MiB, lease time.Duration) error
	// Confirm ends a trial: of that limit alone, or of any for 0.
	Confirm(ctx context.Context, limit wired.MiB) error
	Reset(context.Context) error
	// Restart ends the model server of a backend and starts it again.
	Restart(ctx context.Context, backend string) error
	// RestartCommand is what a person types to do the same. It may start processes.
	RestartCommand(ctx context.Context, backend string) (string, error)
}

// Limit is the GPU's wired limit: what is set, what is in force, and what is
// being done about it. Absent, with a reason under SectionLimit, where the system
// has no adjustable limit.
type Limit struct {
	// Key is the name that this system has for the limit. Absent in lines written
	// by hand.
	Key string `json:"key,omitzero"`
	// Set is the limit as it is set, in bytes; 0 is the system's default.
	Set uint64 `json:"set_bytes"`
	// Effective is what Metal says is in force, in bytes. Absent when nobody told.
	Effective *uint64 `json:"effective_bytes,omitempty"`
	// Default is what is in force while nothing is set, in bytes: as it was seen,
	// or else an estimate.
	Default          *uint64 `json:"default_bytes,omitempty"`
	DefaultEstimated bool    `json:"default_estimated,omitzero"`
	// Remembered is the confirmed limit that is applied after a restart, in bytes.
	Remembered *uint64 `json:"remembered_bytes,omitempty"`
	// Lease is open while a raised limit waits to be confirmed.
	Lease *LimitLease `json:"lease,omitempty"`
	// Helper is how the privileged helper stands.
	Helper HelperState `json:"helper,omitzero"`
	// Refused says why the remembered limit was not applied at the start of the
	// system; see package wired.
	Refused string `json:"refused,omitzero"`
	// Stale are servers that started before the limit in force was: they keep the
	// old figure until they are restarted.
	Stale []string `json:"servers_to_restart,omitempty"`
	// Commands are what a person types to restart each of them, where that is known.
	Commands map[string]string `json:"restart_commands,omitempty"`
}

// LimitLease is a raised limit on trial.
type LimitLease struct {
	Value    uint64    `json:"value_bytes"`
	Previous uint64    `json:"previous_bytes"` // 0: the system's default
	Until    time.Time `json:"until"`
}

// HelperState is how the privileged helper stands.
type HelperState string

const (
	HelperInstalled HelperState = "installed"
	HelperMissing   HelperState = "missing"
	// HelperOutdated: it speaks another version of the protocol than this program.
	HelperOutdated HelperState = "outdated"
	// HelperSilent: it is installed and does not answer.
	HelperSilent HelperState = "silent"
)

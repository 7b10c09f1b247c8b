// Package wired is the limit on memory that the GPU of a Mac may wire: what a
// value means, which values are safe on a machine, what follows from one, and how
// it is changed by a program that runs as root and can do nothing else.
//
// All that root does is a Server: the helper (metal/helper) brings a System that
// touches the machine, the simulated Mac and the tests bring others, and the code
// in between is the same. The package imports the standard library alone.
//
// What a Server does with a limit:
//
//	raised    on trial: a lease is written down, then the limit is set. Unless it
//	          is confirmed in time, the limit before it comes back. Raised again
//	          meanwhile, that is still the one from before the first trial.
//	confirmed remembered, if it is still the one that is set
//	lowered   at once, without a lease, and remembered: the machine ran with more.
//	          What is lower is measured from the limit before a trial.
//	reset     at once the system's default; nothing is remembered
//	start     what is remembered is set again, if it passes its checks; the start is
//	          pending until the system has been up for 10 minutes after that. A
//	          start that is still pending at the next one froze the machine: the
//	          limit is not set again before a person confirms one.
//
// A value outside the bounds is never written, also not as the limit that comes
// back: the default takes its place then. Whoever has root's rights may change the
// limit by hand at any time; theirs stays, unless a trial ends and it is higher than
// the one from before.
package wired

import (
	"math"
	"time"
)

// MiB is an amount of memory as iogpu.wired_limit_mb counts it: 2^20 bytes. As a
// limit, 0 is the system's default.
type MiB uint64

// Bytes is the amount in bytes. One that is larger than any is the largest, so that
// what somebody set by hand never looks like the default.
func (m MiB) Bytes() uint64 { return uint64(min(m, math.MaxUint64>>20)) << 20 }

// State is what stands in the helper's files and in the sysctl. Reading it needs
// no helper and no rights (ReadState).
type State struct {
	// Key is the name that this system has for the limit; "" means that it has none.
	Key string `json:"key,omitzero"`
	// Set is the limit as it is set; 0 is the system's default.
	Set MiB `json:"set_mib"`
	// Remembered is the confirmed limit that is applied again after a restart.
	Remembered *MiB `json:"remembered_mib,omitempty"`
	// Lease is open while a raised limit waits to be confirmed.
	Lease *Lease `json:"lease,omitempty"`
	// Refused says why the remembered limit was not applied when the system
	// started: one of the Refused constants.
	Refused string `json:"refused,omitzero"`
}

// Lease is a raised limit on trial: unless it is confirmed in time, the limit
// before it comes back.
type Lease struct {
	Value    MiB `json:"value_mib"`
	Previous MiB `json:"previous_mib"`
	// Left is the time that is left.
	Left time.Duration `json:"left_ns"`
}

// Why a remembered limit was not applied at the start of the system.
const (
	RefusedPending = "pending" // the start before never came to 10 minutes
	RefusedBounds  = "bounds"  // it no longer passes its bounds
	RefusedRAM     = "ram"     // the machine has another amount of memory
	RefusedFile    = "file"    // its file is not root's alone
)

// Leases: raising takes one, always.
const (
	LeaseDefault = 120 * time.Second
	LeaseLeast   = 30 * time.Second
	LeaseMost    = 600 * time.Second
)

// Helper is what the helper says of itself.
type Helper struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
}

package bench

import "fmt"

// Reason is why a run does not count, or why a test was skipped, with the number
// that shows it.
type Reason struct {
	Kind ReasonKind `json:"reason"`
	// Name is the model, program or cause it is about. Absent for others.
	Name string `json:"name,omitzero"`
	// Value is in the unit that the kind has.
	Value *float64 `json:"value,omitempty"`
}

// ReasonKind names a Reason.
type ReasonKind string

// What voids a run.
const (
	ReasonSwapping     ReasonKind = "swapping"            // bytes swapped out during it
	ReasonThrottled    ReasonKind = "throttled"           // the GPU was slowed; Name is the cause
	ReasonOtherRequest ReasonKind = "other_request"       // of somebody else, to the same model
	ReasonQueued       ReasonKind = "queued"              // seconds spent waiting for others
	ReasonOtherModel   ReasonKind = "other_model"         // Name worked, or was loaded
	ReasonBackground   ReasonKind = "background"          // Name kept so many cores busy
	ReasonTogether     ReasonKind = "background_together" // all other programs kept so many cores busy
	ReasonOtherGPU     ReasonKind = "other_gpu_user"      // Name used that share of the GPU
	ReasonSlept        ReasonKind = "slept"
	ReasonPower        ReasonKind = "power_changed" // plugged in or out, or the low power mode changed
	ReasonReloaded     ReasonKind = "reloaded"      // seconds of loading, for somebody dropped the model
	ReasonCached       ReasonKind = "cached"        // tokens/s at which the prompt seemed to be read
	ReasonCutShort     ReasonKind = "cut_short"     // tokens that the answer had: too few
	ReasonTruncated    ReasonKind = "truncated"     // tokens that were left of the prompt
)

// Why a test is skipped.
const (
	// SkipTrained: the model was not made for such a context; Value is the most.
	SkipTrained ReasonKind = "trained_context"
	// SkipMemory: there is no room; Value is the bytes that are missing.
	SkipMemory ReasonKind = "memory"
	// SkipUnknownNeed: nobody knows what it would take.
	SkipUnknownNeed ReasonKind = "unknown_need"
	// SkipUnsupported: the server cannot do it.
	SkipUnsupported ReasonKind = "unsupported"
)

func (r Reason) String() string {
	text := string(r.Kind)
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Value != nil {
		text += fmt.Sprintf(" %.4g", *r.Value)
	}
	return text
}

package monitor

import "time"

// Diagnosis is one sentence on how fast models run now and why: the first cause
// that the evidence supports, in the order of the constants. Absent while no model
// is at work and none has been lately.
type Diagnosis struct {
	Cause DiagnosisCause `json:"cause"`
	// Backend and Model are the one it is about. Absent when it is about the machine.
	Backend string    `json:"backend,omitzero"`
	Model   string    `json:"model,omitzero"`
	Since   time.Time `json:"since"`
	// Evidence is the numbers that show it.
	Evidence Evidence `json:"evidence,omitzero"`
	// Also are further causes that hold at the same time, in order.
	Also []DiagnosisCause `json:"also,omitempty"`
	// Action is what a click may do about it. Absent when only a person can.
	Action *Command `json:"action,omitempty"`
}

// DiagnosisCause names a cause of slowness.
type DiagnosisCause string

// The causes, the strongest first.
const (
	SlowSwapping    DiagnosisCause = "swapping"
	SlowSpill       DiagnosisCause = "spill"        // over the GPU limit, or part on the CPU
	SlowThrottled   DiagnosisCause = "throttled"    // by heat or power mode
	SlowSecondModel DiagnosisCause = "second_model" // another model works too
	SlowSecondUser  DiagnosisCause = "second_client"
	SlowDeepContext DiagnosisCause = "deep_context"
	SlowReread      DiagnosisCause = "prompt_reread"
	SlowColdLoad    DiagnosisCause = "cold_load"
	SlowOtherGPU    DiagnosisCause = "other_gpu_user"
	SlowBattery     DiagnosisCause = "battery"
	SlowBackground  DiagnosisCause = "background"
	SlowGrown       DiagnosisCause = "runner_grown"
	SlowEngine      DiagnosisCause = "engine" // below its own median, nothing else seen
	SlowNot         DiagnosisCause = "normal"
)

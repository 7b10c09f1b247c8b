package monitor

import (
	"slices"
	"time"

	"plimsoll/metal"
)

// Throttle is the verdict on whether the GPU runs slower than it could, from
// everything that is measured together. It is absent where nothing tells:
// Throttled false means that it was seen to run at its usual pace, or has
// nothing to do. A nominal thermal pressure tells nothing, nor does a requested
// clock at its top.
type Throttle struct {
	Throttled bool `json:"throttled"`
	// Since is when the signs began. Absent while it is not throttled.
	Since *time.Time `json:"since,omitempty"`
	// Cause is what the signs together speak for. Absent while it is not throttled.
	Cause ThrottleCause `json:"cause,omitzero"`
	// Evidence is what speaks for it now, with its numbers. For the moments
	// after the last sign it is as it was then.
	Evidence []Sign `json:"evidence,omitempty"`
}

// ThrottleCause is why a GPU is slowed.
type ThrottleCause string

const (
	// CauseHeat: the system reports thermal pressure, or the chip is hot.
	CauseHeat ThrottleCause = "heat"
	// CausePaused: a model is at work and the GPU nearly stands still: it cools.
	CausePaused ThrottleCause = "paused"
	// CauseLowPower: the low power mode is on, which a person chose.
	CauseLowPower ThrottleCause = "low_power_mode"
	// CausePolicy: neither is seen. Systems slow a GPU by a policy of power and
	// heat that they do not report (github.com/feedback-assistant/reports/issues/830).
	CausePolicy ThrottleCause = "policy"
)

// Sign is one piece of evidence with its numbers, all of the same moment; each
// is absent where it plays no part.
type Sign struct {
	Reason SignReason `json:"reason"`
	// Clock, its highest step, and what it usually is at full load, in MHz.
	Clock      *float64 `json:"clock_mhz,omitempty"`
	TopClock   *float64 `json:"top_clock_mhz,omitempty"`
	UsualClock *float64 `json:"usual_clock_mhz,omitempty"`
	// Power and what is usual at full load, in watts.
	Power      *float64 `json:"power_watts,omitempty"`
	UsualPower *float64 `json:"usual_power_watts,omitempty"`
	// Temperature in °C.
	Temperature *float64              `json:"temperature_celsius,omitempty"`
	Pressure    metal.ThermalPressure `json:"thermal_pressure,omitzero"`
	// DecodeRate and the model's own median, in tokens per second.
	DecodeRate      *float64 `json:"decode_tokens_per_second,omitempty"`
	UsualDecodeRate *float64 `json:"usual_decode_tokens_per_second,omitempty"`
}

// SignReason names a piece of evidence.
type SignReason string

const (
	SignClock      SignReason = "clock"            // busy, and below the top steps
	SignPower      SignReason = "power"            // busy, and below its own usual watts
	SignDecodeRate SignReason = "decode_rate"      // below the model's own median
	SignPressure   SignReason = "thermal_pressure" // moderate supports another sign, heavy is one
	SignHot        SignReason = "temperature"      // supports another sign, never is one
	SignPaused     SignReason = "paused"           // a model at work and hardly any watts
)

// The numbers of the verdict.
const (
	// fullLoad is the utilisation above which a GPU is fully busy: only then does
	// its clock say what the system lets it have.
	fullLoad = 0.9
	// topSteps is the share of the highest clock that its top steps reach down
	// to while heat is told of, and lowSteps while it is not: ladders hold steps
	// that some chips hardly take (github.com/vladkens/macmon/issues/78).
	topSteps, lowSteps = 0.95, 0.85
	// slowShare of the usual watts or decode rate is slowed
	// (github.com/feedback-assistant/reports/issues/830 lost 15 to 65 %).
	slowShare = 0.8
	// How long a sign must last: a few seconds where heat is told of, longer
	// where only the clock speaks, and half a minute for watts and rates, which
	// follow the work too.
	heatHold, clockHold, usualHold = 4 * time.Second, 10 * time.Second, 30 * time.Second
	// How long the verdict stays without a sign; idleClear is for a GPU that has
	// nothing to do while thermal pressure stays up, so that requests with pauses
	// between do not make it come and go.
	throttleClear, idleClear = 6 * time.Second, time.Minute
	// hotAt is the temperature, in °C, that counts as heat: chips run at 100 and
	// more under "nominal", and slow in the nineties.
	hotAt = 95
)

// throttling makes the verdict of each snapshot. Of the past it needs the
// history, in which the verdicts before stand, and what is usual here.
type throttling struct {
	usual loads
	// decoding tells the decode rate of the model at work and that model's own
	// median, where both are measured.
	decoding func(*Snapshot) (rate, usual float64, ok bool)
}

// step says what the newest snapshot's verdict is, nil when nothing tells.
func (t *throttling) step(h *History) *Throttle {
	now := h.back(0)
	if h.standing() == nil && busyGPU(now) != yes && !atWork(now) { // the usual tick of an idle machine
		if busyGPU(now) == no {
			return &atPace
		}
		return nil
	}
	verdict := t.scene(h).verdict()
	if busyGPU(now) == yes && !(verdict != nil && verdict.confirmed()) {
		t.usual.add(h)
	}
	return verdict
}

// confirmed reports evidence besides watts, which may be low because the work is
// another: then it is the machine that changed, and nothing is learned from it.
func (v *Throttle) confirmed() bool {
	return v.Throttled && slices.ContainsFunc(v.Evidence, func(s Sign) bool { return s.Reason != SignPower && s.Reason != SignHot })
}

// verdict latches: it begins when a sign has lasted and ends when all have been
// away for a while, or at once when the system that told of heat says that it is over.
func (sc *slowScene) verdict() *Throttle {
	now, before := sc.h.back(0), sc.h.standing()
	signs := sc.signs()
	if before == nil {
		if since, ok := sc.begun(); ok {
			return &Throttle{Throttled: true, Since: &since, Cause: cause(now, signs), Evidence: signs}
		}
		if busyGPU(now) == no || busyGPU(now) == yes && sc.told(now) {
			return &atPace
		}
		return nil
	}
	if sc.sign(now) {
		return &Throttle{Throttled: true, Since: before.Since, Cause: cause(now, signs), Evidence: signs}
	}
	if sc.over(before) {
		return &atPace
	}
	return &Throttle{Throttled: true, Since: before.Since, Cause: before.Cause, Evidence: before.Evidence}
}

// atPace is the verdict on a GPU that is not slowed; snapshots share it.
var atPace = Throttle{}

// over reports that a verdict without a sign now has stood long enough.
func (sc *slowScene) over(before *Throttle) bool {
	now := sc.h.back(0)
	reported := slices.ContainsFunc(before.Evidence, func(s Sign) bool { return s.Reason == SignPressure })
	if reported && heat(now) == metal.ThermalNominal {
		return true
	}
	clear := throttleClear
	if busyGPU(now) != yes && warm(now) {
		clear = idleClear
	}
	for n := 1; ; n++ {
		s := sc.h.back(n)
		if s == nil || elapsed(s, now) >= clear {
			return true
		}
		if sc.sign(s) {
			return false
		}
	}
}

// cause weighs what is known of a slowed GPU.
func cause(s *Snapshot, signs []Sign) ThrottleCause {
	has := func(reason SignReason) bool {
		return slices.ContainsFunc(signs, func(s Sign) bool { return s.Reason == reason })
	}
	switch {
	case has(SignPaused):
		return CausePaused
	case warm(s):
		return CauseHeat
	case lowPower(s):
		return CauseLowPower
	}
	return CausePolicy
}

// standing is the verdict of the snapshot before while it says throttled and
// neither sleep nor a change of the clock lies between.
func (h *History) standing() *Throttle {
	now, before := h.back(0), h.back(1)
	if before == nil || before.Throttle == nil || !before.Throttle.Throttled {
		return nil
	}
	if slept, changed := interruption(before, now); slept != 0 || changed != 0 {
		return nil
	}
	return before.Throttle
}

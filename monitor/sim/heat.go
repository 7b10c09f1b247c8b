package sim

import (
	"math"
	"time"

	"plimsoll/metal"
)

// The heat of a thin machine without a fan at full load, as first-order physics:
// temperature goes towards ambient + resistance × power with a time constant of
// five minutes. At 18 W it heads for 102 °C, is past "moderate" after ten minutes
// and past "heavy" after thirteen.
const (
	ambient        = 34.0                  // °C inside the case with everything idle
	resistance     = (102 - ambient) / 18. // °C per W
	heatTime       = 300.0                 // s
	gpuFullPower   = 18.0                  // W
	gpuIdlePower   = 0.4                   // W
	gpuFullClock   = 1620.0                // MHz
	gpuIdleClock   = 338.0                 // MHz, the lowest step of the ladder on M4 and M5
	moderateAt     = 92.5                  // °C, going up
	heavyAt        = 97.0
	heavyUntil     = 84.0 // °C, going down
	moderateUntil  = 76.0
	moderateFactor = 0.92 // of clock and decode rate
	heavyFactor    = 0.70
)

// heat is the temperature of the GPU and what the system makes of it.
type heat struct {
	temperature float64 // °C
	level       metal.ThermalPressure
	power       float64 // W over the last step
	busy        float64 // share of the last step that the GPU worked
	saving      bool    // in the low power mode
}

func newHeat() heat { return heat{temperature: 40, level: metal.ThermalNominal, power: gpuIdlePower} }

// state is what programs are told (ProcessInfo.thermalState), which has one word
// for moderate and heavy.
func (h *heat) state() string {
	if h.level == metal.ThermalNominal {
		return "nominal"
	}
	return "fair"
}

// factor is what is left of the clock.
func (h *heat) factor() float64 {
	switch h.level {
	case metal.ThermalModerate:
		return moderateFactor
	case metal.ThermalHeavy:
		return heavyFactor
	}
	return 1
}

// share is what is left of the clock for heat and the low power mode.
func (h *heat) share() float64 {
	if h.saving {
		return h.factor() * saverCap
	}
	return h.factor()
}

// load is the power at full load in W. A hot chip at a lower clock saves less
// than its clock lost: leakage grows with temperature and the rest of the package
// stays on.
func (h *heat) load() float64 {
	switch h.level {
	case metal.ThermalModerate:
		return 17.5
	case metal.ThermalHeavy:
		return 14.5
	}
	return gpuFullPower
}

// step lets the GPU be busy for that share of dt.
func (h *heat) step(busy float64, dt time.Duration) {
	h.busy = busy
	full := h.load()
	if h.saving {
		full *= saverWatts
	}
	h.power = gpuIdlePower + (full-gpuIdlePower)*busy
	h.relax(h.power, dt)
	switch t := h.temperature; {
	case t >= heavyAt:
		h.level = metal.ThermalHeavy
	case h.level == metal.ThermalHeavy && t >= heavyUntil:
	case t >= moderateAt, h.level != metal.ThermalNominal && t >= moderateUntil:
		h.level = metal.ThermalModerate
	default:
		h.level = metal.ThermalNominal
	}
}

// relax moves the temperature towards what power leads to.
func (h *heat) relax(power float64, d time.Duration) {
	goal := ambient + resistance*power
	h.temperature += (goal - h.temperature) * (1 - math.Exp(-d.Seconds()/heatTime))
}

// sleep lets the machine cool for d; nothing works in sleep.
func (h *heat) sleep(d time.Duration) {
	h.relax(0, d)
	h.step(0, 0)
}

// clock is the GPU's frequency in MHz.
func (h *heat) clock() float64 {
	full := gpuFullClock * h.share()
	return gpuIdleClock + (full-gpuIdleClock)*min(1, h.busy*1.05)
}

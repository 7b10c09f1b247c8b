package monitor

import (
	"math"
	"time"

	"plimsoll/metal"
)

// truth is what a snapshot says to a question; most may have no answer.
type truth int8

const (
	unknown truth = iota
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// slowScene is the history as the throttle verdict looks at it.
type slowScene struct {
	h        *History
	usual    *load // of the models now at work; its medians may be absent
	decoding func(*Snapshot) (rate, usual float64, ok bool)
	paused   pause
}

func (t *throttling) scene(h *History) *slowScene {
	return &slowScene{h: h, usual: t.usual.of(h.back(0)), decoding: t.decoding, paused: pauseLevel(h)}
}

// sign reports any sign of a slowed GPU at a snapshot, however short.
func (sc *slowScene) sign(s *Snapshot) bool {
	return sc.clock(s) == yes || sc.power(s) == yes || sc.pressed(s) == yes || sc.rate(s) == yes || sc.paused.at(s) == yes
}

// told reports that something was measured that would have shown.
func (sc *slowScene) told(s *Snapshot) bool {
	return sc.clock(s) != unknown || sc.power(s) != unknown || sc.pressed(s) == yes || sc.rate(s) != unknown
}

// begun reports that a sign has lasted its time, and when it began.
func (sc *slowScene) begun() (time.Time, bool) {
	now := sc.h.back(0)
	hold := clockHold
	if warm(now) {
		hold = heatHold
	}
	for _, sign := range []struct {
		hold time.Duration
		at   func(*Snapshot) truth
	}{{hold, sc.clock}, {heatHold, sc.pressed}, {usualHold, sc.power}, {usualHold, sc.rate}, {pauseHold, sc.paused.at}} {
		if since, ok := sc.h.lasting(sign.hold, sign.at); ok {
			return since, true
		}
	}
	return time.Time{}, false
}

// clock: fully busy and below the top steps, or of a card that boosts, below its
// usual clock. A measured clock at the top says no; a requested one says nothing,
// for the hardware may not have kept it.
func (sc *slowScene) clock(s *Snapshot) truth {
	if busy := busyGPU(s); busy != yes {
		return busy
	}
	share, ok := sc.clockShare(s.GPU)
	if !ok {
		return unknown
	}
	limit := lowSteps
	if warm(s) {
		limit = topSteps
	}
	switch {
	case share < limit:
		return yes
	case s.GPU.Requested:
		return unknown
	}
	return no
}

// power: fully busy and far fewer watts than is usual here. A measured clock at
// its top says that it is the work that changed.
func (sc *slowScene) power(s *Snapshot) truth {
	if busy := busyGPU(s); busy != yes {
		return busy
	}
	watts, usual := positive(s.GPU.Power), sc.usual.power()
	if watts == nil || usual == nil {
		return unknown
	}
	return truthOf(*watts < slowShare**usual && !sc.topSpeed(s.GPU))
}

// pressed: fully busy while the system reports that it slows the chip down.
func (sc *slowScene) pressed(s *Snapshot) truth {
	if busy := busyGPU(s); busy != yes {
		return busy
	}
	if heat(s) == "" {
		return unknown
	}
	return truthOf(heavy(s) && !sc.topSpeed(s.GPU))
}

// rate: the model makes its tokens slower than it does by its own median.
func (sc *slowScene) rate(s *Snapshot) truth {
	if sc.decoding == nil {
		return unknown
	}
	rate, usual, ok := sc.decoding(s)
	if !ok || !(usual > 0) || !(rate > 0) {
		return unknown
	}
	return truthOf(rate < slowShare*usual)
}

// busyGPU reports a GPU at full load.
func busyGPU(s *Snapshot) truth {
	if s.GPU == nil || s.GPU.Utilisation == nil || math.IsNaN(*s.GPU.Utilisation) {
		return unknown
	}
	return truthOf(*s.GPU.Utilisation > fullLoad)
}

// clockShare is the clock as a part of its highest step, or of what is usual here
// where no work reaches that.
func (sc *slowScene) clockShare(g *metal.GPU) (float64, bool) {
	clock, top := positive(g.Clock), positive(g.TopClock)
	if boosts(g) {
		top = sc.usual.clock()
	}
	if clock == nil || top == nil {
		return 0, false
	}
	return *clock / *top, true
}

// boosts reports a card of its own, whose highest clock is a bound that it does
// not reach at work within its watts: a GeForce RTX 4090 runs at 2520 of 3105 MHz.
func boosts(g *metal.GPU) bool { return g.Source == "nvml" || g.Source == "amdgpu" }

// topSpeed reports a clock that was measured, not asked for, at its top steps.
func (sc *slowScene) topSpeed(g *metal.GPU) bool {
	share, ok := sc.clockShare(g)
	return ok && !g.Requested && share >= topSteps
}

// positive is a reading that can be one: sources that are missing tell 0.
func positive(f *float64) *float64 {
	if f == nil || !(*f > 0) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// temperature is the GPU's in °C when it follows the load and is one that a chip
// in use can have: sensors that are asleep or renamed read 0 to 10, broken ones
// above 125 (github.com/vladkens/macmon/issues/12).
func temperature(s *Snapshot) *float64 {
	if s.GPU == nil || s.GPU.Stuck {
		return nil
	}
	if t := s.GPU.Temperature; t != nil && *t >= 15 && *t <= 125 {
		return t
	}
	return nil
}

// heat is the thermal pressure, "" when it is not told.
func heat(s *Snapshot) metal.ThermalPressure {
	if s.Thermal == nil {
		return ""
	}
	return s.Thermal.Pressure
}

func heavy(s *Snapshot) bool {
	return heat(s) == metal.ThermalHeavy || heat(s) == metal.ThermalTrapping || heat(s) == metal.ThermalSleeping
}

// warm reports that heat is told of: by the system, or by a chip that is hot.
func warm(s *Snapshot) bool {
	t := temperature(s)
	return heavy(s) || heat(s) == metal.ThermalModerate || t != nil && *t >= hotAt
}

// lowPower is false when it is not known.
func lowPower(s *Snapshot) bool {
	return s.Power != nil && s.Power.LowPower != nil && *s.Power.LowPower
}

// lasting reports that the newest snapshot and those before it, as far back as
// hold, all say yes to a question, and when that began. One without an answer
// neither ends it nor counts.
func (h *History) lasting(hold time.Duration, question func(*Snapshot) truth) (since time.Time, ok bool) {
	newest := h.back(0)
	if question(newest) != yes {
		return since, false
	}
	first, later := newest, newest
	for n := 1; elapsed(first, newest) < hold; n++ {
		s := h.back(n)
		if s == nil || elapsed(s, first) > longestGap(s, newest) {
			return since, false
		}
		if slept, changed := interruption(s, later); slept != 0 || changed != 0 {
			return since, false
		}
		later = s
		switch question(s) {
		case no:
			return since, false
		case yes:
			first = s
		}
	}
	return first.Taken, true
}

// longestGap is the most time between two readings that belong together.
func longestGap(from, to *Snapshot) time.Duration {
	if from.Awake == nil && to.Awake == nil {
		return longestByHand
	}
	return longest
}

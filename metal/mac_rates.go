package metal

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/metal/internal/iokit"
)

// gpuRates are the clock and the power of the GPU, made of what IOReport counted
// between two readings.
type gpuRates struct {
	report deltas
	tried  bool
	begun  bool          // the counters were read once
	at     time.Duration // of the last reading, awake
	ladder []float64     // MHz

	clock, top, power *float64
}

// Two readings closer than this count too little to make a rate, and those
// further apart are no neighbours: the energy of a gap would be told as the power
// of one moment.
const (
	shortestReading = 100 * time.Millisecond
	longestReading  = 30 * time.Second
)

// The IOReport channels that are subscribed to: how long the GPU was in which
// step, and its energy (vladkens/macmon, metaspartan/mactop).
const (
	stateGroup   = "GPU Stats"
	stateChannel = "GPUPH"
	energyGroup  = "Energy Model"
)

var gpuChannels = []iokit.Channel{
	{Group: stateGroup, Subgroup: "GPU Performance States", Name: stateChannel}, {Group: energyGroup, Name: "GPU"},
}

// read makes the rates of the time since the last call. awake is time without
// sleep; woke says that the machine slept in between.
func (r *gpuRates) read(hw macHardware, awake time.Duration, woke bool) {
	if !r.tried {
		r.tried = true
		if b, err := hw.ServiceProperty("pmgr", "voltage-states9"); err == nil {
			r.ladder = decodeLadder(b)
		}
		for _, mhz := range r.ladder {
			if r.top == nil || mhz > *r.top {
				r.top = new(mhz)
			}
		}
		r.report, _ = hw.Report(gpuChannels...)
	}
	if r.report == nil {
		return
	}
	elapsed := awake - r.at
	if r.begun && elapsed >= 0 && elapsed < shortestReading && !woke {
		return // what the last reading made still holds
	}
	first := !r.begun
	r.begun, r.at = true, awake
	r.clock, r.power = nil, nil
	entries, err := r.report.Delta()
	if err != nil || first || woke || elapsed < shortestReading || elapsed > longestReading {
		return // the counters were read, and what comes next counts from here
	}
	for _, e := range entries {
		if e.Group == stateGroup && e.Name == stateChannel {
			r.clock = clockOf(e.States, r.ladder)
		}
	}
	r.power = gpuPower(entries, elapsed)
}

// decodeLadder makes the steps of the GPU's clock in MHz of the property
// voltage-states9 of pmgr: pairs of 32 bits, little-endian, frequency and
// millivolts. The first step is off and has frequency 0; steps may repeat.
// The GPU's are in Hz on all chips so far, the CPU's in kHz since M4: no GPU's
// frequency can be either, so kHz are taken too.
func decodeLadder(b []byte) []float64 {
	if len(b)%8 != 0 || len(b) > 8*64 {
		return nil
	}
	var ladder []float64
	for i := 0; i < len(b); i += 8 {
		n := float64(binary.LittleEndian.Uint32(b[i:]))
		switch {
		case n == 0 && i == 0:
			continue
		case n >= 50e6:
			ladder = append(ladder, n/1e6)
		case n >= 50e3 && n < 10e6:
			ladder = append(ladder, n/1e3)
		default:
			return nil
		}
	}
	return ladder
}

// clockOf is the mean clock in MHz of the time that the GPU was not off: P1 is the
// first step of the ladder. nil when it was off all the time, and when the states
// do not fit the ladder.
func clockOf(states []iokit.State, ladder []float64) *float64 {
	var busy, sum float64
	for _, s := range states {
		digits, ok := strings.CutPrefix(s.Name, "P")
		step, err := strconv.Atoi(digits)
		switch {
		case !ok || err != nil, s.Residency == 0:
			continue // OFF, and steps that some chips have and do not use
		case s.Residency < 0 || step < 1 || step > len(ladder):
			return nil
		}
		busy += float64(s.Residency)
		sum += float64(s.Residency) * ladder[step-1]
	}
	if busy == 0 {
		return nil
	}
	return new(sum / busy)
}

// mostPower is more than any GPU of Apple's takes, in W.
const mostPower = 1000

// gpuPower is the GPU's energy by time, in W: of "GPU Energy", which present
// systems have, else of "GPU0", one for each die. A Mac without them, a counter
// that was set back and one that stood still tell no power: a GPU that takes none
// does not exist.
func gpuPower(entries []iokit.Entry, elapsed time.Duration) *float64 {
	var joules [2]float64
	var found, bad [2]bool
	for _, e := range entries {
		kind := energyKind(e)
		if kind < 0 {
			continue
		}
		found[kind] = true
		parts := energyParts(e.Unit)
		if e.Value == nil || *e.Value < 0 || parts == 0 { // INT64_MIN is what macOS says for no value
			bad[kind] = true
			continue
		}
		joules[kind] += float64(*e.Value) / parts
	}
	for kind := range joules {
		if !found[kind] {
			continue
		}
		watts := joules[kind] / elapsed.Seconds()
		if bad[kind] || !(watts > 0 && watts <= mostPower) || math.IsInf(watts, 0) {
			return nil
		}
		return &watts
	}
	return nil
}

// energyKind is 0 for the counter of the whole GPU, 1 for that of a die, −1 for
// others.
func energyKind(e iokit.Entry) int {
	switch {
	case e.Group != energyGroup:
		return -1
	case e.Name == "GPU Energy":
		return 0
	case e.Name == "GPU0", strings.HasPrefix(e.Name, "DIE_") && strings.HasSuffix(e.Name, "_GPU0"):
		return 1
	}
	return -1
}

// energyParts is how many of a unit make a joule, 0 for a unit that is not known. µ
// is written with either of its two characters, or as u.
func energyParts(label string) float64 {
	switch strings.TrimSpace(label) {
	case "mJ":
		return 1e3
	case "uJ", "\u00b5J", "\u03bcJ":
		return 1e6
	case "nJ":
		return 1e9
	}
	return 0
}

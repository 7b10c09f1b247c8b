package metal

import (
	"encoding/binary"
	"math"
	"strings"
)

// Temperatures outside of these bounds are no readings, in °C: chips that sleep
// and keys that mean something else give 0, 6 or 9.8 (exelban/stats#1545
// and #2473, vladkens/macmon#12), and nothing works past 125.
const (
	coldest = 15.0
	hottest = 125.0
)

// plausible tells whether a temperature in °C is a reading.
func plausible(celsius float64) bool { return celsius >= coldest && celsius <= hottest }

// decodeSMC makes a number of the value of an SMC key. False for types that are
// not known, for values of another length than their type has and for what is no
// number.
//
// Types: exelban/stats SMC/smc.swift and vladkens/macmon agree on those of
// temperatures; sp78 has a sign, which stats drops. ioft counts in 1/65536 and
// says −1 where there is nothing to tell.
func decodeSMC(kind string, b []byte) (float64, bool) {
	switch {
	case kind == "flt " && len(b) == 4:
		n := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case kind == "sp78" && len(b) == 2:
		return float64(int16(binary.BigEndian.Uint16(b))) / 256, true
	case kind == "fpe2" && len(b) == 2:
		return float64(binary.BigEndian.Uint16(b)) / 4, true
	case kind == "ui8 " && len(b) == 1:
		return float64(b[0]), true
	case kind == "ui16" && len(b) == 2:
		return float64(binary.BigEndian.Uint16(b)), true
	case kind == "ui32" && len(b) == 4:
		return float64(binary.BigEndian.Uint32(b)), true
	case kind == "ioft" && len(b) == 8:
		n := int64(binary.LittleEndian.Uint64(b))
		return float64(n) / 65536, n != -1
	}
	return 0, false
}

// gpuKeys are the SMC keys of the GPU's temperatures by generation, all of type
// "flt " (exelban/stats Modules/Sensors/values.swift; M2 with what NeoAsitop adds;
// M4 with those of the Pro and Max). The M6 and what comes later are asked which
// they have.
var gpuKeys = map[string][]string{
	"M1": {"Tg05", "Tg0D", "Tg0L", "Tg0T"},
	"M2": {"Tg0f", "Tg0j", "Tg0n"},
	"M3": {"Tf14", "Tf18", "Tf19", "Tf1A", "Tf24", "Tf28", "Tf29", "Tf2A"},
	"M4": {"Tg0G", "Tg0H", "Tg0K", "Tg0L", "Tg0d", "Tg0e", "Tg0j", "Tg0k", "Tg1U", "Tg1k"},
	"M5": {"Tg0U", "Tg0X", "Tg0d", "Tg0g", "Tg0j", "Tg1Y", "Tg1c", "Tg1g"},
}

// gpuPrefix is what the keys of the GPU's temperatures start with on all
// generations but M3, whose keys start with Tf, as those of its CPU cores do.
const (
	gpuPrefix       = "Tg"
	temperatureType = "flt "
	withoutPrefix   = "M3"
)

// hidKind tells whether a HID sensor is one of the GPU's temperature: 0 for the
// GPU's own, which systems before macOS 14 have, 1 for the die that it shares
// ("PMU tdie1", "PMU2 tdie1"), −1 for others. "PMU tcal" never changes (51.85 °C)
// and is none of them (vladkens/macmon).
func hidKind(name string) int {
	switch {
	case strings.HasPrefix(name, "GPU MTR Temp Sensor"):
		return 0
	case strings.HasPrefix(name, "PMU") && strings.Contains(name, " tdie"):
		return 1
	}
	return -1
}

// watchedSensor notices a sensor that no longer follows the load.
type watchedSensor struct {
	name          string
	tenths        float64 // its last value in 0.1 °C
	same          int     // samples in a row with that value
	lowest, most  float64 // the GPU's load in those, 0 to 1
	loads         bool    // whether any load was told
	celsius       float64
	read, isStuck bool // a plausible reading in this round; it is stuck
}

// A sensor is stuck when it said the same to 0.1 °C for so many samples while the
// load changed by more than this share (exelban/stats#2470: 80.0 for days).
const (
	stuckSamples = 60
	stuckLoad    = 0.30
)

// see takes a reading of the sensor and the load, nil when not known.
func (w *watchedSensor) see(celsius float64, load *float64) {
	w.celsius, w.read = celsius, plausible(celsius)
	if !w.read {
		w.same, w.isStuck = 0, false
		return
	}
	if tenths := math.Round(celsius * 10); w.same == 0 || tenths != w.tenths {
		w.tenths, w.same, w.loads = tenths, 0, false
	}
	w.same = min(w.same+1, stuckSamples)
	if load != nil {
		if !w.loads {
			w.lowest, w.most, w.loads = *load, *load, true
		}
		w.lowest, w.most = min(w.lowest, *load), max(w.most, *load)
	}
	w.isStuck = w.same >= stuckSamples && w.loads && w.most-w.lowest > stuckLoad+1e-9
}

// hottestOf is the sensor that counts: the hottest with a plausible reading, stuck
// ones only when there is no other. nil when none has a reading.
func hottestOf(sensors []watchedSensor) *watchedSensor {
	var best *watchedSensor
	for i := range sensors {
		s := &sensors[i]
		switch {
		case !s.read:
		case best == nil, best.isStuck && !s.isStuck, best.isStuck == s.isStuck && s.celsius > best.celsius:
			best = s
		}
	}
	return best
}

// feel takes the temperature of the sensor that counts, if there is one.
func (g *GPU) feel(s *watchedSensor) {
	if s != nil {
		g.Temperature, g.Sensor, g.Stuck = new(s.celsius), s.name, s.isStuck
	}
}

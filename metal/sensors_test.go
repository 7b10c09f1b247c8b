package metal

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

func TestDecodeSMC(t *testing.T) {
	for _, c := range []struct {
		kind  string
		bytes []byte
		want  float64
		ok    bool
	}{
		{"flt ", []byte{0x00, 0x00, 0x8f, 0x42}, 71.5, true},
		{"flt ", []byte{0x8f, 0x42}, 0, false},
		{"flt ", []byte{0, 0, 0xc0, 0x7f}, 0, false}, // NaN
		{"flt ", []byte{0, 0, 0x80, 0x7f}, 0, false}, // infinite
		{"sp78", []byte{0x2d, 0x80}, 45.5, true},
		{"sp78", []byte{0xfb, 0x80}, -4.5, true}, // not 251.5
		{"fpe2", []byte{0x1f, 0x40}, 2000, true},
		{"ui8 ", []byte{0xfe}, 254, true},
		{"ui16", []byte{0x01, 0x02}, 258, true},
		{"ui32", []byte{0, 1, 0, 2}, 65538, true},
		{"ioft", []byte{0x33, 0x33, 0x22, 0, 0, 0, 0, 0}, 34.2, true},
		{"ioft", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, false}, // nothing to tell
		{"ioft", []byte{0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}, -2, true},
		{"flt", []byte{0, 0, 0x8f, 0x42}, 0, false},
		{"ch8*", []byte("abc"), 0, false},
		{"", nil, 0, false},
	} {
		got, ok := decodeSMC(c.kind, c.bytes)
		if ok != c.ok || ok && math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%s % x is %v, %v; want %v, %v", c.kind, c.bytes, got, ok, c.want, c.ok)
		}
	}
}

func FuzzDecodeSMC(f *testing.F) {
	for _, kind := range []string{"flt ", "sp78", "fpe2", "ui8 ", "ui16", "ui32", "ioft", "????"} {
		for _, n := range []int{0, 1, 2, 4, 8, 32} {
			f.Add(kind, make([]byte, n))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, b []byte) {
		if n, ok := decodeSMC(kind, b); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			t.Errorf("%q % x is %v", kind, b, n)
		}
	})
}

// A dump of an M1's keys has zeros, 10.4 and 16.0 beside real values
// (exelban/stats#2473): the hottest plausible one counts.
func TestHottestOfADump(t *testing.T) {
	var dump map[string]float64
	if err := json.Unmarshal(sharedFile(t, "cases/108.json"), &dump); err != nil || len(dump) < 10 {
		t.Fatalf("%d keys, %v", len(dump), err)
	}
	var sensors []watchedSensor
	for key, celsius := range dump {
		w := watchedSensor{name: key}
		w.see(celsius, nil)
		if celsius < coldest == w.read {
			t.Errorf("%s, %v °C, is read: %v", key, celsius, w.read)
		}
		sensors = append(sensors, w)
	}
	if best := hottestOf(sensors); best == nil || best.name != "TCMz" || math.Abs(best.celsius-58.5) > 0.05 {
		t.Errorf("the hottest is %+v, want TCMz at 58.5", best)
	}
}

// Values below room temperature are no readings: 9.8 °C on a loaded Mac mini and
// 6 °C until the cores wake (vladkens/macmon#12, exelban/stats#1545).
func TestImplausibleTemperatures(t *testing.T) {
	for celsius, want := range map[float64]bool{
		9.8: false, 6: false, 0: false, -40: false, 14.99: false, 15: true, 125: true, 125.1: false, 32767: false,
		math.Inf(1): false, math.NaN(): false,
	} {
		if plausible(celsius) != want {
			t.Errorf("%v °C is plausible: %v", celsius, !want)
		}
	}
	var cold [2]watchedSensor
	cold[0].see(9.8, new(0.9))
	cold[1].see(130, new(0.9))
	if best := hottestOf(cold[:]); best != nil {
		t.Errorf("a reading of %v °C is told", best.celsius)
	}
}

// A sensor that says 80.0 whatever the load is stuck (exelban/stats#2470).
func TestStuckSensor(t *testing.T) {
	load := func(i int) *float64 { return new(float64(i%2) * 0.31) }
	feed := func(n int, celsius func(int) float64, load func(int) *float64) (w watchedSensor) {
		for i := range n {
			w.see(celsius(i), load(i))
		}
		return w
	}
	same := func(int) float64 { return 80 }
	for _, c := range []struct {
		name string
		got  watchedSensor
		want bool
	}{
		{"60 samples", feed(60, same, load), true},
		{"59 samples", feed(59, same, load), false},
		{"load that does not change enough", feed(600, same, func(i int) *float64 { return new(0.5 + float64(i%2)*0.3) }), false},
		{"load that is not known", feed(600, same, func(int) *float64 { return nil }), false},
		{"a tenth of a degree", feed(600, func(i int) float64 { return 80 + 0.1*float64(i%2) }, load), false},
		{"less than a tenth", feed(600, func(i int) float64 { return 80 + 0.02*float64(i%2) }, load), true},
		{"moves again", feed(61, func(i int) float64 { return 80 + 0.2*float64(i/60) }, load), false},
		{"no reading", feed(600, func(int) float64 { return 0 }, load), false},
	} {
		if c.got.isStuck != c.want {
			t.Errorf("%s: stuck is %v", c.name, c.got.isStuck)
		}
	}
	// One that is stuck hides no other.
	both := []watchedSensor{feed(60, same, load), feed(60, func(i int) float64 { return 50 + float64(i)/10 }, load)}
	if best := hottestOf(both); best.isStuck || math.Abs(best.celsius-55.9) > 1e-9 {
		t.Errorf("the sensor that counts is %+v", best)
	}
	if best := hottestOf(both[:1]); best == nil || !best.isStuck {
		t.Error("the only sensor is stuck and still told, as stuck")
	}
}

func TestSensorNames(t *testing.T) {
	for name, want := range map[string]int{
		"GPU MTR Temp Sensor1": 0, "PMU tdie4": 1, "PMU2 tdie3": 1, "PMU tcal": -1, "PMU tdev1": -1, "pACC MTR Temp Sensor2": -1, "gas gauge battery": -1, "": -1,
	} {
		if got := hidKind(name); got != want {
			t.Errorf("%q is of kind %d, want %d", name, got, want)
		}
	}
	for generation, keys := range gpuKeys {
		if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
			t.Errorf("%s: %v", generation, keys)
		}
		for _, key := range keys {
			if len(key) != 4 || key[:2] != map[bool]string{true: "Tf", false: gpuPrefix}[generation == withoutPrefix] {
				t.Errorf("%s has a key %q", generation, key)
			}
		}
	}
}

package metal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/metal/internal/iokit"
)

// temperature reads the GPU once and tells its sensor and its value.
func temperature(t testing.TB, d *desk) string {
	t.Helper()
	g := d.after(t, 2*time.Second)
	if g.Temperature == nil {
		return g.Sensor + "-"
	}
	text := fmt.Sprintf("%s %.1f", g.Sensor, *g.Temperature)
	if g.Stuck {
		text += " stuck"
	}
	return text
}

// named is a Mac of some chip with these keys.
func named(chip string, keys map[string]float32) *desk {
	b := newBench()
	b.keys, b.hid = nil, nil
	if keys != nil {
		b.keys = keysOf(keys)
	}
	d := newDesk(b)
	d.values["machdep.cpu.brand_string"] = []byte(chip + "\x00")
	return d
}

// Keys are known by generation; what the table does not know is found.
func TestSensorsByGeneration(t *testing.T) {
	for _, c := range []struct {
		chip string
		keys map[string]float32
		want string
	}{
		{"Apple M1", map[string]float32{"Tg05": 41, "Tg0D": 44.5, "Tg0L": 43, "Tg0T": 42, "Tp01": 90}, "Tg0D 44.5"},
		{"Apple M2 Pro", map[string]float32{"Tg0f": 6, "Tg0j": 55, "Tg0n": 54}, "Tg0j 55.0"},
		{"Apple M3 Max", map[string]float32{"Tf14": 60, "Tf2A": 61, "Tf04": 95, "Tf4A": 96}, "Tf2A 61.0"},         // the others are CPU cores
		{"Apple M3", map[string]float32{"Tf04": 95, "Tg0a": 60}, "-"},                                             // no key of the list, and none is looked for
		{"Apple M4", map[string]float32{"Tg0G": 9.8, "Tg0H": 9.8, "Tg0K": 9.8}, "-"},                              // a loaded mini
		{"Apple M4 Max", map[string]float32{"Tg1U": 70, "Tg1k": 71, "Tg0K": 60}, "Tg1k 71.0"},                     //
		{"Apple M5", map[string]float32{"Tg9z": 63, "Tp00": 80}, "Tg9z 63.0"},                                     // renamed: found
		{"Apple M5", map[string]float32{"Tg0U": 0, "Tg9z": 63, "Tp00": 80}, "Tg9z 63.0"},                          // known and dead
		{"Apple M6", map[string]float32{"Tg01": 50, "Tg02": 52, "TgZZ": 51, "Tf14": 90, "Th00": 91}, "Tg02 52.0"}, // no table
		{"Apple M9 Ultra", map[string]float32{"Tg01": 50, "#KEY": 99, "zzzz": 99}, "Tg01 50.0"},                   //
		{"Apple A18 Pro", map[string]float32{"Tp01": 50}, "-"},                                                    //
		{"Intel(R) Core(TM) i7", map[string]float32{"TC0P": 50}, "-"},                                             //
		{"Apple M1", nil, "-"}, // no SMC, as in a virtual machine
	} {
		d := named(c.chip, c.keys)
		if got := temperature(t, d); got != c.want {
			t.Errorf("%s: %q, want %q", c.chip, got, c.want)
		}
	}
}

func TestSensorsOfAnotherTypeAreNone(t *testing.T) {
	d := named("Apple M6", map[string]float32{"Tg01": 50, "Tg02": 80})
	d.bench.keys.kinds["Tg02"] = "ui8 "
	if got := temperature(t, d); got != "Tg01 50.0" {
		t.Errorf("%q", got)
	}
}

// A list that is in no order is looked through, some keys at each call.
func TestSensorsInNoOrder(t *testing.T) {
	d := named("Apple M6", map[string]float32{"Tg01": 50})
	k := d.bench.keys
	k.order = nil
	for i := range 300 {
		k.order = append(k.order, fmt.Sprintf("z%03d", 999-i))
	}
	k.order[299] = "Tg01"
	k.order[0] = "A000"
	for i, want := range []string{"-", "-", "Tg01 50.0", "Tg01 50.0"} {
		before := k.asked["at"]
		if got := temperature(t, d); got != want {
			t.Errorf("call %d: %q, want %q", i, got, want)
		}
		if n := k.asked["at"] - before; n > keysAtOnce+12 {
			t.Errorf("call %d looked at %d keys", i, n)
		}
	}
}

// Only the keys that are shown are read, and they are looked for once
// (exelban/stats#2554: ten times the energy for reading them all).
func TestSensorsCost(t *testing.T) {
	keys := map[string]float32{"Tg01": 50, "Tg02": 51, "Tg03": 0}
	for i := range 2000 {
		keys[fmt.Sprintf("T%c%02d", 'h'+rune(i%17), i/17%100)] = 40
	}
	d := named("Apple M6", keys)
	for range 100 {
		if got := temperature(t, d); got != "Tg02 51.0" {
			t.Fatalf("%q", got)
		}
	}
	for what, n := range d.bench.keys.asked {
		switch {
		case what == "at" && n > 20, what == "info" && n != 3:
			t.Errorf("%s was asked %d times in 100 readings", what, n)
		case strings.HasPrefix(what, "read ") && (!strings.HasPrefix(what, "read Tg") || n > 101):
			t.Errorf("%s %d times in 100 readings", what, n)
		}
	}
	if n := d.bench.asked["smc"]; n != 1 || d.bench.asked["hid"] != 0 {
		t.Errorf("asked %v", d.bench.asked)
	}
}

// HID sensors stand in where the SMC has nothing; they are read now and then.
func TestSensorsOfHID(t *testing.T) {
	d := named("Apple M1", nil)
	d.bench.hid = []iokit.Sensor{
		{Name: "PMU tcal", Celsius: 51.85}, {Name: "PMU tdie1", Celsius: 48}, {Name: "pACC MTR Temp Sensor1", Celsius: 90},
		{Name: "GPU MTR Temp Sensor1", Celsius: 44}, {Name: "GPU MTR Temp Sensor4", Celsius: 45.25},
	}
	if got := temperature(t, d); got != "GPU MTR Temp Sensor4 45.2" {
		t.Errorf("%q", got)
	}
	d.bench.hid[3].Celsius, d.bench.hid[4].Celsius = 0, 9
	for range 3 {
		temperature(t, d)
	}
	if got := temperature(t, d); got != "PMU tdie1 48.0" {
		t.Errorf("%q", got)
	}
	before := d.bench.asked["hid"]
	for range 30 { // a minute
		temperature(t, d)
	}
	if n := d.bench.asked["hid"] - before; n > 12 || n < 9 {
		t.Errorf("read %d times in a minute", n)
	}
	d.bench.hid = []iokit.Sensor{{Name: "PMU tcal", Celsius: 51.85}}
	for range 3 {
		temperature(t, d)
	}
	if got := temperature(t, d); got != "-" {
		t.Errorf("a constant is told: %q", got)
	}
}

// Several sensors of one name are told apart by their order.
func TestSensorsOfOneName(t *testing.T) {
	d := named("Apple M1", nil)
	for i := range 130 {
		d.bench.hid = []iokit.Sensor{{Name: "PMU tdie1", Celsius: 80}, {Name: "PMU tdie1", Celsius: 50 + float64(i)/10}}
		d.bench.accelerators[0].Statistics["Device Utilization %"] = int64(i % 2 * 90)
		d.after(t, 5*time.Second)
	}
	if got := temperature(t, d); !strings.HasPrefix(got, "PMU tdie1 6") || strings.Contains(got, "stuck") {
		t.Errorf("%q: the one that is stuck at 80 hides the other", got)
	}
	if n := len(d.gpu.sensors.hid); n != 2 {
		t.Errorf("%d sensors are watched", n)
	}
}

// A sensor that stands still while the GPU's load changes is told as stuck
// (exelban/stats#2470), and is no longer once it moves.
func TestStuckSensorOfAMac(t *testing.T) {
	d := named("Apple M4", map[string]float32{"Tg0G": 80})
	want := func(text string) {
		t.Helper()
		if got := temperature(t, d); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	load := func(i int) { d.bench.accelerators[0].Statistics["Device Utilization %"] = int64(i % 2 * 40) }
	for i := range 58 {
		load(i)
		temperature(t, d)
	}
	load(58)
	want("Tg0G 80.0")
	load(59)
	want("Tg0G 80.0 stuck")
	d.bench.keys.values["Tg0G"] = 80.2
	want("Tg0G 80.2")
	d.bench.keys.values["Tg0G"] = 80
	for range 200 { // the load stands still as well
		temperature(t, d)
	}
	want("Tg0G 80.0")
}

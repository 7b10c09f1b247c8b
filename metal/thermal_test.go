package metal

import (
	"errors"
	"testing"
)

func TestThermalWords(t *testing.T) {
	level, state := func(n uint64) *uint64 { return &n }, func(n int64) *int64 { return &n }
	for _, c := range []struct {
		level *uint64
		state *int64
		want  *Thermal
	}{
		{level(0), state(0), &Thermal{ThermalNominal, "notify", "nominal"}},
		{level(1), state(1), &Thermal{ThermalModerate, "notify", "fair"}},
		{level(2), state(1), &Thermal{ThermalHeavy, "notify", "fair"}},
		{level(3), state(2), &Thermal{ThermalTrapping, "notify", "serious"}},
		{level(4), state(3), &Thermal{ThermalSleeping, "notify", "critical"}},
		{level(2), nil, &Thermal{ThermalHeavy, "notify", ""}},
		{nil, state(0), &Thermal{ThermalNominal, "process_info", "nominal"}},
		{nil, state(1), &Thermal{ThermalModerate, "process_info", "fair"}},
		{nil, state(2), &Thermal{ThermalTrapping, "process_info", "serious"}},
		{nil, state(3), &Thermal{ThermalSleeping, "process_info", "critical"}},
		{level(30), state(1), &Thermal{ThermalModerate, "process_info", "fair"}}, // other systems' levels
		{level(2), state(7), &Thermal{ThermalHeavy, "notify", ""}},
		{level(5), nil, nil},
		{nil, state(-1), nil},
		{nil, nil, nil},
	} {
		equal(t, "thermal", thermalOf(c.level, c.state), c.want)
	}
}

// The state that programs are told may stay at fair for ever and its notifications
// never come (metaspartan/mactop#71, macmade/Hot#73, #74 and #118): both are asked at each
// call, and the level counts. After recovery the next call says so.
func TestThermalFollowsTheLevel(t *testing.T) {
	b := newBench()
	d := newDesk(b)
	for i, level := range []uint64{0, 1, 2, 1, 0} {
		b.level, b.state = level, int64(1) // stuck at fair
		r, err := d.Thermal()
		if err != nil || r.Pressure != thermalLevels[level] || r.Source != "notify" || r.State != "fair" {
			t.Errorf("at level %d: %s, %v", level, show(r), err)
		}
		if b.asked[thermalKey] != i+1 || b.asked["state"] != i+1 {
			t.Errorf("asked %v after %d calls", b.asked, i+1)
		}
	}
	b.level = nil
	if r, err := d.Thermal(); err != nil || r.Source != "process_info" || r.Pressure != ThermalModerate {
		t.Errorf("without a level: %s, %v", show(r), err)
	}
	b.level, b.state = uint64(40), nil
	if r, err := d.Thermal(); r != nil || err == nil {
		t.Errorf("an unknown level: %s, %v", show(r), err)
	}
	b.level, b.state = nil, nil
	if r, err := d.Thermal(); r != nil || !errors.Is(err, errClosed) {
		t.Errorf("nothing readable: %s, %v", show(r), err)
	}
}

func TestMacPower(t *testing.T) {
	for _, c := range []struct {
		source string
		low    any
		want   *Power
	}{
		{"AC Power", false, &Power{new(false), new(false)}},
		{"Battery Power", true, &Power{new(true), new(true)}},
		{"UPS Power", nil, &Power{OnBattery: new(true)}},
		{"Wind", true, &Power{LowPower: new(true)}},
		{"", false, &Power{LowPower: new(false)}},
		{"Wind", nil, nil},
		{"", nil, nil},
	} {
		b := newBench()
		b.source, b.low = c.source, c.low
		r, err := newDesk(b).Power()
		if (r == nil) != (err != nil) {
			t.Errorf("%q: %s, %v", c.source, show(r), err)
		}
		equal(t, "power", r, c.want)
	}
}

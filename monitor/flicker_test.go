package monitor

import (
	"fmt"
	"slices"
	"testing"
)

// raised counts the alerts of a rule that were told over lines two seconds apart.
func raised(t *testing.T, rule string, lines []string) (times int) {
	t.Helper()
	for _, u := range play(t, lines...) {
		for _, e := range u.Events {
			if e.Kind == EventAlertRaised && e.Alert.Rule == rule {
				times++
			}
		}
	}
	return times
}

// repeat is a course of lines over and over.
func repeat(n int, lines ...string) (all []string) {
	for range n {
		all = append(all, lines...)
	}
	return all
}

// A heat that comes and goes for half an hour is told a few times, and each time
// it goes the alert goes with the next reading.
func TestOverheatThatComesAndGoes(t *testing.T) {
	const full, low = `"clock_mhz":1600,"top_clock_mhz":1620`, `"clock_mhz":1000,"top_clock_mhz":1620`
	short := slices.Concat(times(4, gpuLine(low, atHeavy)), times(2, gpuLine(full, atNominal)))
	if n := raised(t, "overheat", repeat(150, short...)); n != 1 {
		t.Errorf("%d alerts of a heat of 8 s every 12 s for half an hour, want 1", n)
	}
	idle := slices.Concat(times(4, `{"snapshot":{"thermal":{"pressure":"heavy"}}}`), times(2, `{"snapshot":{"thermal":{"pressure":"moderate"}}}`))
	if n := raised(t, "overheat", repeat(150, idle...)); n != 1 {
		t.Errorf("%d alerts of heavy pressure for 8 s every 12 s, want 1", n)
	}
	long := slices.Concat(times(150, gpuLine(low, atHeavy)), times(150, gpuLine(full, atNominal)))
	if n := raised(t, "overheat", repeat(3, long...)); n != 3 {
		t.Errorf("%d alerts of three heats of five minutes, want 3", n)
	}
	// Away for ten minutes, it is new again and told at once.
	again := slices.Concat(times(10, gpuLine(low, atHeavy)), times(310, gpuLine(full, atNominal)))
	if n := raised(t, "overheat", repeat(2, again...)); n != 2 {
		t.Errorf("%d alerts of two heats ten minutes apart, want 2", n)
	}
}

// A card of its own runs below the highest clock of its list at any work: that
// is no slowdown, a fall below what it usually runs at is one.
func TestCardsThatBoost(t *testing.T) {
	card := func(source string, clock, top, watts float64, more ...string) string {
		return gpuLine(fmt.Sprintf(`"source":%q,"clock_mhz":%v,"top_clock_mhz":%v,"power_watts":%v,"temperature_celsius":72`, source, clock, top, watts), more...)
	}
	for name, lines := range map[string][]string{
		"GeForce RTX 4090":          times(120, card("nvml", 2520, 3105, 430, modelBusy)),
		"GeForce RTX 3090":          times(120, card("nvml", 1695, 2100, 348, modelBusy)),
		"L4":                        times(120, card("nvml", 1200, 2040, 72, modelBusy)),
		"Radeon RX 7900":            times(120, card("amdgpu", 2400, 3220, 350, modelBusy)),
		"fewer watts, higher clock": append(times(60, card("nvml", 2520, 3105, 430, modelBusy)), times(60, card("nvml", 2640, 3105, 260, modelBusy))...),
	} {
		if n := raised(t, "overheat", lines); n != 0 {
			t.Errorf("%s: %d alerts of a card at its usual pace", name, n)
		}
	}
	fall := append(times(60, card("nvml", 2520, 3105, 430, modelBusy)), times(10, card("nvml", 1400, 3105, 210, modelBusy))...)
	out := play(t, fall...)
	v := out[len(out)-1].Snapshot.Throttle
	if v == nil || !v.Throttled || reasons(v) != "clock" && reasons(v) != "clock power" {
		t.Errorf("a card that fell from 2520 to 1400 MHz: %+v, want slowed", v)
	}
}

package view

import (
	"strings"
	"testing"

	"plimsoll/metal"
	"plimsoll/monitor"
)

// What no machine has is unknown on the screen, never 0; what a machine may have
// is 0 and says so; and no division shows.
func TestZerosOnTheScreen(t *testing.T) {
	zero := new(uint64(0))
	for _, language := range []string{"en", "zh"} {
		r := In(language)
		unknown := r.Text("view.unknown")
		v := r.Render(monitor.Update{Snapshot: &monitor.Snapshot{
			Memory: &metal.Memory{Total: zero, Used: zero, Available: zero, Wired: zero},
			Swap:   &monitor.Swap{Swap: metal.Swap{Used: zero, Total: zero}},
			GPU:    &metal.GPU{WorkingSet: zero, InUse: zero, Temperature: new(0.0), Power: new(0.0), Clock: new(0.0)},
		}}, at)
		if v.Memory.Text != unknown || v.Memory.Level != Unknown {
			t.Errorf("%s: memory of 0 is %q at level %d, want unknown", language, v.Memory.Text, v.Memory.Level)
		}
		if v.Swap.Text != r.Text("view.swap.none") || v.Swap.Level != Normal {
			t.Errorf("%s: swap of 0 is %q at level %d, want none in use", language, v.Swap.Text, v.Swap.Level)
		}
		if v.Heat.Text != "" {
			t.Errorf("%s: a temperature of 0 is %q, want nothing", language, v.Heat.Text)
		}
		for _, row := range []Row{v.Memory, v.Swap, v.GPU, v.Line, v.Heat} {
			for _, bad := range []string{"NaN", "Inf", "0 °C", "0.0 W", "0 MHz"} {
				if strings.Contains(row.Text+row.Detail, bad) {
					t.Errorf("%s: %q shows %s", language, row.Text+row.Detail, bad)
				}
			}
		}
	}
}

// The part of a machine that cannot be read is unknown alone.
func TestUnreadableMemoryIsUnknownAlone(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		r := In(language)
		v := r.Render(monitor.Update{Snapshot: &monitor.Snapshot{
			Swap:     &monitor.Swap{Swap: metal.Swap{Used: new(g), Total: new(2 * g)}},
			Problems: map[monitor.Section]monitor.Problem{monitor.SectionMemory: {Reason: monitor.ReasonFailed, Detail: "host_statistics64: 4"}},
		}}, at)
		for _, row := range []Row{v.Memory, v.Pressure} {
			if row.Level != Unknown || strings.ContainsAny(row.Text, "0123456789") {
				t.Errorf("%s: %s is %q at level %d, want unknown", language, row.Label, row.Text, row.Level)
			}
		}
		if v.Swap.Level != Normal || !strings.Contains(v.Swap.Text, "1.0") {
			t.Errorf("%s: swap is %q at level %d, want its amount", language, v.Swap.Text, v.Swap.Level)
		}
		if v.Icon != IconNormal || len(v.Alerts) > 0 {
			t.Errorf("%s: icon %d and alerts %v, want none of what is not known", language, v.Icon, v.Alerts)
		}
	}
}

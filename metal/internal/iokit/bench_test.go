package iokit_test

import (
	"testing"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

// BenchmarkRead is what one read costs of ours, with what is kept open. What the
// system itself needs for it, only a Mac tells.
func BenchmarkRead(b *testing.B) {
	m := open(b)
	controller := smc(b, m)
	report := subscribe(b, m, gpuChannels...)
	for _, r := range []struct {
		name string
		read func() error
	}{
		{"VMStatistics", func() error { _, err := m.VMStatistics(); return err }},
		{"Usage", func() error { _, err := m.Usage(fake.PID); return err }},
		{"NotifyState", func() error { _, err := m.NotifyState("com.apple.system.thermalpressurelevel"); return err }},
		{"Accelerators", func() error { _, err := m.Accelerators(); return err }},
		{"GPUTimes", func() error { _, err := m.GPUTimes(); return err }},
		{"ServiceProperty", func() error { _, err := m.ServiceProperty("pmgr", "voltage-states9"); return err }},
		{"SMC.Read", func() error { _, _, err := controller.Read("Tg0G"); return err }},
		{"HIDTemperatures", func() error { _, err := m.HIDTemperatures(); return err }},
		{"Report.Delta", func() error { _, err := report.Delta(); return err }},
		{"ProvidingPowerSource", func() error { _, err := m.ProvidingPowerSource(); return err }},
		{"Device", func() error { _, err := m.Device(); return err }},
		{"ThermalState", func() error { _, err := m.ThermalState(); return err }},
		{"LowPowerMode", func() error { _, err := m.LowPowerMode(); return err }},
		{"OpenSMC", func() error {
			c, err := m.OpenSMC()
			if err == nil {
				c.Close()
			}
			return err
		}},
	} {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocations: what is read at every tick allocates its answer and little more.
func TestAllocations(t *testing.T) {
	if raced {
		t.Skip("allocations are not counted under the race detector")
	}
	m := open(t)
	controller := smc(t, m)
	report := subscribe(t, m, iokit.Channel{Group: "GPU Stats", Subgroup: "GPU Performance States", Name: "GPUPH"}, iokit.Channel{Group: "Energy Model", Name: "GPU"})
	for name, r := range map[string]struct {
		most float64
		read func() error
	}{
		"SMC.Read":     {4, func() error { _, _, err := controller.Read("Tg0G"); return err }},
		"Accelerators": {8, func() error { _, err := m.Accelerators(); return err }},
		"Report.Delta": {8, func() error { _, err := report.Delta(); return err }},
		"NotifyState":  {12, func() error { _, err := m.NotifyState("com.apple.system.thermalpressurelevel"); return err }},
	} {
		n := testing.AllocsPerRun(50, func() {
			if err := r.read(); err != nil {
				t.Fatal(err)
			}
		})
		if n > r.most {
			t.Errorf("%s allocates %v times, more than %v", name, n, r.most)
		}
	}
}

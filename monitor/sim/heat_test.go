package sim

import (
	"testing"
	"time"

	"plimsoll/metal"
)

func TestHeat(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B)
	level := func() metal.ThermalPressure {
		th, err := m.Thermal()
		if err != nil || th.Source != "simulator" {
			t.Fatal(th, err)
		}
		return th.Pressure
	}
	ask(t, m, Model7B, 10, 200000)
	clock.Advance(time.Minute)
	cool := m.Truth()
	if level() != metal.ThermalNominal || cool.Throttled {
		t.Fatalf("throttled after a minute: %+v", cool)
	}
	moderate := until(t, clock, 15*time.Minute, "moderate", func() bool { return level() == metal.ThermalModerate })
	heavy := moderate + until(t, clock, 10*time.Minute, "heavy", func() bool { return level() == metal.ThermalHeavy })
	if heavy += time.Minute; heavy < 10*time.Minute || heavy > 15*time.Minute {
		t.Errorf("heavy after %v, want 10 to 15 min", heavy)
	}
	clock.Advance(10 * time.Minute)
	hot := m.Truth()
	gpu, _ := m.GPU()
	if loss := 1 - hot.Requests[0].Rate/cool.Requests[0].Rate; loss < 0.28 || loss > 0.40 { // the longer cache costs some
		t.Errorf("lost %.0f %% of the decode rate, want 30", 100*loss)
	}
	if *gpu.Clock > 0.72*gpuFullClock || *gpu.Temperature < 85 || *gpu.Power > 15 || *gpu.Utilisation < 0.95 {
		t.Errorf("GPU %v MHz, %v °C, %v W, busy %v", *gpu.Clock, *gpu.Temperature, *gpu.Power, *gpu.Utilisation)
	}
	m.Unload(Model7B)
	for _, job := range m.open() {
		m.cancel(job)
	}
	cooled := until(t, clock, 10*time.Minute, "nominal", func() bool { return level() == metal.ThermalNominal })
	if cooled < 30*time.Second {
		t.Errorf("cooled within %v", cooled)
	}
	if gpu, _ = m.GPU(); *gpu.Clock > 500 || *gpu.Power > 1 {
		t.Errorf("idle at %v MHz and %v W", *gpu.Clock, *gpu.Power)
	}
}

func TestSleep(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B)
	ask(t, m, Model7B, 10, 100000)
	clock.Advance(12 * time.Minute)
	before, machine := m.Truth(), mustMachine(t, m)
	clock.Sleep(2 * time.Hour)
	after, later := m.Truth(), mustMachine(t, m)
	if d := after.Now.Sub(before.Now); d != 2*time.Hour {
		t.Errorf("wall clock moved by %v", d)
	}
	if d := *later.Uptime - *machine.Uptime; d != 7200 {
		t.Errorf("uptime moved by %v s", d)
	}
	if after.Requests[0].Tokens != before.Requests[0].Tokens {
		t.Error("tokens were made in sleep")
	}
	if before.Temperature < 90 || after.Temperature > 36 {
		t.Errorf("%.1f °C before, %.1f °C after two hours of sleep", before.Temperature, after.Temperature)
	}
}

func mustMachine(t *testing.T, m *Mac) *metal.Machine {
	t.Helper()
	machine, err := m.Machine()
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

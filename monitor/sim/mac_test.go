package sim

import (
	"testing"

	"plimsoll/metal"
)

// TestEverythingSaysThatItIsSimulated: no number of this Mac can be taken for a
// real one's, and what it tells agrees with the table of chips.
func TestEverythingSaysThatItIsSimulated(t *testing.T) {
	m, _ := still(t, Config{})
	gpu, err := m.GPU()
	if err != nil {
		t.Fatal(err)
	}
	if gpu.Source != "simulator" || gpu.LimitSource != "simulator" || gpu.Sensor != "simulated GPU die" {
		t.Errorf("the GPU is told by %q, its limit by %q, its temperature by %q", gpu.Source, gpu.LimitSource, gpu.Sensor)
	}
	if gpu.Requested || gpu.TopClock == nil || *gpu.Clock > *gpu.TopClock || gpu.Resets == nil || *gpu.Resets != 0 || gpu.Stuck {
		t.Errorf("the GPU is %+v", gpu)
	}
	power, err := m.Power()
	if err != nil || power.LowPower == nil || *power.LowPower || *power.OnBattery {
		t.Errorf("power is %+v, %v", power, err)
	}
	machine, err := m.Machine()
	if err != nil {
		t.Fatal(err)
	}
	chip, ok := metal.LookupChip(machine.Chip, gpu.Cores, machine.RAMBytes)
	if !ok || machine.Generation != chip.Generation || *machine.Bandwidth != *chip.Bandwidth || *machine.BandwidthCertain != chip.Certain {
		t.Errorf("the machine is %+v, the table says %+v", machine, chip)
	}
}

func TestStateOfProgramsHasOneWordForTwo(t *testing.T) {
	for level, want := range map[metal.ThermalPressure]string{metal.ThermalNominal: "nominal", metal.ThermalModerate: "fair", metal.ThermalHeavy: "fair"} {
		if got := (&heat{level: level}).state(); got != want {
			t.Errorf("at %s programs are told %q, want %q", level, got, want)
		}
	}
}

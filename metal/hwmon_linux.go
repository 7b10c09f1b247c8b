package metal

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hwmonSensors are the sensors of one device below its folder hwmon.
//
// Files and units: Documentation/hwmon/sysfs-interface.rst: temperatures in
// 1/1000 °C, power in µW, frequencies in Hz.
type hwmonSensors struct {
	watched []watchedSensor
	inputs  []string // of watched
	powers  []string
	clocks  []string
}

// find finds what a folder's devices have: the names are "amdgpu junction" or,
// without a label, "nouveau temp1".
func (h *hwmonSensors) find(folder string) {
	devices, _ := filepath.Glob(folder + "/hwmon*")
	for _, device := range devices {
		h.findIn(device, nil)
		for _, name := range []string{"power1_average", "power1_input"} { // amdgpu has one or the other
			h.powers = append(h.powers, device+"/"+name)
		}
		h.clocks = append(h.clocks, device+"/freq1_input")
	}
}

// findPackage finds the processor's own sensor, which a GPU on the same die shares.
func (h *hwmonSensors) findPackage(folder string) {
	devices, _ := filepath.Glob(folder + "/hwmon*")
	for _, device := range devices {
		if firstLine(device+"/name") == "coretemp" {
			h.findIn(device, func(label string) bool { return label == "Package id 0" })
		}
	}
}

func (h *hwmonSensors) findIn(device string, want func(label string) bool) {
	inputs, _ := filepath.Glob(device + "/temp*_input")
	slices.Sort(inputs)
	for _, input := range inputs {
		base := strings.TrimSuffix(input, "_input")
		label := firstLine(base + "_label")
		if want != nil && !want(label) {
			continue
		}
		if label == "" {
			label = filepath.Base(base)
		}
		h.inputs = append(h.inputs, input)
		h.watched = append(h.watched, watchedSensor{name: strings.TrimSpace(firstLine(device+"/name") + " " + label)})
	}
}

// read reads all temperatures.
func (h *hwmonSensors) read(load *float64) {
	for i, input := range h.inputs {
		celsius := 0.0
		if n, err := strconv.ParseInt(firstLine(input), 10, 32); err == nil {
			celsius = float64(n) / 1000
		}
		h.watched[i].see(celsius, load)
	}
}

// power is in W; 0 is what a driver says that does not know.
func (h *hwmonSensors) power() *float64 {
	for _, path := range h.powers {
		if n := numberIn(path); n != nil && *n > 0 && *n < 10e9 {
			return new(float64(*n) / 1e6)
		}
	}
	return nil
}

// clock is in MHz.
func (h *hwmonSensors) clock() *float64 {
	for _, path := range h.clocks {
		if n := numberIn(path); n != nil && *n > 0 && *n < 100e9 {
			return new(float64(*n) / 1e6)
		}
	}
	return nil
}

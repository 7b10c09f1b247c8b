package iokit_test

import (
	"errors"
	"os"
	"testing"

	"plimsoll/metal/internal/iokit"
)

// TestThisMac reads this Mac with its own libraries. A virtual Mac has no sensors, so
// what is missing is only told.
func TestThisMac(t *testing.T) {
	s, err := iokit.Open(iokit.MacPaths())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	always := func(name string, value any, err error) {
		t.Logf("%s: %v", name, value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	perhaps := func(name string, value any, err error) {
		if errors.Is(err, iokit.ErrMissing) {
			t.Logf("%s: %v", name, err)
			return
		}
		always(name, value, err)
	}
	for range 2 {
		statistics, err := s.VMStatistics()
		always("VMStatistics", len(statistics), err)
		page, err := s.PageSize()
		always("PageSize", page, err)
		usage, err := s.Usage(os.Getpid())
		always("Usage", len(usage), err)
		path, err := s.Path(os.Getpid())
		always("Path", path, err)
		level, err := s.NotifyState("com.apple.system.thermalpressurelevel")
		always("NotifyState", level, err)
		state, err := s.ThermalState()
		always("ThermalState", state, err)
		low, err := s.LowPowerMode()
		always("LowPowerMode", low, err)
		power, err := s.ProvidingPowerSource()
		perhaps("ProvidingPowerSource", power, err)
		device, err := s.Device()
		perhaps("Device", device, err)
		accelerators, err := s.Accelerators()
		perhaps("Accelerators", accelerators, err)
		times, err := s.GPUTimes()
		perhaps("GPUTimes", times, err)
		ladder, err := s.ServiceProperty("pmgr", "voltage-states9")
		perhaps("ServiceProperty", ladder, err)
		sensors, err := s.HIDTemperatures()
		perhaps("HIDTemperatures", sensors, err)
	}
	if r, err := s.Subscribe(gpuChannels...); err != nil {
		perhaps("Subscribe", nil, err)
	} else {
		defer r.Close()
		for range 2 {
			entries, err := r.Delta()
			always("Delta", entries, err)
		}
	}
	if c, err := s.OpenSMC(); err != nil {
		t.Logf("OpenSMC: %v", err)
	} else {
		defer c.Close()
		n, err := c.Count()
		always("SMC.Count", n, err)
		key, err := c.KeyAt(0)
		always("SMC.KeyAt", key, err)
		kind, value, err := c.Read(key)
		always("SMC.Read", kind+" "+string(value), err)
		if _, _, err := c.Read("zz~~"); !errors.Is(err, iokit.ErrNoKey) {
			t.Errorf("a key that no Mac has: %v", err)
		}
	}
}

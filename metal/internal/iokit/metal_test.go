package iokit_test

import (
	"sync"
	"testing"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

func TestDevice(t *testing.T) {
	m := open(t)
	want := &iokit.Device{Name: "Apple M4", WorkingSet: 26_800_603_136, MaxBuffer: 14_302_699_520, Allocated: 65536, Unified: true}
	got, err := m.Device()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the device", got, want)
	// The limit is the one of now.
	m.SetDevice(fake.Device{Name: "Äpple ™", WorkingSet: 1 << 63, MaxBuffer: 1, Allocated: 0})
	m.SetInt("device.unified", 0)
	if got, err = m.Device(); err != nil {
		t.Fatal(err)
	}
	equal(t, "the device", got, &iokit.Device{Name: "Äpple ™", WorkingSet: 1 << 63, MaxBuffer: 1})
}

// TestDeviceWithoutDefault: a program without CoreGraphics has no default device.
func TestDeviceWithoutDefault(t *testing.T) {
	m := open(t)
	m.Fail("MTLCreateSystemDefaultDevice", 1)
	if d, err := m.Device(); err != nil || d.Name != "Apple M4" {
		t.Errorf("%+v, %v", d, err)
	}
	m.Fail("MTLCopyAllDevices", 1)
	_, err := m.Device()
	missing(t, err, "asking Metal for a device")
	m.Fail("MTLCopyAllDevices", 0)
	m.SetInt("device", 0)
	_, err = m.Device()
	missing(t, err, "asking Metal for a device")
}

func TestProcessInfo(t *testing.T) {
	m := open(t)
	for state := range int64(4) {
		m.SetInt("thermal", state)
		if got, err := m.ThermalState(); got != state || err != nil {
			t.Errorf("thermal state %d, %v; want %d", got, err, state)
		}
	}
	for n, want := range []bool{false, true} {
		m.SetInt("lowpower", int64(n))
		if got, err := m.LowPowerMode(); got != want || err != nil {
			t.Errorf("low power mode %v, %v; want %v", got, err, want)
		}
	}
	m.SetInt("lowpower", -1)
	_, err := m.LowPowerMode()
	missing(t, err, "isLowPowerModeEnabled")
	m.SetInt("process.none", 1)
	if s, err := m.ThermalState(); s != 0 || err == nil {
		t.Errorf("no processInfo: %d, %v", s, err)
	}
}

// TestPools: each thread has pools of its own.
func TestPools(t *testing.T) {
	m := open(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if _, err := m.Device(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

package iokit_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"plimsoll/metal/internal/iokit"
)

func temperatures(t *testing.T, m mac) []iokit.Sensor {
	t.Helper()
	got, err := m.HIDTemperatures()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b iokit.Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return got
}

func TestHIDTemperatures(t *testing.T) {
	m := open(t)
	// A sensor of power is not asked, and one that tells nothing is left out.
	want := []iokit.Sensor{{"NAND CH0 temp", 35}, {"PMU tcal", 51.85}, {"PMU tdev1", 38}, {"PMU tdie1", 43.5}, {"PMU tdie2", 42.25}}
	equal(t, "the temperatures", temperatures(t, m), want)
	m.SetSensor("PMU tdie1", -12.5)
	want[3].Celsius = -12.5
	equal(t, "the temperatures", temperatures(t, m), want)
	equal(t, "clients", m.Calls("IOHIDEventSystemClientCreate"), 1)
	equal(t, "names read", m.Calls("IOHIDServiceClientCopyProperty"), 6)
	m.Mute("PMU tdie1")
	equal(t, "the temperatures", temperatures(t, m), append(want[:3:3], want[4]))
}

func TestHIDChanges(t *testing.T) {
	m := open(t)
	temperatures(t, m)
	// When none tells anything, the sensors are looked for again, once per read.
	m.Fail("IOHIDServiceClientCopyEvent", 1)
	equal(t, "the temperatures", temperatures(t, m), []iokit.Sensor{})
	equal(t, "clients", m.Calls("IOHIDEventSystemClientCreate"), 2)
	m.Fail("IOHIDServiceClientCopyEvent", 0)
	m.Fail("IOHIDServiceClientCopyProperty", 1)
	m.Release()
	if got := temperatures(t, m); len(got) != 5 || got[0].Name != "" {
		t.Errorf("sensors without names: %v", got)
	}
	for _, f := range []string{"IOHIDEventSystemClientCopyServices", "IOHIDEventSystemClientCreate", "CFNumberCreate", "CFDictionaryCreateMutable"} {
		m.Release()
		m.Fail(f, 1)
		if got, err := m.HIDTemperatures(); got != nil || err == nil {
			t.Errorf("%s fails: %v, %v", f, got, err)
		}
		m.Fail(f, 0)
	}
	for _, sensor := range temperatures(t, m) {
		m.Mute(sensor.Name)
	}
	m.Release()
	m.Fail("CFStringCreateWithCString", 1)
	if _, err := m.HIDTemperatures(); err == nil || !strings.Contains(err.Error(), "CFString") {
		t.Errorf("no strings: %v", err)
	}
}

package iokit_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

func TestAccelerators(t *testing.T) {
	m := open(t)
	want := []iokit.Accelerator{{
		Class: "AGXAcceleratorG16G", Model: "Apple M4", Cores: new(int64(10)),
		// Texts and fractions are no statistics.
		Statistics: map[string]int64{
			"Device Utilization %": 4, "Renderer Utilization %": 3, "Tiler Utilization %": 2,
			"In use system memory": 1 << 30, "In use system memory (driver)": 0, "Alloc system memory": 9 << 30,
			"recoveryCount": 0, "SplitSceneCount": 0,
		},
	}}
	got, err := m.Accelerators()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the accelerator", got, want)
	m.SetStatistics(map[string]int64{"Device Utilization %": 97, "a negative one": -1 << 62})
	if got, err = m.Accelerators(); err != nil {
		t.Fatal(err)
	}
	equal(t, "the statistics", got[0].Statistics, map[string]int64{"Device Utilization %": 97, "a negative one": -1 << 62})
	// Later reads ask for one property of a service that is open.
	before := m.Calls("IORegistryEntryCreateCFProperty")
	if _, err := m.Accelerators(); err != nil {
		t.Fatal(err)
	}
	equal(t, "properties read", m.Calls("IORegistryEntryCreateCFProperty")-before, 1)
	equal(t, "matchings", m.Calls("IOServiceGetMatchingServices"), 1)
}

// TestAcceleratorsChange: a GPU that goes is noticed, and one that has no statistics
// is not looked for at each read.
func TestAcceleratorsChange(t *testing.T) {
	m := open(t)
	virtual := m.Entry("AppleParavirtGPU", "IOAccelerator IOService", "AppleParavirtGPU", -1)
	for range 3 {
		got, err := m.Accelerators()
		if err != nil || len(got) != 2 || got[1].Class != "AppleParavirtGPU" || got[1].Statistics != nil || got[1].Cores != nil {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	equal(t, "matchings", m.Calls("IOServiceGetMatchingServices"), 1)
	m.Set(virtual, "model", []byte("virtual\x00")) // bytes, as PCI devices have it
	m.RemoveEntry(fake.GPU)
	got, err := m.Accelerators()
	if err != nil || len(got) != 1 || got[0].Model != "virtual" {
		t.Fatalf("after the GPU went: %+v, %v", got, err)
	}
	m.Release()
	m.RemoveEntry(virtual)
	for _, none := range []int64{0, 1} {
		m.SetInt("iterator.none", none)
		_, err = m.Accelerators()
		missing(t, err, "IOAccelerator")
	}
	m.Fail("IOServiceGetMatchingServices", -536870206) // 0xe00002c2
	if _, err := m.Accelerators(); err == nil || !strings.Contains(err.Error(), "0xe00002c2") {
		t.Errorf("a failing match: %v", err)
	}
	m.Fail("IOServiceMatching", 1)
	if _, err := m.Accelerators(); err == nil || !strings.Contains(err.Error(), "no dictionary") {
		t.Errorf("no dictionary: %v", err)
	}
}

func TestLargeDictionary(t *testing.T) {
	m := open(t)
	many := map[string]int64{strings.Repeat("a long name ", 100): 1}
	for i := range 1000 {
		many[strings.Repeat("x", i+1)] = int64(i)
	}
	m.SetStatistics(many)
	got, err := m.Accelerators()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "a thousand statistics", got[0].Statistics, many)
	for i := range 2000 {
		many[strings.Repeat("y", i+1)] = 0
	}
	m.SetStatistics(many)
	if _, err := m.Accelerators(); err == nil || !strings.Contains(err.Error(), "more than 1792") {
		t.Errorf("more than fits: %v", err)
	}
	m.SetStatistics(map[string]int64{strings.Repeat("z", 5000): 1, "short": 2})
	if got, err = m.Accelerators(); err != nil {
		t.Fatal(err)
	}
	equal(t, "a name that is too long", got[0].Statistics, map[string]int64{"short": 2})
}

func TestGPUTimes(t *testing.T) {
	m := open(t)
	times := func() map[int]uint64 {
		t.Helper()
		got, err := m.GPUTimes()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := map[int]uint64{fake.PID: 3_500_000_000, 391: 70_000_000}
	equal(t, "GPU times", times(), want)
	// A second client of a process adds to it; Intel has the number itself.
	second := m.Client(fake.GPU, "pid 4242, ollama", 5)
	intel := m.Client(fake.GPU, "pid 77, a name, with a comma")
	m.Set(intel, "accumulatedGPUTime", 9)
	for _, creator := range []string{"pid x, y", "77", "pid -5, z", ""} {
		m.Client(fake.GPU, creator, 1000)
	}
	idle := m.Client(fake.GPU, "pid 88, idle")
	want[fake.PID], want[77] = 3_500_000_005, 9
	equal(t, "GPU times", times(), want)
	m.RemoveEntry(second)
	m.SetUsage(idle, 0, -1)
	want[fake.PID], want[88] = 3_500_000_000, 0
	equal(t, "GPU times", times(), want)
	m.Fail("IORegistryEntryGetChildIterator", 5)
	if got, err := m.GPUTimes(); got != nil || err == nil {
		t.Errorf("no iterator: %v, %v", got, err)
	}
	m.Fail("IORegistryEntryGetChildIterator", 0)
	equal(t, "GPU times", times(), want)
}

func TestServiceProperty(t *testing.T) {
	m := open(t)
	b, err := m.ServiceProperty("pmgr", "voltage-states9")
	if err != nil || len(b) != 72 || binary.LittleEndian.Uint32(b[64:]) != 1470_000_000 {
		t.Fatalf("%x, %v", b, err)
	}
	_, err = m.ServiceProperty("pmgr", "voltage-states99")
	missing(t, err, "reading voltage-states99 of pmgr")
	_, err = m.ServiceProperty("AppleARMIODevice", "voltage-states9")
	missing(t, err, "no device of that name")
	m.Set(fake.PMGR, "name", "a text")
	if b, err := m.ServiceProperty("pmgr", "name"); b != nil || err == nil || errors.Is(err, iokit.ErrMissing) {
		t.Errorf("a property without bytes: %x, %v", b, err)
	}
	m.Set(fake.PMGR, "empty", []byte{})
	if b, err := m.ServiceProperty("pmgr", "empty"); len(b) != 0 || err != nil {
		t.Errorf("a property of no bytes: %x, %v", b, err)
	}
	m.Fail("IORegistryEntryGetName", 5)
	_, err = m.ServiceProperty("pmgr", "voltage-states9")
	missing(t, err, "no device of that name")
	m.Fail("CFStringCreateWithCString", 1)
	m.Fail("IORegistryEntryGetName", 0)
	if _, err := m.ServiceProperty("pmgr", "another"); err == nil || !strings.Contains(err.Error(), "making a CFString") {
		t.Errorf("no string: %v", err)
	}
}

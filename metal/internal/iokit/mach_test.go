package iokit_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"plimsoll/metal/internal/iokit/fake"
)

func TestVMStatistics(t *testing.T) {
	m := open(t)
	b, err := m.VMStatistics()
	if err != nil || len(b) != 152 {
		t.Fatalf("%d bytes, %v; want 152", len(b), err)
	}
	for at, want := range map[int]uint32{0: 40000, 12: 300000, 88: 20000, 92: 10000, 128: 200000, 136: 250000, 140: 700000} {
		if got := binary.LittleEndian.Uint32(b[at:]); got != want {
			t.Errorf("at %d stands %d, want %d", at, got, want)
		}
	}
	if got := binary.LittleEndian.Uint64(b[120:]); got != 6000000000 {
		t.Errorf("swapouts are %d", got)
	}
	// A kernel that fills in less says so, and what follows is not handed out.
	m.SetInt("words", 24)
	if b, err := m.VMStatistics(); err != nil || len(b) != 96 {
		t.Errorf("%d bytes, %v; want the 96 that were filled in", len(b), err)
	}
}

func TestSmallCalls(t *testing.T) {
	m := open(t)
	if n, err := m.PageSize(); n != 16384 || err != nil {
		t.Errorf("page size %d, %v", n, err)
	}
	if n, d, err := m.Timebase(); n != 125 || d != 3 || err != nil {
		t.Errorf("timebase %d/%d, %v", n, d, err)
	}
	if p, err := m.Path(fake.PID); p != "/Applications/Ollama.app/Contents/Resources/ollama" || err != nil {
		t.Errorf("path %q, %v", p, err)
	}
	b, err := m.Usage(fake.PID)
	if err != nil || len(b) != 296 {
		t.Fatalf("usage has %d bytes, %v; want 296", len(b), err)
	}
	if got := binary.LittleEndian.Uint64(b[72:]); got != 13795000000 {
		t.Errorf("the footprint is %d", got)
	}
}

func TestFailingCalls(t *testing.T) {
	m := open(t)
	if _, err := m.Usage(1); err == nil {
		t.Error("usage of an unknown process succeeds")
	}
	if p, err := m.Path(1); p != "" || err == nil {
		t.Errorf("path of an unknown process is %q", p)
	}
	for _, f := range []string{"host_statistics64", "host_page_size", "mach_timebase_info"} {
		m.Fail(f, 5)
	}
	if b, err := m.VMStatistics(); b != nil || err == nil || !strings.Contains(err.Error(), "kern_return_t 5") {
		t.Errorf("failing statistics: %v, %v", b, err)
	}
	if n, err := m.PageSize(); n != 0 || err == nil {
		t.Errorf("failing page size: %d, %v", n, err)
	}
	if _, _, err := m.Timebase(); err == nil {
		t.Error("failing timebase succeeds")
	}
}

func TestNotifyState(t *testing.T) {
	const key = "com.apple.system.thermalpressurelevel"
	m := open(t)
	for _, want := range []uint64{0, 2, 1<<63 + 1} {
		m.SetKey(key, want)
		if got, err := m.NotifyState(key); got != want || err != nil {
			t.Errorf("state %d, %v; want %d", got, err, want)
		}
	}
	if got, err := m.NotifyState("com.example.unknown"); got != 0 || err != nil {
		t.Errorf("an unknown key is %d, %v", got, err)
	}
	equal(t, "registrations", m.Calls("notify_register_check"), 2)
	// A token that notifyd does not know any more is got again.
	m.Fail("notify_get_state", 9)
	if _, err := m.NotifyState(key); err == nil || !strings.Contains(err.Error(), "status 9") {
		t.Errorf("a failing state: %v", err)
	}
	m.Fail("notify_register_check", 1000000)
	if _, err := m.NotifyState(key); err == nil || !strings.Contains(err.Error(), "notify_register_check") {
		t.Errorf("a failing registration: %v", err)
	}
	m.Fail("notify_get_state", 0)
	m.Fail("notify_register_check", 0)
	m.SetKey(key, 1)
	if got, err := m.NotifyState(key); got != 1 || err != nil {
		t.Errorf("after notifyd is back: %d, %v", got, err)
	}
}

func TestProvidingPowerSource(t *testing.T) {
	m := open(t)
	for _, want := range []string{"AC Power", "Battery Power", "UPS Power"} {
		m.SetPower(want)
		if got, err := m.ProvidingPowerSource(); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	m.SetPower("")
	_, err := m.ProvidingPowerSource()
	missing(t, err, "no source")
	m.Fail("IOPSCopyPowerSourcesInfo", 1)
	if s, err := m.ProvidingPowerSource(); s != "" || err == nil {
		t.Errorf("no information: %q, %v", s, err)
	}
}

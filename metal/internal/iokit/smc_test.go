package iokit_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

func smc(t testing.TB, m mac) *iokit.SMC {
	t.Helper()
	c, err := m.OpenSMC()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSMC(t *testing.T) {
	m := open(t)
	c := smc(t, m)
	for _, want := range []float64{41.5, -3.25, 0, 129.5} {
		m.SetTemperature("Tg0G", want)
		kind, b, err := c.Read("Tg0G")
		if err != nil || kind != "flt " || len(b) != 4 {
			t.Fatalf("%q %x, %v", kind, b, err)
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(b)); float64(got) != want {
			t.Errorf("%v °C, want %v", got, want)
		}
	}
	kind, size, err := c.Info("F0ID")
	if kind != "{fds" || size != 16 || err != nil {
		t.Errorf("info %q %d, %v", kind, size, err)
	}
	m.SetSMC("long", "ch8*", []byte(strings.Repeat("0123456789abcdef", 2)))
	if _, b, err := c.Read("long"); len(b) != 32 || b[31] != 'f' || err != nil {
		t.Errorf("32 bytes: %q, %v", b, err)
	}
	// The type is asked once per key, so a later read is one call.
	before := m.Calls("IOConnectCallStructMethod")
	if _, _, err := c.Read("Tg0G"); err != nil {
		t.Fatal(err)
	}
	equal(t, "calls of a read", m.Calls("IOConnectCallStructMethod")-before, 1)
	equal(t, "connections", m.Open("connections"), 1)
}

func TestSMCKeys(t *testing.T) {
	m := open(t)
	c := smc(t, m)
	n, err := c.Count()
	if err != nil || n != 12 {
		t.Fatalf("%d keys, %v; want 12", n, err)
	}
	var keys []string
	for i := range n {
		key, err := c.KeyAt(i)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	equal(t, "the keys", keys, []string{"#KEY", "F0ID", "PSTR", "Tg0G", "Tg0H", "Tg0K", "Tg0L", "Tg0d", "Tg0e", "Tg0j", "Tg0k", "Tp01"})
	for _, i := range []int{n, -1} {
		if key, err := c.KeyAt(i); key != "" || !errors.Is(err, iokit.ErrNoKey) {
			t.Errorf("key %d is %q, %v", i, key, err)
		}
	}
}

func TestSMCErrors(t *testing.T) {
	m := open(t)
	c := smc(t, m)
	if _, _, err := c.Read("Tg0U"); !errors.Is(err, iokit.ErrNoKey) || !strings.Contains(err.Error(), "Tg0U") {
		t.Errorf("an unknown key: %v", err)
	}
	for _, key := range []string{"", "Tg", "Tg0G1", "Tg°"} {
		if _, _, err := c.Info(key); len(key) != 4 && (err == nil || errors.Is(err, iokit.ErrNoKey)) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	m.SetSMC("big ", "ch8*", make([]byte, 33))
	if _, b, err := c.Read("big "); b != nil || err == nil {
		t.Errorf("more than a payload: %x, %v", b, err)
	}
	fails := func(words string) {
		t.Helper()
		if kind, b, err := c.Read("Tg0G"); kind != "" || b != nil || err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q %x, %v; want %q", kind, b, err, words)
		}
	}
	m.SetInt("smc.result", 133)
	fails("SMC result 133")
	m.SetInt("smc.result", 0)
	m.SetInt("smc.answer", 40)
	fails("40 bytes")
	m.SetInt("smc.answer", 80)
	m.Fail("IOConnectCallStructMethod", -536870207) // 0xe00002c1
	fails("not privileged")
	m.Fail("IOConnectCallStructMethod", 0)
	c.Close()
	c.Close()
	fails("it was closed")
}

// TestSMCServices: which of the services is the controller.
func TestSMCServices(t *testing.T) {
	for name, c := range map[string]struct{ class, ancestors, name string }{
		"by its class":                  {"AppleSMCKeysEndpoint", "IOService", "SMC"},
		"by its name, beside others":    {"AppleSMCInterface", "AppleSMC IOService", "AppleSMCKeysEndpoint"},
		"an Intel Mac's, the only one":  {"AppleSMC", "IOService", "AppleSMC"},
		"one that inherits and answers": {"AppleSMCFamily", "AppleSMC IOService", "SMC"},
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t)
			m.RemoveEntry(fake.SMC)
			m.Entry("AppleSMCPMU", "AppleSMC IOService", "a service that does not open", -1)
			m.Set(m.Entry(c.class, c.ancestors, c.name, -1), "opens", true)
			m.Entry("AppleSMCCharger", "AppleSMC IOService", "another", -1)
			smc(t, m)
		})
	}
	m := open(t)
	m.Fail("IOServiceOpen", -536870174) // 0xe00002e2
	if c, err := m.OpenSMC(); c != nil || err == nil || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("a service that does not open: %v, %v", c, err)
	}
	m.Fail("IOServiceOpen", 0)
	m.Fail("IOConnectCallStructMethod", 5)
	if c, err := m.OpenSMC(); c != nil || err == nil {
		t.Errorf("a service that does not answer: %v, %v", c, err)
	}
	m.RemoveEntry(fake.SMC)
	_, err := m.OpenSMC()
	missing(t, err, "opening the SMC")
}

package metal

import (
	"testing"
	"time"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

// called is a Mac whose Mach and libproc calls are real calls into a library.
type called struct {
	*iokit.System
	values *mini
}

func (c called) Sysctl(name string, args ...int) ([]byte, error) {
	return c.values.Sysctl(name, args...)
}

// TestMacOverCalls runs the Mac's reader over the bindings it has on a Mac.
func TestMacOverCalls(t *testing.T) {
	system, err := iokit.Open(iokit.Paths{System: fake.Build(t)})
	if err != nil {
		t.Fatal(err)
	}
	m := newMac(called{system, miniWithProcesses()}, nil, time.Now)
	memory, err := m.Memory()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "memory", memory, &Memory{
		Total: new(uint64(32 << 30)), Used: amount(700000 - 20000 + 300000 + 200000), App: amount(680000), Wired: amount(300000),
		Compressed: amount(200000), Cached: amount(270000), Free: amount(30000), Available: amount(310000),
		Pressure: PressureWarning, PressureSource: "kernel",
	})
	swap, err := m.Swap()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "swap counters", []*uint64{swap.In, swap.Out}, []*uint64{amount(5000000000), amount(6000000000)})
	p, err := m.Process(fake.PID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "process", p, &Process{PID: fake.PID, Parent: 900, Started: 1700000000_123456, Name: "ollama", App: "Ollama",
		Footprint: new(uint64(13795000000)), CPU: new(1.5)})
}

package monitor

import (
	"testing"

	"plimsoll/monitor/backend"
)

// The cost of one tick apart from what the system's own reads take.
func BenchmarkTick(b *testing.B) {
	machine := newFakeMachine()
	server := newFakeServer(backend.Resident{Model: "a:latest", Size: new(uint64(9 * gib))}, backend.Resident{Model: "b:latest", Size: new(uint64(4 * gib))})
	m := New(Config{Local: machine, Backends: []backend.Backend{server}, Clock: SystemClock()})
	m.pollers[0].keep(server.Poll(b.Context()), m.config.Clock.Now())
	box := m.Subscribe(Options{})
	b.ReportAllocs()
	for b.Loop() {
		m.tick()
		box.Take()
	}
}

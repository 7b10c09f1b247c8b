package sim

import (
	"time"

	"plimsoll/metal"
)

// Truth is the state of the simulation, exact, for comparison with what a monitor
// makes of its measurements.
type Truth struct {
	Now      time.Time
	Requests []RequestTruth // in flight, oldest first
	Models   []ModelTruth   // in memory, in the order they were loaded
	// ResidentBytes is what models hold, in RAM or swapped out; GPULimit the
	// effective limit; Over how much more models have than can stay wired.
	ResidentBytes, GPULimit, Over uint64
	// SwapInRate and SwapOutRate are bytes per second, smoothed over one second.
	SwapInRate, SwapOutRate float64
	// Swapping: memory went out to swap within the last half second, at
	// more than 1 MB/s. Paging: weights come from swap while
	// tokens are made.
	Swapping, Paging bool
	// Throttled: the GPU's clock is down for heat, to Factor of the full one.
	Throttled   bool
	Factor      float64
	Temperature float64 // °C
	Pressure    metal.Pressure
	// CloudRequests counts requests for models of the cloud, unloads included: a
	// monitor must cause none.
	CloudRequests int
	// Answered counts all requests the server took in.
	Answered int
}

// RequestTruth is one request in flight.
type RequestTruth struct {
	Model    string
	Phase    string // pending, queued, prefill, decode
	Internal bool   // of the simulation's own users or of Ask
	Tokens   int
	Rate     float64 // token/s now; 0 unless decoding
	// Prompt are the tokens of the prompt, of which Cached were in the cache and Read
	// have been read.
	Prompt, Cached, Read int
	// Slot and Task are those of the runner's slot that works on it, −1 without one.
	Slot, Task int
}

// ModelTruth is one model in memory.
type ModelTruth struct {
	Model   string
	PID     int
	Bytes   uint64 // so far
	Port    int    // of the runner; it listens there when it is a llama-server
	Loading bool
	Listed  bool // in /api/ps
	Busy    bool
}

var phaseWords = [...]string{"pending", "queued", "prefill", "decode", "done"}

// Truth tells how things really are at this moment.
func (m *Mac) Truth() Truth {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	t := Truth{
		Now: m.wall(), ResidentBytes: uint64(m.memory.models), GPULimit: uint64(m.memory.gpuLimit()), Over: uint64(m.memory.over()),
		SwapInRate: m.inRate, SwapOutRate: m.outRate, Swapping: m.swappedAt > 0 && m.now-m.swappedAt < 500*time.Millisecond, Paging: m.paging,
		Factor: m.heat.factor(), Throttled: m.heat.factor() < 1, Temperature: m.heat.temperature, Pressure: m.memory.level,
		CloudRequests: m.cloudCalls, Answered: m.requests,
	}
	for _, r := range m.open() {
		one := RequestTruth{Model: r.model.name, Phase: phaseWords[r.phase], Internal: r.internal, Tokens: len(r.tokens), Rate: r.rate,
			Prompt: r.prompt, Cached: r.cached, Read: int(r.evaluated), Slot: -1, Task: -1}
		if r.slot != nil {
			one.Slot, one.Task = r.slot.id, r.slot.task
		}
		t.Requests = append(t.Requests, one)
	}
	for _, r := range m.runners {
		t.Models = append(t.Models, ModelTruth{Model: r.model.name, PID: r.pid, Port: r.port, Bytes: uint64(r.loaded),
			Loading: !r.unlisted && !r.dead && r.loaded < r.bytes, Listed: !r.unlisted, Busy: r.refs > 0})
	}
	return t
}

// Asking counts questions about slots and totals that wait for a pass to end.
func (m *Mac) Asking() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.runners {
		n += r.asking
	}
	return n
}

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
}

// ModelTruth is one model in memory.
type ModelTruth struct {
	Model   string
	PID     int
	Bytes   uint64 // so far
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
		t.Requests = append(t.Requests, RequestTruth{Model: r.model.name, Phase: phaseWords[r.phase], Internal: r.internal, Tokens: len(r.tokens), Rate: r.rate})
	}
	for _, r := range m.runners {
		t.Models = append(t.Models, ModelTruth{Model: r.model.name, PID: r.pid, Bytes: uint64(r.loaded),
			Loading: !r.unlisted && !r.dead && r.loaded < r.bytes, Listed: !r.unlisted, Busy: r.refs > 0})
	}
	return t
}

package sim

import (
	"fmt"
	"math"

	"plimsoll/metal"
)

var (
	_ metal.Reader  = (*Mac)(nil)
	_ metal.Volumes = (*Mac)(nil)
)

// Machine is the machine's identity and its uptime, sleep included.
func (m *Mac) Machine() (*metal.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return &metal.Machine{
		Chip: "Apple M5", Model: "Mac17,2", Cores: new(10), RAMBytes: new(uint64(ram)), OS: "macOS 26.4",
		Levels:     []metal.CoreLevel{{Name: "Super", Cores: 4}, {Name: "Efficiency", Cores: 6}},
		Generation: "M5", Bandwidth: new(float64(bandwidth)), BandwidthCertain: new(true),
		Uptime: new(m.wall().Sub(m.booted).Seconds()), BootID: fmt.Sprintf("SIMULATED-%016X", m.seed),
	}, nil
}

// Memory is where every byte is; wired, app, compressed, cached and free add up.
func (m *Mac) Memory() (*metal.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return new(m.memory.report()), nil
}

// Swap is swap space; its counters count from the start of the machine.
func (m *Mac) Swap() (*metal.Swap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return new(m.memory.reportSwap()), nil
}

// GPU is the GPU; its memory in use may lie past the limit.
func (m *Mac) GPU() (*metal.GPU, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return &metal.GPU{
		Source: source, Name: "Apple M5", Cores: new(10),
		WorkingSet: new(uint64(m.memory.gpuLimit())), LimitSource: source, WiredLimit: new(uint64(m.memory.limit)),
		InUse: new(uint64(m.memory.models + gpuDesktop)), Utilisation: new(min(1, 0.02+0.98*m.heat.busy)),
		Temperature: new(tenths(m.heat.temperature)), Sensor: sensor, Power: new(tenths(m.heat.power)),
		Clock: new(math.Round(m.heat.clock())), TopClock: new(float64(gpuFullClock)), Resets: new(uint64(0)),
	}, nil
}

// What is simulated says so.
const (
	source = "simulator"
	sensor = "simulated GPU die"
)

// tenths rounds as the sensors do.
func tenths(x float64) float64 { return math.Round(x*10) / 10 }

// Thermal is the system's word on heat.
func (m *Mac) Thermal() (*metal.Thermal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return &metal.Thermal{Pressure: m.heat.level, Source: source, State: m.heat.state()}, nil
}

// Power is mains, unless SetBattery and SetLowPower say otherwise.
func (m *Mac) Power() (*metal.Power, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return &metal.Power{OnBattery: new(m.trouble.onBattery), LowPower: new(m.heat.saving)}, nil
}

// Processes lists what runs: the system's processes, apps with their helpers, the
// server and one runner for each model in memory.
func (m *Mac) Processes() ([]metal.Process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.processes(), nil
}

// Process reads one process, without its arguments.
func (m *Mac) Process(pid int) (*metal.Process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	for _, p := range m.processes() {
		if p.PID == pid {
			p.Args = nil
			return &p, nil
		}
	}
	return nil, fmt.Errorf("reading process %d: %w", pid, metal.ErrNoProcess)
}

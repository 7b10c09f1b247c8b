package store

import (
	"slices"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/request"
)

// Sample is one minute of what the snapshots told. A number that none of them
// told is absent.
type Sample struct {
	// Start is the minute's beginning, Snapshots how many it is made of.
	Start     time.Time `json:"start"`
	Snapshots int       `json:"snapshots"`

	// Means but where the name says otherwise; see the table of columns.
	MemoryUsed           *uint64               `json:"memory_used_bytes,omitempty"`
	MemoryUsedMost       *uint64               `json:"memory_used_most_bytes,omitempty"`
	MemoryAvailableLeast *uint64               `json:"memory_available_least_bytes,omitempty"`
	Pressure             metal.Pressure        `json:"pressure,omitzero"` // the worst
	SwapUsed             *uint64               `json:"swap_used_bytes,omitempty"`
	SwapOut              *uint64               `json:"swap_out_bytes,omitempty"` // written in the minute
	SwapIn               *uint64               `json:"swap_in_bytes,omitempty"`
	GPUInUse             *uint64               `json:"gpu_in_use_bytes,omitempty"` // the most
	GPULimit             *uint64               `json:"gpu_limit_bytes,omitempty"`
	Utilisation          *float64              `json:"gpu_utilisation_ratio,omitempty"`
	Power                *float64              `json:"gpu_power_watts,omitempty"`
	Clock                *float64              `json:"gpu_clock_mhz,omitempty"`
	Temperature          *float64              `json:"gpu_temperature_celsius,omitempty"` // the most
	Thermal              metal.ThermalPressure `json:"thermal_pressure,omitzero"`         // the worst
	Throttled            *float64              `json:"throttled_ratio,omitempty"`         // of the snapshots
	Headroom             *uint64               `json:"headroom_bytes,omitempty"`          // the least
	Residents            *uint64               `json:"residents,omitempty"`               // the most
	ResidentBytes        *uint64               `json:"resident_bytes,omitempty"`          // the most
	Busy                 *float64              `json:"busy_ratio,omitempty"`              // of the snapshots, with a model at work
	Decode               *float64              `json:"decode_tokens_per_second,omitempty"`
	// Alerts are the rules of the alerts that stood, sorted.
	Alerts []string `json:"alerts,omitempty"`
}

// fold is how the snapshots of a minute become one number.
type fold int

const (
	mean fold = iota
	most
	least
	last
	grown // the growth of a counter, from the last reading before the minute on
)

// column is one number of a Sample: its name in the file, how it is made, where
// it stands in a snapshot and where in a Sample: *uint64 or *float64.
type column struct {
	name  string
	fold  fold
	value func(*monitor.Snapshot) *float64
	field func(*Sample) any
}

var columns = []column{
	{"memory_used_bytes", mean, inMemory(func(m *metal.Memory) *uint64 { return m.Used }), func(s *Sample) any { return &s.MemoryUsed }},
	{"memory_used_most_bytes", most, inMemory(func(m *metal.Memory) *uint64 { return m.Used }), func(s *Sample) any { return &s.MemoryUsedMost }},
	{"memory_available_least_bytes", least, inMemory(func(m *metal.Memory) *uint64 { return m.Available }), func(s *Sample) any { return &s.MemoryAvailableLeast }},
	{"swap_used_bytes", last, inSwap(func(w *monitor.Swap) *uint64 { return w.Used }), func(s *Sample) any { return &s.SwapUsed }},
	{"swap_out_bytes", grown, inSwap(func(w *monitor.Swap) *uint64 { return w.Out }), func(s *Sample) any { return &s.SwapOut }},
	{"swap_in_bytes", grown, inSwap(func(w *monitor.Swap) *uint64 { return w.In }), func(s *Sample) any { return &s.SwapIn }},
	{"gpu_in_use_bytes", most, inGPU(func(g *metal.GPU) *float64 { return number(g.InUse) }), func(s *Sample) any { return &s.GPUInUse }},
	{"gpu_limit_bytes", last, inGPU(func(g *metal.GPU) *float64 { return number(g.WorkingSet) }), func(s *Sample) any { return &s.GPULimit }},
	{"gpu_utilisation_ratio", mean, inGPU(func(g *metal.GPU) *float64 { return g.Utilisation }), func(s *Sample) any { return &s.Utilisation }},
	{"gpu_power_watts", mean, inGPU(func(g *metal.GPU) *float64 { return g.Power }), func(s *Sample) any { return &s.Power }},
	{"gpu_clock_mhz", mean, inGPU(func(g *metal.GPU) *float64 { return g.Clock }), func(s *Sample) any { return &s.Clock }},
	{"gpu_temperature_celsius", most, inGPU(func(g *metal.GPU) *float64 { return g.Temperature }), func(s *Sample) any { return &s.Temperature }},
	{"throttled_ratio", mean, throttled, func(s *Sample) any { return &s.Throttled }},
	{"headroom_bytes", least, headroom, func(s *Sample) any { return &s.Headroom }},
	{"residents", most, residents, func(s *Sample) any { return &s.Residents }},
	{"resident_bytes", most, residentBytes, func(s *Sample) any { return &s.ResidentBytes }},
	{"busy_ratio", mean, busy, func(s *Sample) any { return &s.Busy }},
	{"decode_tokens_per_second", mean, liveDecode, func(s *Sample) any { return &s.Decode }},
}

func inMemory(of func(*metal.Memory) *uint64) func(*monitor.Snapshot) *float64 {
	return func(s *monitor.Snapshot) *float64 {
		if s.Memory == nil {
			return nil
		}
		return number(of(s.Memory))
	}
}

func inSwap(of func(*monitor.Swap) *uint64) func(*monitor.Snapshot) *float64 {
	return func(s *monitor.Snapshot) *float64 {
		if s.Swap == nil {
			return nil
		}
		return number(of(s.Swap))
	}
}

func inGPU(of func(*metal.GPU) *float64) func(*monitor.Snapshot) *float64 {
	return func(s *monitor.Snapshot) *float64 {
		if s.GPU == nil {
			return nil
		}
		return of(s.GPU)
	}
}

func throttled(s *monitor.Snapshot) *float64 {
	if s.Throttle == nil {
		return nil
	}
	return truth(s.Throttle.Throttled)
}

func headroom(s *monitor.Snapshot) *float64 {
	if s.Headroom == nil {
		return nil
	}
	return number(&s.Headroom.Bytes)
}

// local lists the models in this machine's memory; it is absent while no server
// has answered.
func local(s *monitor.Snapshot) (models []monitor.Resident, ok bool) {
	for _, r := range s.Residents {
		if !r.Cloud {
			models = append(models, r)
		}
	}
	return models, len(s.Backends) > 0
}

func residents(s *monitor.Snapshot) *float64 {
	models, ok := local(s)
	if !ok {
		return nil
	}
	return new(float64(len(models)))
}

// residentBytes is measured where it can be, else what the server says.
func residentBytes(s *monitor.Snapshot) *float64 {
	models, ok := local(s)
	var sum *float64
	for _, r := range models {
		bytes := number(r.Footprint)
		if bytes == nil {
			bytes = number(r.Size)
		}
		if bytes != nil && ok {
			if sum == nil {
				sum = new(0.0)
			}
			*sum += *bytes
		}
	}
	return sum
}

func busy(s *monitor.Snapshot) *float64 {
	models, ok := local(s)
	if !ok {
		return nil
	}
	return truth(slices.ContainsFunc(models, func(r monitor.Resident) bool { return r.Activity == monitor.ActivityBusy }))
}

// liveDecode is the rate of all answers in the making together.
func liveDecode(s *monitor.Snapshot) *float64 {
	var sum *float64
	for _, r := range s.Requests {
		if r.Phase == request.PhaseDecode && r.Live != nil {
			if sum == nil {
				sum = new(0.0)
			}
			*sum += r.Live.Value
		}
	}
	return sum
}

func truth(b bool) *float64 {
	if b {
		return new(1.0)
	}
	return new(0.0)
}

func number(bytes *uint64) *float64 {
	if bytes == nil {
		return nil
	}
	return new(float64(*bytes))
}

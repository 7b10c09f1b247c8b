package monitor

import (
	"plimsoll/metal/wired"
	"plimsoll/monitor/fit"
)

// Place is a machine that models are planned for: this one, or one that a person
// describes.
type Place struct {
	// Name is how a person knows it, "Apple M4 Pro".
	Name string `json:"name,omitzero"`
	// RAM is its memory in bytes.
	RAM *uint64 `json:"ram_bytes,omitempty"`
	// GPU is the limit of its GPU in bytes. Estimated: nobody told it.
	GPU       *uint64 `json:"gpu_limit_bytes,omitempty"`
	Estimated bool    `json:"gpu_limit_estimated,omitzero"`
	// Free is what is there for a model now; Freed what unloading all models gives
	// back, in bytes.
	Free  fit.Limits `json:"free"`
	Freed uint64     `json:"resident_bytes,omitzero"`
	// Bandwidth is the memory's, in bytes/s; Certain whether it is the only figure
	// for this chip.
	Bandwidth *float64 `json:"memory_bandwidth_bytes_per_second,omitempty"`
	Certain   bool     `json:"memory_bandwidth_certain,omitzero"`
	// Before is the limit in force, in bytes, where another one is planned with.
	Before *uint64 `json:"gpu_limit_before_bytes,omitempty"`
	// Learned is what engines reach here.
	Learned []fit.Learned `json:"efficiencies,omitempty"`
}

// Place is the machine of a snapshot as it is now.
func (s *Snapshot) Place() Place {
	p := Place{Learned: s.Efficiencies}
	if m := s.Machine; m != nil {
		p.Name, p.RAM, p.Bandwidth = m.Chip, m.RAMBytes, m.Bandwidth
		p.Certain = m.BandwidthCertain != nil && *m.BandwidthCertain
	}
	if g := s.GPU; g != nil {
		p.GPU, p.Estimated = g.WorkingSet, g.LimitSource == "estimate"
	}
	if h := s.Headroom; h != nil {
		p.Free = fit.Limits{GPU: h.GPU, Reclaimable: h.Reclaimable, RAM: h.RAM}
		if h.Mapped != nil { // no footprint holds them
			p.Freed = *h.Mapped
		}
	}
	for i := range s.Residents {
		p.Freed += s.Residents[i].Holds()
	}
	return p
}

// Holds is the memory that a resident model takes here, in bytes: measured where it
// was, else as its server says.
func (r *Resident) Holds() uint64 {
	switch {
	case r.Cloud:
	case r.Footprint != nil:
		return *r.Footprint
	case r.Size != nil:
		return *r.Size
	}
	return 0
}

// DescribedPlace is a machine of which a person told memory, limit and bandwidth (nil
// is not told), with nothing running on it.
func DescribedPlace(name string, ram uint64, limit *uint64, bandwidth *float64) Place {
	return Place{
		Name: name, RAM: &ram, GPU: limit, Bandwidth: bandwidth,
		Free: fit.Limits{GPU: limit, RAM: new(ram - min(ram, Reserve(ram)))},
	}
}

// WithLimit is the place under another limit of its GPU, in bytes.
func (p Place) WithLimit(bytes uint64) Place {
	var inUse uint64
	if p.GPU != nil && p.Free.GPU != nil {
		inUse = less(*p.GPU, *p.Free.GPU)
	}
	p.Before, p.GPU, p.Estimated = p.GPU, &bytes, false
	p.Free.GPU = new(less(bytes, inUse))
	return p
}

// DefaultContext is the context in tokens that Ollama takes there when nobody asks;
// 0 where the limit is not known.
func (p Place) DefaultContext() int {
	if p.GPU == nil {
		return 0
	}
	return wired.DefaultContext(*p.GPU)
}

package monitor

import (
	"plimsoll/metal"
	"plimsoll/metal/wired"
)

const gib = 1 << 30

// Reserve is the memory kept for the system and other programs, in bytes.
func Reserve(ram uint64) uint64 { return wired.Reserve(ram) }

// headroom is the one place that says what the next model may take. It returns
// nil when no limit is known.
func headroom(s *Snapshot) *Headroom {
	var h Headroom
	memory, gpu := s.Memory, s.GPU
	weights := mapped(s)
	if weights > 0 {
		h.Mapped = &weights
	}
	if gpu != nil && gpu.WorkingSet != nil && *gpu.WorkingSet > 0 && gpu.InUse != nil {
		h.GPU = new(less(*gpu.WorkingSet, *gpu.InUse))
	}
	if memory != nil {
		if given := available(memory); given != nil {
			h.Reclaimable = new(less(*given, weights))
		}
		if memory.Total != nil && *memory.Total > 0 {
			h.Reserve = new(Reserve(*memory.Total))
			h.RAM = new(less(less(less(*memory.Total, *h.Reserve), held(s)), weights))
		}
	}
	for _, limit := range []struct {
		binding Binding
		bytes   *uint64
	}{{BindingGPU, h.GPU}, {BindingReclaimable, h.Reclaimable}, {BindingRAM, h.RAM}} {
		if limit.bytes != nil && (h.Binding == "" || *limit.bytes < h.Bytes) {
			h.Bytes, h.Binding = *limit.bytes, limit.binding
		}
	}
	if h.Binding == "" {
		return nil
	}
	return &h
}

// available is the memory that the system can give up. New systems were seen to
// tell 0 for it (github.com/AlexsJones/llmfit, platforms/macos): that is believed
// only of a machine whose memory is otherwise told to be in use.
func available(m *metal.Memory) *uint64 {
	full := m.Used != nil && m.Total != nil && *m.Total > 0 && *m.Used >= *m.Total/2
	if m.Available != nil && *m.Available == 0 && !full {
		return nil
	}
	return m.Available
}

// held is the memory of all models here: measured where it was, else as
// their servers say.
func held(s *Snapshot) uint64 {
	var sum uint64
	for i := range s.Residents {
		switch r := &s.Residents[i]; {
		case r.Cloud:
		case r.Footprint != nil:
			sum += *r.Footprint
		case r.Size != nil:
			sum += *r.Size
		}
	}
	return sum
}

// mapped is the weights of resident models that are pages of their files.
// llama.cpp maps a model's file and lets the GPU work on the mapping: such
// pages are in no footprint, and the system calls them memory that it can give up
// (external pages on a Mac, page cache on Linux), though every token reads them.
// Where a runner's footprint is smaller than its model, the difference is taken
// to be mapped, but never more than there are file pages. Memory of a card of its
// own is no page of the machine.
func mapped(s *Snapshot) uint64 {
	var sum uint64
	for i := range s.Residents {
		r := &s.Residents[i]
		if r.Footprint == nil || r.Size == nil || !here(s, r) {
			continue
		}
		size := *r.Size
		if r.GPU != nil && !unified(s) {
			size = less(size, *r.GPU)
		}
		sum += less(size, *r.Footprint)
	}
	if s.Memory != nil && s.Memory.Cached != nil {
		sum = min(sum, *s.Memory.Cached)
	}
	return sum
}

// less is a − b, never below zero.
func less(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}

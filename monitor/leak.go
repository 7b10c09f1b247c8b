package monitor

import (
	"strings"
	"time"

	"plimsoll/metal"
)

// Leaked is wired memory that no live process accounts for, with no model in
// memory. It is there only while it is found: a runner that was killed can
// leave its wired memory with the kernel until the machine restarts
// (github.com/jundot/omlx/issues/2184: 414 of 512 GiB without a model process).
type Leaked struct {
	// Bytes is wired memory less the other two.
	Bytes uint64 `json:"bytes"`
	// System is the allowance for the system's own wired memory, an estimate.
	System uint64 `json:"system_bytes"`
	// Claimed is the footprint of live programs that may have wired it. Absent
	// where processes are not read.
	Claimed *uint64   `json:"claimed_bytes,omitempty"`
	Since   time.Time `json:"since"`
}

const (
	// leakShare of RAM must be unaccounted for.
	leakShare = 0.10
	// leakQuiet is how long no model must be in memory: runners were seen to give
	// memory back within ten seconds of the list.
	leakQuiet = 30 * time.Second
	// claimShare is the part of RAM from which a program is big enough to be
	// believed that some of the wired memory is its own (a virtual machine, a
	// renderer, a model server that nobody watches).
	claimShare = 1.0 / 32
	// claimAge is how long a reading of the processes serves.
	claimAge = time.Minute
)

// systemWired is the wired memory that a system has without models: 2 to 3 GiB
// on small Macs, more with more memory to manage. An estimate, on the high side.
func systemWired(ram uint64) uint64 { return min(max(ram/16, 3*gib), 12*gib) }

// leaked says how much wired memory nobody accounts for, nil when it is not much
// or not known. claims, where there is one, tells what live programs have; it
// is asked only when the rest is suspicious.
func leaked(h *History, claims func(*Snapshot) (uint64, bool)) *Leaked {
	s := h.back(0)
	if !unified(s) || s.Memory == nil || s.Memory.Wired == nil || s.Memory.Total == nil {
		return nil
	}
	system, least := systemWired(*s.Memory.Total), uint64(leakShare*float64(*s.Memory.Total))
	rest := less(*s.Memory.Wired, system)
	if *s.Memory.Total == 0 || rest <= least {
		return nil
	}
	var before *Leaked
	if b := h.back(1); b != nil {
		before = b.Leaked
	}
	if before == nil && !h.quiet(leakQuiet) {
		return nil
	}
	found := &Leaked{System: system, Since: s.Taken}
	claimed := residentSum(s)
	if claims != nil {
		sum, ok := claims(s)
		if !ok {
			return nil
		}
		claimed = max(claimed, sum)
		found.Claimed = &claimed
	}
	if found.Bytes = less(rest, claimed); found.Bytes <= least {
		return nil
	}
	if before != nil {
		found.Since = before.Since
	}
	return found
}

// quiet reports that no model was in this machine's memory for d.
func (h *History) quiet(d time.Duration) bool {
	newest := h.back(0)
	for n := 0; ; n++ {
		s := h.back(n)
		if s == nil || residentHere(s) {
			return false
		}
		if slept, changed := interruption(s, newest); slept != 0 || changed != 0 {
			return false
		}
		if elapsed(s, newest) >= d {
			return true
		}
	}
}

func residentHere(s *Snapshot) bool {
	for i := range s.Residents {
		if here(s, &s.Residents[i]) {
			return true
		}
	}
	return false
}

// residentSum is the most that models in this machine's memory take.
func residentSum(s *Snapshot) (sum uint64) {
	for i := range s.Residents {
		if r := &s.Residents[i]; here(s, r) {
			sum += residentBytes(r)
		}
	}
	return sum
}

// here reports a model in this machine's memory. One whose server is not told,
// in a line by hand, is.
func here(s *Snapshot, r *Resident) bool {
	return !r.Cloud && (onThisMachine(s, r.Backend) || !told(s, r.Backend))
}

func told(s *Snapshot, name string) bool {
	for i := range s.Backends {
		if s.Backends[i].Name == name {
			return true
		}
	}
	return false
}

// unified reports a machine whose GPU takes its memory from RAM: a Mac, and what
// does not say that it is none.
func unified(s *Snapshot) bool {
	if s.GPU != nil && boosts(s.GPU) {
		return false
	}
	return s.Machine == nil || s.Machine.OS == "" || strings.HasPrefix(s.Machine.OS, "macOS")
}

// memoryLeaked finds memory that only a restart of the machine brings back.
func memoryLeaked(h *History) []finding {
	now := h.back(0)
	if now.Leaked == nil {
		return nil
	}
	return []finding{{severity: SeverityWarning, evidence: Evidence{Bytes: &now.Leaked.Bytes, Since: &now.Leaked.Since}}}
}

// claims is the last sum of what live programs may have wired.
type claims struct {
	at       time.Duration
	read, ok bool
	sum      uint64
}

// claim sums the footprints of model programs and of every big process.
func (m *Monitor) claim(s *Snapshot) (uint64, bool) {
	now := seconds(*s.Awake)
	if c := m.claims; c.read && now >= c.at && now-c.at < claimAge {
		return c.sum, c.ok
	}
	processes, err := m.config.Local.Processes()
	m.claims = claims{at: now, read: true, ok: err == nil, sum: claimed(processes, *s.Memory.Total)}
	return m.claims.sum, m.claims.ok
}

func claimed(processes []metal.Process, ram uint64) (sum uint64) {
	for _, p := range processes {
		if p.Footprint != nil && (float64(*p.Footprint) >= claimShare*float64(ram) || modelProgram(p)) {
			sum += *p.Footprint
		}
	}
	return sum
}

package monitor

// NonModelUse is the memory of this machine, in bytes, that is in use and that no
// model holds: what a higher limit must leave to others. While pressure is above
// normal, what was swapped out for want of room counts too. nil where memory in use
// is not told, and where models are said to hold all of it.
func NonModelUse(s *Snapshot) *uint64 {
	if s == nil || s.Memory == nil || s.Memory.Used == nil {
		return nil
	}
	rest := *s.Memory.Used
	if aboveNormal(s) && s.Swap != nil && s.Swap.Used != nil {
		rest += *s.Swap.Used // the models' footprints, taken off below, hold swapped parts too
	}
	for i := range s.Residents {
		r := &s.Residents[i]
		switch {
		case r.Cloud || !here(s, r):
		case r.Footprint != nil:
			rest = less(rest, *r.Footprint)
		case r.Size != nil:
			rest = less(rest, *r.Size)
		}
	}
	for _, h := range s.Held {
		if h.PID != nil && h.Bytes != nil {
			rest = less(rest, *h.Bytes)
		}
	}
	if rest == 0 {
		return nil
	}
	return &rest
}

// ServesHere reports whether a backend has an address of this machine: only such a
// server reads this machine's limit.
func ServesHere(s *Snapshot, backend string) bool { return onThisMachine(s, backend) }

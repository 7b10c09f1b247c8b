package monitor

// What an EventLimit says in Evidence.State.
const (
	LimitSet     = "set"     // a limit was set that holds
	LimitTrial   = "trial"   // one was raised and waits to be confirmed
	LimitKept    = "kept"    // it was confirmed
	LimitEnded   = "ended"   // nobody confirmed it, and the limit before is back
	LimitDefault = "default" // the system's default is back
)

// limits tells of changes of the GPU's limit.
func limits(previous, s *Snapshot) []Event {
	if previous == nil || previous.Limit == nil || s.Limit == nil {
		return nil
	}
	was, is := previous.Limit, s.Limit
	state := ""
	switch {
	case is.Lease != nil && (was.Lease == nil || was.Lease.Value != is.Lease.Value):
		state = LimitTrial
	case is.Lease != nil:
	case was.Lease != nil && is.Set == was.Lease.Value:
		state = LimitKept
	case was.Lease != nil && is.Set == was.Lease.Previous && !s.Taken.Before(was.Lease.Until.Add(-leaseSlack)):
		state = LimitEnded
	case is.Set == was.Set:
	case is.Set == 0:
		state = LimitDefault
	default:
		state = LimitSet
	}
	if state == "" {
		return nil
	}
	e := Evidence{State: state, Bytes: is.Effective, Limit: is.Default}
	if is.Set > 0 {
		e.Bytes = new(is.Set)
	}
	if state == LimitTrial {
		e.Seconds = new(is.Lease.Until.Sub(s.Taken).Seconds())
	}
	return []Event{{Time: s.Taken, Kind: EventLimit, Evidence: e}}
}

// leaseSlack is how long before its end, by the clock of snapshots, a lease may
// already be over.
const leaseSlack = 5 * tickUsual / 2

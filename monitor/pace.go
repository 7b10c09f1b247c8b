package monitor

import "time"

// The times between two ticks. The swap rule needs two ticks to be sure, so the
// usual one warns within four seconds.
const (
	tickBusy   = 1 * time.Second // somebody looks, a model works, memory is short, an unload is under way
	tickUsual  = 2 * time.Second // models are resident
	tickIdle   = 4 * time.Second // nothing is resident
	tickSaving = 6 * time.Second // nothing happens and the machine runs on battery
	// nudgeSpacing is the least time from a tick to one that an event asked for,
	// so that a burst of events makes one or two.
	nudgeSpacing = 200 * time.Millisecond
)

// pace plans the time to the next tick.
func (m *Monitor) pace(s *Snapshot) time.Duration {
	m.mu.Lock()
	waiting := len(m.unloads) > 0
	m.mu.Unlock()
	waiting = waiting || s.inFlight() || m.engine.latch.urgent() || s.Limit != nil && s.Limit.Lease != nil
	resident := false
	for _, r := range s.Residents {
		if r.Cloud {
			continue
		}
		resident = true
		waiting = waiting || r.Activity == ActivityBusy || r.Activity == ActivityStopping
	}
	switch {
	case waiting || m.watched():
		return tickBusy
	case s.onBattery():
		return tickSaving
	case resident:
		return tickUsual
	}
	return tickIdle
}

// onBattery is false when it is not known.
func (s *Snapshot) onBattery() bool {
	return s.Power != nil && s.Power.OnBattery != nil && *s.Power.OnBattery
}

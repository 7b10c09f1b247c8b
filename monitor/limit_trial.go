package monitor

import (
	"context"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
)

const (
	// LimitCalm is how long Metal must show a raised limit, and memory pressure be
	// normal meanwhile, for it to be confirmed without a person.
	LimitCalm = 60 * time.Second
	// trialAgain is the time between two tries to confirm, as long as there is a lease.
	trialAgain = 10 * time.Second
)

// trial follows a raised limit until it is confirmed or gone.
type trial struct {
	value uint64        // of the lease; 0 for none
	since time.Duration // awake, from when on all was well; −1 while it is not
	awake time.Duration // at the tick before
	taken time.Time
	asked time.Duration // when it was last asked to confirm
	tried bool
}

// confirmTrial confirms a raised limit by itself where the agent may (see
// Config.ConfirmLimit): after Metal has shown the new value and pressure has been
// normal at every tick of a minute awake. Swapping is no calm either, which the
// level alone may not show. In all other cases a person confirms, or the lease ends
// and the limit before comes back.
func (m *Monitor) confirmTrial(s *Snapshot) {
	t := &m.limit.trial
	if s.Limit.Lease == nil {
		*t = trial{}
		return
	}
	swaps := m.engine.latch.stands("swapping") || m.engine.latch.stands("swap_full")
	if !t.calm(s, swaps) || !m.config.ConfirmLimit {
		return
	}
	now := seconds(*s.Awake)
	if now-t.since < LimitCalm || t.tried && now-t.asked < trialAgain {
		return
	}
	t.tried, t.asked = true, now
	value := t.value
	m.beside(helperTimeout, func(ctx context.Context) {
		if err := m.config.Limiter.Confirm(ctx, wired.MiB(value>>20)); err != nil {
			m.log.Warn("a raised GPU limit is not confirmed", "bytes", value, "error", err)
			return
		}
		m.log.Info("the raised GPU limit is confirmed: pressure was normal for a minute", "bytes", value)
		m.limit.askSoon()
		m.hurry()
	})
}

// calm takes a tick with an open lease, and reports whether all is well since
// t.since. swaps tells that an alert about swap stands.
func (t *trial) calm(s *Snapshot, swaps bool) bool {
	lease, now := s.Limit.Lease, seconds(*s.Awake)
	gap := now - t.awake
	slept := s.Taken.Sub(t.taken) - gap
	unseen := t.value != 0 && (gap > longest || slept > jump)
	if t.value != lease.Value || unseen {
		t.value, t.since, t.tried = lease.Value, -1, false
	}
	t.awake, t.taken = now, s.Taken
	shown := s.Limit.Set == lease.Value && s.Limit.Effective != nil && near(*s.Limit.Effective, lease.Value)
	if !shown || swaps || pressure(s) != metal.PressureNormal {
		t.since = -1
		return false
	}
	if t.since < 0 {
		t.since = now
	}
	return true
}

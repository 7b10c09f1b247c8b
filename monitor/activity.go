package monitor

import "time"

const (
	// busyShare is the processor share, of one core, above which a runner is at
	// work. An idle runner uses under 0.5 %, one that decodes on a GPU keeps a
	// good part of a core busy feeding it, one on the CPU whole cores.
	busyShare = 0.04
	// expiryGrace is how far past its expiry a model may be before that means
	// anything: servers drop an idle one within a fraction of a second.
	expiryGrace = 2 * time.Second
	// stuckAfter is how long a model may be stopping while its runner does nothing.
	stuckAfter = time.Minute
)

// residentState is what is remembered of a resident model between ticks.
type residentState struct {
	activity Activity
	since    time.Time
	lastBusy time.Time
	expires  time.Time
	late     time.Duration // how far the wall clock ran ahead since lateFor was told
	lateFor  time.Time
	moved    int // polls in a row that moved the expiry
	answered time.Time
	cpu      float64
	cpuAt    time.Duration
	cpuPID   int
	share    *float64 // of one core, over the last tick

	footprints footprints
}

// ahead notes that the wall clock went on by d while nothing ran: the machine
// slept, or the clock was set. A server's timers stood still (Go's run on time
// awake), so a model whose expiry passed meanwhile goes that much later.
func (st *residentState) ahead(d time.Duration) { st.late += d }

// judge says what a resident model is doing at a snapshot's time and remembers
// it. serves reports a request in flight on it. A line of a recording that says its
// activity already is believed.
func (st *residentState) judge(r *Resident, serves bool, now time.Time) {
	if r.Cloud {
		return
	}
	if r.Expires != nil && !r.Expires.Equal(st.lateFor) {
		st.late, st.lateFor = 0, *r.Expires
	}
	if r.Activity == "" {
		r.Activity = st.verdict(r, serves, now)
	}
	if r.Activity == ActivityBusy {
		st.lastBusy = now
	}
	if st.activity != r.Activity || st.since.IsZero() {
		st.activity, st.since = r.Activity, now
	}
	if r.Since == nil {
		r.Since = new(st.since)
	}
}

// verdict follows the field's evidence. A request that is seen at work is the best. Servers move a model's expiry only when
// a request ends, so an expiry in the past means stopping or a long answer, and
// one that moves at every poll a load or the first answer after it. The
// runner's processor time tells the rest.
func (st *residentState) verdict(r *Resident, serves bool, now time.Time) Activity {
	st.follow(r)
	busy := serves || st.moved >= 2 || st.share != nil && *st.share >= busyShare
	past := r.Expires != nil && now.Sub(*r.Expires) > expiryGrace
	switch {
	case busy:
		return ActivityBusy
	case !past && !r.Unloading:
		return ActivityIdle
	case r.RunnerPID != nil && st.share == nil && st.cpuPID == *r.RunnerPID:
		return ActivityStopping // its processor time will tell at the next tick
	case st.activity == ActivityStuck:
		return ActivityStuck // until it works again, goes, or is wanted again
	}
	begin := st.since
	if st.activity != ActivityStopping {
		begin = now
	}
	if past {
		due := r.Expires.Add(st.late)
		if st.lastBusy.Before(due) && due.Before(begin) || !r.Unloading && due.After(begin) {
			begin = due
		}
	}
	if now.Sub(begin) >= stuckAfter {
		return ActivityStuck
	}
	return ActivityStopping
}

// follow counts the polls in a row that moved the expiry forward.
func (st *residentState) follow(r *Resident) {
	if r.Expires == nil || r.Answered == nil || r.Answered.Equal(st.answered) {
		return
	}
	if !st.expires.IsZero() && r.Expires.After(st.expires) {
		st.moved++
	} else {
		st.moved = 0
	}
	st.expires, st.answered = *r.Expires, *r.Answered
}

// measure takes a reading of the runner's processor time.
func (st *residentState) measure(pid int, cpu float64, at time.Duration) {
	if dt := at - st.cpuAt; st.cpuPID == pid && cpu >= st.cpu && dt >= shortest && dt <= longest {
		st.share = new((cpu - st.cpu) / dt.Seconds())
	} else if st.cpuPID == pid && dt < shortest && dt >= 0 {
		return // too soon: keep the reading and the share
	} else {
		st.share = nil
	}
	st.cpuPID, st.cpu, st.cpuAt = pid, cpu, at
}

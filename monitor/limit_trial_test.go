package monitor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
)

// A raised limit is confirmed without a person after Metal showed it and pressure
// was normal for a minute, and at no other time.
func TestARaisedLimitConfirmsItself(t *testing.T) {
	for _, test := range []struct {
		name  string
		alter func(*limitMachine)
		later map[time.Duration]func(*limitMachine)
		kept  bool
		after time.Duration // at least, since it was set
	}{
		{"all is well", nil, nil, true, LimitCalm},
		{"Metal shows it late", func(l *limitMachine) { l.deaf = true },
			map[time.Duration]func(*limitMachine){20 * time.Second: func(l *limitMachine) { l.deaf = false }}, true, 20*time.Second + LimitCalm},
		{"pressure rises for a moment", nil, map[time.Duration]func(*limitMachine){
			30 * time.Second: func(l *limitMachine) { l.press(metal.PressureWarning) },
			34 * time.Second: func(l *limitMachine) { l.press(metal.PressureNormal) }}, true, 34*time.Second + LimitCalm},
		{"pressure stays above normal", func(l *limitMachine) { l.press(metal.PressureWarning) }, nil, false, 0},
		{"pressure rises in the end", nil, map[time.Duration]func(*limitMachine){
			55 * time.Second: func(l *limitMachine) { l.press(metal.PressureCritical) }}, false, 0},
		{"it swaps at normal pressure", func(l *limitMachine) { l.swapping = time.Now() }, nil, false, 0},
		{"pressure is not told", func(l *limitMachine) { l.press("") }, nil, false, 0},
		{"Metal never shows it", func(l *limitMachine) { l.deaf = true }, nil, false, 0},
		{"the helper refuses", func(l *limitMachine) { l.confirmErr = errors.New("no") }, nil, false, 0},
		{"somebody else sets another", nil, map[time.Duration]func(*limitMachine){
			10 * time.Second: func(l *limitMachine) { l.set = 24000 }}, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine := newLimitMachine()
				if test.alter != nil {
					test.alter(machine)
				}
				m, box := limited(t, machine)
				until(t, box, "there is a limit", func(u Update) bool { return u.Snapshot.Limit != nil })
				began := time.Now()
				if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
					t.Fatal(err)
				}
				for after, alter := range test.later {
					time.AfterFunc(after, func() { machine.change(alter) })
				}
				until(t, box, "it is on trial", func(u Update) bool { return u.Snapshot.Limit.Lease != nil })
				time.Sleep(wired.LeaseDefault / 4)
				u := until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
				took := u.Snapshot.Taken.Sub(began)
				l, e := u.Snapshot.Limit, event(u, EventLimit)
				if e == nil {
					t.Fatalf("no event; events %+v", u.Events)
				}
				if !test.kept {
					if l.Remembered != nil || l.Set != 0 || e.Evidence.State != LimitEnded {
						t.Errorf("after %v %+v, event %q, want the limit before", took, l, e.Evidence.State)
					}
					if test.name == "the helper refuses" && (machine.confirmed() < 3 || machine.confirmed() > 7) {
						t.Errorf("asked to confirm %d times in a minute, want one in ten seconds", machine.confirmed())
					}
					return
				}
				if l.Set != 26000<<20 || l.Remembered == nil || *l.Remembered != 26000<<20 || e.Evidence.State != LimitKept || *e.Evidence.Bytes != 26000<<20 {
					t.Errorf("after %v %+v, event %+v, want it kept", took, l, e.Evidence)
				}
				if took < test.after || took > test.after+5*time.Second {
					t.Errorf("kept after %v, want %v", took, test.after)
				}
				if machine.confirmed() != 1 {
					t.Errorf("confirmed %d times", machine.confirmed())
				}
			})
		})
	}
}

// A limit that is raised while another one is being confirmed is not kept with it.
func TestAnotherLimitIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.meanwhile = func(l *limitMachine) {
			l.set, l.lease, l.until = 28000, &wired.Lease{Value: 28000}, time.Now().Add(wired.LeaseDefault)
		}
		m, box := limited(t, machine)
		began := time.Now()
		if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
			t.Fatal(err)
		}
		u := until(t, box, "the other one is on trial", func(u Update) bool {
			return u.Snapshot.Limit != nil && u.Snapshot.Limit.Lease != nil && u.Snapshot.Limit.Lease.Value == 28000<<20
		})
		if l := u.Snapshot.Limit; l.Remembered != nil {
			t.Errorf("%d is remembered", *l.Remembered)
		}
		u = until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
		if l, took := u.Snapshot.Limit, u.Snapshot.Taken.Sub(began); l.Remembered == nil || *l.Remembered != 28000<<20 || took < 2*LimitCalm {
			t.Errorf("after %v: %+v", took, l)
		}
	})
}

// Only an agent confirms: a look at the machine from a terminal does not.
func TestALookConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		m, box := running(t, Config{Local: machine, Clock: SystemClock(), Limiter: machine})
		if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
			t.Fatal(err)
		}
		until(t, box, "it is on trial", func(u Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Lease != nil })
		time.Sleep(wired.LeaseDefault / 2)
		until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
		if machine.confirmed() != 0 {
			t.Error("it was confirmed")
		}
	})
}

// Metal's word alone, which may be one from before, does not make a limit the one on
// trial.
func TestAnotherLimitIsNotShown(t *testing.T) {
	s := &Snapshot{Awake: new(1.0), Memory: &metal.Memory{Pressure: metal.PressureNormal},
		Limit: &Limit{Set: 26000 << 20, Effective: new(uint64(26000 << 20)), Lease: &LimitLease{Value: 26000 << 20}}}
	var tr trial
	if !tr.calm(s, false) {
		t.Error("no calm")
	}
	s.Limit.Set = 24000 << 20
	if tr.calm(s, false) {
		t.Error("calm, and another limit is set")
	}
}

// A minute in which the machine slept or nobody looked is no minute of normal
// pressure.
func TestATrialCountsOnlyWhatWasSeen(t *testing.T) {
	start := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	at := func(awake, wall float64) *Snapshot {
		return &Snapshot{Taken: start.Add(time.Duration(wall * 1e9)), Awake: &awake, Memory: &metal.Memory{Pressure: metal.PressureNormal},
			Limit: &Limit{Set: 26000 << 20, Effective: new(uint64(26000 << 20)), Lease: &LimitLease{Value: 26000 << 20}}}
	}
	for _, test := range []struct {
		name        string
		awake, wall float64 // the jump after ten seconds
		since       float64
	}{
		{"nothing", 1, 1, 0}, {"a slow tick", 10, 10, 0}, {"a gap", 45, 45, 55}, {"sleep", 1, 300, 11}, {"the clock set back", 1, -3600, 0},
	} {
		var tr trial
		for i := range 11 {
			tr.calm(at(float64(i), float64(i)), false)
		}
		if !tr.calm(at(10+test.awake, 10+test.wall), false) || tr.since != seconds(test.since) {
			t.Errorf("%s: well since %v, want %v s", test.name, tr.since, test.since)
		}
	}
}

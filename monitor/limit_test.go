package monitor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
)

// Case 48: 0 is the system's default and no limit of zero, whatever is divided.
func TestZeroIsTheDefault(t *testing.T) {
	var c struct {
		Set       uint64  `json:"iogpu.wired_limit_mb"`
		RAM       uint64  `json:"hw.memsize"`
		Effective uint64  `json:"recommendedMaxWorkingSetSize"`
		GiB       float64 `json:"expect_gib"`
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "cases", "048.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the folder of cases is not beside this repository")
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.byDefault, machine.set = c.Effective, wired.MiB(c.Set)
		machine.memory.Total = &c.RAM
		_, box := limited(t, machine)
		l := until(t, box, "there is a limit", func(u Update) bool { return u.Snapshot.Limit != nil }).Snapshot.Limit
		if l.Set != 0 || l.Effective == nil || *l.Effective != c.Effective || l.Default == nil || *l.Default != c.Effective || l.DefaultEstimated {
			t.Errorf("limit %+v, want Metal's %d as the default that was seen", l, c.Effective)
		}
		if got := float64(*l.Effective) / gib; got < c.GiB-0.005 || got > c.GiB+0.005 {
			t.Errorf("%.3f GiB, want %.2f", got, c.GiB)
		}
	})
}

// Case 42: Metal follows the setting in both directions, and so does the section;
// the default stays known as it was seen.
func TestTheSectionFollowsMetal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		const byDefault = 11_840_000_000
		machine.byDefault = byDefault
		_, box := limited(t, machine)
		for _, set := range []wired.MiB{0, 12000, 14000, 0, 12000} {
			machine.change(func(l *limitMachine) { l.set = set })
			want := uint64(byDefault)
			if set > 0 {
				want = set.Bytes()
			}
			until(t, box, "Metal's answer", func(u Update) bool {
				l := u.Snapshot.Limit
				return l != nil && l.Set == set.Bytes() && *l.Effective == want && *l.Default == byDefault && !l.DefaultEstimated
			})
		}
	})
}

// An agent that starts under an override has not seen the default: Metal's largest
// buffer tells it. These are the figures of a machine of 64 GB.
func TestTheDefaultUnderAnOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.byDefault, machine.set, machine.maxBuffer = 0, 57344, new(uint64(41747087360))
		_, box := limited(t, machine)
		l := until(t, box, "there is a limit", func(u Update) bool { return u.Snapshot.Limit != nil }).Snapshot.Limit
		if *l.Effective != 60129542144 || l.Default == nil || !near(*l.Default, 55662783148) || !l.DefaultEstimated {
			t.Errorf("default %v estimated %t, want 53084.2 MiB estimated", l.Default, l.DefaultEstimated)
		}
	})
}

// What was worked out, or whose source is not known, is not Metal's word.
func TestWhoseWordIsInForce(t *testing.T) {
	for source, told := range map[string]bool{"metal": true, "log": true, "sysctl": false, "estimate": false, "": false} {
		if got := inForce(&metal.GPU{LimitSource: source, WorkingSet: new(uint64(gib))}); (got != nil) != told {
			t.Errorf("%q: %v", source, got)
		}
	}
	if inForce(nil) != nil || inForce(&metal.GPU{LimitSource: "metal"}) != nil || inForce(&metal.GPU{LimitSource: "metal", WorkingSet: new(uint64)}) != nil {
		t.Error("nothing is in force")
	}
}

// Metal's answer just after an override went may be the override's: it is no default.
func TestTheDefaultSettles(t *testing.T) {
	var w limitWatch
	look := func(set, effective uint64) *uint64 {
		l := &Limit{Set: set, Effective: &effective}
		bytes, _ := w.byDefault(l, nil)
		return bytes
	}
	look(26*gib, 26*gib)
	if got := look(0, 26*gib); got != nil {
		t.Errorf("the default is %d", *got)
	}
	for range limitSettles {
		look(0, 21*gib)
	}
	if got := look(0, 21*gib); got == nil || *got != 21*gib {
		t.Errorf("the default is %v", got)
	}
	if got := look(26*gib, 26*gib); got == nil || *got != 21*gib {
		t.Errorf("under an override the default is %v", got)
	}
}

// Where Metal does not answer, nobody says what is in force, and no raise is
// confirmed without a person.
func TestWithoutMetalNothingIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.source = "sysctl"
		m, box := limited(t, machine)
		if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
			t.Fatal(err)
		}
		until(t, box, "it is on trial", func(u Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Lease != nil })
		time.Sleep(wired.LeaseDefault / 2)
		u := until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
		if l := u.Snapshot.Limit; l.Effective != nil || l.Set != 0 || machine.confirmed() != 0 {
			t.Errorf("%+v, %d confirmed, want the limit back", l, machine.confirmed())
		}
	})
}

// The helper is asked at the start, after a command and every few minutes, and a
// slow one delays no tick.
func TestTheHelperIsAskedBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.helperWait = 8 * time.Second
		m, box := limited(t, machine)
		u := until(t, box, "a tick", func(u Update) bool { return u.Snapshot.Limit != nil })
		if u.Snapshot.Limit.Helper != "" {
			t.Errorf("helper %q before it answered", u.Snapshot.Limit.Helper)
		}
		last := u.Snapshot.Taken
		until(t, box, "the helper answered", func(u Update) bool {
			if gap := u.Snapshot.Taken.Sub(last); gap > tickIdle {
				t.Errorf("a tick waited %v", gap)
			}
			last = u.Snapshot.Taken
			return u.Snapshot.Limit.Helper == HelperInstalled
		})
		time.Sleep(helperAge - 30*time.Second)
		if machine.asked() != 1 {
			t.Errorf("asked %d times", machine.asked())
		}
		time.Sleep(time.Minute)
		if machine.asked() != 2 {
			t.Errorf("asked %d times after %v, want twice", machine.asked(), helperAge)
		}
		machine.change(func(l *limitMachine) { l.helper = HelperMissing })
		if err := m.Do(t.Context(), Command{Kind: CommandResetLimit}); err != nil {
			t.Fatal(err)
		}
		until(t, box, "the helper is gone", func(u Update) bool { return u.Snapshot.Limit.Helper == HelperMissing })
	})
}

// A silent helper is silent after its time, and tells so.
func TestASilentHelper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.helperWait = time.Hour
		_, box := limited(t, machine)
		until(t, box, "it is silent", func(u Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Helper == HelperSilent })
	})
}

func TestNoAdjustableLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.stateErr = wired.ErrNoKey
		_, box := limited(t, machine)
		u := until(t, box, "a tick", func(u Update) bool { return u.Snapshot.Memory != nil })
		if p := u.Snapshot.Problems[SectionLimit]; u.Snapshot.Limit != nil || p.Reason != ReasonUnsupported {
			t.Errorf("limit %+v, problem %+v", u.Snapshot.Limit, p)
		}
		if machine.asked() != 0 {
			t.Error("the helper was asked where there is nothing to set")
		}
	})
}

package wired

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// stands checks the limit that is set, the one that is remembered and the one on
// trial, 0 for none.
func stands(t *testing.T, m *fakeMac, set, remembered, trial MiB) {
	t.Helper()
	s := m.state(t)
	var r, l MiB
	if s.Remembered != nil {
		r = *s.Remembered
	}
	if s.Lease != nil {
		l = s.Lease.Value
	}
	if s.Set != set || r != remembered || l != trial {
		t.Fatalf("%d set, %d remembered, %d on trial; want %d, %d, %d", s.Set, r, l, set, remembered, trial)
	}
}

func tick(t *testing.T, s *Server, open bool) {
	t.Helper()
	if got, err := s.Tick(); got != open || err != nil {
		t.Fatalf("open %v, %v; want %v", got, err, open)
	}
}

func TestLease(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 26624 lease 120 → ")
	stands(t, m, 26624, 0, 26624)
	if l := m.state(t).Lease; l.Left != 120*time.Second || l.Previous != 0 {
		t.Errorf("lease: %+v", l)
	}
	m.now += 119 * time.Second
	tick(t, s, true)
	stands(t, m, 26624, 0, 26624)
	m.now += 2 * time.Second
	if l := m.state(t).Lease; l.Left != 0 {
		t.Errorf("over, and not yet back: %+v", l)
	}
	tick(t, s, false)
	stands(t, m, 0, 0, 0)

	want(t, s, "set 26624 lease 120 → ", "confirm → ", "confirm → "+CodeNoLease)
	stands(t, m, 26624, 26624, 0)
	m.now += time.Hour
	tick(t, s, false)
	stands(t, m, 26624, 26624, 0)

	// On top of a confirmed limit, and again during the trial: the confirmed one
	// is what comes back.
	want(t, s, "set 27648 lease 30 → ")
	m.now += 20 * time.Second
	want(t, s, "set 28672 lease 30 → ")
	m.now += 29 * time.Second
	tick(t, s, true)
	stands(t, m, 28672, 26624, 28672)
	want(t, s, "set 27000 lease 600 → ") // less than on trial, more than confirmed
	stands(t, m, 27000, 26624, 27000)
	m.now += 600 * time.Second
	want(t, s, "confirm → "+CodeNoLease) // nobody ticked, the time is over all the same
	stands(t, m, 26624, 26624, 0)

	want(t, s, "reset → ", "reset → ")
	stands(t, m, 0, 0, 0)
	if got := strings.Join(m.audit, "\n"); got != `user 0: 26624 MiB on trial for 120 s, before it 0
not confirmed: back to 0 MiB from 26624
user 0: 26624 MiB on trial for 120 s, before it 0
user 0: 26624 MiB confirmed
user 0: 27648 MiB on trial for 30 s, before it 26624
user 0: 28672 MiB on trial for 30 s, before it 27648
user 0: 27000 MiB on trial for 600 s, before it 28672
not confirmed: back to 26624 MiB from 27000
user 0: back to the default, before it 26624 MiB` {
		t.Errorf("audit:\n%s", got)
	}
}

// TestConfirmOfOne: a trial that was begun meanwhile is not the one that is meant.
func TestConfirmOfOne(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "confirm 26624 → "+CodeNoLease, "set 26624 lease 60 → ", "set 28672 lease 60 → ", "confirm 26624 → "+CodeChanged)
	stands(t, m, 28672, 0, 28672)
	want(t, s, "confirm 28672 → ")
	stands(t, m, 28672, 28672, 0)
}

func TestRaisingTakesALease(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s,
		"set 26624 → "+CodeNeedsLease, "set 26624 lease 29 → "+CodeNeedsLease, "set 26624 lease 601 → "+CodeNeedsLease,
		"set 28673 lease 120 → "+CodeBounds, "set 16383 lease 120 → "+CodeBounds, "set 99999999 lease 120 → "+CodeBounds,
		"set 16384 lease 30 → ") // above the default or not: the helper cannot tell
	stands(t, m, 16384, 0, 16384)
	want(t, s, "set 28672 lease 600 → ")
}

func TestLowering(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 28672 lease 120 → ", "confirm → ", "set 26624 → ")
	stands(t, m, 26624, 26624, 0)
	want(t, s, "set 26624 → ") // it is
	want(t, s, "set 20000 lease 120 → ")
	stands(t, m, 20000, 20000, 0)

	// Below the confirmed limit while another is on trial: the trial is over.
	want(t, s, "set 28672 lease 120 → ", "set 18000 → ")
	stands(t, m, 18000, 18000, 0)
	// Back to the one before: likewise, and what is remembered stays.
	want(t, s, "set 28672 lease 120 → ", "set 18000 → ")
	stands(t, m, 18000, 18000, 0)
	want(t, s, "set 28672 lease 120 → ", "set 0 → ")
	stands(t, m, 0, 0, 0)

	// Back to one that somebody else set: it is not remembered for that.
	m.sysctls[mibKey] = 20000
	want(t, s, "set 28672 lease 120 → ", "set 20000 → ")
	stands(t, m, 20000, 0, 0)
}

// TestSomebodyElse: root may set the limit by hand at any time.
func TestSomebodyElse(t *testing.T) {
	byHand := func(value uint64, m *fakeMac) { m.sysctls[mibKey] = value }
	t.Run("to be kept, it is on trial first", func(t *testing.T) {
		m := newFakeMac(32 * gib)
		s := NewServer(m, "1")
		byHand(27000, m)
		want(t, s, "set 27000 → "+CodeNeedsLease, "set 27000 lease 60 → ")
		stands(t, m, 27000, 0, 27000)
		m.now += time.Minute
		tick(t, s, false)
		stands(t, m, 27000, 0, 0)
	})
	t.Run("while another is remembered", func(t *testing.T) {
		m := newFakeMac(32 * gib)
		s := NewServer(m, "1")
		want(t, s, "set 26624 lease 60 → ", "confirm → ")
		byHand(27000, m)
		want(t, s, "set 27000 → "+CodeNeedsLease, "set 27000 lease 60 → ", "confirm → ")
		stands(t, m, 27000, 27000, 0)
	})
	t.Run("after a start that froze", func(t *testing.T) {
		for value, after := range map[uint64]string{26624: "set 26624 lease 60 → ", 28000: "set 27000 → "} {
			m := newFakeMac(32 * gib)
			s := NewServer(m, "1")
			want(t, s, "set 26624 lease 60 → ", "confirm → ")
			for range 2 {
				m.restart()
				_, _ = s.Tick()
			}
			if got := m.state(t).Refused; got != RefusedPending {
				t.Fatalf("refused %q", got)
			}
			byHand(value, m)
			want(t, s, after)
			if value == 26624 {
				want(t, s, "confirm → ")
			}
			if got := m.state(t).Refused; got != "" {
				t.Errorf("a person wants it, and it is refused: %q", got)
			}
		}
	})
	t.Run("outside the bounds, it never comes back", func(t *testing.T) {
		for _, value := range []uint64{30000, 1000} {
			m := newFakeMac(32 * gib)
			s := NewServer(m, "1")
			byHand(value, m)
			if value == 30000 {
				want(t, s, "set 28672 → ")
				stands(t, m, 28672, 28672, 0)
				continue
			}
			want(t, s, "set 28672 lease 60 → ")
			if l := m.state(t).Lease; l.Previous != 0 {
				t.Errorf("%+v", l)
			}
			m.now += time.Minute
			tick(t, s, false)
			stands(t, m, 0, 0, 0)
		}
	})
	t.Run("during a trial", func(t *testing.T) {
		for _, test := range []struct{ value, after uint64 }{
			{28000, 26624}, // still more than before: back
			{25000, 25000}, // less: theirs stays
			{0, 0},
		} {
			m := newFakeMac(32 * gib)
			s := NewServer(m, "1")
			want(t, s, "set 26624 lease 60 → ", "confirm → ", "set 28672 lease 60 → ")
			byHand(test.value, m)
			want(t, s, "confirm → "+CodeChanged)
			m.now += time.Minute
			tick(t, s, false)
			stands(t, m, MiB(test.after), 26624, 0)
		}
	})
}

// TestBoundsInBetween: what was within the bounds when it was written down is checked
// again before it is used.
func TestBoundsInBetween(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 26624 lease 60 → ", "confirm → ", "set 28672 lease 60 → ")
	m.ram = 16 * gib
	want(t, s, "confirm → "+CodeBounds)
	m.now += time.Minute
	tick(t, s, false)
	stands(t, m, 0, 26624, 0)

	c, err := s.begin()
	if err == nil {
		err = c.write(26624)
	}
	if codeOf(err) != CodeBounds || m.limit() != 0 {
		t.Errorf("%d is set, %v", m.limit(), err)
	}
}

// TestClockBackwards: a lease that would last longer than any may is over.
func TestClockBackwards(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	m.now = time.Hour
	want(t, s, "set 26624 lease 60 → ")
	m.now -= 10 * time.Minute
	tick(t, s, false)
	stands(t, m, 0, 0, 0)
}

// TestNothingToTakeBack: a trial that somebody has ended writes nothing when it is over.
func TestNothingToTakeBack(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 26624 lease 60 → ")
	m.sysctls[mibKey] = 0
	m.now += time.Minute
	tick(t, s, false)
	if len(m.written) != 1 || len(m.audit) != 1 {
		t.Errorf("written %d, noted %q", m.written, m.audit)
	}
}

// TestConfirmedAndNotSynced: a record that was replaced before its folder could be
// synced counts: the limit and the record agree.
func TestConfirmedAndNotSynced(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 26624 lease 60 → ")
	m.fail["after write"] = errors.New("broken")
	want(t, s, "confirm → "+CodeFailed)
	clear(m.fail)
	tick(t, s, false)
	stands(t, m, 26624, 26624, 0)
}

// TestLostRecord: a trial whose record goes away ends at once.
func TestLostRecord(t *testing.T) {
	for name, spoil := range map[string]func(*fakeMac){
		"removed":   func(m *fakeMac) { delete(m.files, StateFile) },
		"garbage":   func(m *fakeMac) { m.files[StateFile] = "{" },
		"format 2":  func(m *fakeMac) { m.files[StateFile] = `{"format":2}` },
		"untrusted": func(m *fakeMac) { m.fail["read "+StateFile] = ErrUntrusted },
	} {
		t.Run(name, func(t *testing.T) {
			m := newFakeMac(32 * gib)
			s := NewServer(m, "1")
			want(t, s, "set 26624 lease 120 → ")
			spoil(m)
			_, err := s.Tick()
			if m.limit() != 0 || name != "removed" && !errors.Is(err, ErrUntrusted) {
				t.Fatalf("%d is set, %v", m.limit(), err)
			}
			if name != "removed" {
				want(t, s, "set 26624 lease 120 → "+CodeFile, "confirm → "+CodeFile)
				if got := m.state(t); got.Refused != RefusedFile {
					t.Errorf("%+v", got)
				}
			}
			want(t, s, "reset → ", "set 26624 lease 120 → ", "confirm → ")
			stands(t, m, 26624, 26624, 0)
		})
	}
}

// TestLostRecordThatFails: what cannot be taken back at once is tried until it can.
func TestLostRecordThatFails(t *testing.T) {
	for name, spoil := range map[string]func(*fakeMac){
		"removed": func(m *fakeMac) { delete(m.files, StateFile) },
		"garbage": func(m *fakeMac) { m.files[StateFile] = "{" },
	} {
		t.Run(name, func(t *testing.T) {
			m := newFakeMac(32 * gib)
			s := NewServer(m, "1")
			want(t, s, "set 26624 lease 120 → ")
			spoil(m)
			m.fail["set"] = os.ErrPermission
			for range 2 {
				if open, err := s.Tick(); !open || codeOf(err) == "" {
					t.Fatalf("open %v, %v", open, err)
				}
			}
			delete(m.fail, "set")
			if open, _ := s.Tick(); open || m.limit() != 0 {
				t.Errorf("open %v, %d set", open, m.limit())
			}
		})
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		spoil func(*fakeMac)
		code  string
		reset string // the code of a reset
	}{
		{"the key is read-only", func(m *fakeMac) { m.fail["set"] = os.ErrPermission }, CodeRefused, CodeRefused},
		{"the file cannot be written", func(m *fakeMac) { m.fail["write"] = broken }, CodeFailed, CodeFailed},
		{"nothing is noted", func(m *fakeMac) { m.fail["audit"] = broken }, CodeFailed, CodeFailed},
		{"memory is not told", func(m *fakeMac) { m.fail["ram"] = broken }, CodeFailed, ""},
		{"boot session is not told", func(m *fakeMac) { m.boot = "" }, CodeFailed, ""},
		{"boot session fails", func(m *fakeMac) { m.fail["boot"] = broken }, CodeFailed, ""},
		{"time is not told", func(m *fakeMac) { m.fail["clock"] = broken }, CodeFailed, ""},
		{"no key", func(m *fakeMac) { delete(m.sysctls, mibKey) }, CodeNoKey, CodeNoKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newFakeMac(32 * gib)
			s := NewServer(m, "1")
			want(t, s, "set 26000 lease 120 → ", "confirm → ")
			before := m.clone()
			test.spoil(m)
			want(t, s, "set 28672 lease 120 → "+test.code)
			if test.code != CodeNoKey && m.limit() != 26000 || m.files[StateFile] != before.files[StateFile] {
				t.Fatalf("%d is set, %s", m.limit(), m.files[StateFile])
			}
			want(t, s, "reset → "+test.reset)
			if test.reset != CodeRefused && m.limit() != 0 {
				t.Errorf("after a reset %d is set", m.limit())
			}
		})
	}
}

// TestSystemTakesAnotherValue: a limit that the system bends is not on trial.
func TestSystemTakesAnotherValue(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 20000 lease 60 → ", "confirm → ")
	m.takes = func(v uint64) uint64 { return min(v, 27000) }
	want(t, s, "set 28672 lease 60 → "+CodeRefused)
	stands(t, m, 20000, 20000, 0)
	want(t, s, "set 26000 lease 60 → ", "set 28672 lease 60 → "+CodeRefused)
	stands(t, m, 20000, 20000, 0)
}

// TestNotReadAgain: a limit that was written, and nobody knows with what effect, is
// taken back, and its lease stands until that is known too.
func TestNotReadAgain(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	m.fail["get after set"] = errors.New("broken")
	want(t, s, "set 28672 lease 60 → "+CodeFailed)
	clear(m.fail)
	stands(t, m, 0, 0, 28672)
	want(t, s, "confirm → "+CodeChanged)
	m.now += time.Minute
	tick(t, s, false)
	stands(t, m, 0, 0, 0)
}

// TestRevertThatFails is tried until it works.
func TestRevertThatFails(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 26624 lease 60 → ")
	m.now += time.Minute
	m.fail["set"] = os.ErrPermission
	if open, err := s.Tick(); !open || codeOf(err) != CodeRefused {
		t.Fatalf("open %v, %v", open, err)
	}
	want(t, s, "confirm → "+CodeRefused, "set 27000 lease 60 → "+CodeRefused)
	delete(m.fail, "set")
	m.fail["write"] = errors.New("disk full")
	if open, err := s.Tick(); !open || err == nil || m.limit() != 0 {
		t.Fatalf("open %v, %v, %d set", open, err, m.limit())
	}
	delete(m.fail, "write")
	tick(t, s, false)
	stands(t, m, 0, 0, 0)
}

// TestCase42: what is set follows in both directions, and what another program
// set is told, also outside our bounds.
func TestCase42(t *testing.T) {
	m := newFakeMac(16 * gib)
	s := NewServer(m, "1")
	want(t, s, "set 12000 lease 120 → ")
	stands(t, m, 12000, 0, 12000)
	want(t, s, "set 14000 lease 120 → "+CodeBounds) // leaves 2.3 GiB
	m.sysctls[mibKey] = 14000
	if got := m.state(t); got.Set != 14000 || got.Set.Bytes() != 14680064000 {
		t.Errorf("%+v", got)
	}
	want(t, s, "reset → ")
	stands(t, m, 0, 0, 0)
}

// TestCase47: the key is found by trying, and its unit is its own.
func TestCase47(t *testing.T) {
	m := newFakeMac(32 * gib)
	m.sysctls = map[string]uint64{byteKey: 0}
	s := NewServer(m, "1")
	want(t, s, "set 24576 lease 120 → ", "confirm → ")
	if got := m.sysctls[byteKey]; got != 25769803776 {
		t.Errorf("written: %d", got)
	}
	if got := m.state(t); got.Key != byteKey || got.Set != 24576 || *got.Remembered != 24576 {
		t.Errorf("%+v", got)
	}
	if got := Keys[1].Command(24576); got != "sudo sysctl debug.iogpu.wired_limit=25769803776" {
		t.Error(got)
	}
	if got := Keys[0].Command(24576); got != "sudo sysctl iogpu.wired_limit_mb=24576" {
		t.Error(got)
	}
	// The same mistake made by somebody else is a limit of next to nothing, not the default.
	m.sysctls[byteKey] = 24576
	if got := m.state(t).Set; got != 1 {
		t.Errorf("24,576 bytes are read as %d MiB", got)
	}
	m.sysctls = map[string]uint64{mibKey: 1 << 44}
	if got := m.state(t).Set; got.Bytes() < 1<<63 {
		t.Errorf("%d MiB are %d bytes", got, got.Bytes())
	}
	m.sysctls = map[string]uint64{"hw.memsize": 1}
	if _, err := ReadState(m); !errors.Is(err, ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
	m.sysctls = map[string]uint64{byteKey: 5 << 20, mibKey: 7}
	if got := m.state(t); got.Key != mibKey || got.Set != 7 {
		t.Errorf("both keys: %+v", got)
	}
}

// TestCase48: 0 is the system's default, and writing it restores that.
func TestCase48(t *testing.T) {
	m := newFakeMac(68719476736)
	s := NewServer(m, "1")
	want(t, s, "set 54000 lease 30 → ", "confirm → ", "set 0 → ")
	stands(t, m, 0, 0, 0)
	if got := m.written[len(m.written)-1]; got != 0 || m.state(t).Remembered != nil {
		t.Errorf("written: %d, %+v", got, m.state(t))
	}
	const byDefault = 55662788608 // Metal's word, 51.84 GiB
	a := Advise(Machine{RAM: 68719476736, Default: byDefault})
	if a.Default.After != byDefault || a.Default.Limit != 0 || a.Default.Keeps != 68719476736-byDefault {
		t.Errorf("%+v", a.Default)
	}
}

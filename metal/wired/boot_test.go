package wired

import (
	"os"
	"strings"
	"testing"
	"time"
)

// confirmed is a Mac with a remembered limit, after a restart.
func confirmed(t *testing.T) *fakeMac {
	t.Helper()
	m := newFakeMac(32 * gib)
	want(t, NewServer(m, "1"), "set 28672 lease 120 → ", "confirm → ")
	m.restart()
	return m
}

// TestCase49: a limit is gone after a restart; the remembered one comes back.
func TestCase49(t *testing.T) {
	m := confirmed(t)
	stands(t, m, 0, 28672, 0)
	s := NewServer(m, "1")
	tick(t, s, true)
	stands(t, m, 28672, 28672, 0)
	m.now += survived - time.Second
	tick(t, s, true)
	m.now += time.Second
	tick(t, s, false)
	m.restart()
	tick(t, NewServer(m, "1"), true)
	stands(t, m, 28672, 28672, 0)
}

func TestFrozenStart(t *testing.T) {
	m := confirmed(t)
	tick(t, NewServer(m, "1"), true)
	m.now += survived - time.Second
	for range 3 { // not at any later start either, until a person decides
		m.restart()
		s := NewServer(m, "1")
		tick(t, s, false)
		stands(t, m, 0, 28672, 0)
		if got := m.state(t).Refused; got != RefusedPending {
			t.Fatalf("refused: %q", got)
		}
	}
	// A trial that is not confirmed decides nothing.
	s := NewServer(m, "1")
	want(t, s, "set 28672 lease 30 → ")
	m.restart()
	s = NewServer(m, "1")
	tick(t, s, false)
	stands(t, m, 0, 28672, 0)
	want(t, s, "set 28672 lease 30 → ", "confirm → ")
	if got := m.state(t).Refused; got != "" {
		t.Errorf("refused: %q", got)
	}
	m.restart()
	tick(t, NewServer(m, "1"), true)
	stands(t, m, 28672, 28672, 0)
}

func TestRefusedAtStart(t *testing.T) {
	for _, test := range []struct {
		name    string
		spoil   func(*fakeMac)
		refused string
	}{
		{"less memory", func(m *fakeMac) { m.ram = 24 * gib }, RefusedRAM},
		{"more memory", func(m *fakeMac) { m.ram = 64 * gib }, RefusedRAM},
		{"a value that nobody confirmed", func(m *fakeMac) {
			m.files[StateFile] = strings.Replace(m.files[StateFile], "28672", "28673", 1)
		}, RefusedBounds},
		{"a file that is not root's alone", func(m *fakeMac) { m.fail["read "+StateFile] = ErrUntrusted }, RefusedFile},
		{"garbage", func(m *fakeMac) { m.files[StateFile] = "28672" }, RefusedFile},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := confirmed(t)
			test.spoil(m)
			s := NewServer(m, "1")
			if open, err := s.Tick(); open || (err != nil) != (test.refused == RefusedFile) {
				t.Fatalf("open %v, %v", open, err)
			}
			if got := m.state(t); got.Set != 0 || got.Refused != test.refused {
				t.Errorf("%+v", got)
			}
			want(t, s, "reset → ")
			if got := m.state(t); got.Refused != "" || got.Remembered != nil {
				t.Errorf("after a reset: %+v", got)
			}
		})
	}
	t.Run("the memory is back", func(t *testing.T) {
		m := confirmed(t)
		m.ram = 24 * gib
		tick(t, NewServer(m, "1"), false)
		m.ram = 32 * gib
		m.restart()
		tick(t, NewServer(m, "1"), true)
		stands(t, m, 28672, 28672, 0)
	})
}

func TestStart(t *testing.T) {
	t.Run("somebody else was first", func(t *testing.T) {
		m := confirmed(t)
		m.sysctls[mibKey] = 27000
		tick(t, NewServer(m, "1"), false)
		stands(t, m, 27000, 28672, 0)
	})
	t.Run("nothing remembered, nothing written", func(t *testing.T) {
		m := newFakeMac(32 * gib)
		tick(t, NewServer(m, "1"), false)
		if m.steps != 0 {
			t.Errorf("%d steps", m.steps)
		}
	})
	t.Run("the lease of the session before is gone", func(t *testing.T) {
		m := newFakeMac(32 * gib)
		want(t, NewServer(m, "1"), "set 28672 lease 600 → ")
		m.restart()
		stands(t, m, 0, 0, 0)
		s := NewServer(m, "1")
		tick(t, s, false)
		want(t, s, "confirm → "+CodeNoLease)
		stands(t, m, 0, 0, 0)
		if strings.Contains(m.files[StateFile], "lease") {
			t.Error(m.files[StateFile])
		}
	})
	t.Run("a request is the first to come", func(t *testing.T) {
		m := confirmed(t)
		want(t, NewServer(m, "1"), "confirm → "+CodeNoLease)
		stands(t, m, 28672, 28672, 0)
	})
	t.Run("reset while the start is open", func(t *testing.T) {
		m := confirmed(t)
		s := NewServer(m, "1")
		tick(t, s, true)
		want(t, s, "reset → ")
		tick(t, s, false)
		m.restart()
		tick(t, NewServer(m, "1"), false)
		stands(t, m, 0, 0, 0)
	})
	t.Run("the key is read-only now", func(t *testing.T) {
		m := confirmed(t)
		m.fail["set"] = os.ErrPermission
		if open, err := NewServer(m, "1").Tick(); open || codeOf(err) != CodeRefused {
			t.Errorf("open %v, %v", open, err)
		}
		tick(t, NewServer(m, "1"), false)
		stands(t, m, 0, 28672, 0)
		delete(m.fail, "set")
		m.restart()
		tick(t, NewServer(m, "1"), true)
		stands(t, m, 28672, 28672, 0)
	})
	t.Run("the system bends the value", func(t *testing.T) {
		m := confirmed(t)
		m.takes = func(v uint64) uint64 { return min(v, 27000) }
		if open, err := NewServer(m, "1").Tick(); open || codeOf(err) != CodeRefused {
			t.Errorf("open %v, %v", open, err)
		}
		stands(t, m, 0, 28672, 0)
	})
}

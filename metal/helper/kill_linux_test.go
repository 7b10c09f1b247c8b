package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"plimsoll/metal/wired"
)

// TestKilledAtEveryStep really kills the helper, at each step of each thing that it
// does, starts it again as launchd would, and looks at what is left.
func TestKilledAtEveryStep(t *testing.T) {
	raised := func(m *mac, values ...wired.MiB) {
		for _, v := range values {
			must(m.t, m.client().Set(m.t.Context(), v, time.Minute))
		}
	}
	confirmed := func(m *mac, v wired.MiB) {
		raised(m, v)
		must(m.t, m.client().Confirm(m.t.Context(), 0))
	}
	restarted := func(m *mac) {
		m.put("kern.bootsessionuuid", "boot 2")
		m.put("clock", 20)
		m.put(mibKey, 0)
	}
	for _, test := range []struct {
		name   string
		before func(m *mac) // with the helper running
		// between happens while it does not run; what is due is done at its start.
		between func(m *mac)
		request string
		// good are the limits that may be in force for good afterwards, besides 0;
		// remembered those that may be remembered.
		good, remembered []wired.MiB
	}{
		{"set", func(m *mac) {}, nil, "set 28672 lease 60", nil, nil},
		{"set above a confirmed one", func(m *mac) { confirmed(m, 20000) }, nil, "set 28672 lease 60", []wired.MiB{20000}, []wired.MiB{20000}},
		{"set during a trial", func(m *mac) { confirmed(m, 20000); raised(m, 26624) }, nil, "set 28672 lease 60", []wired.MiB{20000}, []wired.MiB{20000}},
		{"set lower", func(m *mac) { confirmed(m, 28672) }, nil, "set 20000", []wired.MiB{28672, 20000}, []wired.MiB{28672, 20000}},
		{"set lower during a trial", func(m *mac) { confirmed(m, 26624); raised(m, 28672) }, nil, "set 20000", []wired.MiB{26624, 20000}, []wired.MiB{26624, 20000}},
		{"confirm", func(m *mac) { raised(m, 28672) }, nil, "confirm", []wired.MiB{28672}, []wired.MiB{28672}},
		{"confirm above a confirmed one", func(m *mac) { confirmed(m, 20000); raised(m, 28672) }, nil, "confirm", []wired.MiB{20000, 28672}, []wired.MiB{20000, 28672}},
		{"reset", func(m *mac) { confirmed(m, 28672) }, nil, "reset", []wired.MiB{28672}, []wired.MiB{28672}},
		{"reset during a trial", func(m *mac) { confirmed(m, 20000); raised(m, 28672) }, nil, "reset", []wired.MiB{20000}, []wired.MiB{20000}},
		{"a lease that runs out", func(m *mac) { raised(m, 28672) }, func(m *mac) { m.put("clock", 120) }, "version", nil, nil},
		{"a lease that runs out above a confirmed one", func(m *mac) { confirmed(m, 20000); raised(m, 28672) },
			func(m *mac) { m.put("clock", 120) }, "version", []wired.MiB{20000}, []wired.MiB{20000}},
		{"a start", func(m *mac) { confirmed(m, 28672) }, restarted, "version", []wired.MiB{28672}, []wired.MiB{28672}},
		{"a start after a trial", func(m *mac) { raised(m, 28672) }, restarted, "version", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			kills := 0
			for step := 1; ; step++ {
				m := newMac(t)
				m.start()
				test.before(m)
				m.stop()
				if test.between != nil {
					test.between(m)
				}
				m.put("kill", step)
				m.start()
				if m.tell(test.request) {
					if status := m.stop(); status.Signaled() {
						t.Errorf("step %d: answered, then %v", step, status)
					}
					break
				}
				if status := m.end(); !status.Signaled() || status.Signal() != syscall.SIGKILL {
					t.Fatalf("step %d: no answer, and ended with %v: %s", step, status, m.said)
				}
				kills++
				must(t, os.Remove(m.path("kill")))
				m.start()
				m.survive(fmt.Sprintf("step %d", step), test.good, test.remembered)
			}
			if kills < 4 {
				t.Errorf("only %d steps", kills)
			}
			t.Logf("killed at %d steps", kills)
		})
	}
}

// tell sends a request and tells whether it was answered before the helper ended.
func (m *mac) tell(request string) bool {
	m.t.Helper()
	conn, err := net.Dial("unix", m.path("socket"))
	must(m.t, err)
	defer conn.Close()
	ended := m.ended
	go func() {
		<-ended
		conn.Close() // it would wait in the socket's queue for the next one
	}()
	fmt.Fprintln(conn, request)
	answer, _ := io.ReadAll(conn)
	return len(answer) > 0
}

// survive checks a helper that was killed and started again: at once what is in
// force is good or on trial, and when every lease is over it is good; what is
// remembered is good too, the files can be read, and it still does what it is told.
func (m *mac) survive(when string, good, remembered []wired.MiB) {
	t := m.t
	t.Helper()
	among := func(v wired.MiB, all []wired.MiB) bool {
		for _, one := range append(all, 0) {
			if v == one {
				return true
			}
		}
		return false
	}
	_, err := m.client().Version(t.Context()) // it has started
	must(t, err)
	s := m.state()
	if s.Refused != "" || !among(s.Set, good) && s.Lease == nil || s.Remembered != nil && !among(*s.Remembered, remembered) {
		t.Errorf("%s: %+v", when, s)
	}
	m.stop()
	m.put("clock", 10_000)
	m.start()
	_, err = m.client().Version(t.Context())
	must(t, err)
	if s = m.state(); !among(s.Set, good) || s.Lease != nil {
		t.Errorf("%s, when every lease is over: %+v", when, s)
	}
	must(t, m.client().Set(t.Context(), 28000, time.Minute))
	must(t, m.client().Reset(t.Context()))
	if s = m.state(); s.Set != 0 || s.Remembered != nil || s.Lease != nil {
		t.Errorf("%s, after a reset: %+v", when, s)
	}
	if status := m.stop(); status.ExitStatus() != 0 {
		t.Errorf("%s: ended with %v: %s", when, status, m.said)
	}
}

// TestFrozenStart: a start that the machine did not survive is found at the next.
func TestFrozenStart(t *testing.T) {
	m := newMac(t)
	m.start()
	must(t, m.client().Set(t.Context(), 28672, time.Minute))
	must(t, m.client().Confirm(t.Context(), 0))
	m.stop()
	for i, want := range []uint64{28672, 0, 0} {
		m.put("kern.bootsessionuuid", fmt.Sprint("boot ", i+2))
		m.put("clock", 20)
		m.put(mibKey, 0)
		m.start()
		_, err := m.client().Version(t.Context())
		must(t, err)
		if got := m.limit(); got != want {
			t.Errorf("start %d: %d is set", i, got)
		}
		if s := m.state(); (s.Refused == wired.RefusedPending) != (want == 0) || *s.Remembered != 28672 {
			t.Errorf("start %d: %+v", i, s)
		}
		must(t, m.process.Process.Kill())
		m.end()
	}
}

// TestFilesOfOthers: what another user could have put in place of a file of the
// helper is neither followed nor believed by the real helper either.
func TestFilesOfOthers(t *testing.T) {
	for name, spoil := range map[string]func(m *mac, path string){
		"symbolic link": func(m *mac, path string) {
			must(m.t, os.Rename(path, m.path("real")))
			must(m.t, os.Symlink("../real", path))
		},
		"hard link":       func(m *mac, path string) { must(m.t, os.Link(path, m.path("second"))) },
		"writable by all": func(m *mac, path string) { must(m.t, os.Chmod(path, 0o666)) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{wired.StateFile, wired.AuditFile} {
				m := newMac(t)
				m.start()
				must(t, m.client().Set(t.Context(), 20000, time.Minute))
				must(t, m.client().Confirm(t.Context(), 0))
				m.stop()
				spoil(m, m.path("home/"+file))
				m.put("kern.bootsessionuuid", "boot 2")
				m.put(mibKey, 0)
				m.start()
				if got := m.send("set 26624 lease 60\n"); got != wired.CodeFile || m.limit() != 0 {
					t.Errorf("%s: %q, %d set", file, got, m.limit())
				}
			}
		})
	}
}

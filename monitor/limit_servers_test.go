package monitor

import (
	"testing"
	"testing/synctest"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor/backend"
)

// A server keeps the limit that it read when it started: each that ran before is
// stale after a change until its process is another, and no longer when the limit
// is back.
func TestServersThatReadAnotherLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, server := newLimitMachine(), newFakeServer()
		serve := func(pid int) metal.Process {
			return metal.Process{PID: pid, Started: uint64(pid), Name: "ollama", Args: []string{"ollama", "serve"}}
		}
		machine.processes = []metal.Process{serve(812)}
		_, box := limited(t, machine, server)
		stale := func(want int) {
			t.Helper()
			until(t, box, "the stale servers", func(u Update) bool { return u.Snapshot.Limit != nil && len(u.Snapshot.Limit.Stale) == want })
		}
		set := func(n wired.MiB) { machine.change(func(l *limitMachine) { l.set = n }) }
		until(t, box, "the server runs", func(u Update) bool { return len(u.Snapshot.Backends) == 1 })
		stale(0)
		lists := machine.listed()
		set(26000)
		stale(1)
		until(t, box, "how it is restarted by hand", func(u Update) bool {
			return u.Snapshot.Limit.Commands["ollama"] == "brew services restart ollama"
		})
		set(0) // as when a lease ends
		stale(0)
		set(26000)
		stale(1)
		if n := machine.listed() - lists; n > 3 {
			t.Errorf("the processes were listed %d times for three changes", n)
		}
		machine.fakeMachine.set(func(f *fakeMachine) { f.processes = []metal.Process{serve(990)} })
		stale(0)
		set(24000)
		stale(1)
		server.set(func(s *fakeServer) { s.state = backend.NotRunning })
		stale(0)
		server.set(func(s *fakeServer) { s.state = backend.Running })
		until(t, box, "it runs again", func(u Update) bool { return u.Snapshot.Backends[0].State == backend.Running })
		stale(0)
	})
}

// A server that answers through a tunnel has not read this machine's limit.
func TestAServerElsewhereIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		_, box := limited(t, machine, newFakeServer())
		until(t, box, "the server runs", func(u Update) bool { return len(u.Snapshot.Backends) == 1 })
		machine.change(func(l *limitMachine) { l.set = 26000 })
		u := until(t, box, "the limit", func(u Update) bool { return u.Snapshot.Limit.Set > 0 })
		if len(u.Snapshot.Limit.Stale) != 0 {
			t.Errorf("stale %q", u.Snapshot.Limit.Stale)
		}
	})
}

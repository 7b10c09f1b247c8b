package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// slowMachine swaps from a moment on while Spotlight indexes.
type slowMachine struct {
	*fakeMachine
	begin time.Time
	slow  bool
}

func (m *slowMachine) Swap() (*metal.Swap, error) {
	s := metal.Swap{Used: new(uint64(gib)), Total: new(uint64(2 * gib)), In: new(uint64(0)), Out: new(uint64(0))}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slow {
		s.Out = new(uint64(time.Since(m.begin).Seconds() * 40e6))
	}
	return &s, nil
}

func (m *slowMachine) Processes() ([]metal.Process, error) {
	list, err := m.fakeMachine.Processes()
	t := time.Since(m.begin).Seconds()
	for _, p := range []struct {
		pid   int
		name  string
		cores float64
	}{{20, "mdworker_shared", 0.4}, {21, "mdworker_shared", 0.3}, {22, "mds_stores", 0.9}, {23, "backupd", 0.01}, {24, "Chrome", 2}} {
		list = append(list, metal.Process{PID: p.pid, Started: 1, Name: p.name, CPU: new(t * p.cores)})
	}
	return append(list, metal.Process{PID: 25, Started: 1, Name: "mediaanalysisd"}), err // another user's
}

func TestBackgroundIsReadOnlyWhileModelsAreSlow(t *testing.T) {
	for _, resident := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			machine := &slowMachine{fakeMachine: newFakeMachine(), begin: time.Now()}
			server := newFakeServer()
			if resident {
				server = newFakeServer(backend.Resident{Model: "a:latest", Size: new(uint64(gib))})
			}
			m := New(Config{Local: machine, Backends: []backend.Backend{server}, Clock: SystemClock()})
			box := m.Subscribe(Options{Lossless: true})
			go m.Run(t.Context())
			past := func(d time.Duration) Update {
				begin := time.Now()
				return until(t, box, "time passed", func(u Update) bool { return u.Snapshot.Taken.Sub(begin) > d })
			}
			if u := past(time.Minute); len(u.Snapshot.Background) > 0 {
				t.Fatalf("%+v while nothing is slow", u.Snapshot.Background)
			}
			quiet := machine.lists
			machine.set(func(*fakeMachine) { machine.slow = true })
			u := past(30 * time.Second)
			if standing(u, "swapping") == nil {
				t.Fatal("it does not swap")
			}
			if !resident {
				if len(u.Snapshot.Background) > 0 || machine.lists > quiet+3 { // the alert names the biggest user
					t.Errorf("%+v, listed %d times, with no model to slow", u.Snapshot.Background, machine.lists-quiet)
				}
				return
			}
			b := u.Snapshot.Background
			if len(b) != 2 || b[0].Name != "mds_stores" || b[1].Name != "mdworker_shared" || b[1].Processes != 2 ||
				b[0].Cores < 0.8 || b[0].Cores > 1 || b[1].Cores < 0.6 || b[1].Cores > 0.8 {
				t.Errorf("%+v, want Spotlight's two programs and nothing else", b)
			}
			if n := machine.lists - quiet; n > 6 {
				t.Errorf("processes were listed %d times in half a minute", n)
			}
			machine.set(func(*fakeMachine) { machine.slow = false })
			if u = past(time.Minute); len(u.Snapshot.Background) > 0 {
				t.Errorf("%+v after it was over", u.Snapshot.Background)
			}
		})
	}
}

package monitor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// outcome unloads the only model and returns the event it ends with.
func outcome(t *testing.T, machine *fakeMachine, server backend.Backend, known func(Update) bool) *Event {
	t.Helper()
	m, box := start(t, machine, server)
	until(t, box, "the model is known", known)
	if err := m.Do(t.Context(), Command{Kind: CommandUnload, Model: "a"}); err != nil {
		t.Fatal(err)
	}
	var e *Event
	until(t, box, "it ends", func(u Update) bool {
		e = find(u.Events, func(e *Event) bool {
			return slices.Contains([]EventKind{EventUnloaded, EventUnloadHeld, EventUnloadFailed}, e.Kind)
		})
		return e != nil
	})
	return e
}

// A runner must give back at least half of its model within ten seconds of the
// model's leaving the list; what it keeps is told with its process.
func TestUnloadNeedsHalfOfTheModelBack(t *testing.T) {
	const weights = "/models/blobs/sha256-aa"
	for _, test := range []struct {
		name string
		left uint64        // footprint after the unload, of 18 GiB
		late time.Duration // and when it fell to that
		want EventKind
	}{
		{"all but a little", gib, 0, EventUnloaded},
		{"just half", 9 * gib, 0, EventUnloaded},
		{"a little less than half", 9*gib + 1<<20, 0, EventUnloadHeld},
		{"nothing", 18 * gib, 0, EventUnloadHeld},
		{"it grows", 20 * gib, 0, EventUnloadHeld},
		{"after eight seconds", gib, 8 * time.Second, EventUnloaded},
		{"after twenty-three seconds", gib, 23 * time.Second, EventUnloadHeld},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine, server := newFakeMachine(), newFakeServer(backend.Resident{Model: "a:latest", Size: new(uint64(18 * gib)), Weights: weights})
				machine.processes = []metal.Process{runnerOf(7, weights, 18*gib)}
				server.onUnload = func(string) {
					fall := func() {
						machine.set(func(m *fakeMachine) { m.processes[0].Footprint = new(test.left) })
					}
					if test.late == 0 {
						fall()
						return
					}
					time.AfterFunc(test.late, fall)
				}
				e := outcome(t, machine, server, func(u Update) bool {
					return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].RunnerPID != nil
				})
				if e.Kind != test.want {
					t.Fatalf("ended as %s, want %s", e.Kind, test.want)
				}
				held := e.Evidence
				if e.Kind == EventUnloadHeld && (held.PID == nil || *held.PID != 7 || held.Process != "ollama" || held.Bytes == nil) {
					t.Errorf("evidence %+v, want the process that holds it and how much", held)
				}
				time.Sleep(30 * time.Second) // the late fall, on the bubble's time
			})
		})
	}
}

// Where no process could be told to hold the model, the machine's memory has to
// do: wired on a Mac, available elsewhere. A server on another machine cannot be
// measured, which is said and not made up.
func TestUnloadWithoutARunner(t *testing.T) {
	for _, test := range []struct {
		name     string
		address  string
		onUnload func(*fakeMachine)
		want     EventKind
		freed    uint64 // 0 for none told
	}{
		{"wired memory falls", "http://127.0.0.1:11434", func(m *fakeMachine) { m.memory.Wired = new(uint64(gib)) }, EventUnloaded, 2 * gib},
		{"available memory rises", "http://127.0.0.1:11434", func(m *fakeMachine) { m.memory.Available = new(uint64(23 * gib)) }, EventUnloaded, 3 * gib},
		{"neither moves", "http://127.0.0.1:11434", func(*fakeMachine) {}, EventUnloadHeld, 0},
		{"a third is not enough", "http://127.0.0.1:11434", func(m *fakeMachine) { m.memory.Available = new(uint64(21 * gib)) }, EventUnloadHeld, 0},
		{"a server behind a tunnel", "http://127.0.0.1:11434", func(m *fakeMachine) { m.processes = nil }, EventUnloaded, 0},
		{"a server elsewhere", "http://192.168.1.13:11434", func(*fakeMachine) {}, EventUnloaded, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine := newFakeMachine()
				machine.processes = []metal.Process{{PID: 3, Name: "ollama", Args: []string{"ollama", "serve"}}}
				server := &serverAt{fakeServer: newFakeServer(backend.Resident{Model: "a:latest", Size: new(uint64(3 * gib))}), address: test.address}
				server.onUnload = func(string) { machine.set(test.onUnload) }
				e := outcome(t, machine, server, func(u Update) bool { return len(u.Snapshot.Residents) == 1 })
				if e.Kind != test.want {
					t.Fatalf("ended as %s, want %s", e.Kind, test.want)
				}
				if freed := e.Evidence.Freed; (freed != nil) != (test.freed > 0) || freed != nil && *freed != test.freed {
					t.Errorf("freed %v, want %d", freed, test.freed)
				}
				if e.Kind == EventUnloadHeld && (e.Evidence.PID != nil || *e.Evidence.Bytes != 3*gib) {
					t.Errorf("evidence %+v, want 3 GiB and no process", e.Evidence)
				}
			})
		})
	}
}

// serverAt is a fakeServer at an address of the test's choice.
type serverAt struct {
	*fakeServer
	address string
}

func (s *serverAt) Poll(ctx context.Context) backend.Answer {
	a := s.fakeServer.Poll(ctx)
	a.Status.Address = s.address
	return a
}

// A server that says nothing is known for it within four seconds where the
// backend keeps its own limit, and within five whatever the backend does.
func TestSilenceIsKnownInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer()
		_, box := start(t, newFakeMachine(), server)
		until(t, box, "the server runs", func(u Update) bool {
			return len(u.Snapshot.Backends) == 1 && u.Snapshot.Backends[0].State == backend.Running
		})
		server.set(func(s *fakeServer) { s.hang = true })
		hung := time.Now()
		until(t, box, "the server does not answer", func(u Update) bool { return u.Snapshot.Backends[0].State == backend.NotAnswering })
		if took := time.Since(hung); took > 5500*time.Millisecond {
			t.Errorf("known after %v", took)
		}
	})
}

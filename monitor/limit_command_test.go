package monitor

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

func TestLimitCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		m, _ := limited(t, machine, newFakeServer())
		for _, test := range []struct {
			name    string
			command Command
			want    error
		}{
			{"no value", Command{Kind: CommandSetLimit}, ErrBadCommand},
			{"nothing", Command{Kind: CommandSetLimit, Bytes: new(uint64(0))}, ErrBadCommand},
			{"not whole MiB", Command{Kind: CommandSetLimit, Bytes: new(uint64(26000<<20 + 1))}, ErrBadCommand},
			{"too short a trial", Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20)), Lease: new(29.0)}, ErrBadCommand},
			{"too long a trial", Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20)), Lease: new(601.0)}, ErrBadCommand},
			{"a trial of no time", Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20)), Lease: new(math.NaN())}, ErrBadCommand},
			{"no server of that name", Command{Kind: CommandRestartServer, Backend: "lmstudio"}, ErrNoBackend},
		} {
			if err := m.Do(t.Context(), test.command); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.name, err, test.want)
			}
		}
		bare := New(Config{Local: machine, Clock: SystemClock()})
		if err := bare.Do(t.Context(), Command{Kind: CommandResetLimit}); !errors.Is(err, ErrNoLimit) {
			t.Errorf("without a limiter: %v", err)
		}
	})
}

// A server that works for somebody is not restarted, whoever tells of the request.
func TestRestartWaitsForRequests(t *testing.T) {
	idle := func() *Snapshot {
		return &Snapshot{Awake: new(0.0),
			Backends:  []backend.Status{{Name: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running}, {Name: "mini", Address: "http://192.168.1.13:1", State: backend.Running}},
			Residents: []Resident{{Resident: backend.Resident{Backend: "ollama", Model: "a"}, Activity: ActivityIdle}, {Resident: backend.Resident{Backend: "mini", Model: "b"}, Activity: ActivityBusy}},
			Requests:  []request.Request{{Backend: "ollama", Model: "a", Phase: request.PhaseDone}, {Backend: "mini", Phase: request.PhaseDecode}}}
	}
	for _, test := range []struct {
		name  string
		alter func(*Snapshot)
		to    string
		want  error
	}{
		{"idle", func(*Snapshot) {}, "ollama", nil},
		{"stuck", func(s *Snapshot) { s.Residents[0].Activity = ActivityStuck }, "ollama", nil},
		{"not running", func(s *Snapshot) { s.Backends[0].State = backend.NotRunning }, "ollama", nil},
		{"busy", func(s *Snapshot) { s.Residents[0].Activity = ActivityBusy }, "ollama", ErrInFlight},
		{"stopping", func(s *Snapshot) { s.Residents[0].Activity = ActivityStopping }, "ollama", ErrInFlight},
		{"reading a prompt", func(s *Snapshot) { s.Requests[0].Phase = request.PhasePrefill }, "ollama", ErrInFlight},
		{"waiting", func(s *Snapshot) { s.Requests[0].Phase = request.PhaseQueued }, "ollama", ErrInFlight},
		{"elsewhere", func(*Snapshot) {}, "mini", ErrBadCommand},
	} {
		machine := newLimitMachine()
		m := New(Config{Local: machine, Clock: stillClock{}, Limiter: machine})
		s := idle()
		test.alter(s)
		m.latest = Update{Snapshot: s}
		err := m.Do(t.Context(), Command{Kind: CommandRestartServer, Backend: test.to})
		if !errors.Is(err, test.want) || (len(machine.restarts) == 1) != (test.want == nil) {
			t.Errorf("%s: %v, restarted %q, want %v", test.name, err, machine.restarts, test.want)
		}
	}
}

// stillClock stands still.
type stillClock struct{}

func (stillClock) Now() time.Time                       { return time.Time{} }
func (stillClock) Awake() time.Duration                 { return 0 }
func (stillClock) After(time.Duration) <-chan time.Time { return nil }

// What is old is looked at again before a server is restarted.
func TestRestartLooksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, server := newLimitMachine(), newFakeServer(backend.Resident{Model: "a:latest", Weights: "/w"})
		machine.processes = []metal.Process{runnerOf(7, "/w", gib)}
		m, box := limited(t, machine, server)
		u := until(t, box, "its runner is known", func(u Update) bool {
			return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].RunnerPID != nil
		})
		old := *u.Snapshot
		old.Awake = new(*old.Awake - 60)
		synctest.Wait()
		m.mu.Lock()
		m.latest = Update{Snapshot: &old}
		m.mu.Unlock()
		s, err := m.fresh(t.Context())
		if err != nil || s == &old {
			t.Errorf("%v, want a new snapshot", err)
		}
	})
}

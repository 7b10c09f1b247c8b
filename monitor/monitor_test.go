package monitor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// start runs a monitor in a synctest bubble and returns it with its updates in a mailbox.
func start(t *testing.T, machine *fakeMachine, servers ...backend.Backend) (*Monitor, *Mailbox) {
	t.Helper()
	m := New(Config{Local: machine, Backends: servers, Clock: SystemClock(), EndProcess: func(pid int, _ uint64) error {
		machine.end(pid)
		return nil
	}})
	box := m.Subscribe(Options{Lossless: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return m, box
}

// until takes updates until one satisfies ok, and fails after a minute of the
// bubble's time.
func until(t *testing.T, box *Mailbox, what string, ok func(Update) bool) Update {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		u, there := box.Take()
		if there && ok(u) {
			return u
		}
		if there {
			continue
		}
		select {
		case <-box.Ready():
		case <-deadline:
			t.Fatalf("no update in which %s", what)
		}
	}
}

func event(u Update, kind EventKind) *Event {
	return find(u.Events, func(e *Event) bool { return e.Kind == kind })
}

func runnerOf(pid int, weights string, bytes uint64) metal.Process {
	return metal.Process{PID: pid, Started: uint64(pid), Name: "ollama", Args: []string{"ollama", "runner", "--model", weights}, Footprint: &bytes, CPU: new(0.0)}
}

func TestHungServerDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, server := newFakeMachine(), newFakeServer(backend.Resident{Model: "a:latest", Size: new(uint64(gib))})
		_, box := start(t, machine, server)
		until(t, box, "the server runs", func(u Update) bool {
			return len(u.Snapshot.Backends) == 1 && u.Snapshot.Backends[0].State == backend.Running
		})
		server.set(func(s *fakeServer) { s.hang = true })
		hung := time.Now()
		var last time.Time
		u := until(t, box, "the server does not answer", func(u Update) bool {
			if !last.IsZero() && u.Snapshot.Taken.Sub(last) > tickIdle {
				t.Errorf("memory waited %v for a tick", u.Snapshot.Taken.Sub(last))
			}
			last = u.Snapshot.Taken
			return u.Snapshot.Backends[0].State == backend.NotAnswering
		})
		if took := time.Since(hung); took > pollInterval+pollTimeout+nudgeSpacing {
			t.Errorf("known after %v, want at most an interval and a time-out", took)
		}
		if len(u.Snapshot.Residents) != 1 {
			t.Error("a silent server's models are still in memory; the row must stay")
		}
		if age := u.Snapshot.Taken.Sub(*u.Snapshot.Residents[0].Answered); age < time.Second {
			t.Errorf("the row says it is %v old, want the age of the last answer", age)
		}
		server.set(func(s *fakeServer) { s.hang = false })
		until(t, box, "the server is back by itself", func(u Update) bool { return u.Snapshot.Backends[0].State == backend.Running })
		server.set(func(s *fakeServer) { s.state = backend.NotRunning })
		until(t, box, "a server that ended holds no models", func(u Update) bool {
			return u.Snapshot.Backends[0].State == backend.NotRunning && len(u.Snapshot.Residents) == 0
		})
	})
}

func TestUnloadIsMeasured(t *testing.T) {
	const weights = "/models/blobs/sha256-aa"
	model := backend.Resident{Model: "a:latest", Size: new(uint64(9 * gib)), Weights: weights}
	for _, test := range []struct {
		name     string
		onUnload func(*fakeMachine)
		want     EventKind
		busy     bool
	}{
		{"the runner ends", func(m *fakeMachine) { m.end(7) }, EventUnloaded, false},
		{"the runner gives most back", func(m *fakeMachine) {
			m.set(func(m *fakeMachine) { m.processes[0].Footprint = new(uint64(gib)) })
		}, EventUnloaded, false},
		{"the runner keeps it", func(*fakeMachine) {}, EventUnloadHeld, false},
		{"the server does not drop it", func(*fakeMachine) {}, EventUnloadFailed, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine, server := newFakeMachine(), newFakeServer(model)
				machine.processes = []metal.Process{runnerOf(7, weights, 9*gib), {PID: 9, Name: "Chrome", Footprint: new(uint64(gib))}}
				server.busy = test.busy
				server.onUnload = func(string) { test.onUnload(machine) }
				m, box := start(t, machine, server)
				until(t, box, "the runner is known", func(u Update) bool {
					return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].RunnerPID != nil
				})
				if err := m.Do(t.Context(), Command{Kind: CommandUnload, Model: "a"}); err != nil {
					t.Fatal(err)
				}
				asked := false
				var e *Event
				until(t, box, "it ends", func(u Update) bool {
					asked = asked || event(u, EventUnloadAsked) != nil
					e = find(u.Events, func(e *Event) bool {
						return slices.Contains([]EventKind{EventUnloaded, EventUnloadHeld, EventUnloadFailed}, e.Kind)
					})
					return e != nil
				})
				if e.Kind != test.want || !asked {
					t.Fatalf("ended as %s (asked: %v), want %s", e.Kind, asked, test.want)
				}
			})
		})
	}
}

func TestHeldMemoryCanBeEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const weights = "/models/blobs/sha256-bb"
		machine, server := newFakeMachine(), newFakeServer(backend.Resident{Model: "b:latest", Size: new(uint64(18 * gib)), Weights: weights})
		machine.processes = []metal.Process{runnerOf(11, weights, 18*gib)}
		m, box := start(t, machine, server)
		until(t, box, "the runner is known", func(u Update) bool {
			return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].Footprint != nil
		})
		if err := m.Do(t.Context(), Command{Kind: CommandEndRunner, PID: new(11)}); !errors.Is(err, ErrBadCommand) {
			t.Errorf("ending a runner that serves gave %v, want a refusal", err)
		}
		if err := m.Do(t.Context(), Command{Kind: CommandUnload, Backend: "ollama", Model: "b:latest"}); err != nil {
			t.Fatal(err)
		}
		u := until(t, box, "the held memory is an alert", func(u Update) bool { return len(u.Alerts) > 0 })
		a := u.Alerts[0]
		if a.Rule != "memory_held" || a.Evidence.Bytes == nil || *a.Evidence.Bytes != 18*gib || a.Action == nil || *a.Action.PID != 11 {
			t.Fatalf("alert %+v, want the process, its 18 GiB and the offer to end it", a)
		}
		if err := m.Do(t.Context(), *a.Action); err != nil {
			t.Fatal(err)
		}
		until(t, box, "the alert clears", func(u Update) bool { return len(u.Alerts) == 0 && len(u.Snapshot.Held) == 0 })
	})
}

func TestUnloadWaitsForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const weights = "/models/blobs/sha256-cc"
		machine, server := newFakeMachine(), newFakeServer(backend.Resident{Model: "c:latest", Size: new(uint64(gib)), Weights: weights})
		machine.processes = []metal.Process{runnerOf(5, weights, gib)}
		server.busy = true
		m, box := start(t, machine, server)
		work := time.NewTicker(500 * time.Millisecond)
		defer work.Stop()
		finished := make(chan struct{})
		go func() { // a runner at work for a minute, then done
			for range 120 {
				<-work.C
				machine.set(func(m *fakeMachine) { m.processes[0].CPU = new(*m.processes[0].CPU + 0.4) })
			}
			server.set(func(s *fakeServer) { s.busy = false; delete(s.models, "c:latest") })
			machine.end(5)
			close(finished)
		}()
		until(t, box, "the model is busy", func(u Update) bool {
			return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].Activity == ActivityBusy
		})
		if err := m.Do(t.Context(), Command{Kind: CommandUnload, Model: "c"}); err != nil {
			t.Fatal(err)
		}
		u := until(t, box, "it is asked", func(u Update) bool { return event(u, EventUnloadAsked) != nil })
		if got := event(u, EventUnloadAsked).Evidence.State; got != string(ActivityBusy) {
			t.Errorf("asked while %q, want busy", got)
		}
		u = until(t, box, "it is over", func(u Update) bool {
			if event(u, EventUnloadFailed) != nil {
				t.Fatal("gave up while the model was answering")
			}
			return event(u, EventUnloaded) != nil
		})
		<-finished
		if freed := event(u, EventUnloaded).Evidence.Freed; freed == nil || *freed != gib {
			t.Errorf("freed %v, want the runner's 1 GiB", freed)
		}
	})
}

func TestCommandsAreRefusedWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer(backend.Resident{Model: "x:cloud", Cloud: true}, backend.Resident{Model: "y:latest"})
		m, box := start(t, newFakeMachine(), server)
		until(t, box, "the models are listed", func(u Update) bool { return len(u.Snapshot.Residents) == 2 })
		for _, test := range []struct {
			command Command
			want    error
		}{
			{Command{Kind: CommandUnload, Model: "nobody"}, ErrNoModel},
			{Command{Kind: CommandUnload}, ErrBadCommand},
			{Command{Kind: CommandUnload, Model: "x:cloud"}, ErrCloud},
			{Command{Kind: CommandUnload, Backend: "elsewhere", Model: "y"}, ErrNoBackend},
			{Command{Kind: CommandKeep, Model: "y"}, ErrBadCommand},
			{Command{Kind: CommandKeep, Model: "y", Keep: new(-2.0)}, ErrBadCommand},
			{Command{Kind: "format_disk"}, ErrBadCommand},
			{Command{Kind: CommandEndRunner, PID: new(1)}, ErrBadCommand},
		} {
			if err := m.Do(t.Context(), test.command); !errors.Is(err, test.want) {
				t.Errorf("%+v gave %v, want %v", test.command, err, test.want)
			}
		}
		if err := m.Do(t.Context(), Command{Kind: CommandKeep, Model: "y", Keep: new(-1.0)}); err != nil || server.kept["y:latest"] != backend.Forever {
			t.Errorf("pinning gave %v and sent %v", err, server.kept)
		}
		if len(server.unloaded) != 0 {
			t.Errorf("a refused command was sent: %v", server.unloaded)
		}
	})
}

func TestConsumersAreReadOnlyWhenSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newFakeMachine()
		machine.processes = []metal.Process{
			{PID: 1, Name: "helper", App: "Chrome", Footprint: new(uint64(2 * gib))}, {PID: 2, Name: "Chrome", App: "Chrome", Footprint: new(uint64(gib))},
			{PID: 3, Name: "Xcode", App: "Xcode", Footprint: new(uint64(2 * gib))}, {PID: 4, Name: "ollama", Footprint: new(uint64(9 * gib))},
		}
		_, box := start(t, machine)
		for range 10 {
			until(t, box, "time passes", func(u Update) bool { return u.Snapshot.Consumers == nil })
		}
		if machine.lists != 0 {
			t.Fatalf("the process list was read %d times while nobody looked", machine.lists)
		}
		box.SetWatch(true)
		u := until(t, box, "consumers are told", func(u Update) bool { return u.Snapshot.Consumers != nil })
		want := []Consumer{{"Chrome", 3 * gib, 2}, {"Xcode", 2 * gib, 1}}
		if !slices.Equal(u.Snapshot.Consumers, want) {
			t.Errorf("consumers %v, want %v", u.Snapshot.Consumers, want)
		}
		box.SetWatch(false)
		until(t, box, "consumers are gone again", func(u Update) bool { return u.Snapshot.Consumers == nil })
	})
}

func TestOneUnreadableSectionLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newFakeMachine()
		machine.swapErr = metal.ErrNotPermitted
		_, box := start(t, machine)
		u := until(t, box, "a tick", func(Update) bool { return true })
		if u.Snapshot.Swap != nil || u.Snapshot.Problems[SectionSwap].Reason != ReasonNotPermitted {
			t.Errorf("swap %v, problem %v", u.Snapshot.Swap, u.Snapshot.Problems[SectionSwap])
		}
		if u.Snapshot.Memory == nil || u.Snapshot.Problems[SectionGPU].Reason != ReasonUnsupported {
			t.Error("memory must stay and the GPU's absence must have its reason")
		}
		machine.set(func(m *fakeMachine) { m.swapErr = nil })
		until(t, box, "swap is back, told once", func(u Update) bool { return u.Snapshot.Swap != nil && event(u, EventProblemGone) != nil })
	})
}

package monitor

import (
	"context"
	"sync"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// fakeMachine is a metal.Reader whose facts a test sets.
type fakeMachine struct {
	mu        sync.Mutex
	memory    metal.Memory
	swap      metal.Swap
	swapErr   error
	machine   metal.Machine
	processes []metal.Process
	lists     int
}

func newFakeMachine() *fakeMachine {
	return &fakeMachine{
		memory: metal.Memory{Total: new(uint64(32 * gib)), Available: new(uint64(20 * gib)), Wired: new(uint64(3 * gib)), Pressure: metal.PressureNormal},
		swap:   metal.Swap{Used: new(uint64(0)), Total: new(uint64(0)), In: new(uint64(0)), Out: new(uint64(0))},
	}
}

func (f *fakeMachine) set(change func(*fakeMachine)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeMachine) Machine() (*metal.Machine, error) { return new(f.machine), nil }
func (f *fakeMachine) Memory() (*metal.Memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return new(f.memory), nil
}
func (f *fakeMachine) Swap() (*metal.Swap, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return new(f.swap), f.swapErr
}
func (f *fakeMachine) GPU() (*metal.GPU, error)         { return nil, metal.ErrUnsupported }
func (f *fakeMachine) Thermal() (*metal.Thermal, error) { return nil, metal.ErrUnsupported }
func (f *fakeMachine) Power() (*metal.Power, error)     { return nil, metal.ErrUnsupported }
func (f *fakeMachine) Processes() ([]metal.Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	return append([]metal.Process(nil), f.processes...), nil
}
func (f *fakeMachine) Process(pid int) (*metal.Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.processes {
		if p.PID == pid {
			return &p, nil
		}
	}
	return nil, metal.ErrNoProcess
}

// end removes a process.
func (f *fakeMachine) end(pid int) {
	f.set(func(f *fakeMachine) {
		for i, p := range f.processes {
			if p.PID == pid {
				f.processes = append(f.processes[:i:i], f.processes[i+1:]...)
				return
			}
		}
	})
}

// fakeServer is a Backend that holds models. hang makes it silent.
type fakeServer struct {
	mu        sync.Mutex
	models    map[string]backend.Resident
	state     backend.State
	hang      bool
	busy      bool
	polls     int
	unloaded  []string
	kept      map[string]time.Duration
	onUnload  func(model string)
	unloadErr error
}

func newFakeServer(models ...backend.Resident) *fakeServer {
	s := &fakeServer{models: map[string]backend.Resident{}, state: backend.Running, kept: map[string]time.Duration{}}
	for _, m := range models {
		m.Backend = "ollama"
		s.models[m.Model] = m
	}
	return s
}

func (s *fakeServer) set(change func(*fakeServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *fakeServer) Name() string    { return "ollama" }
func (s *fakeServer) Address() string { return "http://127.0.0.1:11434" }

func (s *fakeServer) Poll(ctx context.Context) backend.Answer {
	s.mu.Lock()
	hang, state := s.hang, s.state
	s.polls++
	var residents []backend.Resident
	for _, m := range s.models {
		residents = append(residents, m)
	}
	s.mu.Unlock()
	status := backend.Status{Name: "ollama", Kind: "ollama", Address: s.Address(), State: state}
	if hang {
		<-ctx.Done()
		status.State = backend.NotAnswering
		return backend.Answer{Status: status}
	}
	if state != backend.Running {
		return backend.Answer{Status: status}
	}
	return backend.Answer{Status: status, Residents: residents}
}

func (s *fakeServer) Unload(ctx context.Context, model string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unloadErr != nil {
		return s.unloadErr
	}
	s.unloaded = append(s.unloaded, model)
	if !s.busy {
		delete(s.models, model)
	}
	if s.onUnload != nil {
		s.onUnload(model)
	}
	return nil
}

func (s *fakeServer) Keep(ctx context.Context, model string, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[model] = d
	return nil
}

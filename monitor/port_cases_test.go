package monitor

import (
	"testing"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// portMachine is a machine that can tell who listens.
type portMachine struct {
	*fakeMachine
	who   *metal.Process
	asked []int
}

func (p *portMachine) Listener(port int) (*metal.Process, error) {
	p.asked = append(p.asked, port)
	if p.who == nil {
		return nil, metal.ErrNotPermitted
	}
	return p.who, nil
}

// nameOnce lets a monitor of its own look at one status at a time awake.
func nameOnce(m *Monitor, awake float64, b backend.Status) backend.Status {
	s := &Snapshot{Awake: &awake, Backends: []backend.Status{b}}
	m.nameOwners(s)
	return s.Backends[0]
}

func TestPortsTakenNameTheProgram(t *testing.T) {
	taken := backend.Status{Name: "ollama", Address: "http://127.0.0.1:11434", State: backend.Failed, Cause: "not_this_server", Detail: "404 page not found"}
	with := func(change func(*backend.Status)) backend.Status {
		b := taken
		change(&b)
		return b
	}
	python := &metal.Process{PID: 77, Name: "python3"}
	for _, test := range []struct {
		what          string
		who           *metal.Process
		status        backend.Status
		cause, detail string
	}{
		{"another program", python, taken, "port_taken", "python3, PID 77"},
		{"another program, over IPv6", python, with(func(b *backend.Status) { b.Address = "http://[::1]:8080" }), "port_taken", "python3, PID 77"},
		{"a proxy whose server is away", python, with(func(b *backend.Status) { b.Cause = "closed" }), "closed", taken.Detail},
		{"one of another user", nil, taken, "not_this_server", taken.Detail},
		{"Ollama itself, at a wrong path", &metal.Process{PID: 5, Name: "ollama"}, taken, "not_this_server", taken.Detail},
		{"on another machine", python, with(func(b *backend.Status) { b.Address = "http://192.168.1.13:11434" }), "not_this_server", taken.Detail},
		{"a server that runs", python, with(func(b *backend.Status) { b.State, b.Cause, b.Detail = backend.Running, "", "" }), "", ""},
		{"a certificate", python, with(func(b *backend.Status) { b.Cause = "bad_certificate" }), "bad_certificate", taken.Detail},
	} {
		machine := &portMachine{fakeMachine: newFakeMachine(), who: test.who}
		m := New(Config{Local: machine, Clock: SystemClock()})
		if got := nameOnce(m, 1, test.status); got.Cause != test.cause || got.Detail != test.detail {
			t.Errorf("%s: %q %q, want %q %q", test.what, got.Cause, got.Detail, test.cause, test.detail)
		}
	}
}

// Who holds a port is looked up once, not at every tick.
func TestPortsAreLookedUpSeldom(t *testing.T) {
	machine := &portMachine{fakeMachine: newFakeMachine(), who: &metal.Process{PID: 77, Name: "python3"}}
	m := New(Config{Local: machine, Clock: SystemClock()})
	taken := backend.Status{Name: "ollama", Address: "http://127.0.0.1:11434", State: backend.Failed, Cause: "not_this_server", Detail: "404"}
	for tick := range 15 {
		nameOnce(m, float64(2*tick), taken)
	}
	if len(machine.asked) != 1 || machine.asked[0] != 11434 {
		t.Errorf("asked for %v within half a minute, want 11434 once", machine.asked)
	}
	nameOnce(m, 40, taken)
	running := taken
	running.State = backend.Running
	nameOnce(m, 42, running)
	machine.who = nil
	if got := nameOnce(m, 44, taken); got.Cause != "not_this_server" || len(machine.asked) != 3 {
		t.Errorf("%q after %v, want nobody to be named after it ran meanwhile", got.Cause, machine.asked)
	}
}

// A machine that cannot tell who listens says what it said.
func TestPortsOfAMachineThatCannotTell(t *testing.T) {
	m := New(Config{Local: newFakeMachine(), Clock: SystemClock()})
	taken := backend.Status{Name: "ollama", Address: "http://127.0.0.1:11434", State: backend.Failed, Cause: "not_this_server", Detail: "404"}
	if got := nameOnce(m, 1, taken); got.Cause != taken.Cause || got.Detail != taken.Detail {
		t.Errorf("%q %q, want what the server said", got.Cause, got.Detail)
	}
	if _, ok := metal.Reader(newFakeMachine()).(portReader); ok {
		t.Error("the fake machine tells who listens; this test tries nothing")
	}
}

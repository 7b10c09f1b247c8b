package sim

import (
	"fmt"
	"strconv"
	"time"

	"plimsoll/metal"
)

const (
	firstServer = 812 // the pid of the server that starts with the machine
	ollamaPath  = "/Applications/Ollama.app/Contents/Resources/ollama"
)

// systemProcesses belong to other users: an ordinary one sees that they are there
// and neither their footprint nor their processor time.
var systemProcesses = []metal.Process{
	{PID: 0, Name: "kernel_task", App: "kernel_task"},
	{PID: 1, Name: "launchd", App: "launchd"},
	{PID: 388, Parent: 1, Name: "WindowServer", App: "WindowServer"},
	{PID: 412, Parent: 1, Name: "mds_stores", App: "mds_stores"},
}

// processes lists everything that runs, with the lock held.
func (m *Mac) processes() []metal.Process {
	var list []metal.Process
	for _, p := range systemProcesses {
		p.Started = micros(m.booted)
		list = append(list, p)
	}
	for _, a := range m.apps {
		list = append(list, a.processes()...)
	}
	list = append(list, metal.Process{PID: m.ollama.pid, Parent: 1, Name: "ollama", App: "Ollama", Started: micros(m.ollama.started),
		Args: []string{ollamaPath, "serve"}, Footprint: new(uint64(86 << 20)), CPU: new(12 + 0.002*m.now.Seconds())})
	for _, r := range m.runners {
		if r.dead {
			continue
		}
		if m.slots > 0 {
			list = append(list, m.childProcess(r))
			continue
		}
		list = append(list, metal.Process{PID: r.pid, Parent: m.ollama.pid, Name: "ollama", App: "Ollama", Started: micros(r.started),
			Args:      []string{ollamaPath, "runner", "--ollama-engine", "--model", r.model.blob(), "--port", strconv.Itoa(r.port)},
			Footprint: new(r.footprint()), CPU: new(r.cpu)})
	}
	return append(list, m.trouble.working()...)
}

// processes of an app: the first has four tenths of its memory and work, the rest
// share what is left.
func (a *app) processes() []metal.Process {
	list := make([]metal.Process, 0, 1+len(a.helpers))
	add := func(name string, share float64) {
		p := metal.Process{PID: a.pid + len(list), Parent: 1, Name: name, App: a.name, Started: micros(a.started),
			Args:      []string{fmt.Sprintf("/Applications/%s.app/Contents/MacOS/%s", a.name, name)},
			Footprint: new(uint64(a.bytes * share)), CPU: new(a.cpu * share)}
		if len(list) > 0 {
			p.Parent = a.pid
		}
		list = append(list, p)
	}
	if len(a.helpers) == 0 {
		add(a.name, 1)
		return list
	}
	add(a.name, 0.4)
	for _, name := range a.helpers {
		add(name, 0.6/float64(len(a.helpers)))
	}
	return list
}

// footprint is what a runner's process has, in bytes.
func (r *runner) footprint() uint64 { return uint64(r.loaded+r.grown) + 42<<20 }

func micros(t time.Time) uint64 { return uint64(t.UnixMicro()) }

// EndProcess ends a process as SIGTERM does, if the one that started then still
// lives; otherwise it fails with metal.ErrNoProcess. Runners and apps can be
// ended, the rest is not ours: metal.ErrNotPermitted.
func (m *Mac) EndProcess(pid int, started uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	for _, r := range m.runners {
		if r.pid != pid || r.dead || micros(r.started) != started {
			continue
		}
		if r.unlisted {
			r.held, r.leaving = 0, r.loaded
		} else {
			m.die(r)
		}
		return nil
	}
	for _, a := range m.apps {
		if a.pid == pid && micros(a.started) == started {
			m.closeApp(a.name)
			return nil
		}
	}
	for _, p := range m.processes() {
		if p.PID == pid && p.Started == started {
			return fmt.Errorf("ending process %d: %w", pid, metal.ErrNotPermitted)
		}
	}
	return fmt.Errorf("ending process %d: %w", pid, metal.ErrNoProcess)
}

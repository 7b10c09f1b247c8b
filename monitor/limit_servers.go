package monitor

import (
	"errors"
	"slices"
	"strings"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// serverFigures are the limits that servers have read: one reads it when it
// starts and keeps that figure until it is started again. Whatever was set before
// this monitor began to look is taken to be older than every server.
type serverFigures struct {
	last *figure
	old  map[string]oldServer // by backend
}

// oldServer is a server with the figure that it has read. Without a pid its
// process was not found.
type oldServer struct {
	read    figure
	pid     int
	started uint64
}

// follow takes the limit of a new snapshot and lists the servers that have
// another figure, sorted.
func (v *serverFigures) follow(s *Snapshot, local metal.Reader) []string {
	now := figureOf(s.Limit)
	if v.last != nil && !v.last.same(now) {
		v.mark(s, *v.last, local)
	}
	v.last = &now
	var stale []string
	for name, server := range v.old {
		if restarted(s, name, server, local) {
			delete(v.old, name)
		} else if !server.read.same(now) {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale
}

// mark notes for each server of this machine that it has read that figure. The
// processes are listed for it once at each change of the limit.
func (v *serverFigures) mark(s *Snapshot, read figure, local metal.Reader) {
	processes, err := local.Processes()
	if err == nil && !slices.ContainsFunc(processes, modelProgram) {
		return // they answer through a tunnel, or from a virtual machine
	}
	for _, b := range s.Backends {
		if _, known := v.old[b.Name]; known || b.State != backend.Running || !onThisMachine(s, b.Name) {
			continue
		}
		server := oldServer{read: read}
		if p := serverProcess(b, processes); p != nil {
			server.pid, server.started = p.PID, p.Started
		}
		if v.old == nil {
			v.old = map[string]oldServer{}
		}
		v.old[b.Name] = server
	}
}

// serverProcess is the process that serves a backend, nil where it cannot be told.
func serverProcess(b backend.Status, processes []metal.Process) *metal.Process {
	var found *metal.Process
	for i := range processes {
		p := &processes[i]
		serves := len(p.Args) > 1 && p.Args[1] == "serve" && strings.EqualFold(p.Name, "ollama")
		if b.Kind != "ollama" {
			serves = strings.EqualFold(p.Name, b.Kind)
		}
		if !serves {
			continue
		}
		if found != nil {
			return nil // two of them
		}
		found = p
	}
	return found
}

// restarted reports that a server of before is gone, or another process in its
// place.
func restarted(s *Snapshot, name string, server oldServer, local metal.Reader) bool {
	status := find(s.Backends, func(b *backend.Status) bool { return b.Name == name })
	if status == nil || status.State == backend.NotRunning {
		return true
	}
	if server.pid == 0 {
		return false
	}
	p, err := local.Process(server.pid)
	return errors.Is(err, metal.ErrNoProcess) || err == nil && p.Started != server.started
}

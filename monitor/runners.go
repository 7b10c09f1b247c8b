package monitor

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/metal"
)

// searches is how many ticks in a row the process list is searched for the
// runners of a new set of residents. A server lists a model some time before
// or after its runner shows.
const searches = 3

// runners finds the processes that hold the resident models. The process list
// is read only when the set of residents changes; after that each runner is
// read by its pid.
type runners struct {
	set   string // the residents that were searched for
	tries int
	found map[string]metal.Process // by residentKey
	// servers are the processes that had runners as children, by pid.
	servers map[int]bool
}

// measureRunners notes each local resident's process, footprint and processor time.
func (m *Monitor) measureRunners(s *Snapshot) {
	local := slices.DeleteFunc(slices.Clone(s.Residents), func(r Resident) bool { return r.Cloud || !onThisMachine(s, r.Backend) })
	m.runners.search(local, m.config.Local)
	awake := seconds(*s.Awake)
	for i := range s.Residents {
		r := &s.Residents[i]
		known, ok := m.runners.found[residentKey(r)]
		if !ok {
			continue
		}
		p, err := m.config.Local.Process(known.PID)
		if err != nil || p.Started != known.Started {
			delete(m.runners.found, residentKey(r))
			m.runners.tries = 0 // it crashed or was replaced: look again
			continue
		}
		r.RunnerPID, r.Footprint = &p.PID, p.Footprint
		if p.CPU != nil {
			m.engine.state(residentKey(r)).measure(p.PID, *p.CPU, awake)
		}
	}
}

// search looks for runners when the set of residents changed.
func (r *runners) search(residents []Resident, local metal.Reader) {
	set := setOf(residents)
	if set != r.set {
		r.set, r.tries = set, 0
		for key := range r.found {
			if find(residents, func(one *Resident) bool { return residentKey(one) == key }) == nil {
				delete(r.found, key)
			}
		}
	}
	if len(residents) == len(r.found) || r.tries >= searches {
		return
	}
	r.tries++
	processes, err := local.Processes()
	if err != nil {
		return // consumers tell the problem where somebody looks
	}
	r.found, r.servers = match(residents, processes), map[int]bool{}
	for _, p := range processes {
		if servesModels(p) {
			r.servers[p.PID] = true
		}
	}
}

func setOf(residents []Resident) string {
	var keys []string
	for i := range residents {
		keys = append(keys, residentKey(&residents[i])+"@"+residents[i].Digest)
	}
	return strings.Join(keys, "\n")
}

// match pairs residents with runner processes: by the weights file that a
// runner was started with, else the only resident with the only runner.
func match(residents []Resident, processes []metal.Process) map[string]metal.Process {
	found := map[string]metal.Process{}
	holding := slices.DeleteFunc(slices.Clone(processes), func(p metal.Process) bool { return !holdsModel(p) })
	for i := range residents {
		r := &residents[i]
		for _, p := range holding {
			if r.Weights != "" && slices.ContainsFunc(p.Args, func(arg string) bool { return sameFile(arg, r.Weights) }) {
				found[residentKey(r)] = p
			}
		}
	}
	if len(residents) == 1 && len(holding) == 1 && !holdsOther(holding[0], &residents[0]) {
		found[residentKey(&residents[0])] = holding[0]
	}
	return found
}

// holdsOther reports a llama-server that was started with another model's file: one
// that a person runs beside the server.
func holdsOther(p metal.Process, r *Resident) bool {
	return p.Name == "llama-server" && r.Weights != "" && slices.ContainsFunc(p.Args, func(arg string) bool {
		return strings.HasSuffix(arg, ".gguf") || strings.HasPrefix(filepath.Base(arg), "sha256-")
	}) && !slices.ContainsFunc(p.Args, func(arg string) bool { return sameFile(arg, r.Weights) })
}

// sameFile compares by path, and by name for blobs, whose names are their digests.
func sameFile(arg, weights string) bool {
	return arg == weights || strings.HasPrefix(filepath.Base(weights), "sha256-") && filepath.Base(arg) == filepath.Base(weights)
}

// holdsModel tells a process that holds a model from one that only manages
// them: "ollama runner", llama-server, MLX's server.
func holdsModel(p metal.Process) bool {
	switch {
	case p.Name == "ollama":
		return len(p.Args) > 1 && p.Args[1] == "runner"
	case p.Name == "llama-server", p.Name == "ollama_llama_server":
		return true
	}
	return slices.ContainsFunc(p.Args, func(arg string) bool { return strings.Contains(arg, "mlx_lm") })
}

// modelProgram tells every process of a model server, which is never named as
// the other memory user.
func modelProgram(p metal.Process) bool {
	name := strings.ToLower(p.Name)
	return holdsModel(p) || name == "ollama" || p.App == "Ollama" || p.App == "LM Studio" || name == "lms"
}

// onThisMachine reports whether a backend's server runs here: only then do its
// processes and memory show in this machine's lists.
func onThisMachine(s *Snapshot, name string) bool {
	for _, b := range s.Backends {
		if b.Name != name {
			continue
		}
		u, err := url.Parse(b.Address)
		if err != nil {
			return false
		}
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	}
	return false
}

// consumerAge is how long a list of memory users serves a screen before it is
// read again: reading takes milliseconds.
const consumerAge = 5 * time.Second

// consumerCache is the last list of memory users.
type consumerCache struct {
	at   time.Duration
	list []Consumer
}

// readConsumers puts the biggest memory users into the snapshot.
func (m *Monitor) readConsumers(s *Snapshot) {
	now := seconds(*s.Awake)
	if m.consumers.list == nil || now-m.consumers.at > consumerAge || now < m.consumers.at {
		processes, err := m.config.Local.Processes()
		if err != nil {
			s.Problems[SectionConsumers] = problemOf(err)
			return
		}
		m.consumers = consumerCache{at: now, list: biggest(processes)}
	}
	s.Consumers = m.consumers.list
}

// consumersShown is how many memory users a snapshot names.
const consumersShown = 3

// biggest groups processes by application and returns the largest groups that
// are not model servers.
func biggest(processes []metal.Process) []Consumer {
	groups := map[string]*Consumer{}
	for _, p := range processes {
		if p.Footprint == nil || modelProgram(p) {
			continue
		}
		name := p.App
		if name == "" {
			name = p.Name
		}
		if name == "" {
			continue
		}
		if groups[name] == nil {
			groups[name] = &Consumer{Name: name}
		}
		groups[name].Footprint += *p.Footprint
		groups[name].Processes++
	}
	list := []Consumer{}
	for _, c := range groups {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Consumer) int {
		if a.Footprint != b.Footprint {
			if a.Footprint > b.Footprint {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list[:min(len(list), consumersShown)]
}

package monitor

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// portReader is a metal.Reader that can tell who listens at a port of this
// machine. Not every system can.
type portReader interface {
	Listener(port int) (*metal.Process, error)
}

// ownerAge is how long it is believed who holds a port: looking takes
// milliseconds.
const ownerAge = 30 * time.Second

// owner is who was found at the port of a server, "" for nobody to name.
type owner struct {
	answer string // what the server's port said when that was found
	at     time.Duration
	name   string
}

// nameOwners names the program that holds the port of a server on this machine
// where something else answers: of a port that is taken, a person needs to know
// by whom.
func (m *Monitor) nameOwners(s *Snapshot) {
	ports, ok := m.config.Local.(portReader)
	if !ok {
		return
	}
	now := seconds(*s.Awake)
	for i := range s.Backends {
		b := &s.Backends[i]
		if b.State != backend.Failed || b.Cause != "not_this_server" || !onThisMachine(s, b.Name) {
			delete(m.owners, b.Name)
			continue
		}
		had, known := m.owners[b.Name]
		if !known || had.answer != b.Detail || now-had.at > ownerAge {
			had = owner{answer: b.Detail, at: now, name: listener(ports, b.Address)}
			m.owners[b.Name] = had
		}
		if had.name != "" {
			b.Cause, b.Detail = "port_taken", had.name
		}
	}
}

// listener names the process at an address, "" when it cannot be told or is a
// model server after all, asked at the wrong path.
func listener(ports portReader, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return ""
	}
	p, err := ports.Listener(port)
	if err != nil || p.Name == "" || modelProgram(*p) {
		return ""
	}
	return fmt.Sprintf("%s, PID %d", p.Name, p.PID)
}

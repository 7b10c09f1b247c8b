package sim

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/metal/wired"
)

// user is the person of this Mac, who had the helper installed.
const user501 = 501

// helper is the privileged helper of the simulated Mac: the code that root runs on
// a real one, over this machine instead of a system's calls. It goes on when nobody
// looks, so a trial ends on the simulation's time whatever becomes of those who
// began it.
type helper struct {
	mac    *Mac
	server *wired.Server

	mu      sync.Mutex
	files   map[string][]byte
	audit   []string
	ticking bool
}

func newHelper(m *Mac) *helper {
	h := &helper{mac: m, files: map[string][]byte{wired.UsersFile: wired.Users{user501}.Text()}}
	h.server = wired.NewServer(h, "simulated")
	return h
}

// DialHelper connects to the helper's socket as the user of this Mac does.
func (m *Mac) DialHelper(context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	go m.helper.server.Serve(there, user501) // who asked reads what became of it
	return here, nil
}

// LimitState reads how the GPU's limit stands, as everybody on a Mac may.
func (m *Mac) LimitState() (wired.State, error) { return wired.ReadState(m.helper) }

// LimitAudit is what the helper noted of its changes, oldest first.
func (m *Mac) LimitAudit() []string {
	m.helper.mu.Lock()
	defer m.helper.mu.Unlock()
	return slices.Clone(m.helper.audit)
}

// tick does what is due, and again in a second while anything is open.
func (h *helper) tick() {
	if open, _ := h.server.Tick(); open { // this machine refuses nothing
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tickSoon()
	}
}

// tickSoon plans the next tick. h.mu is held.
func (h *helper) tickSoon() {
	if h.ticking {
		return
	}
	h.ticking = true
	h.mac.clock.call(h.mac.clock.Awake()+time.Second, func() {
		h.mu.Lock()
		h.ticking = false
		h.mu.Unlock()
		h.tick()
	})
}

// Sysctl, SetSysctl, BootSession, Continuous, RAM, Files and Audit make the helper
// a wired.System.

// Sysctl knows the limit alone.
func (h *helper) Sysctl(name string) (uint64, error) {
	if name != wired.Keys[0].Name {
		return 0, fmt.Errorf("%s: %w", name, wired.ErrNoKey)
	}
	h.mac.mu.Lock()
	defer h.mac.mu.Unlock()
	h.mac.advance()
	return uint64(h.mac.memory.limit) >> 20, nil
}

// SetSysctl sets the limit, which Metal shows at once.
func (h *helper) SetSysctl(name string, value uint64) error {
	if name != wired.Keys[0].Name {
		return fmt.Errorf("%s: %w", name, wired.ErrNoKey)
	}
	h.mac.SetWiredLimit(wired.MiB(value).Bytes())
	return nil
}

// BootSession is one for the whole life of the simulation.
func (h *helper) BootSession() (string, error) {
	return fmt.Sprintf("SIMULATED-%016X", h.mac.seed), nil
}

// Continuous counts sleep too.
func (h *helper) Continuous() (time.Duration, error) {
	awake, _, slept := h.mac.clock.moment()
	return awake + slept, nil
}

// RAM is the memory of the machine.
func (h *helper) RAM() (uint64, error) { return ram, nil }

// Files are kept in memory.
func (h *helper) Files() wired.Files { return h }

// Read implements wired.Files.
func (h *helper) Read(name string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, ok := h.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	return slices.Clone(data), nil
}

// Write implements wired.Files. What is written may have opened a trial: that is
// known before the one who asked for it has an answer.
func (h *helper) Write(name string, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[name] = slices.Clone(data)
	h.tickSoon()
	return nil
}

// Audit keeps the newest lines.
func (h *helper) Audit(line string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.audit = append(h.audit, line)
	h.audit = h.audit[max(0, len(h.audit)-100):]
	return nil
}

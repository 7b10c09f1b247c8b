package sim

import (
	"net/http"
	"time"

	"plimsoll/metal/wired"
)

// daemon is the process of the model server.
type daemon struct {
	pid     int
	started time.Time
	// limit is the GPU's limit as it read it when it started: it never looks again.
	limit float64
}

// defaultContext is the context, in tokens, that the server takes where nobody
// names one.
func (m *Mac) defaultContext() int { return wired.DefaultContext(uint64(m.ollama.limit)) }

// openContext is defaultContext without the lock held.
func (m *Mac) openContext() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.defaultContext()
}

// RestartServer ends the model server with its runners and starts it again at
// once: what was in flight breaks off, models leave memory, and the new process
// reads the GPU's limit anew.
func (m *Mac) RestartServer() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	for _, r := range m.open() {
		m.finish(r, m.now, &fault{http.StatusInternalServerError, "the server was ended"})
	}
	m.pending = nil
	for _, r := range m.runners {
		r.dead, r.unlisted, r.held, r.leaving = true, true, 0, r.loaded
		r.hangUp()
	}
	m.ollama = daemon{pid: m.nextPID, started: m.wall(), limit: m.memory.gpuLimit()}
	m.nextPID += 7
}

// RestartCommand is what a person types to do the same on a Mac like this one.
const RestartCommand = `osascript -e 'quit app "Ollama"' && sleep 3 && open -a Ollama`

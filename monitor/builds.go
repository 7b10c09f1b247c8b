package monitor

import (
	"sync"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

// Build is how a model on a server's disk is built.
type Build struct {
	Backend string    `json:"backend"`
	Model   string    `json:"model"`
	Build   fit.Model `json:"build"`
}

// mostBuilds is how many builds are remembered; each is under a kilobyte.
const mostBuilds = 2048

// builds are what the servers told of their models, each asked for once.
type builds struct {
	mu   sync.Mutex
	by   map[buildKey]fit.Model
	told int // how often something was told
}

// buildKey is a model by its digest, or by its name where a server has no digests.
type buildKey struct{ backend, model string }

// learn takes what a poll was newly told.
func (b *builds) learn(server string, told []backend.Description) {
	for _, d := range told {
		m, err := fit.Read(d.Reply)
		if err != nil {
			continue // it is asked for again with the next digest
		}
		if d.Size != nil {
			m = m.WithSize(*d.Size)
		}
		b.mu.Lock()
		if b.by == nil || len(b.by) >= mostBuilds {
			b.by = map[buildKey]fit.Model{}
		}
		b.by[buildKey{server, d.Digest}] = m
		b.told++
		b.mu.Unlock()
	}
}

// of finds how a model is built. False where its server has not told.
func (b *builds) of(server, digest, model string) (fit.Model, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range []string{digest, model} {
		if m, ok := b.by[buildKey{server, name}]; ok && name != "" {
			return m, true
		}
	}
	return fit.Model{}, false
}

// Builds are the models on the servers' disks whose build is known, in the order of
// Models. It may be called from any goroutine.
func (m *Monitor) Builds() []Build {
	list := []Build{}
	for _, model := range m.Models() {
		if build, ok := m.builds.of(model.Backend, model.Digest, model.Model); ok {
			list = append(list, Build{model.Backend, model.Model, build})
		}
	}
	return list
}

// count grows whenever something was told.
func (b *builds) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

package monitor

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// commands are what restarts stale servers by hand. Finding one out may start a
// process, so each is asked for once, beside the ticks.
type commands struct {
	sync.Mutex
	running bool
	by      map[string]string // by backend; "" where there is none to tell
}

// askCommands puts the known commands of stale servers into the snapshot, forgets
// those of others, and asks for what is missing.
func (m *Monitor) askCommands(s *Snapshot) {
	c, stale := &m.limit.commands, s.Limit.Stale
	c.Lock()
	defer c.Unlock()
	maps.DeleteFunc(c.by, func(name, _ string) bool { return !slices.Contains(stale, name) })
	var missing []string
	for _, name := range stale {
		command, asked := c.by[name]
		if !asked {
			missing = append(missing, name)
		} else if command != "" {
			if s.Limit.Commands == nil {
				s.Limit.Commands = map[string]string{}
			}
			s.Limit.Commands[name] = command
		}
	}
	if len(missing) == 0 || c.running {
		return
	}
	c.running = true
	m.beside(helperTimeout, func(ctx context.Context) {
		told := map[string]string{}
		for _, name := range missing {
			told[name], _ = m.config.Limiter.RestartCommand(ctx, name)
		}
		c.Lock()
		if c.by == nil {
			c.by = map[string]string{}
		}
		maps.Copy(c.by, told)
		c.running = false
		c.Unlock()
		m.hurry()
	})
}

package monitor

import (
	"slices"
	"strings"
	"time"

	"plimsoll/metal"
)

// Background is a program of the system that works while models are slow:
// indexing, backups, analysis of photos.
type Background struct {
	Name string `json:"name"`
	// Cores is how many processor cores its processes kept busy between the last
	// two readings.
	Cores     float64 `json:"processor_cores"`
	Processes int     `json:"processes"`
}

const (
	// backgroundAge is the time between two readings of the processes, of which
	// each takes milliseconds.
	backgroundAge = 10 * time.Second
	// backgroundLeast is the work, in cores, from which it is worth a word.
	backgroundLeast = 0.05
	// backgroundShown is how many programs a snapshot names.
	backgroundShown = 3
)

// backgroundPrograms are the beginnings of names of the system's own workers.
var backgroundPrograms = []string{
	// Spotlight
	"mds", "mdworker", "mdbulkimport", "corespotlightd", "spotlightknowledged",
	"backupd", // Time Machine
	"mediaanalysisd", "photoanalysisd", "photolibraryd",
	"cloudd", "bird", "fileproviderd", // iCloud
	"softwareupdated", "XProtect", "triald",
	// Linux
	"tracker-miner", "localsearch", "baloo_file", "updatedb", "plocate",
}

// backgroundWork is the last reading of the processes.
type backgroundWork struct {
	at   time.Duration
	seen map[int]metal.Process
	list []Background
}

// readBackground puts the system's working programs into the snapshot, while
// an episode of slowness lasts and not otherwise. The first reading of an
// episode tells nothing yet: work is the difference of two. Where the system
// does not tell the processor time of other users' processes, those do not show.
func (m *Monitor) readBackground(s *Snapshot) {
	if !m.engine.slow() || !residentHere(s) {
		m.background = backgroundWork{}
		return
	}
	b, now := &m.background, seconds(*s.Awake)
	if b.seen == nil || now-b.at >= backgroundAge || now < b.at {
		processes, err := m.config.Local.Processes()
		if err != nil {
			return // consumers tell the problem where somebody looks
		}
		b.read(processes, now)
	}
	s.Background = b.list
}

func (b *backgroundWork) read(processes []metal.Process, now time.Duration) {
	seen, work := map[int]metal.Process{}, map[string]*Background{}
	dt := (now - b.at).Seconds()
	for _, p := range processes {
		if p.CPU == nil || !isBackground(p.Name) {
			continue
		}
		seen[p.PID] = p
		was, ok := b.seen[p.PID]
		if !ok || was.Started != p.Started || *p.CPU <= *was.CPU || dt <= 0 || dt > longest.Seconds() {
			continue
		}
		if work[p.Name] == nil {
			work[p.Name] = &Background{Name: p.Name}
		}
		work[p.Name].Cores += (*p.CPU - *was.CPU) / dt
		work[p.Name].Processes++
	}
	b.at, b.seen, b.list = now, seen, nil
	for _, w := range work {
		if w.Cores >= backgroundLeast {
			b.list = append(b.list, *w)
		}
	}
	slices.SortFunc(b.list, func(x, y Background) int {
		if x.Cores != y.Cores {
			if x.Cores > y.Cores {
				return -1
			}
			return 1
		}
		return strings.Compare(x.Name, y.Name)
	})
	b.list = b.list[:min(len(b.list), backgroundShown)]
}

func isBackground(name string) bool {
	return slices.ContainsFunc(backgroundPrograms, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// slow reports an episode in which a person asks why answers are slow: at the
// snapshot before, for the processes are read before the present one is judged.
func (e *engine) slow() bool {
	if s := e.history.back(0); s != nil && s.Throttle != nil && s.Throttle.Throttled {
		return true
	}
	return e.latch.stands("swapping") || e.latch.stands("swap_full") || e.latch.stands("pressure") || e.latch.stands("overheat")
}

package monitor

import (
	"cmp"
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
	// gpuUserLeast is the same for the part of the GPU's time.
	gpuUserLeast = 0.05
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

// GPUUser is a program that holds no model and works on the GPU while models are slow.
type GPUUser struct {
	Name string `json:"name"`
	// Share is the part of the GPU's time that it took between the last two readings.
	Share float64 `json:"share_ratio"`
}

// backgroundWork is the last reading of the processes.
type backgroundWork struct {
	at    time.Duration
	seen  map[int]metal.Process
	list  []Background
	users []GPUUser
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
	s.Background, s.GPUUsers = b.list, b.users
}

func (b *backgroundWork) read(processes []metal.Process, now time.Duration) {
	seen, work, users := map[int]metal.Process{}, map[string]*Background{}, map[string]*GPUUser{}
	dt := (now - b.at).Seconds()
	for _, p := range processes {
		if isBackground(p.Name) || p.GPU != nil && !modelProgram(p) {
			seen[p.PID] = p
		}
		was, ok := b.seen[p.PID]
		if _, is := seen[p.PID]; !is || !ok || was.Started != p.Started || dt <= 0 || dt > longest.Seconds() {
			continue
		}
		if spent := more(was.CPU, p.CPU); spent > 0 && isBackground(p.Name) {
			w := entry(work, p.Name, Background{Name: p.Name})
			w.Cores += spent / dt
			w.Processes++
		}
		if spent := more(was.GPU, p.GPU); spent > 0 && !modelProgram(p) {
			name := cmp.Or(p.App, p.Name)
			entry(users, name, GPUUser{Name: name}).Share += spent / dt
		}
	}
	b.at, b.seen = now, seen
	b.list = busiest(work, func(w Background) (float64, string) { return w.Cores, w.Name }, backgroundLeast)
	b.users = busiest(users, func(u GPUUser) (float64, string) { return u.Share, u.Name }, gpuUserLeast)
}

// more is how much a counter grew, 0 when either reading is absent.
func more(before, after *float64) float64 {
	if before == nil || after == nil {
		return 0
	}
	return *after - *before
}

// entry finds what is gathered under a name, begun with first.
func entry[T any](by map[string]*T, name string, first T) *T {
	if by[name] == nil {
		by[name] = &first
	}
	return by[name]
}

// busiest lists those that work at least so much, busiest first, the first few.
func busiest[T any](by map[string]*T, of func(T) (work float64, name string), least float64) []T {
	var list []T
	for _, one := range by {
		if work, _ := of(*one); work >= least {
			list = append(list, *one)
		}
	}
	slices.SortFunc(list, func(x, y T) int {
		xWork, xName := of(x)
		yWork, yName := of(y)
		return cmp.Or(cmp.Compare(yWork, xWork), strings.Compare(xName, yName))
	})
	return list[:min(len(list), backgroundShown)]
}

func isBackground(name string) bool {
	return slices.ContainsFunc(backgroundPrograms, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// slow reports an episode in which a person asks why answers are slow: at the
// snapshot before, for the processes are read before the present one is judged.
func (e *engine) slow() bool {
	if e.diagnosis.slow != nil {
		return true // what slows it is looked for
	}
	if s := e.history.back(0); s != nil && (s.Throttle != nil && s.Throttle.Throttled || s.Diagnosis != nil && s.Diagnosis.Cause != SlowNot) {
		return true
	}
	return e.latch.stands("swapping") || e.latch.stands("swap_full") || e.latch.stands("pressure") || e.latch.stands("overheat")
}

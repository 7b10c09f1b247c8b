package sim

import (
	"math"
	"slices"
	"time"
)

// gpuDesktop is what the window server and apps hold on the GPU, in bytes. It is
// part of the system's wired memory.
const gpuDesktop = 0.45 * gb

// app is a program with its helpers.
type app struct {
	name    string
	helpers []string // names of its other processes
	bytes   float64  // now, wherever they are
	goal    float64
	cores   float64 // of processor time it uses on average
	cpu     float64 // s so far
	pid     int     // the first of its processes
	started time.Time
}

// usualApps run from the start.
var usualApps = []app{
	{name: "Google Chrome", bytes: 4.2 * gb, cores: 0.12, helpers: []string{"Google Chrome Helper (GPU)",
		"Google Chrome Helper (Renderer)", "Google Chrome Helper (Renderer)", "Google Chrome Helper (Renderer)", "Google Chrome Helper"}},
	{name: "Xcode", bytes: 2.9 * gb, cores: 0.08, helpers: []string{"SourceKitService", "XCBBuildService"}},
	{name: "Slack", bytes: 0.8 * gb, cores: 0.02, helpers: []string{"Slack Helper (GPU)", "Slack Helper (Renderer)"}},
	{name: "Music", bytes: 0.32 * gb, cores: 0.01},
	{name: "Mail", bytes: 0.4 * gb, cores: 0.005},
	{name: "Finder", bytes: 0.22 * gb, cores: 0.002},
	{name: "Terminal", bytes: 0.18 * gb, cores: 0.004},
}

// openApp starts an app that already has the bytes it is given as now.
func (m *Mac) openApp(kind app, now float64) *app {
	a := kind
	a.goal, a.bytes = kind.bytes, now
	a.pid, a.started = 600+len(m.apps)*20, m.wall()
	if len(m.apps) >= len(usualApps) || m.now > 0 {
		a.pid = m.nextPID
		m.nextPID += 20
	}
	m.apps = append(m.apps, &a)
	return &a
}

func (m *Mac) closeApp(name string) {
	m.apps = slices.DeleteFunc(m.apps, func(a *app) bool { return a.name == name })
}

func (m *Mac) app(name string) *app {
	for _, a := range m.apps {
		if a.name == name {
			return a
		}
	}
	return nil
}

// runApps is the part of a step that apps have: they go towards the memory they
// want, growing no faster than the system finds it for them.
func (m *Mac) runApps(dt float64) {
	free := m.memory.grant(math.Inf(1))
	for _, a := range m.apps {
		a.cpu += a.cores * dt
		if a.bytes > a.goal {
			a.bytes = max(a.goal, a.bytes-2*growRate*dt)
			continue
		}
		n := min(a.goal-a.bytes, growRate*dt, free)
		a.bytes += n
		free -= n
		if n > 0 {
			a.cpu += 0.5 * dt
		}
	}
	m.memory.systemWired = m.systemWired()
	m.memory.setDemand(m.appDemand())
}

// appDemand is the memory of apps and of the system's own programs.
func (m *Mac) appDemand() float64 {
	sum := m.systemShare() - m.systemWired() + m.beside()
	for _, a := range m.apps {
		sum += a.bytes
	}
	return sum
}

// systemShare is the system's part of memory: it drifts between 6 and 8 GB.
func (m *Mac) systemShare() float64 {
	t := m.now.Seconds()
	return 7*gb + 0.6*gb*math.Sin(2*math.Pi*t/613+m.phase[0]) + 0.38*gb*math.Sin(2*math.Pi*t/191+m.phase[1])
}

// systemWired is the wired third of it.
func (m *Mac) systemWired() float64 { return 2.0*gb + 0.1*(m.systemShare()-6*gb) + gpuDesktop }

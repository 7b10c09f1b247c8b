package metal

import (
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The processes of the fixture: 2 is a thread of the kernel, 5300 has ended, 5400
// goes while it is read (it has no status any more), 6000 is no process.
func TestLinuxProcesses(t *testing.T) {
	l, _ := laptop(t)
	list, err := l.Processes()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b Process) int { return a.PID - b.PID })
	want := []Process{
		{PID: 1, Started: 5, Name: "systemd", App: "systemd", Args: []string{"/sbin/init"},
			Footprint: new(uint64(9000 * kB)), CPU: new(0.3)},
		{PID: 4101, Parent: 1, Started: 700123, Name: "ollama", App: "ollama",
			Args:      []string{"/usr/local/bin/ollama", "runner", "--model", "/var/lib/a b.gguf"},
			Footprint: new(uint64((16000000 + 2048 + 400000) * kB)), CPU: new(50.0)},
		{PID: 5200, Parent: 5100, Started: 800456, Name: "firefox", App: "org.mozilla.firefox-esr",
			Args:      []string{"/usr/lib/firefox/firefox", "-contentproc"},
			Footprint: new(uint64((700000 + 10000) * kB)), CPU: new(3.5)},
		{PID: 5500, Parent: 1, Started: 900002, Name: "plasmashell-with-a-long-name", App: "org.kde.plasmashell",
			Args:      []string{"/opt/kde/plasmashell-with-a-long-name --now"},
			Footprint: new(uint64(50010 * kB)), CPU: new(0.1)},
	}
	if len(list) != len(want) {
		t.Fatalf("%d processes, want %d: %s", len(list), len(want), show(list))
	}
	for i := range want {
		equal(t, "process", list[i], want[i])
	}
}

func TestLinuxProcess(t *testing.T) {
	l, root := laptop(t)
	p, err := l.Process(4101)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "process", p, &Process{PID: 4101, Parent: 1, Started: 700123, Name: "ollama", App: "ollama",
		Footprint: new(uint64(16402048 * kB)), CPU: new(50.0)})
	for _, pid := range []int{-1, 0, 2, 5300, 5400, 99999} {
		if p, err := l.Process(pid); p != nil || !errors.Is(err, ErrNoProcess) {
			t.Errorf("process %d: %s, %v; want ErrNoProcess", pid, show(p), err)
		}
	}
	if p, err := l.Process(6000); p != nil || err == nil || errors.Is(err, ErrNoProcess) {
		t.Errorf("a broken stat file: %s, %v; want an error of its own", show(p), err)
	}
	// A kernel before 4.5 does not tell the parts of the resident size.
	edit(t, root+"/proc/4101/status", "RssAnon:", "Other:")
	if p, err := l.Process(4101); err != nil || p.Footprint != nil || p.CPU == nil {
		t.Errorf("without RssAnon: %s, %v; want no footprint alone", show(p), err)
	}
}

func TestLinuxProcessClosedToUser(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("running as root, to which no file is closed: only the folder's absence is tried")
		return
	}
	l, root := laptop(t)
	if err := os.Chmod(root+"/proc/4101/status", 0); err != nil {
		t.Fatal(err)
	}
	if p, err := l.Process(4101); err != nil || p.Footprint != nil || p.Name != "ollama" {
		t.Errorf("a closed status file: %s, %v; want all but the footprint", show(p), err)
	}
	if err := os.Chmod(root+"/proc/4101", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(root+"/proc/4101", 0o755) })
	if p, err := l.Process(4101); p != nil || !errors.Is(err, ErrNotPermitted) {
		t.Errorf("a closed folder: %s, %v; want ErrNotPermitted", show(p), err)
	}
}

func TestProcStatNames(t *testing.T) {
	const rest = " S 7 1 1 0 -1 4194560 1 0 0 0 11 22 0 0 20 0 1 0 333 1 1"
	for _, name := range []string{"plain", "two words", "a) S 1 (b", "(", ")", "((()", ""} {
		s, ok := parseProcStat([]byte("12 (" + name + ")" + rest))
		if !ok || s.command != name || s.state != 'S' || s.parent != 7 || s.ticks != 33 || s.started != 333 {
			t.Errorf("name %q: %+v, %v", name, s, ok)
		}
	}
	for _, text := range []string{"", "12", "12 (a", "12 a)", ")(", "12 (a)", "12 (a) S 7 1 1", "12 (a) S x 1 1 0 -1 4194560 1 0 0 0 11 22 0 0 20 0 1 0 333"} {
		if s, ok := parseProcStat([]byte(text)); ok {
			t.Errorf("%q is taken for %+v", text, s)
		}
	}
}

func FuzzProcStat(f *testing.F) {
	f.Add([]byte("1 (a b) S 0 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 5 1 1"))
	f.Add([]byte("1 (a)"))
	f.Fuzz(func(t *testing.T, text []byte) {
		parseProcStat(text)
		procFootprint(text)
		procArgs(text)
		scopeApp(procCgroup(text))
		parseMeminfo(text)
		vmstatCount(text, "pswpin")
		if p := psiPressure(text); p != "" && p != PressureNormal && p != PressureWarning && p != PressureCritical {
			t.Errorf("pressure %q", p)
		}
	})
}

// waitUncollected waits until a child has ended, and leaves it there.
func waitUncollected(pid int) error {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}

// TestEndProcessNotCollected: a process that ended and that nobody waited for is
// no process any more.
func TestEndProcessNotCollected(t *testing.T) {
	cmd := child(t)
	pid := cmd.Process.Pid
	started, err := processStarted(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Waits for the end and leaves the process uncollected.
	if err := waitUncollected(pid); err != nil {
		t.Fatal(err)
	}
	if err := EndProcess(pid, started); !errors.Is(err, ErrNoProcess) {
		t.Errorf("ending it: %v, want ErrNoProcess", err)
	}
}

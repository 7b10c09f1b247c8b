package limit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
)

// processes are those of a machine. They end when they are asked to, and what a
// test wants to happen then happens.
type processes struct {
	metal.Reader
	all   map[int]metal.Process
	asked []int
	gone  func(pid int) // after a process has ended
}

func (p *processes) Process(pid int) (*metal.Process, error) {
	if found, ok := p.all[pid]; ok {
		return &found, nil
	}
	return nil, metal.ErrNoProcess
}

func (p *processes) end(pid int, started uint64) error {
	if found, ok := p.all[pid]; !ok || found.Started != started {
		return metal.ErrNoProcess
	}
	p.asked = append(p.asked, pid)
	delete(p.all, pid)
	if p.gone != nil {
		p.gone(pid)
	}
	return nil
}

// listening are processes on a system that tells who listens at a port.
type listening struct {
	*processes
	at map[int]int
}

func (l listening) Listener(port int) (*metal.Process, error) { return l.Process(l.at[port]) }

// newServer is a stand on which a server listens at the usual port.
func newServer(t *testing.T, all ...metal.Process) (*stand, *processes) {
	t.Helper()
	s := newStand(t, "iogpu.wired_limit_mb")
	p := &processes{all: map[int]metal.Process{}}
	for _, each := range all {
		p.all[each.PID] = each
	}
	s.local, s.end = p, p.end
	s.address = func(name string) string { return map[string]string{"ollama": "http://127.0.0.1:11434"}[name] }
	s.pause = func(context.Context, time.Duration) error { return context.DeadlineExceeded }
	s.serves(all[0].PID)
	s.has("launchctl", "[ $1 != list ] || printf 'PID\\tStatus\\tLabel\\n-\\t0\\tcom.apple.one\\n"+"812\\t0\\tapplication.com.electron.ollama.9\\n900\\t0\\thomebrew.mxcl.ollama\\n901\\t0\\tme.ollama\\n'")
	s.has("open", "")
	return s, p
}

// serves has lsof name who listens.
func (s *stand) serves(pid int) { s.has("lsof", "echo "+strconv.Itoa(pid)) }

var (
	ollamaApp    = metal.Process{PID: 811, Parent: 1, Started: 5, Name: "Ollama", App: "Ollama"}
	ollamaServer = metal.Process{PID: 812, Parent: 811, Started: 6, Name: "ollama", App: "Ollama"}
)

func TestRestartOfAnApplication(t *testing.T) {
	s, p := newServer(t, ollamaServer, ollamaApp)
	p.gone = func(pid int) {
		if pid == ollamaApp.PID { // it lets its server go before it ends
			delete(p.all, ollamaServer.PID)
			p.all[950] = metal.Process{PID: 950, Parent: 949, Started: 9, Name: "ollama", App: "Ollama"}
			s.serves(950)
		}
	}
	command, err := s.RestartCommand(t.Context(), "ollama")
	if err != nil || command != `osascript -e 'quit app "Ollama"' && sleep 3 && open -a Ollama` {
		t.Errorf("by hand: %q, %v", command, err)
	}
	check(t, s.Restart(t.Context(), "ollama"))
	if len(p.asked) != 1 || p.asked[0] != ollamaApp.PID {
		t.Errorf("asked to end: %v", p.asked)
	}
	if got := s.args("open"); got != "-g\n-j\n-a\nOllama\n" {
		t.Errorf("opened with %q", got)
	}
	if got := s.args("lsof"); got != "-nP\n-a\n-iTCP:11434\n-sTCP:LISTEN\n-t\n" {
		t.Errorf("looked for the listener with %q", got)
	}
}

func TestServerThatItsApplicationLeavesBehind(t *testing.T) {
	s, p := newServer(t, ollamaServer, ollamaApp)
	p.gone = func(pid int) {
		if pid == ollamaServer.PID {
			p.all[950] = metal.Process{PID: 950, Started: 9, Name: "ollama"}
			s.serves(950)
		}
	}
	check(t, s.Restart(t.Context(), "ollama"))
	if len(p.asked) != 2 || p.asked[1] != ollamaServer.PID {
		t.Errorf("asked to end: %v", p.asked)
	}
}

func TestRestartOfAJob(t *testing.T) {
	for pid, want := range map[int]struct{ label, command string }{
		900: {"homebrew.mxcl.ollama", "brew services restart ollama"},
		901: {"me.ollama", "launchctl kickstart -k gui/" + strconv.Itoa(os.Getuid()) + "/me.ollama"},
	} {
		s, p := newServer(t, metal.Process{PID: pid, Parent: 1, Started: 6, Name: "ollama", App: "ollama"})
		p.gone = func(int) {
			p.all[950] = metal.Process{PID: 950, Started: 9, Name: "ollama"}
			s.serves(950)
		}
		if command, err := s.RestartCommand(t.Context(), "ollama"); err != nil || command != want.command {
			t.Errorf("by hand: %q, %v", command, err)
		}
		check(t, s.Restart(t.Context(), "ollama"))
		if len(p.asked) != 1 || p.asked[0] != pid {
			t.Errorf("asked to end: %v", p.asked)
		}
		if got := s.args("launchctl"); got != "kickstart\ngui/"+strconv.Itoa(os.Getuid())+"/"+want.label+"\n" {
			t.Errorf("called launchctl with %q", got)
		}
	}
}

func TestServerStartedByHandIsLeftAlone(t *testing.T) {
	s, p := newServer(t, metal.Process{PID: 700, Parent: 600, Started: 6, Name: "ollama", App: "Ollama"},
		metal.Process{PID: 600, Parent: 1, Started: 2, Name: "zsh", App: "zsh"})
	err := s.Restart(t.Context(), "ollama")
	if !errors.Is(err, ErrByHand) || err.Error() != "kill 700 && ollama serve" || len(p.asked) > 0 {
		t.Errorf("got %v, asked to end %v", err, p.asked)
	}
}

func TestServerThatDoesNotEndOrComeBack(t *testing.T) {
	s, p := newServer(t, metal.Process{PID: 900, Parent: 1, Started: 6, Name: "ollama", App: "ollama"})
	if err := s.Restart(t.Context(), "ollama"); !errors.Is(err, ErrNotBack) || !strings.Contains(err.Error(), "brew services restart ollama") {
		t.Errorf("one that does not come back: %v", err)
	}
	p.all[900] = metal.Process{PID: 900, Parent: 1, Started: 6, Name: "ollama", App: "ollama"}
	s.end = func(int, uint64) error { return nil } // it does not care
	s.args("launchctl")
	if err := s.Restart(t.Context(), "ollama"); !errors.Is(err, ErrNotBack) || strings.Contains(s.args("launchctl"), "kickstart") {
		t.Errorf("one that does not end: %v", err)
	}
	s.end = func(int, uint64) error { return metal.ErrNotPermitted }
	if err := s.Restart(t.Context(), "ollama"); !errors.Is(err, metal.ErrNotPermitted) {
		t.Errorf("another user's: %v", err)
	}
}

// A process is ended only when it holds the server's port and is one that serves models.
func TestWhatIsNoServerIsLeftAlone(t *testing.T) {
	s, p := newServer(t, metal.Process{PID: 700, Parent: 1, Started: 6, Name: "ssh", App: "ssh"})
	for name, address := range map[string]string{
		"a tunnel": "http://127.0.0.1:11434", "another machine": "http://10.1.2.3:11434", "a name": "https://mini.local", "nothing": "", "no port": "http://127.0.0.1",
	} {
		s.address = func(string) string { return address }
		if err := s.Restart(t.Context(), "ollama"); !errors.Is(err, ErrElsewhere) || len(p.asked) > 0 {
			t.Errorf("%s: %v, asked to end %v", name, err, p.asked)
		}
	}
	s.address = func(string) string { return "http://localhost:11434" }
	for _, out := range []string{"", "x\n", "1\n", "-5\n", "0"} {
		s.has("lsof", "printf '%s' '"+out+"'; exit 1")
		if err := s.Restart(t.Context(), "ollama"); !errors.Is(err, metal.ErrNoProcess) {
			t.Errorf("lsof says %q: %v", out, err)
		}
	}
}

func TestRestartOnLinux(t *testing.T) {
	const user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/ollama.service\n"
	for name, c := range map[string]struct{ cgroup, args, command string }{
		"system":  {"0::/system.slice/ollama.service\n", "--no-ask-password\nrestart\nollama.service\n", "sudo systemctl restart ollama.service"},
		"user":    {user, "--user\n--no-ask-password\nrestart\nollama.service\n", "systemctl --user restart ollama.service"},
		"older":   {"12:cpu:/other.service\n1:name=systemd:/system.slice/ollama.service\n", "--no-ask-password\nrestart\nollama.service\n", "sudo systemctl restart ollama.service"},
		"session": {"0::/user.slice/user-1000.slice/session-3.scope\n", "", "kill 700 && ollama serve"},
		"desktop": {"0::/user.slice/user-1000.slice/user@1000.service\n", "", "kill 700 && ollama serve"},
	} {
		s, p := newServer(t, metal.Process{PID: 700, Parent: 1, Started: 6, Name: "ollama", App: "ollama"})
		ports := listening{p, map[int]int{11434: 700}}
		s.local, s.goos, s.proc = ports, "linux", filepath.Join(s.dir, "proc")
		check(t, os.MkdirAll(filepath.Join(s.proc, "700"), 0o755))
		check(t, os.WriteFile(filepath.Join(s.proc, "700", "cgroup"), []byte(c.cgroup), 0o644))
		s.has("systemctl", "")
		p.all[950] = metal.Process{PID: 950, Started: 9, Name: "ollama"}
		if command, err := s.RestartCommand(t.Context(), "ollama"); err != nil || command != c.command {
			t.Errorf("%s by hand: %q, %v", name, command, err)
		}
		looked := 0
		s.pause = func(context.Context, time.Duration) error {
			if looked++; looked == 2 {
				ports.at[11434] = 950
			}
			return nil
		}
		err := s.Restart(t.Context(), "ollama")
		if got := s.args("systemctl"); got != c.args {
			t.Errorf("%s: called systemctl with %q, want %q", name, got, c.args)
		}
		if (err == nil) != (c.args != "") || err != nil && !errors.Is(err, ErrByHand) {
			t.Errorf("%s: %v", name, err)
		}
		if c.args == "" {
			continue
		}
		ports.at[11434] = 700
		s.has("systemctl", "echo 'Interactive authentication required.' >&2; exit 1")
		if err := s.Restart(t.Context(), "ollama"); !errors.Is(err, ErrByHand) || err.Error() != c.command {
			t.Errorf("%s, refused: %v", name, err)
		}
	}
}

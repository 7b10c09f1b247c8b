package api

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestSocketPath(t *testing.T) {
	for name, c := range map[string]struct {
		goos, home string
		env        map[string]string
		want       string
		code       string
	}{
		"named":             {"linux", "/home/a", map[string]string{"PLIMSOLL_SOCKET": "/x/y.sock", "XDG_RUNTIME_DIR": "/run/user/7"}, "/x/y.sock", ""},
		"macOS":             {"darwin", "/Users/a", map[string]string{"XDG_RUNTIME_DIR": "/run"}, "/Users/a/Library/Application Support/Plimsoll/agent.sock", ""},
		"runtime folder":    {"linux", "/home/a", map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7/plimsoll/agent.sock", ""},
		"relative runtime":  {"linux", "/home/a", map[string]string{"XDG_RUNTIME_DIR": "run"}, "/home/a/.local/state/plimsoll/agent.sock", ""},
		"no runtime folder": {"linux", "/home/a", nil, "/home/a/.local/state/plimsoll/agent.sock", ""},
		"no home":           {"linux", "", nil, "", "no_home"},
		"just fits":         {"linux", "", map[string]string{"PLIMSOLL_SOCKET": "/" + long(102)}, "/" + long(102), ""},
		"too long":          {"linux", "", map[string]string{"PLIMSOLL_SOCKET": "/" + long(103)}, "", "path_too_long"},
	} {
		got, err := SocketPath(c.goos, c.home, func(name string) string { return c.env[name] })
		if got != c.want || code(err) != c.code {
			t.Errorf("%s: %q, %v (code %q), want %q and code %q", name, got, err, code(err), c.want, c.code)
		}
	}
}

func TestOnlyTheUserCanReachTheSocketWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077, 0o777} {
		path := filepath.Join(folder(t), "plimsoll", "agent.sock")
		old := syscall.Umask(umask)
		l, err := Listen(path)
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("umask %04o: %v", umask, err)
		}
		for place, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
			info, err := os.Stat(place)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %04o: %s has mode %v, %v, want %v", umask, place, info.Mode().Perm(), err, want)
			}
		}
		if info, err := os.Stat(path + ".lock"); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("umask %04o: the lock has mode %v, %v, want nothing for others", umask, info.Mode(), err)
		}
		l.Close()
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Close the socket is still there: %v", err)
		}
	}
}

func TestListenRefusesWhatOthersCouldUse(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string) (path string){
		"linked folder": func(t *testing.T, dir string) string {
			must(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
			must(t, os.Symlink("real", filepath.Join(dir, "link")))
			return filepath.Join(dir, "link", "agent.sock")
		},
		"linked socket": func(t *testing.T, dir string) string {
			must(t, os.Symlink("elsewhere", filepath.Join(dir, "agent.sock")))
			return filepath.Join(dir, "agent.sock")
		},
		"linked lock": func(t *testing.T, dir string) string {
			must(t, os.Symlink("elsewhere", filepath.Join(dir, "agent.sock.lock")))
			return filepath.Join(dir, "agent.sock")
		},
		"a file in its place": func(t *testing.T, dir string) string {
			must(t, os.WriteFile(filepath.Join(dir, "agent.sock"), []byte("precious"), 0o600))
			return filepath.Join(dir, "agent.sock")
		},
		"open folder": func(t *testing.T, dir string) string {
			must(t, os.Chmod(dir, 0o755))
			return filepath.Join(dir, "agent.sock")
		},
		"another user's folder": func(t *testing.T, dir string) string {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			must(t, os.Chown(dir, 12345, -1))
			return filepath.Join(dir, "agent.sock")
		},
		"a file for a folder": func(t *testing.T, dir string) string {
			must(t, os.WriteFile(filepath.Join(dir, "plimsoll"), nil, 0o600))
			return filepath.Join(dir, "plimsoll", "agent.sock")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			l, err := Listen(prepare(t, dir))
			if code(err) != "unsafe_socket" {
				t.Errorf("Listen: %v (code %q), want unsafe_socket", err, code(err))
			}
			if err == nil {
				l.Close()
			}
		})
	}
}

func TestAFolderOfOurNameIsClosedToOthers(t *testing.T) {
	dir := filepath.Join(folder(t), "Plimsoll")
	must(t, os.Mkdir(dir, 0o755))
	l, err := Listen(filepath.Join(dir, "agent.sock"))
	must(t, err)
	defer l.Close()
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, want 0700", info.Mode().Perm())
	}
}

func TestOneAgentAtATime(t *testing.T) {
	path := agentPath(t)
	first, err := Listen(path)
	must(t, err)
	if _, err := Listen(path); !errors.Is(err, ErrAgentRunning) || code(err) != "agent_running" {
		t.Errorf("a second Listen: %v, want ErrAgentRunning", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the second Listen hurt the first one's socket: %v", err)
	}
	must(t, first.Close())
	again, err := Listen(path)
	must(t, err)
	first.Close() // a second Close takes nothing from the new agent
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("closing the old listener again removed the new socket: %v", err)
	}
	must(t, again.Close())
}

func TestAKilledAgentsSocketIsTakenOver(t *testing.T) {
	path := agentPath(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_LISTEN="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the other process said %q", line)
	}
	if _, err := Listen(path); !errors.Is(err, ErrAgentRunning) {
		t.Errorf("Listen beside another process: %v, want ErrAgentRunning", err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("kill -9 left no socket: %v", err)
	}
	if _, err := Dial(path).Health(context.Background()); !errors.Is(err, ErrNoAgent) {
		t.Errorf("a client of the dead socket: %v, want ErrNoAgent", err)
	}
	l, err := Listen(path)
	must(t, err)
	must(t, l.Close())
}

func TestAClientDoesNotTrustALinkOrAnotherUsersSocket(t *testing.T) {
	dir := folder(t)
	l, err := Listen(filepath.Join(dir, "agent.sock"))
	must(t, err)
	defer l.Close()
	must(t, os.Symlink("agent.sock", filepath.Join(dir, "link.sock")))
	if _, err := Dial(filepath.Join(dir, "link.sock")).Health(context.Background()); code(err) != "unsafe_socket" {
		t.Errorf("through a link: %v (code %q), want unsafe_socket", err, code(err))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/monitor"
)

// nobody is a user that owns nothing.
const nobody = 65534

// askAs connects to a socket as another user, "" for the own one, and tells the
// status line of the answer or why there is none.
func askAs(path, user string) string {
	if user != "" {
		uid, err := strconv.Atoi(user)
		if err == nil {
			err = errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
		}
		if err != nil {
			return "becoming another user: " + err.Error()
		}
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return "connecting: " + err.Error()
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(deadline))
	fmt.Fprintf(conn, "GET /v1/health HTTP/1.1\r\nHost: plimsoll\r\nConnection: close\r\n\r\n")
	answer, err := io.ReadAll(conn)
	switch {
	case len(answer) > 0:
		line, _, _ := strings.Cut(string(answer), "\r\n")
		return line
	case err == nil, errors.Is(err, syscall.ECONNRESET):
		return "hung up"
	}
	return err.Error()
}

// ask is askAs in a process of its own.
func ask(t *testing.T, path, user string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_ASK="+path, "PLIMSOLL_TEST_USER="+user)
	out, err := cmd.Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// Even where the modes of socket and folder let everybody in.
func TestAnotherUserIsHungUpOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	path := agentPath(t)
	start(t, newFakeAgent(t, "chip"), path, stuckAfter)
	must(t, os.Chmod(filepath.Dir(path), 0o755))
	must(t, os.Chmod(path, 0o666))
	if got := ask(t, path, fmt.Sprint(nobody)); got != "hung up" {
		t.Errorf("another user got %q", got)
	}
	if got := ask(t, path, ""); got != "HTTP/1.1 200 OK" {
		t.Errorf("the agent's own user got %q", got)
	}
}

// The same without root: the listener takes itself for another user's.
func TestAStrangerIsHungUpOnAndNobodyWaits(t *testing.T) {
	path := agentPath(t)
	l, err := Listen(path)
	must(t, err)
	l.(*listener).owner = os.Geteuid() + 1
	serving(t, newFakeAgent(t, "chip"), l, stuckAfter)
	_, err = Dial(path).Health(context.Background())
	if os.Geteuid() == 0 {
		must(t, err) // root may ask any agent
	} else if !errors.Is(err, ErrGone) {
		t.Errorf("a stranger got %v, want ErrGone", err)
	}
}

func TestMayConnect(t *testing.T) {
	for _, c := range []struct {
		peer, owner int
		want        bool
	}{{501, 501, true}, {0, 501, true}, {0, 0, true}, {502, 501, false}, {nobody, 501, false}, {501, 0, false}} {
		if got := mayConnect(c.peer, c.owner); got != c.want {
			t.Errorf("user %d at an agent of user %d: %v", c.peer, c.owner, got)
		}
	}
}

// startLooking serves an agent that looks after its socket all the time.
func startLooking(t *testing.T, path string) (a *fakeAgent, stop func()) {
	t.Helper()
	l, err := Listen(path)
	must(t, err)
	l.(*listener).look = 5 * time.Millisecond
	a = newFakeAgent(t, "chip")
	return a, serving(t, a, l, stuckAfter)
}

// reachable waits until an agent answers at path.
func reachable(t *testing.T, path, when string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	for {
		health, err := Dial(path).Health(ctx)
		if err == nil && health.Version == "1.2.3" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s the agent cannot be reached: %v", when, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestASocketThatWasTakenAwayComesBack(t *testing.T) {
	path := agentPath(t)
	a, stop := startLooking(t, path)
	updates := make(chan time.Time, 100)
	watched := make(chan error, 1)
	go func() {
		watched <- Dial(path).Watch(context.Background(), monitor.Options{Lossless: true}, func(u monitor.Update) error {
			updates <- u.Snapshot.Taken
			return nil
		})
	}()
	receive(t, updates, "the first update")

	must(t, os.Remove(path))
	reachable(t, path, "after the socket was deleted")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new socket is %v, %v; want mode 0600", info.Mode(), err)
	}
	must(t, os.Remove(path)) // and again, by another program's socket
	other, err := net.Listen("unix", path)
	must(t, err)
	other.(*net.UnixListener).SetUnlinkOnClose(false)
	other.Close() // else a client waits for its answer
	reachable(t, path, "after another program took the path")
	must(t, os.RemoveAll(filepath.Dir(path)))
	reachable(t, path, "after the folder was deleted, the lock with it,")
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new folder is %v, %v; want mode 0700", info.Mode(), err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrAgentRunning) {
		t.Errorf("a second agent: %v, want ErrAgentRunning", err)
	}

	for len(updates) > 0 {
		<-updates
	}
	a.clock.tick(t)
	receive(t, updates, "an update over the connection made before all that")
	stop()
	if err := receive(t, watched, "the end of the stream"); !errors.Is(err, ErrGone) {
		t.Errorf("the stream ended with %v", err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket outlived the agent")
	}
}

// What is no socket is never removed, and no other agent's socket is.
func TestWhatIsNotOursStays(t *testing.T) {
	path := agentPath(t)
	_, stop := startLooking(t, path)
	must(t, os.Remove(path))
	// The agent may have made its socket again by now.
	must(t, os.WriteFile(path+".new", []byte("precious"), 0o600))
	must(t, os.Rename(path+".new", path))
	stop()
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("a file in the socket's place: %q, %v", text, err)
	}

	path = agentPath(t)
	stop = start(t, newFakeAgent(t, "chip"), path, stuckAfter) // does not look for seconds
	folder := filepath.Dir(path)
	must(t, os.Rename(folder, folder+".old"))
	t.Cleanup(func() { os.RemoveAll(folder + ".old") })
	second, err := Listen(path)
	must(t, err)
	stop()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the first agent took the second one's socket away: %v", err)
	}
	second.Close()
}

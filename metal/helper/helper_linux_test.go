package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/metal/wired"
)

const (
	mibKey = "iogpu.wired_limit_mb"
	ram    = 32 << 30
	// nobody is a user that stands in no list of ours.
	nobody = 65534
)

// clientOf names the variable that makes the test binary a client of a socket, so
// that another user can run it.
const clientOf = "PLIMSOLL_TEST_CLIENT_OF"

func TestMain(m *testing.M) {
	if socket := os.Getenv(clientOf); socket != "" {
		os.Exit(asClient(socket))
	}
	folder, err := os.MkdirTemp("", "plimsoll-helper-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(folder, "plimsoll-helper")
	build := exec.Command("go", "build", "-o", binary, "-ldflags", "-X main.version=1.2.3", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building the helper: %v\n%s", err, out))
	}
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

// binary is the helper.
var binary string

// asClient sends what stands in its input and prints the answer.
func asClient(socket string) int {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		_, _ = io.Copy(conn, os.Stdin) // it may refuse before it has read all
		var line string
		line, err = bufio.NewReader(conn).ReadString('\n')
		fmt.Print(line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// mac is a folder that stands in for a Mac, with the socket that launchd holds.
type mac struct {
	t        *testing.T
	dir      string
	listener *net.UnixListener
	file     *os.File // the listener's, for the helper
	process  *exec.Cmd
	ended    chan struct{} // closed when the process has ended
	said     *strings.Builder
}

// newMac makes a folder that every user may look into, as /var/run is.
func newMac(t *testing.T) *mac {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-mac-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "home"), 0o755))
	m := &mac{t: t, dir: dir}
	m.put("hw.memsize", ram)
	m.put("clock", 60)
	m.put(mibKey, 0)
	m.put("kern.bootsessionuuid", "boot 1")
	must(t, os.WriteFile(m.path("home/"+wired.UsersFile), wired.Users{os.Getuid()}.Text(), 0o644))
	m.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: m.path("socket"), Net: "unix"})
	must(t, err)
	must(t, os.Chmod(m.path("socket"), 0o666))
	m.file, err = m.listener.File()
	must(t, err)
	t.Cleanup(func() { m.listener.Close(); m.file.Close() })
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *mac) path(name string) string { return filepath.Join(m.dir, name) }

func (m *mac) put(name string, value any) {
	m.t.Helper()
	must(m.t, os.WriteFile(m.path(name), fmt.Append(nil, value), 0o644))
}

func (m *mac) limit() uint64 {
	m.t.Helper()
	b, err := os.ReadFile(m.path(mibKey))
	must(m.t, err)
	n, err := strconv.ParseUint(string(b), 10, 64)
	must(m.t, err)
	return n
}

func (m *mac) state() wired.State {
	m.t.Helper()
	s, err := wired.ReadState(&machine{
		Folder: wired.Folder{Path: m.path("home"), Owner: os.Getuid()},
		native: native{dir: m.dir, steps: new(uint64)},
	})
	must(m.t, err)
	return s
}

// start starts the helper. What connects meanwhile waits in the socket's queue.
func (m *mac) start() {
	m.t.Helper()
	m.said = new(strings.Builder)
	m.process = exec.Command(binary, "-seam", m.dir)
	m.process.ExtraFiles = []*os.File{m.file}
	m.process.Stderr = m.said
	m.process.Env = []string{}
	must(m.t, m.process.Start())
	process, ended := m.process, make(chan struct{})
	m.ended = ended
	go func() {
		_ = process.Wait() // how it ended is asked of its state
		close(ended)
	}()
	m.t.Cleanup(func() {
		process.Process.Kill()
		<-ended
	})
}

// end waits for the helper's end and returns how it ended.
func (m *mac) end() syscall.WaitStatus {
	<-m.ended
	return m.process.ProcessState.Sys().(syscall.WaitStatus)
}

func (m *mac) stop() syscall.WaitStatus {
	m.t.Helper()
	must(m.t, m.process.Process.Signal(syscall.SIGTERM))
	return m.end()
}

func (m *mac) client() *wired.Client {
	return &wired.Client{Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", m.path("socket"))
	}}
}

// send sends bytes as they are and returns the answer's code.
func (m *mac) send(text string) string {
	m.t.Helper()
	conn, err := net.Dial("unix", m.path("socket"))
	must(m.t, err)
	defer conn.Close()
	// It may refuse before it has read all.
	if _, err := io.WriteString(conn, text); err != nil && !errors.Is(err, syscall.EPIPE) {
		m.t.Fatal(err)
	}
	return m.code(bufio.NewReader(conn).ReadString('\n'))
}

// code is the code of an answer.
func (m *mac) code(line string, err error) string {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%q, %v", line, err)
	}
	var a struct{ Code, Version string }
	if err := json.Unmarshal([]byte(line), &a); err != nil || a.Version != "1.2.3" {
		m.t.Fatalf("answer %q, %v", line, err)
	}
	return a.Code
}

func TestHelper(t *testing.T) {
	m := newMac(t)
	m.start()
	c, ctx := m.client(), t.Context()
	if h, err := c.Version(ctx); err != nil || h.Protocol != wired.Protocol || h.Version != "1.2.3" {
		t.Fatalf("%+v, %v", h, err)
	}
	must(t, c.Set(ctx, 28672, 2*time.Minute))
	if s := m.state(); s.Set != 28672 || s.Lease == nil || s.Lease.Left != 2*time.Minute || s.Remembered != nil {
		t.Errorf("on trial: %+v", s)
	}
	// It ends in order, but with an error, so that launchd starts it again.
	if status := m.stop(); status.ExitStatus() != 1 {
		t.Errorf("a lease is open, and it ended with %v", status)
	}
	m.start()
	must(t, c.Confirm(ctx, 0))
	must(t, c.Set(ctx, 20000, 0))
	if s := m.state(); s.Set != 20000 || s.Lease != nil || *s.Remembered != 20000 {
		t.Errorf("lowered: %+v", s)
	}
	must(t, c.Reset(ctx))
	if s := m.state(); s.Set != 0 || s.Remembered != nil {
		t.Errorf("reset: %+v", s)
	}
	if status := m.stop(); status.ExitStatus() != 0 {
		t.Errorf("ended with %v: %s", status, m.said)
	}
	info, err := os.Stat(m.path("home/" + wired.AuditFile))
	must(t, err)
	audit, err := os.ReadFile(m.path("home/" + wired.AuditFile))
	must(t, err)
	if info.Mode() != 0o600 || strings.Count(string(audit), "\n") != 4 || !strings.Contains(string(audit), fmt.Sprintf("Z user %d: 28672 MiB on trial for 120 s, before it 0\n", os.Getuid())) {
		t.Errorf("audit, %v:\n%s", info.Mode(), audit)
	}
}

func TestOnlyTheSeamStartsItHere(t *testing.T) {
	for _, args := range [][]string{nil, {"-seam"}, {"-help"}, {"-seam", t.TempDir(), "x"}} {
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "no adjustable GPU limit") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

func TestHostileRequests(t *testing.T) {
	m := newMac(t)
	m.start()
	for _, text := range []string{
		"hello\n", "set 28672\x00 lease 120\n", "set 28673 lease 120\n", "set 1 lease 120\n", strings.Repeat("9", 63) + "\n",
		strings.Repeat("set 28672 lease 120", 1<<16) + "\n", "\xff\xfe\xfd\n", "version\nset 28672 lease 120\n", "set 28672 lease 120 \n",
	} {
		if got := m.send(text); got != wired.CodeBadRequest && got != wired.CodeBounds {
			t.Errorf("%.30q: %q", text, got)
		}
	}
	if s := m.state(); s.Set != 0 || s.Lease != nil {
		t.Errorf("%+v", s)
	}

	// One that never ends its line holds up nobody and is hung up on.
	slow, err := net.Dial("unix", m.path("socket"))
	must(t, err)
	defer slow.Close()
	_, err = io.WriteString(slow, "set 28672 lease 120")
	must(t, err)
	if got := m.send("version\n"); got != "" {
		t.Errorf("beside a slow one: %q", got)
	}
	if line, err := bufio.NewReader(slow).ReadString('\n'); err == nil && m.code(line, nil) != wired.CodeBadRequest || err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("slow: %q, %v", line, err)
	}

	// Replayed: each is a request of its own, and there is nothing to confirm twice.
	for _, r := range []struct{ text, code string }{
		{"set 26624 lease 120\n", ""}, {"set 26624 lease 120\n", ""}, {"confirm\n", ""}, {"confirm\n", wired.CodeNoLease},
	} {
		if got := m.send(r.text); got != r.code {
			t.Errorf("%q: %q", r.text, got)
		}
	}
	if s := m.state(); s.Set != 26624 || *s.Remembered != 26624 {
		t.Errorf("%+v", s)
	}
}

func TestConcurrentRequests(t *testing.T) {
	m := newMac(t)
	m.start()
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for range 25 {
				conn, err := net.Dial("unix", m.path("socket"))
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintln(conn, []string{"set 26624 lease 30", "set 28672 lease 600", "confirm", "reset", "set 20000 lease 40", "version"}[i])
				if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
					t.Errorf("%q, %v", line, err)
				}
				conn.Close()
			}
		})
	}
	all.Wait()
	if s := m.state(); wired.BoundsOf(ram).Check(s.Set) != nil || s.Lease != nil && s.Lease.Value != s.Set {
		t.Errorf("%+v", s)
	}
	if status := m.stop(); status.Signaled() {
		t.Errorf("ended with %v: %s", status, m.said)
	}
}

// TestOtherUser is refused whatever it asks, until root records it.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	m := newMac(t)
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(m.path("client"), program, 0o755))
	m.start()
	asNobody := func(text string) string {
		t.Helper()
		cmd := exec.Command(m.path("client"))
		cmd.Env = []string{clientOf + "=" + m.path("socket")}
		cmd.Stdin = strings.NewReader(text)
		cmd.Dir = m.dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.Output()
		return m.code(string(out), err)
	}
	for _, text := range []string{"version\n", "set 26624 lease 120\n", "confirm\n", "reset\n", "garbage\n"} {
		if got := asNobody(text); got != wired.CodeNotPermitted {
			t.Errorf("%q: %q", text, got)
		}
	}
	if s := m.state(); s.Set != 0 {
		t.Errorf("%+v", s)
	}
	users := m.path("home/" + wired.UsersFile)
	must(t, os.WriteFile(users, wired.Users{nobody}.Text(), 0o644))
	if got := asNobody("set 26624 lease 120\n"); got != "" || m.limit() != 26624 {
		t.Errorf("recorded: %q, %d set", got, m.limit())
	}
	// A list that another user could have written counts for nothing.
	must(t, os.Chown(users, nobody, nobody))
	if got := asNobody("confirm\n"); got != wired.CodeNotPermitted {
		t.Errorf("its own list: %q", got)
	}
}

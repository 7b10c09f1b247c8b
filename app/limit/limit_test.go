package limit

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

var _ monitor.Limiter = (*Limiter)(nil)

const gib = 1 << 30

// mac is a machine for the Limiter and for the helper: what root would change is in
// memory and in a folder of the test.
type mac struct {
	metal.Reader
	wired.Folder

	mu   sync.Mutex
	keys map[string]uint64
	ram  uint64
}

func (m *mac) Machine() (*metal.Machine, error) { return &metal.Machine{RAMBytes: &m.ram}, nil }
func (m *mac) RAM() (uint64, error)             { return m.ram, nil }
func (m *mac) BootSession() (string, error)     { return "a session", nil }
func (m *mac) Continuous() (time.Duration, error) {
	return time.Hour, nil
}
func (m *mac) Files() wired.Files { return m.Folder }
func (m *mac) Audit(string) error { return nil }

func (m *mac) Sysctl(name string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.keys[name]; ok {
		return n, nil
	}
	return 0, wired.ErrNoKey
}

func (m *mac) SetSysctl(name string, n uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[name] = n
	return nil
}

// stand is a Limiter on such a machine, with programs of the test's.
type stand struct {
	*Limiter
	t   *testing.T
	mac *mac
	dir string
	env map[string]string
	// helpers is who answers at the helper's socket, nil for nobody.
	helper func(net.Conn)
}

func newStand(t *testing.T, key string) *stand {
	t.Helper()
	dir, err := os.MkdirTemp("", "limit") // short, for what is quoted
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir, err = filepath.EvalSymlinks(dir) // macOS has its folder for temporary files behind one
	check(t, err)
	s := &stand{t: t, dir: dir, env: map[string]string{}}
	s.mac = &mac{Folder: wired.Folder{Path: filepath.Join(dir, "home"), Owner: os.Getuid()}, ram: 32 * gib, keys: map[string]uint64{}}
	if key != "" {
		s.mac.keys[key] = 0
	}
	check(t, os.Mkdir(s.mac.Path, 0o755))
	s.Limiter = New(Config{
		Local: s.mac, Address: func(string) string { return "" }, Sentence: func(id string) string { return "sentence " + id },
		Getenv: func(name string) string { return s.env[name] }, Self: filepath.Join(dir, "plimsoll"),
	})
	s.goos, s.euid, s.reader = "darwin", 501, s.mac
	s.places = places{program: filepath.Join(dir, "program"), job: filepath.Join(dir, "job")}
	s.programs = programs{}
	for name, path := range map[string]*string{"osascript": &s.programs.osascript, "sh": &s.programs.sh, "lsof": &s.programs.lsof,
		"launchctl": &s.programs.launchctl, "open": &s.programs.open, "systemctl": &s.programs.systemctl} {
		*path = filepath.Join(dir, name)
	}
	s.client = wired.Client{Dial: func(context.Context) (net.Conn, error) {
		if s.helper == nil {
			return nil, errors.New("nobody listens")
		}
		return s.dialHelper()
	}}
	s.xattr = func(string, string) (string, error) { return "", errors.New("none") }
	s.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return s
}

// dialHelper connects to the helper over a real socket: one that hangs up leaves its
// answer in it.
func (s *stand) dialHelper() (net.Conn, error) {
	l, err := net.Listen("unix", filepath.Join(s.dir, "socket"))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		return nil, err
	}
	peer, err := l.Accept()
	if err != nil {
		return nil, err
	}
	go s.helper(peer)
	return conn, nil
}

// has makes a program that notes its arguments, one a line, and goes on as told.
func (s *stand) has(name, script string) {
	s.t.Helper()
	text := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; done >" + s.dir + "/" + name + ".args\nenv >" + s.dir + "/" + name + ".env\n" + script + "\n"
	check(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755))
}

// args are those of a program's last call, one a line; "" when it was not called.
func (s *stand) args(name string) string {
	path := filepath.Join(s.dir, name+".args")
	text, _ := os.ReadFile(path)
	os.Remove(path)
	return string(text)
}

// installs puts the real helper's code behind the socket.
func (s *stand) installs() {
	s.t.Helper()
	check(s.t, os.WriteFile(s.places.program, nil, 0o755))
	server := wired.NewServer(s.mac, "1.2.3")
	_, err := server.Tick()
	check(s.t, err)
	s.helper = func(conn net.Conn) { server.Serve(conn, 0) }
}

func TestThroughTheHelper(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	s.installs()
	if state := s.Helper(t.Context()); state != monitor.HelperInstalled {
		t.Fatalf("the helper is %s", state)
	}
	check(t, s.Set(t.Context(), 26624, wired.LeaseDefault))
	state, err := s.State()
	check(t, err)
	if state.Set != 26624 || state.Lease == nil || state.Lease.Previous != 0 || state.Remembered != nil {
		t.Errorf("after raising: %+v", state)
	}
	check(t, s.Confirm(t.Context(), 0))
	if state, err = s.State(); err != nil || state.Lease != nil || state.Remembered == nil || *state.Remembered != 26624 {
		t.Errorf("after confirming: %+v, %v", state, err)
	}
	check(t, s.Reset(t.Context()))
	if state, err = s.State(); err != nil || state.Set != 0 || state.Remembered != nil {
		t.Errorf("after the reset: %+v, %v", state, err)
	}
	if err := s.Confirm(t.Context(), 0); codeOf(err) != wired.CodeNoLease {
		t.Errorf("confirming nothing: %v", err)
	}
	if s.args("osascript") != "" {
		t.Error("a person was asked")
	}
}

func TestWithoutTheHelperAPersonIsAsked(t *testing.T) {
	for key, want := range map[string]string{"iogpu.wired_limit_mb": "iogpu.wired_limit_mb=24576", "debug.iogpu.wired_limit": "debug.iogpu.wired_limit=25769803776"} {
		s := newStand(t, key)
		s.has("osascript", "")
		if state := s.Helper(t.Context()); state != monitor.HelperMissing {
			t.Errorf("the helper is %s", state)
		}
		check(t, s.Set(t.Context(), 24576, wired.LeaseDefault))
		if got, want := s.args("osascript"), "-e\n"+prompt+"\n--\n"+setScript+"\n"+want+"\nsentence limit.prompt.set\n"; got != want {
			t.Errorf("%s: asked with\n%s\nwant\n%s", key, got, want)
		}
		check(t, s.Reset(t.Context()))
		if got := s.args("osascript"); !strings.Contains(got, "\n"+key+"=0\n") {
			t.Errorf("%s: asked with\n%s", key, got)
		}
		if err := s.Confirm(t.Context(), 0); codeOf(err) != wired.CodeNoLease {
			t.Errorf("confirming: %v", err)
		}
		if command, err := s.ByHand(24576); err != nil || command != "sudo sysctl "+want {
			t.Errorf("by hand: %q, %v", command, err)
		}
	}
}

// What the helper would refuse nobody is asked a password for.
func TestBoundsComeBeforeTheQuestion(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "")
	for _, limit := range []wired.MiB{1, 24, 16383, 28673, 32768, 1 << 40} {
		if err := s.Set(t.Context(), limit, wired.LeaseDefault); codeOf(err) != wired.CodeBounds {
			t.Errorf("%d MiB: %v", limit, err)
		}
	}
	if s.args("osascript") != "" {
		t.Error("a person was asked")
	}
}

func TestWithoutAKey(t *testing.T) {
	s := newStand(t, "")
	s.has("osascript", "")
	_, err := s.State()
	_, byHand := s.ByHand(0)
	for _, err := range []error{err, byHand, s.Set(t.Context(), 24576, 0), s.Reset(t.Context()), s.Install(t.Context()), s.Uninstall(t.Context())} {
		if !errors.Is(err, wired.ErrNoKey) {
			t.Errorf("got %v", err)
		}
	}
	if s.args("osascript") != "" {
		t.Error("a person was asked")
	}
}

var someHash = strings.Repeat("0123456789abcdef", 4)

func TestUserThatIsNotRecorded(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	s.installs()
	server := wired.NewServer(s.mac, "1.2.3")
	s.helper = func(conn net.Conn) { server.Serve(conn, 502) }
	if state := s.Helper(t.Context()); state != monitor.HelperInstalled {
		t.Errorf("the helper is %s", state)
	}
	if err := s.Set(t.Context(), 26624, wired.LeaseDefault); codeOf(err) != wired.CodeNotPermitted {
		t.Errorf("setting: %v", err)
	}
}

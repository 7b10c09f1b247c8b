package limit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	check(t, s.Confirm(t.Context()))
	if state, err = s.State(); err != nil || state.Lease != nil || state.Remembered == nil || *state.Remembered != 26624 {
		t.Errorf("after confirming: %+v, %v", state, err)
	}
	check(t, s.Reset(t.Context()))
	if state, err = s.State(); err != nil || state.Set != 0 || state.Remembered != nil {
		t.Errorf("after the reset: %+v, %v", state, err)
	}
	if err := s.Confirm(t.Context()); codeOf(err) != wired.CodeNoLease {
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
		if err := s.Confirm(t.Context()); codeOf(err) != wired.CodeNoLease {
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

func TestWhatBecomesOfTheQuestion(t *testing.T) {
	for said, want := range map[string]error{
		"0:213: execution error: User canceled. (-128)":                                                                       ErrCancelled,
		"0:213: execution error: The operation couldn’t be completed. (-60006)":                                               ErrCancelled,
		"execution error: The authorization was denied since no user interaction was possible. (-60007)":                      ErrNoSession,
		"0:213: execution error: No user interaction allowed. (-1713)":                                                        ErrNoSession,
		"0:213: execution error: The administrator user name or password was incorrect. (-60005)":                             ErrDenied,
		"0:213: execution error: plimsoll: /Library/LaunchDaemons is not a folder of root's alone (66)":                       ErrUnsafe,
		"0:213: execution error: plimsoll: /x is not the helper of this Plimsoll (68)":                                        ErrChanged,
		"0:213: execution error: a\rplimsoll: launchd does not take the helper: Bootstrap failed: 5: Input/output error (70)": ErrLaunchd,
		"0:213: 执行错误：用户已取消。 (-128)":                                                                                           ErrCancelled,
	} {
		s := newStand(t, "iogpu.wired_limit_mb")
		s.has("osascript", "cat >&2 <<'END'\n"+said+"\nEND\nexit 1")
		err := s.Set(t.Context(), 24576, 0)
		if codeOf(err) != codeOf(want) {
			t.Errorf("%q is %v, want %v", said, err, want)
		}
		if text := err.Error(); strings.Contains(text, "execution error") || strings.Contains(text, "plimsoll:") {
			t.Errorf("%q is told as %q", said, text)
		}
	}
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "echo 'it sang (9)'; exit 3")
	if err := s.Set(t.Context(), 24576, 0); err == nil || !strings.Contains(err.Error(), "it sang") {
		t.Errorf("an unknown failure: %v", err)
	}
	os.Remove(s.programs.osascript)
	if err := s.Set(t.Context(), 24576, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without osascript: %v", err)
	}
}

func TestOverSSHNobodyIsAsked(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "")
	s.env["SSH_CONNECTION"] = "10.0.0.1 5000 10.0.0.2 22"
	if err := s.Set(t.Context(), 24576, 0); !errors.Is(err, ErrNoSession) || s.args("osascript") != "" {
		t.Errorf("got %v", err)
	}
}

func TestOneQuestionAtATime(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	check(t, os.WriteFile(filepath.Join(s.dir, "osascript"), []byte("#!/bin/sh\n: >"+s.dir+"/asking\nread -r x <"+s.dir+"/answer\n"), 0o755))
	check(t, mkfifo(filepath.Join(s.dir, "answer")))
	first := make(chan error, 1)
	go func() { first <- s.Set(t.Context(), 24576, 0) }()
	answer, err := os.OpenFile(filepath.Join(s.dir, "answer"), os.O_WRONLY, 0) // waits for the reader
	check(t, err)
	if err := s.Reset(t.Context()); !errors.Is(err, ErrAsking) {
		t.Errorf("a second question: %v", err)
	}
	io.WriteString(answer, "yes\n")
	answer.Close()
	check(t, <-first)
}

func TestQuestionThatNobodyAnswersEnds(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	check(t, mkfifo(filepath.Join(s.dir, "answer")))
	check(t, os.WriteFile(filepath.Join(s.dir, "osascript"), []byte("#!/bin/sh\nread -r x <"+s.dir+"/answer\n"), 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Set(ctx, 24576, 0) }()
	answer, err := os.OpenFile(filepath.Join(s.dir, "answer"), os.O_WRONLY, 0)
	check(t, err)
	defer answer.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// bundle puts a program and its helper where a bundle has them.
func (s *stand) bundle(helper string) {
	s.t.Helper()
	contents := filepath.Join(s.dir, "Applications", "Plimsoll.app", "Contents")
	for _, folder := range []string{"MacOS", "Helpers"} {
		check(s.t, os.MkdirAll(filepath.Join(contents, folder), 0o755))
	}
	s.self = filepath.Join(contents, "MacOS", "plimsoll")
	check(s.t, os.WriteFile(s.self, nil, 0o755))
	check(s.t, os.WriteFile(filepath.Join(contents, "Helpers", helperName), []byte(helper), 0o755))
}

// built gives this test program the hash of a helper.
func built(t *testing.T, hash string) {
	was := helperSHA256
	helperSHA256 = hash
	t.Cleanup(func() { helperSHA256 = was })
}

var someHash = strings.Repeat("0123456789abcdef", 4)

func TestInstallAsksAndWaitsForTheHelper(t *testing.T) {
	built(t, someHash)
	s := newStand(t, "iogpu.wired_limit_mb")
	s.bundle("helper")
	s.has("osascript", ": >"+s.places.program)
	waited := 0
	s.pause = func(context.Context, time.Duration) error {
		if waited++; waited == 3 {
			s.installs()
		}
		return nil
	}
	check(t, s.Install(t.Context()))
	args := s.args("osascript")
	if !strings.Contains(args, "\nhash="+someHash+"\n") || !strings.Contains(args, "\n501:"+filepath.Dir(filepath.Dir(s.self))+"/Helpers/plimsoll-helper\nsentence limit.prompt.install\n") {
		t.Errorf("asked with\n%s", args)
	}
	if waited != 3 {
		t.Errorf("waited %d times", waited)
	}
	if state, helper, _ := s.Version(t.Context()); state != monitor.HelperInstalled || helper.Version != "1.2.3" {
		t.Errorf("installed: %s, %+v", state, helper)
	}
	check(t, s.Uninstall(t.Context()))
	if got, want := s.args("osascript"), "-e\n"+prompt+"\n--\n"+removeScript+"\n\nsentence limit.prompt.uninstall\n"; got != want {
		t.Errorf("uninstalling asked with\n%s", got)
	}
}

func TestInstalledAndSilent(t *testing.T) {
	built(t, someHash)
	s := newStand(t, "iogpu.wired_limit_mb")
	s.bundle("helper")
	s.has("osascript", ": >"+s.places.program)
	s.pause = func(context.Context, time.Duration) error { return context.DeadlineExceeded }
	if err := s.Install(t.Context()); codeOf(err) != wired.CodeSilent {
		t.Errorf("installing: %v", err)
	}
	s.args("osascript")
	if err := s.Set(t.Context(), 24576, wired.LeaseDefault); codeOf(err) != wired.CodeSilent || s.args("osascript") != "" {
		t.Errorf("setting: %v", err)
	}
	if state := s.Helper(t.Context()); state != monitor.HelperSilent {
		t.Errorf("the helper is %s", state)
	}
}

// A helper that another version of Plimsoll installed is replaced by the one click
// that wants something of it.
func TestOutdatedHelperIsReplaced(t *testing.T) {
	built(t, someHash)
	s := newStand(t, "iogpu.wired_limit_mb")
	s.bundle("helper")
	check(t, os.WriteFile(s.places.program, nil, 0o755))
	s.helper = func(conn net.Conn) {
		defer conn.Close()
		io.ReadFull(conn, make([]byte, len("version\n")))
		fmt.Fprintln(conn, `{"protocol":99,"version":"9.0.0"}`)
	}
	if state, helper, _ := s.Version(t.Context()); state != monitor.HelperOutdated || helper.Protocol != 99 {
		t.Errorf("the helper is %s, %+v", state, helper)
	}
	s.has("osascript", "")
	s.pause = func(context.Context, time.Duration) error { s.installs(); return nil }
	check(t, s.Set(t.Context(), 26624, wired.LeaseDefault))
	if state, err := s.State(); err != nil || state.Set != 26624 || state.Lease == nil {
		t.Errorf("after setting: %+v, %v", state, err)
	}
	if args := s.args("osascript"); !strings.Contains(args, "sentence limit.prompt.install") {
		t.Errorf("asked with\n%s", args)
	}
}

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

func TestInstallFromAPlaceForNow(t *testing.T) {
	built(t, someHash)
	for value, refused := range map[string]bool{
		"0083;665a3b74;Safari;39DF211A": true, "0183;665a3b74;Safari;": true, "0081;;;": true, "": true, "zz;x": true,
		"00c3;665a3b74;Safari;39DF211A": false, "01c3;665a3b74;Safari;": false, "01C1;;": false,
	} {
		for _, where := range []string{"Plimsoll.app", helperName} {
			s := newStand(t, "iogpu.wired_limit_mb")
			s.bundle("helper")
			s.has("osascript", ": >"+s.places.program)
			s.pause = func(context.Context, time.Duration) error { s.installs(); return nil }
			s.xattr = func(path, name string) (string, error) {
				if filepath.Base(path) == where && name == "com.apple.quarantine" {
					return value, nil
				}
				return "", errors.New("none")
			}
			err := s.Install(t.Context())
			if errors.Is(err, ErrPlace) != refused || (err == nil) == refused || (s.args("osascript") == "") != refused {
				t.Errorf("%q at %s: %v", value, where, err)
			}
		}
	}
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "")
	s.dir = filepath.Join(s.dir, "AppTranslocation", "8A1E")
	s.bundle("helper")
	if err := s.Install(t.Context()); !errors.Is(err, ErrPlace) {
		t.Errorf("from a place that macOS made: %v", err)
	}
}

func TestInstallWithoutAHelper(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "")
	s.bundle("helper")
	for _, hash := range []string{"", "abc", strings.Repeat("g", 64), strings.Repeat("A", 64), strings.Repeat("0", 63) + "'"} {
		built(t, hash)
		if err := s.Install(t.Context()); !errors.Is(err, ErrNoHelper) {
			t.Errorf("built for the helper %q: %v", hash, err)
		}
	}
	built(t, someHash)
	check(t, os.RemoveAll(filepath.Join(filepath.Dir(filepath.Dir(s.self)), "Helpers")))
	if err := s.Install(t.Context()); !errors.Is(err, ErrNoHelper) || s.args("osascript") != "" {
		t.Errorf("without the file: %v", err)
	}
}

func TestRootAsksNobody(t *testing.T) {
	built(t, someHash)
	s := newStand(t, "iogpu.wired_limit_mb")
	s.bundle("helper")
	s.euid = 0
	s.has("osascript", "")
	s.has("sh", ": >"+s.places.program)
	s.pause = func(context.Context, time.Duration) error { s.installs(); return nil }
	for _, uid := range []string{"", "0", "x", "-1", "1;2"} {
		s.env["SUDO_UID"] = uid
		if err := s.Install(t.Context()); !errors.Is(err, ErrNoUser) {
			t.Errorf("for user %q: %v", uid, err)
		}
	}
	s.env["SUDO_UID"], s.env["SSH_CONNECTION"] = "502", "10.0.0.1 5000 10.0.0.2 22"
	t.Setenv("BASH_ENV", "/tmp/evil")
	check(t, s.Install(t.Context()))
	args := s.args("sh")
	if !strings.HasPrefix(args, "-c\n# shellcheck shell=sh\n# Installs") || !strings.Contains(args, "\nplimsoll\n502:/") || s.args("osascript") != "" {
		t.Errorf("ran\n%s", args)
	}
	env, err := os.ReadFile(filepath.Join(s.dir, "sh.env"))
	check(t, err)
	if strings.Contains(string(env), "evil") || strings.Contains(string(env), "HOME=") {
		t.Errorf("the script runs in the environment of the person:\n%s", env)
	}
	s.has("sh", "echo 'plimsoll: /x is not a folder of root'\\''s alone' >&2; exit 66")
	if err := s.Install(t.Context()); !errors.Is(err, ErrUnsafe) || err.Error() != "/x is not a folder of root's alone" {
		t.Errorf("a script that refuses: %v", err)
	}
}

func TestScriptsAreFixed(t *testing.T) {
	a, err := installScript(someHash)
	check(t, err)
	for _, left := range []string{"@SHA256@", "@PLIST@"} {
		if strings.Contains(a, left) {
			t.Errorf("%s is left in the script", left)
		}
	}
	if list, err := os.ReadFile("../../build/darwin/dev.plimsoll.helper.plist"); err != nil || string(list) != jobList {
		t.Errorf("launchd's list here is not the one in build/darwin: %v", err)
	}
	if strings.Contains(jobList, "'") {
		t.Error("launchd's list has a quote, which would end its quotes in the script")
	}
	if !slices.Equal(strings.Split(a, "\n")[:8], strings.Split(installText, "\n")[:8]) {
		t.Error("the script is not install.sh")
	}
	if n := strings.Count(prompt, "quoted form of"); n != 2 || strings.Contains(prompt, "item 2 of argv &") {
		t.Errorf("the prompt quotes %d arguments:\n%s", n, prompt)
	}
}

func TestCommandIsOneWordEach(t *testing.T) {
	l := &Limiter{self: "/Applications/My Apps/Plimsoll's.app/plimsoll"}
	if got, want := l.Command("install"), `sudo '/Applications/My Apps/Plimsoll'\''s.app/plimsoll' limit install`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	l.self = "/Applications/Plimsoll.app/Contents/MacOS/plimsoll"
	if got := l.Command("install"); strings.Contains(got, "'") {
		t.Errorf("got %s", got)
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

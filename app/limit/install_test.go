package limit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

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
	check(t, s.Reset(t.Context()))
	if args := s.args("osascript"); !strings.Contains(args, "\niogpu.wired_limit_mb=0\nsentence limit.prompt.set\n") {
		t.Errorf("going back to the default asked with\n%s", args)
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

// A helper of another version that cannot be replaced from here does not keep a person
// from going back to the default.
func TestResetWithoutTheRightHelper(t *testing.T) {
	for name, place := range map[string]func(*stand){
		"there is none": func(s *stand) { check(t, os.WriteFile(s.self, nil, 0o755)) },
		"from a download": func(s *stand) {
			s.bundle("helper")
			s.xattr = func(string, string) (string, error) { return "0083;1;Safari;", nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			built(t, someHash)
			s := newStand(t, "iogpu.wired_limit_mb")
			place(s)
			check(t, os.WriteFile(s.places.program, nil, 0o755))
			s.helper = func(conn net.Conn) {
				defer conn.Close()
				io.ReadFull(conn, make([]byte, len("version\n")))
				fmt.Fprintln(conn, `{"protocol":99,"version":"9.0.0"}`)
			}
			s.has("osascript", "")
			if err := s.Set(t.Context(), 26624, wired.LeaseDefault); err == nil || s.args("osascript") != "" {
				t.Errorf("setting: %v", err)
			}
			check(t, s.Reset(t.Context()))
			if args := s.args("osascript"); !strings.Contains(args, "\niogpu.wired_limit_mb=0\nsentence limit.prompt.set\n") {
				t.Errorf("going back to the default asked with\n%s", args)
			}
		})
	}
}

func TestInstallFromAPlaceForNow(t *testing.T) {
	built(t, someHash)
	for value, refused := range map[string]bool{
		"0083;665a3b74;Safari;39DF211A": true, "0183;665a3b74;Safari;": true, "0081;;;": true, "": true, "zz;x": true,
		"00c3;665a3b74;Safari;39DF211A": false, "01c3;665a3b74;Safari;": false, "01C1;;": false,
	} {
		for _, where := range []string{"Plimsoll.app", "inside"} {
			s := newStand(t, "iogpu.wired_limit_mb")
			s.bundle("helper")
			s.has("osascript", ": >"+s.places.program)
			s.pause = func(context.Context, time.Duration) error { s.installs(); return nil }
			s.xattr = func(path, name string) (string, error) {
				if (filepath.Base(path) == "Plimsoll.app") == (where == "Plimsoll.app") && name == "com.apple.quarantine" {
					return value, nil
				}
				return "", errors.New("none")
			}
			err := s.Install(t.Context())
			refused := refused && where == "Plimsoll.app" // the rest may keep what the download had
			if errors.Is(err, ErrPlace) != refused || (err == nil) == refused || (s.args("osascript") == "") != refused {
				t.Errorf("%q at %s: %v", value, where, err)
			}
		}
	}
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "")
	s.self = filepath.Join(s.dir, "plimsoll")
	for _, name := range []string{"plimsoll", helperName} {
		check(t, os.WriteFile(filepath.Join(s.dir, name), nil, 0o755))
	}
	s.xattr = func(path, _ string) (string, error) { return "0083;", nil }
	if err := s.Install(t.Context()); !errors.Is(err, ErrPlace) {
		t.Errorf("a program of a download, without a bundle: %v", err)
	}
	s.xattr = func(string, string) (string, error) { return "01c3;", nil } // opened and agreed to
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

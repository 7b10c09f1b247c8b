package limit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"plimsoll/metal/wired"
)

// disk is a Mac's places below a folder of the test, with a launchctl and a sysctl
// of its own. The scripts are the real ones, their constants replaced in the text.
type disk struct {
	t    *testing.T
	root string
	// helper is the file that a user offers for installation.
	helper string
}

const (
	oldHelper = "an old helper"
	newHelper = "the new helper"
	oldList   = "<plist>old</plist>"
	newList   = "<plist>new</plist>"
)

func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run what runs as root: sudo go test ./app/limit")
	}
	for _, tool := range []string{"sh", "shasum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this machine has no %s", tool)
		}
	}
	d := &disk{t: t, root: t.TempDir()}
	for _, folder := range []string{"bin", "Library", "Library/LaunchDaemons", "Library/PrivilegedHelperTools", "Library/Application Support", "var/run", "user"} {
		check(t, os.MkdirAll(d.at(folder), 0o755))
	}
	d.helper = d.at("user/plimsoll-helper")
	d.put("user/plimsoll-helper", newHelper, 0o755)
	check(t, os.Chown(d.helper, 1000, 1000))
	// launchctl knows one job and lets go of it late, as the real one does.
	d.tool("launchctl", `
case $1 in
print) [ -e loaded ] || [ -e leaving ] ;;
bootout) [ -e loaded ] && mv loaded leaving; [ ! -e stubborn ] || touch loaded ;;
bootstrap)
  [ -f "$3" ] || exit 2
  if [ -e leaving ] || [ -e refusing ]; then rm -f leaving; echo 'Bootstrap failed: 5: Input/output error' >&2; exit 5; fi
  touch loaded ;;
esac`)
	d.tool("sysctl", `
case $1 in
-n) [ -e "$2" ] && cat "$2" ;;
*) [ -e "${1%%=*}" ] && printf '%s\n' "${1#*=}" >"${1%%=*}" ;;
esac`)
	// shasum is Perl, which takes longer than all else here; TestInstall has the real one.
	if fast, err := exec.LookPath("sha256sum"); err == nil {
		d.tool("shasum", "exec "+fast+` "$3"`)
	}
	d.tool("sync", "")
	d.tool("sleep", "rm -f leaving")
	return d
}

func (d *disk) at(path string) string { return filepath.Join(d.root, path) }

func (d *disk) put(path, text string, mode os.FileMode) {
	d.t.Helper()
	check(d.t, os.WriteFile(d.at(path), []byte(text), mode))
	check(d.t, os.Chmod(d.at(path), mode))
}

// tool makes a program that notes its calls and works in the folder bin.
func (d *disk) tool(name, script string) {
	d.put("bin/"+name, "#!/bin/sh\ncd "+d.at("bin")+"\necho "+name+` "$@" >>calls`+"\n"+script+"\n", 0o755)
}

func (d *disk) calls() string {
	text, _ := os.ReadFile(d.at("bin/calls"))
	os.Remove(d.at("bin/calls"))
	return string(text)
}

// here moves the places of a script below the folder.
func (d *disk) here(script string) string {
	for _, path := range []string{"/Library", "/var/run/"} {
		script = strings.ReplaceAll(script, path, d.root+path)
	}
	const search = "PATH=/usr/bin:"
	if !strings.Contains(script, search) {
		d.t.Fatal("the script has no search path of its own")
	}
	return strings.Replace(script, search, "PATH="+d.at("bin")+":/usr/bin:", 1)
}

// run runs a script as it would be run and returns its status and last words.
func (d *disk) run(script string, args ...string) (int, string) {
	d.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", d.here(script), "plimsoll"}, args...)...)
	cmd.Env, cmd.Dir = clean, "/"
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// installer is install.sh for the new helper and list.
func installer() string {
	sum := sha256.Sum256([]byte(newHelper))
	return fill(installText, hex.EncodeToString(sum[:]), newList)
}

func (d *disk) install() (int, string) {
	d.t.Helper()
	return d.run(installer(), "1000:"+d.helper)
}

const (
	program = "Library/PrivilegedHelperTools/dev.plimsoll.helper"
	job     = "Library/LaunchDaemons/dev.plimsoll.helper.plist"
	home    = "Library/Application Support/dev.plimsoll.helper"
	users   = home + "/users"
)

// old puts an older installation there.
func (d *disk) old(list string) {
	d.t.Helper()
	check(d.t, os.MkdirAll(d.at(home), 0o755))
	d.put(program, oldHelper, 0o755)
	d.put(job, list+"\n", 0o644)
	d.put(users, "501\n", 0o644)
	d.put("bin/loaded", "", 0o644)
}

// text is a file's, "" when there is none.
func (d *disk) text(path string) string {
	text, err := os.ReadFile(d.at(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	return string(text)
}

// installed checks that everything is there, root's and as it should be, and that
// nothing else is.
func (d *disk) installed(uids string) {
	d.t.Helper()
	for path, want := range map[string]struct {
		mode os.FileMode
		text string
	}{
		program: {0o755, newHelper}, job: {0o644, newList + "\n"}, users: {0o644, uids},
		home: {os.ModeDir | 0o755, ""}, "Library/PrivilegedHelperTools": {os.ModeDir | 0o755, ""},
	} {
		info, err := os.Lstat(d.at(path))
		if err != nil {
			d.t.Errorf("%s: %v", path, err)
			continue
		}
		if owner := ownerOf(info); info.Mode() != want.mode || owner != "0:0" {
			d.t.Errorf("%s has mode %v and owner %s, want %v and 0:0", path, info.Mode(), owner, want.mode)
		}
		if want.mode.IsRegular() && d.text(path) != want.text {
			d.t.Errorf("%s holds %q, want %q", path, d.text(path), want.text)
		}
	}
	d.noStage()
	if _, err := os.Stat(d.at("bin/loaded")); err != nil {
		d.t.Error("launchd does not have the job")
	}
	if data, err := (wired.Folder{Path: d.at(home)}).Read(wired.UsersFile); err != nil {
		d.t.Errorf("the helper would not believe its list of users: %v", err)
	} else if _, err := wired.ParseUsers(data); err != nil {
		d.t.Error(err)
	}
}

func (d *disk) noStage() {
	d.t.Helper()
	if left, _ := filepath.Glob(d.at("Library/PrivilegedHelperTools/.*")); len(left) > 0 {
		d.t.Errorf("left behind: %q", left)
	}
}

// ownerOf is the user and group of a file.
func ownerOf(info os.FileInfo) string {
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", s.Uid, s.Gid)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestInstall(t *testing.T) {
	d := newDisk(t)
	os.Remove(d.at("bin/shasum"))
	if status, out := d.install(); status != 0 || out != "" {
		t.Fatalf("status %d: %s", status, out)
	}
	d.installed("1000\n")
	if calls := d.calls(); !strings.Contains(calls, "launchctl bootstrap system "+d.at(job)) {
		t.Errorf("called:\n%s", calls)
	}
	// Another user of the same Mac, and the first one again.
	for _, uid := range []string{"501", "1000"} {
		if status, out := d.run(installer(), uid+":"+d.helper); status != 0 {
			t.Fatalf("status %d: %s", status, out)
		}
	}
	d.installed("501\n1000\n")
}

func TestInstallMakesTheFolderForTools(t *testing.T) {
	d := newDisk(t)
	check(t, os.Remove(d.at("Library/PrivilegedHelperTools")))
	if status, out := d.install(); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	d.installed("1000\n")
}

func TestInstallOverAnOldOne(t *testing.T) {
	t.Run("of an older version", func(t *testing.T) {
		d := newDisk(t)
		d.old(oldList)
		if status, out := d.install(); status != 0 {
			t.Fatalf("status %d: %s", status, out)
		}
		d.installed("501\n1000\n")
		if calls := d.calls(); strings.Count(calls, "launchctl bootstrap") != 2 {
			t.Errorf("launchd refuses until it has let go of the old job; called:\n%s", calls)
		}
	})
	t.Run("launchd refuses", func(t *testing.T) {
		d := newDisk(t)
		d.put("bin/refusing", "", 0o644)
		if status, out := d.install(); status != 70 || !strings.Contains(out, "Input/output error") {
			t.Errorf("status %d: %s", status, out)
		}
		d.noStage()
	})
}

func TestAnotherHelperIsRefused(t *testing.T) {
	for name, change := range map[string]func(*disk){
		"another":  func(d *disk) { d.put("user/plimsoll-helper", "something else", 0o755) },
		"one byte": func(d *disk) { d.put("user/plimsoll-helper", newHelper+"\x00", 0o755) },
		"empty":    func(d *disk) { d.put("user/plimsoll-helper", "", 0o755) },
		"absent":   func(d *disk) { check(d.t, os.Remove(d.helper)) },
		"a link": func(d *disk) {
			check(d.t, os.Rename(d.helper, d.helper+"2"))
			check(d.t, os.Symlink(d.helper+"2", d.helper))
		},
		"a folder":     func(d *disk) { check(d.t, os.Remove(d.helper)); check(d.t, os.Mkdir(d.helper, 0o755)) },
		"a named pipe": func(d *disk) { check(d.t, os.Remove(d.helper)); check(d.t, exec.Command("mkfifo", d.helper).Run()) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			d.old(oldList)
			change(d)
			if status, out := d.install(); status != 67 && status != 68 {
				t.Errorf("status %d: %s", status, out)
			}
			if d.text(program) != oldHelper || d.text(job) != oldList+"\n" || d.text(users) != "501\n" {
				t.Error("the old installation was touched")
			}
			d.noStage()
		})
	}
}

// The check is made on the copy that is installed: what a user does to the original
// when it has just been checked comes too late.
func TestSwappedAfterTheCheck(t *testing.T) {
	d := newDisk(t)
	real, err := exec.LookPath("shasum")
	check(t, err)
	d.put("bin/shasum", "#!/bin/sh\n"+real+" \"$@\"\nprintf evil >"+d.helper+"\n", 0o755)
	if status, out := d.install(); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if d.text("user/plimsoll-helper") != "evil" {
		t.Fatal("nothing was swapped")
	}
	d.installed("1000\n")
}

// The copy lies where nobody but root can reach it.
func TestStageIsRootsAlone(t *testing.T) {
	d := newDisk(t)
	real, err := exec.LookPath("shasum")
	check(t, err)
	d.put("bin/shasum", "#!/bin/sh\nls -ldn \"${3%/*}\" \"$3\" >"+d.at("seen")+"\nexec "+real+" \"$@\"\n", 0o755)
	if status, out := d.install(); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	lines := strings.Split(d.text("seen"), "\n")
	if !strings.HasPrefix(lines[0], "drwx------") || !strings.HasPrefix(lines[1], "-rw-------") {
		t.Errorf("the folder for the copy and the copy are\n%s", d.text("seen"))
	}
}

func TestArgumentIsChecked(t *testing.T) {
	d := newDisk(t)
	for _, argument := range []string{"", ":", "1000", "0:" + d.helper, "-1:" + d.helper, "1e3:" + d.helper, "12345678901:" + d.helper,
		"$(id):" + d.helper, "1000 0:" + d.helper, "1000\n0:" + d.helper, "1000:plimsoll-helper", "1000:", ":" + d.helper} {
		if status, out := d.run(installer(), argument); status != 64 && status != 67 {
			t.Errorf("%q: status %d: %s", argument, status, out)
		}
	}
	if _, err := os.Lstat(d.at(program)); err == nil {
		t.Error("something was installed")
	}
	// A path is one word, whatever stands in it.
	odd := d.at("user/a 'b' $(touch x) \"c\";d")
	check(t, os.Rename(d.helper, odd))
	if status, out := d.run(installer(), "1000:"+odd); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
	d.installed("1000\n")
}

// TestNothingIsFollowed puts what does not belong there at each place: the script
// has to refuse it, and what a link leads to stays as it was.
func TestNothingIsFollowed(t *testing.T) {
	victim := "user/victim"
	spoil := map[string]func(d *disk, path string){
		"symbolic link to a file": func(d *disk, path string) { check(d.t, os.Symlink(d.at(victim), d.at(path))) },
		"symbolic link to a folder": func(d *disk, path string) {
			check(d.t, os.MkdirAll(d.at("user/folder"), 0o755))
			check(d.t, os.Symlink(d.at("user/folder"), d.at(path)))
		},
		"dangling link":  func(d *disk, path string) { check(d.t, os.Symlink(d.at("user/nothing"), d.at(path))) },
		"hard link":      func(d *disk, path string) { check(d.t, os.Link(d.at(victim), d.at(path))) },
		"another user's": func(d *disk, path string) { d.put(path, "x", 0o644); check(d.t, os.Chown(d.at(path), 1000, 0)) },
		"for all to write": func(d *disk, path string) {
			check(d.t, os.Mkdir(d.at(path), 0o777))
			check(d.t, os.Chmod(d.at(path), 0o777))
		},
		"for the group to write": func(d *disk, path string) { d.put(path, "x", 0o664) },
		"a named pipe":           func(d *disk, path string) { check(d.t, exec.Command("mkfifo", "-m", "644", d.at(path)).Run()) },
	}
	for _, path := range []string{program, job, users, home, "Library/PrivilegedHelperTools", "Library/LaunchDaemons", "Library/Application Support", "Library"} {
		for name, put := range spoil {
			t.Run(path+" "+name, func(t *testing.T) {
				d := newDisk(t)
				d.put(victim, "precious", 0o600)
				check(t, os.MkdirAll(d.at(home), 0o755))
				check(t, os.RemoveAll(d.at(path)))
				put(d, path)
				status, out := d.install()
				if status != 66 && status != 69 {
					t.Errorf("status %d: %s", status, out)
				}
				if d.text(victim) != "precious" {
					t.Error("the file behind the link was written")
				}
				if entries, _ := os.ReadDir(d.at("user/folder")); len(entries) > 0 {
					t.Errorf("something came into the folder behind the link: %v", entries)
				}
				d.noStage()
			})
		}
	}
}

// cuts are a script that is killed after each of its lines, where a command ends.
// Comments, empty lines and constants are passed over.
func cuts(script string) map[int]string {
	lines := strings.Split(script, "\n")
	found := map[int]string{}
	for i, line := range lines {
		if constant := regexp.MustCompile(`^[a-z]+=[^$]*$`); line == "" || line[0] == '#' || constant.MatchString(line) {
			continue
		}
		text := strings.Join(lines[:i+1], "\n") + "\nkill -9 $$\n" + strings.Join(lines[i+1:], "\n")
		check := exec.Command("/bin/sh", "-n")
		check.Stdin = strings.NewReader(text)
		if check.Run() == nil {
			found[i+1] = text
		}
	}
	return found
}

// TestInstallThatIsKilled ends the installation after each line: there is the old
// file or the new one, whole, at each place, and the next installation ends well.
func TestInstallThatIsKilled(t *testing.T) {
	sum := sha256.Sum256([]byte(newHelper))
	var killed atomic.Int32
	for line, script := range cuts(installText) {
		for _, before := range []string{"nothing", "an old one"} {
			t.Run(fmt.Sprintf("after line %d over %s", line, before), func(t *testing.T) {
				t.Parallel()
				d := newDisk(t)
				was := map[string]string{program: "", job: "", users: ""}
				if before != "nothing" {
					d.old(oldList)
					was = map[string]string{program: oldHelper, job: oldList + "\n", users: "501\n"}
				}
				becomes := map[string]string{program: newHelper, job: newList + "\n", users: was[users] + "1000\n"}
				switch status, out := d.run(fill(script, hex.EncodeToString(sum[:]), newList), "1000:"+d.helper); status {
				case -1:
					killed.Add(1)
				case 0:
				default:
					t.Fatalf("status %d: %s", status, out)
				}
				for path, old := range was {
					if got := d.text(path); got != old && got != becomes[path] {
						t.Errorf("%s holds %q", path, got)
					}
				}
				if d.text(job) != "" && d.text(program) == "" {
					t.Error("launchd has a list without a program")
				}
				if info, err := os.Lstat(d.at(program)); err == nil && (info.Mode() != 0o755 || ownerOf(info) != "0:0") {
					t.Errorf("the program is %v of %s", info.Mode(), ownerOf(info))
				}
				if status, out := d.install(); status != 0 {
					t.Errorf("installing again: status %d: %s", status, out)
				}
				d.installed(becomes[users])
			})
		}
	}
	t.Cleanup(func() {
		if n := killed.Load(); n < 50 && !t.Skipped() && os.Geteuid() == 0 {
			t.Errorf("only %d installations were killed", n)
		}
	})
}

// left lists all that stands below the system's folders.
func (d *disk) left() []string {
	var found []string
	for _, pattern := range []string{"Library/LaunchDaemons/*", "Library/PrivilegedHelperTools/*", "Library/PrivilegedHelperTools/.*", "Library/Application Support/*", "var/run/*"} {
		paths, _ := filepath.Glob(d.at(pattern))
		found = append(found, paths...)
	}
	return found
}

// whole is an installation that was in use.
func whole(t *testing.T) *disk {
	d := newDisk(t)
	d.old(oldList)
	d.put(home+"/state.json", "{}", 0o644)
	d.put(home+"/audit.log", "…", 0o600)
	d.put("var/run/dev.plimsoll.helper.sock", "", 0o666)
	check(t, os.MkdirAll(d.at("Library/PrivilegedHelperTools/.dev.plimsoll.helper.abcdef"), 0o700))
	d.put("bin/iogpu.wired_limit_mb", "26624\n", 0o644)
	return d
}

func TestRemoveLeavesNothing(t *testing.T) {
	d := whole(t)
	if status, out := d.run(removeScript, ""); status != 0 || out != "" {
		t.Fatalf("status %d: %s", status, out)
	}
	if left := d.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if got := d.text("bin/iogpu.wired_limit_mb"); got != "0\n" {
		t.Errorf("the limit is %q, want the default", got)
	}
	if _, err := os.Stat(d.at("bin/loaded")); err == nil {
		t.Error("launchd still has the job")
	}
	if status, out := d.run(removeScript, ""); status != 0 || out != "" {
		t.Errorf("removing nothing: status %d: %s", status, out)
	}
}

func TestRemoveOnTheOlderSystem(t *testing.T) {
	d := whole(t)
	check(t, os.Rename(d.at("bin/iogpu.wired_limit_mb"), d.at("bin/debug.iogpu.wired_limit")))
	if status, out := d.run(removeScript, ""); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if got := d.text("bin/debug.iogpu.wired_limit"); got != "0\n" {
		t.Errorf("the limit is %q, want the default", got)
	}
}

func TestRemoveDoesNotFollowLinks(t *testing.T) {
	d := whole(t)
	d.put("user/victim", "precious", 0o644)
	for _, path := range []string{program, job, home, "var/run/dev.plimsoll.helper.sock"} {
		check(t, os.RemoveAll(d.at(path)))
		check(t, os.Symlink(d.at("user"), d.at(path)))
	}
	if status, out := d.run(removeScript, ""); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if left := d.left(); len(left) > 0 || d.text("user/victim") != "precious" || d.text("user/plimsoll-helper") != newHelper {
		t.Errorf("left %q; behind the links %q", left, d.text("user/victim"))
	}
}

func TestRemoveThatLaunchdHoldsUp(t *testing.T) {
	d := whole(t)
	d.put("bin/stubborn", "", 0o644)
	if status, out := d.run(removeScript, ""); status != 70 || !strings.Contains(out, "let go") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestRemoveThatIsKilled(t *testing.T) {
	killed := 0
	for line, script := range cuts(removeScript) {
		d := whole(t)
		if status, _ := d.run(script, ""); status == -1 {
			killed++
		}
		if d.text(job) != "" && d.text(program) == "" {
			t.Errorf("killed after line %d: launchd has a list without a program", line)
		}
		if status, out := d.run(removeScript, ""); status != 0 {
			t.Errorf("killed after line %d, removing again: status %d: %s", line, status, out)
		}
		if left := d.left(); len(left) > 0 || d.text("bin/iogpu.wired_limit_mb") != "0\n" {
			t.Errorf("killed after line %d and removed again: left %q", line, left)
		}
	}
	if killed < 12 {
		t.Errorf("only %d removals were killed", killed)
	}
}

func TestSetOnce(t *testing.T) {
	d := newDisk(t)
	for argument, status := range map[string]int{
		"iogpu.wired_limit_mb=24576": 0, "iogpu.wired_limit_mb=0": 0, "debug.iogpu.wired_limit=25769803776": 0,
		"": 64, "24576": 64, "kern.hostname=1": 64, "iogpu.wired_limit_mb=": 64, "iogpu.wired_limit_mb=-1": 64, "iogpu.wired_limit_mb=1;id": 64,
		"iogpu.wired_limit_mb=24576 kern.x=1": 64, "iogpu.wired_limit_mb=1\n2": 64, "-w iogpu.wired_limit_mb=1": 64, "iogpu.wired_limit_mb=1234567890123456": 64,
	} {
		d.put("bin/iogpu.wired_limit_mb", "1\n", 0o644)
		d.put("bin/debug.iogpu.wired_limit", "1\n", 0o644)
		d.calls()
		if got, out := d.run(setScript, argument); got != status {
			t.Errorf("%q: status %d: %s", argument, got, out)
		}
		want := ""
		if status == 0 {
			want = "sysctl " + argument + "\n"
		}
		if calls := d.calls(); calls != want {
			t.Errorf("%q called %q, want %q", argument, calls, want)
		}
	}
}

// TestScriptsNameTheHelpersPlaces holds the constants of the scripts against those
// that helper and program go by.
func TestScriptsNameTheHelpersPlaces(t *testing.T) {
	places := fmt.Sprintf("label=%s\ntools=%s\ndaemons=%s\nstate=%q\n", wired.Label, filepath.Dir(wired.Program), filepath.Dir(wired.Job), wired.Home)
	for name, script := range map[string]string{"install.sh": installText, "remove.sh": removeScript} {
		if !strings.Contains(script, places) {
			t.Errorf("%s does not say\n%s", name, places)
		}
	}
	if wired.Program != filepath.Dir(wired.Program)+"/"+wired.Label || wired.Job != filepath.Dir(wired.Job)+"/"+wired.Label+".plist" {
		t.Errorf("%s or %s is not named after %s", wired.Program, wired.Job, wired.Label)
	}
	if !strings.Contains(installText, "\nusers="+wired.UsersFile+"\n") || !strings.Contains(removeScript, "\nsocket="+wired.Socket+"\n") {
		t.Error("the list of users or the socket has another name in the scripts")
	}
	for _, key := range wired.Keys {
		if !strings.Contains(removeScript, key.Name) || !strings.Contains(setScript, key.Name+"=*") {
			t.Errorf("a script does not know %s", key.Name)
		}
	}
}

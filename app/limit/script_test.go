package limit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

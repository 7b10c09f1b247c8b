package limit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

// What cannot be set back is told, and does not keep the helper there.
func TestRemoveWithALimitThatStays(t *testing.T) {
	d := whole(t)
	d.tool("sysctl", `case $1 in -n) [ "$2" = iogpu.wired_limit_mb ] && echo 26624 ;; *) exit 1 ;; esac`)
	if status, out := d.run(removeScript, ""); status != 72 || !strings.Contains(out, "iogpu.wired_limit_mb=26624 stays") {
		t.Errorf("status %d: %s", status, out)
	}
	if left := d.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
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

func TestSetOnce(t *testing.T) {
	d := newDisk(t)
	for argument, status := range map[string]int{
		"iogpu.wired_limit_mb=24576": 0, "iogpu.wired_limit_mb=0": 0, "debug.iogpu.wired_limit=25769803776": 0, "debug.iogpu.wired_limit=0": 0,
		"debug.iogpu.wired_limit=24576": 64, "debug.iogpu.wired_limit=99999": 64, "debug.iogpu.wired_limit=025769803776": 64, "iogpu.wired_limit_mb=024576": 64,
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

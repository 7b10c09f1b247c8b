package limit

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

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
	for _, argument := range []string{"", ":", "1000", "0:" + d.helper, "-1:" + d.helper, "1e3:" + d.helper, "12345678901:" + d.helper, "2147483648:" + d.helper,
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

// TestScriptsNeedRoot: whoever else runs one is told so, before anything is looked at.
func TestScriptsNeedRoot(t *testing.T) {
	d := newDisk(t)
	for name, script := range map[string]string{"install.sh": installer(), "remove.sh": removeScript} {
		cmd := exec.Command("/bin/sh", "-c", d.here(script), "plimsoll", "1000:"+d.helper)
		cmd.Env, cmd.Dir = clean, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 65 || !strings.Contains(string(out), "this needs root") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
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

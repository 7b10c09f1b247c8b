package wired

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// newFolder is a folder of this user with a file in it.
func newFolder(t *testing.T) Folder {
	t.Helper()
	d := Folder{Path: filepath.Join(t.TempDir(), "home"), Owner: os.Getuid()}
	if err := os.Mkdir(d.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Write("file", []byte("old")); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d Folder) path(name string) string { return filepath.Join(d.Path, name) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolder(t *testing.T) {
	d := newFolder(t)
	must(t, d.Write("file", []byte("new")))
	if got, err := d.Read("file"); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(d.path("file")); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := d.Read("none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	must(t, os.WriteFile(d.path("file"), make([]byte, fileMost+1), 0o644))
	if _, err := d.Read("file"); err == nil {
		t.Error("a file without end was read")
	}
}

// TestModesDoNotFollowTheUmask: what root's environment says counts for nothing.
func TestModesDoNotFollowTheUmask(t *testing.T) {
	d := newFolder(t)
	for _, mask := range []int{0, 0o777} {
		before := syscall.Umask(mask)
		err := errors.Join(d.Write("file", []byte("x")), d.Append("audit", "x"))
		syscall.Umask(before)
		must(t, err)
		for name, want := range map[string]os.FileMode{"file": 0o644, "audit": 0o600} {
			if info, err := os.Stat(d.path(name)); err != nil || info.Mode() != want {
				t.Errorf("umask %o, %s: %v, %v", mask, name, info.Mode(), err)
			}
		}
	}
}

// TestUntrustedFiles puts in place of a file what somebody else may have made.
func TestUntrustedFiles(t *testing.T) {
	for _, test := range []struct {
		name  string
		root  bool // only root can make it
		spoil func(t *testing.T, d Folder, path string)
	}{
		{"symbolic link out of the folder", false, func(t *testing.T, d Folder, path string) {
			must(t, os.WriteFile(filepath.Join(d.Path, "..", "victim"), []byte("victim"), 0o644))
			must(t, os.Symlink("../victim", path))
		}},
		{"symbolic link to /etc/passwd", false, func(t *testing.T, d Folder, path string) { must(t, os.Symlink("/etc/passwd", path)) }},
		{"symbolic link within the folder", false, func(t *testing.T, d Folder, path string) {
			must(t, os.WriteFile(d.path("other"), []byte("victim"), 0o644))
			must(t, os.Symlink("other", path))
		}},
		{"dangling symbolic link", false, func(t *testing.T, d Folder, path string) { must(t, os.Symlink("nowhere", path)) }},
		{"hard link", false, func(t *testing.T, d Folder, path string) {
			victim := filepath.Join(d.Path, "..", "victim")
			must(t, os.WriteFile(victim, []byte("victim"), 0o644))
			must(t, os.Link(victim, path))
		}},
		{"writable by the group", false, func(t *testing.T, d Folder, path string) {
			must(t, os.WriteFile(path, []byte("victim"), 0o644))
			must(t, os.Chmod(path, 0o664))
		}},
		{"writable by all", false, func(t *testing.T, d Folder, path string) {
			must(t, os.WriteFile(path, []byte("victim"), 0o644))
			must(t, os.Chmod(path, 0o646))
		}},
		{"folder", false, func(t *testing.T, d Folder, path string) { must(t, os.Mkdir(path, 0o755)) }},
		{"named pipe", false, func(t *testing.T, d Folder, path string) { must(t, syscall.Mkfifo(path, 0o644)) }},
		{"another user's", true, func(t *testing.T, d Folder, path string) {
			must(t, os.WriteFile(path, []byte("victim"), 0o644))
			must(t, os.Chown(path, 65534, 65534))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.root && os.Getuid() != 0 {
				t.Skip("only root can give a file to another user")
			}
			d := newFolder(t)
			must(t, os.Remove(d.path("file")))
			test.spoil(t, d, d.path("file"))
			victim, _ := os.ReadFile(filepath.Join(d.Path, "..", "victim"))
			other, _ := os.ReadFile(d.path("other"))

			if got, err := d.Read("file"); err == nil || strings.Contains(string(got), "victim") {
				t.Errorf("read %q, %v", got, err)
			}
			if err := d.Append("file", "line"); err == nil {
				t.Error("a line was added")
			}
			// To replace it is allowed: nothing is followed. A folder stays.
			if err := d.Write("file", []byte("new")); (err == nil) == (test.name == "folder") {
				t.Error(err)
			} else if err == nil {
				if got, err := d.Read("file"); err != nil || string(got) != "new" {
					t.Errorf("%q, %v", got, err)
				}
			}
			for path, before := range map[string][]byte{filepath.Join(d.Path, "..", "victim"): victim, d.path("other"): other} {
				if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
					t.Errorf("%s has become %q", path, after)
				}
			}
			if _, err := os.Lstat(d.path("nowhere")); err == nil {
				t.Error("a dangling link was filled")
			}

			// The same in the way of the file that is written first.
			d = newFolder(t)
			test.spoil(t, d, d.path(".file.next"))
			if err := d.Write("file", []byte("new")); err != nil {
				t.Error(err)
			}
			if after, _ := os.ReadFile(filepath.Join(d.Path, "..", "victim")); len(after) > 0 && string(after) != "victim" {
				t.Errorf("the victim has become %q", after)
			}
			if got, err := d.Read("file"); err != nil || string(got) != "new" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestUntrustedFolder(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, d *Folder){
		"symbolic link": func(t *testing.T, d *Folder) {
			must(t, os.Rename(d.Path, d.Path+".real"))
			must(t, os.Symlink(d.Path+".real", d.Path))
		},
		"writable by all":       func(t *testing.T, d *Folder) { must(t, os.Chmod(d.Path, 0o777)) },
		"writable by the group": func(t *testing.T, d *Folder) { must(t, os.Chmod(d.Path, 0o775)) },
		"another user's":        func(t *testing.T, d *Folder) { d.Owner++ },
		"gone":                  func(t *testing.T, d *Folder) { must(t, os.RemoveAll(d.Path)) },
		"a file": func(t *testing.T, d *Folder) {
			must(t, os.RemoveAll(d.Path))
			must(t, os.WriteFile(d.Path, nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFolder(t)
			spoil(t, &d)
			_, err := d.Read("file")
			if err == nil || errors.Is(err, os.ErrNotExist) != (name == "gone") {
				t.Errorf("read: %v", err)
			}
			if err := d.Write("file", nil); err == nil {
				t.Error("written")
			}
			if err := d.Append("audit", ""); err == nil {
				t.Error("added to")
			}
		})
	}
}

// TestAuditIsBounded: the file and the one before it, never more.
func TestAuditIsBounded(t *testing.T) {
	d := newFolder(t)
	line := strings.Repeat("a", 4096)
	for range 3 * auditMost / len(line) {
		must(t, d.Append("audit", line))
	}
	var total int64
	entries, err := os.ReadDir(d.Path)
	must(t, err)
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		if e.Name() != "file" && info.Mode() != 0o600 {
			t.Errorf("%s: %v", e.Name(), info.Mode())
		}
		total += info.Size()
	}
	if len(entries) != 3 || total > 2*auditMost+3*int64(len(line)) || total < auditMost {
		t.Errorf("%v, %d bytes", entries, total)
	}
}

// TestStateOnDisk runs a server over a real folder, as the helper does.
func TestStateOnDisk(t *testing.T) {
	m := newFakeMac(32 * gib)
	d := newFolder(t)
	onDisk := diskMac{m, d}
	s := NewServer(onDisk, "1")
	want(t, s, "set 26624 lease 60 → ", "confirm → ", "set 28672 lease 60 → ")
	got, err := ReadState(onDisk)
	if err != nil || got.Set != 28672 || *got.Remembered != 26624 || got.Lease.Value != 28672 || got.Lease.Previous != 26624 {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, os.Chmod(d.path(StateFile), 0o666))
	if got, err := ReadState(onDisk); err != nil || got.Refused != RefusedFile || got.Remembered != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// diskMac is a Mac in memory with its files on disk.
type diskMac struct {
	*fakeMac
	Folder
}

func (m diskMac) Files() Files                      { return m.Folder }
func (m diskMac) Read(n string) ([]byte, error)     { return m.Folder.Read(n) }
func (m diskMac) Write(n string, data []byte) error { return m.Folder.Write(n, data) }

package metal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folders is a copy of the Linux of testdata, to put things into.
func folders(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/linux")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func recordFolders(t *testing.T, dir string) *Recording {
	t.Helper()
	r, err := NewAt(Roots{Proc: dir + "/proc", Sys: dir + "/sys", Etc: dir + "/etc"})
	if err != nil {
		t.Fatal(err)
	}
	r.(*linux).gpu.library = ""
	c, err := Capture(r, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRecordingOfLinux(t *testing.T) {
	dir := folders(t)
	writeIn(t, dir, "proc/sys/kernel/random/boot_id", "6C5E3A30-0F4B-4B0A-9D6E-3B1B7B0B1A11\n")
	writeIn(t, dir, "proc/sys/kernel/hostname", "alices-box\n")
	writeIn(t, dir, "etc/os-release", "NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nPRETTY_NAME=\"alice\"\n")
	cpuinfo, err := os.ReadFile("testdata/linux/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	writeIn(t, dir, "proc/cpuinfo", string(cpuinfo)+"Serial\t\t: C02SERIALNO\n")
	writeIn(t, dir, "proc/7001/stat", "7001 (Secret Project) S 1 7001 7001 0 -1 4194304 1 1 1 1 30 20 0 0 20 0 1 0 9999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n")
	writeIn(t, dir, "proc/7001/status", "Name:\tSecret Project\nUid:\t1000\t1000\nVmSwap:\t     100 kB\nRssAnon:\t 9000000 kB\nRssShmem:\t       0 kB\n")
	writeIn(t, dir, "proc/7001/cmdline", "/home/alice/Secret Project\x00--token=hunter2\x00/home/alice/plan.txt\x00--port\x008080\x00")
	writeIn(t, dir, "proc/7001/environ", "API_KEY=hunter2\x00")
	writeIn(t, dir, "proc/7001/cgroup", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-Secret\\x2dProject-77.scope\n")
	if err := os.Symlink("/home/alice/Secret Project", filepath.Join(dir, "proc/7001/exe")); err != nil {
		t.Fatal(err)
	}
	writeIn(t, dir, "sys/class/power_supply/hid-alices-AA:BB:CC:DD:EE:FF/type", "Battery\n")
	writeIn(t, dir, "sys/class/power_supply/hid-alices-AA:BB:CC:DD:EE:FF/scope", "Device\n")

	c := recordFolders(t, dir)
	files, err := c.Files("plimsoll 1.2.3", nil, "alice", "alices-box")
	if err != nil {
		t.Fatal(err)
	}
	checkNothingLeaves(t, files)
	for name, data := range files {
		if strings.Contains(name+string(data), "AA:BB") {
			t.Errorf("%s tells an address", name)
		}
	}
	r, err := Replay(asFS(files))
	if err != nil {
		t.Fatal(err)
	}
	machine, err := r.Machine()
	if err != nil {
		t.Fatal(err)
	}
	live := *valueIn[Machine](c, sectionMachine)
	live.BootID = noUUID
	equal(t, "machine", show(machine), show(live))
	memory, _ := r.Memory()
	equal(t, "memory", show(memory), show(c.last(sectionMemory).value))
	swap, _ := r.Swap()
	if swap == nil || show(swap) != show(c.last(sectionSwap).value) {
		t.Errorf("swap %s, live %s", show(swap), show(c.last(sectionSwap).value))
	}
	power, _ := r.Power()
	equal(t, "power", show(power), show(c.last(sectionPower).value))
	list, err := r.Processes()
	if err != nil {
		t.Fatal(err)
	}
	processesAgain(t, c.last(sectionProcesses).value.([]Process), list)
	if p, err := r.Process(7001); err != nil || !strings.HasPrefix(p.Name, "program-") || *p.CPU != 0.5 || *p.Footprint != 9000100<<10 {
		t.Errorf("the process is %s, %v", show(p), err)
	}
	if _, err := r.GPU(); err == nil || strings.Contains(err.Error(), os.TempDir()) {
		t.Errorf("the GPU: %v", err)
	}
	if folders, _ := filepath.Glob(os.TempDir() + "/plimsoll-recording*"); len(folders) > 0 {
		t.Errorf("%q are left", folders)
	}
	if *record {
		files, err := recordFolders(t, "testdata/linux").Files("plimsoll", nil)
		if err != nil {
			t.Fatal(err)
		}
		writeRecording(t, "testdata/recordings/made-up-linux", files)
	}
}

// A name in a manifest that leads out of the folder is refused.
func TestRecordingStaysInItsFolder(t *testing.T) {
	c := recordFolders(t, "testdata/linux")
	files, err := c.Files("plimsoll", map[string][]byte{"raw/../../x": []byte("x")})
	if err == nil {
		t.Errorf("written and read back: %d files", len(files))
	}
}

// This machine, with everything that it has.
func TestRecordingOfThisMachine(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Capture(r)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	files, err := c.Files("plimsoll", nil, host)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenRecording(asFS(files))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sectionMachine, sectionPower} {
		if a, b := c.last(name), again.last(name); (a.err == nil) != (b.err == nil) {
			t.Errorf("%s: %v live, %v replayed", name, a.err, b.err)
		}
	}
	a, b := valueIn[Machine](c, sectionMachine), valueIn[Machine](again, sectionMachine)
	if b == nil || a.Chip != b.Chip || a.OS != b.OS || show(a.Cores) != show(b.Cores) || show(a.RAMBytes) != show(b.RAMBytes) {
		t.Errorf("replayed as %s, live %s", show(b), show(a))
	}
}

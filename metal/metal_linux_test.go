package metal

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// laptop copies the fixture tree, so that a test may change it.
func laptop(t testing.TB) (*linux, string) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/linux")); err != nil {
		t.Fatal(err)
	}
	return openAt(t, root), root
}

func openAt(t testing.TB, root string) *linux {
	t.Helper()
	r, err := NewAt(Roots{Proc: root + "/proc", Sys: root + "/sys", Etc: root + "/etc"})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*linux)
}

func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s does not contain %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

const kB = 1 << 10

func TestLinuxMemory(t *testing.T) {
	l, _ := laptop(t)
	m, err := l.Memory()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "memory", m, &Memory{
		Total:          new(uint64(32614412 * kB)),
		Used:           new(uint64((32614412 - 10240008) * kB)),
		App:            new(uint64(17301504 * kB)),
		Wired:          new(uint64((204812 + 300000 + 24016 + 120300) * kB)),
		Compressed:     new(uint64(512000 * kB)),
		Cached:         new(uint64((310220 + 9012344 + 600000 - 1048576) * kB)),
		Free:           new(uint64(1204480 * kB)),
		Available:      new(uint64(10240008 * kB)),
		Pressure:       PressureWarning,
		PressureSource: "psi",
	})
}

// TestLinuxMemoryAbsentAlone takes away one source after the other: exactly the
// fields that are made of it go.
func TestLinuxMemoryAbsentAlone(t *testing.T) {
	for _, c := range []struct {
		line   string
		absent []string
	}{
		{"MemTotal:", []string{"Total", "Used"}},
		{"MemAvailable:", []string{"Used", "Available"}},
		{"MemFree:", []string{"Free"}},
		{"AnonPages:", []string{"App"}},
		{"KernelStack:", []string{"Wired"}},
		{"Zswap:", []string{"Compressed"}},
		{"SReclaimable:", []string{"Cached"}},
		{"pressure", []string{"Pressure", "PressureSource"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			l, root := laptop(t)
			if c.line == "pressure" {
				remove(t, root+"/proc/pressure")
			} else {
				edit(t, root+"/proc/meminfo", c.line, "X"+c.line)
			}
			m, err := l.Memory()
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "absent fields", absentFields(*m), c.absent)
		})
	}
}

func TestLinuxMemoryUnreadable(t *testing.T) {
	l, root := laptop(t)
	remove(t, root+"/proc/meminfo")
	m, err := l.Memory()
	if err != nil || m.Pressure != PressureWarning || m.Total != nil {
		t.Errorf("without meminfo: %s, %v; want the pressure alone", show(m), err)
	}
	remove(t, root+"/proc/pressure/memory")
	if m, err := openAt(t, root).Memory(); m != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("without both: %s, %v; want ErrUnsupported", show(m), err)
	}
	if err := os.Mkdir(root+"/proc/meminfo", 0o755); err != nil {
		t.Fatal(err)
	}
	if m, err := openAt(t, root).Memory(); m != nil || err == nil {
		t.Errorf("with a folder in its place: %s, %v; want an error", show(m), err)
	}
}

func TestLinuxCompressedOnlyWithZswap(t *testing.T) {
	l, root := laptop(t)
	edit(t, root+"/proc/meminfo", "Zswap:            512000 kB\nZswapped:        1740800 kB", "Zswap:            0 kB\nZswapped:        0 kB")
	if m, err := l.Memory(); err != nil || m.Compressed == nil || *m.Compressed != 0 {
		t.Errorf("zswap on and empty: %s, %v; want 0", show(m), err)
	}
	edit(t, root+"/sys/module/zswap/parameters/enabled", "Y", "N")
	if m, err := l.Memory(); err != nil || m.Compressed != nil {
		t.Errorf("zswap off: %s, %v; want no value", show(m), err)
	}
}

// TestLinuxReadsAgain: the files stay open and are read anew each time.
func TestLinuxReadsAgain(t *testing.T) {
	l, root := laptop(t)
	first, err := l.Memory()
	if err != nil {
		t.Fatal(err)
	}
	edit(t, root+"/proc/meminfo", "MemFree:         1204480 kB", "MemFree:         1000000 kB")
	edit(t, root+"/proc/pressure/memory", "some avg10=12.40", "some avg10=0.00")
	second, err := l.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if *first.Free != 1204480*kB || *second.Free != 1000000*kB || second.Pressure != PressureNormal {
		t.Errorf("first %s, then %s", show(first), show(second))
	}
}

// TestLinuxLongFile: the counters stand behind more text than one buffer holds.
func TestLinuxLongFile(t *testing.T) {
	l, root := laptop(t)
	edit(t, root+"/proc/vmstat", "pgpgin ", strings.Repeat("nr_of_something 123456789\n", 2000)+"pgpgin ")
	for range 2 {
		s, err := l.Swap()
		if err != nil || s.In == nil || *s.In != 120511*uint64(os.Getpagesize()) {
			t.Errorf("swap %s, %v", show(s), err)
		}
	}
}

func TestLinuxSwap(t *testing.T) {
	l, root := laptop(t)
	page := uint64(os.Getpagesize())
	want := &Swap{
		Used:  new(uint64((8388604 - 5242880) * kB)),
		Total: new(uint64(8388604 * kB)),
		In:    new(120511 * page),
		Out:   new(660120 * page),
	}
	s, err := l.Swap()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "swap", s, want)

	remove(t, root+"/proc/vmstat")
	s, err = openAt(t, root).Swap()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "swap without counters", s, &Swap{Used: want.Used, Total: want.Total})

	// No swap at all is a value, and no failure.
	edit(t, root+"/proc/meminfo", "SwapTotal:       8388604 kB\nSwapFree:        5242880 kB", "SwapTotal:       0 kB\nSwapFree:        0 kB")
	s, err = l.Swap()
	if err != nil {
		t.Fatal(err)
	}
	if s.Used == nil || s.Total == nil || *s.Used != 0 || *s.Total != 0 {
		t.Errorf("a machine without swap tells %s, want zeros", show(s))
	}
	remove(t, root+"/proc/meminfo")
	if s, err := openAt(t, root).Swap(); s != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("without both files: %s, %v; want ErrUnsupported", show(s), err)
	}
}

func TestLinuxMachine(t *testing.T) {
	l, root := laptop(t)
	m, err := l.Machine()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "machine", m, &Machine{
		Chip:     "AMD Ryzen 7 7840U w/ Radeon 780M Graphics",
		Cores:    new(2),
		RAMBytes: new(uint64(32614412 * kB)),
		OS:       "Debian GNU/Linux 12",
		Uptime:   new(98765.43),
		BootID:   "1b5d5f8e-8f6e-4f0b-9a43-0c5f5c1f7a10",
	})
	for _, c := range []struct{ file, absent string }{
		{"etc/os-release", "OS"},
		{"proc/uptime", "Uptime"},
		{"proc/sys/kernel/random/boot_id", "BootID"},
		{"proc/meminfo", "RAMBytes"},
	} {
		_, root := laptop(t)
		remove(t, filepath.Join(root, c.file))
		m, err := openAt(t, root).Machine()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "absent without "+c.file, absentFields(*m), fieldsInOrder("Model", "Levels", "Generation", "Bandwidth", "BandwidthCertain", c.absent))
	}
	// What is not told is unknown and never a usual chip.
	remove(t, root+"/proc/cpuinfo")
	m, err = openAt(t, root).Machine()
	if err != nil || m.Chip != "" || m.Cores != nil {
		t.Errorf("without cpuinfo: %s, %v; want neither chip nor cores", show(m), err)
	}
	empty := t.TempDir()
	if err := os.Mkdir(empty+"/proc", 0o755); err != nil {
		t.Fatal(err)
	}
	if m, err := openAt(t, empty).Machine(); m != nil || err == nil {
		t.Errorf("an empty proc: %s, %v; want an error", show(m), err)
	}
	if _, err := NewAt(Roots{Proc: empty + "/none"}); err == nil {
		t.Error("opening a folder that is not there succeeds")
	}
}

// fieldsInOrder sorts names as Machine has them.
func fieldsInOrder(names ...string) []string {
	var sorted []string
	for f := range reflect.TypeFor[Machine]().Fields() {
		for _, n := range names {
			if n == f.Name {
				sorted = append(sorted, n)
			}
		}
	}
	return sorted
}

func TestLinuxTellsNoGPUAndHeat(t *testing.T) {
	l, _ := laptop(t)
	if g, err := l.GPU(); g != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("GPU: %v, %v", g, err)
	}
	if h, err := l.Thermal(); h != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("thermal: %v, %v", h, err)
	}
}

func TestRootsFromEnv(t *testing.T) {
	got := RootsFromEnv(func(name string) string { return "/host/" + name })
	equal(t, "roots", got, Roots{Proc: "/host/HOST_PROC", Sys: "/host/HOST_SYS", Etc: "/host/HOST_ETC"})
}

func BenchmarkPressure(b *testing.B) {
	benchmark(b, func(r Reader) error { return r.(*linux).pressure(&Memory{}) })
}

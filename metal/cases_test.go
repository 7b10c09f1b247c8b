package metal

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Troubles that users of other monitors had, each with what must hold here.

// Amounts come from the system call's struct: 676.25 MiB of 2 GiB in use, where a
// library told 0 (shirou/gopsutil#1206).
func TestSwapOfStructNotZero(t *testing.T) {
	sys := newMini()
	sys.values["vm.swapusage"] = swapUsage(2147483648, 1438384128, 709099520)
	s, err := openMini(sys).Swap()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "swap", []uint64{*s.Used, *s.Total}, []uint64{709099520, 2147483648})
	text, err := ParseSwapUsage("total = 2048.00M  used = 676.25M  free = 1371.75M  (encrypted)\n")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the same as text", []uint64{*text.Used, *text.Total}, []uint64{709099520, 2147483648})
}

// No swap in use is a value and no failure (fastfetch pull request 245).
func TestSwapOfZeroIsAValue(t *testing.T) {
	sys := newMini()
	sys.values["vm.swapusage"] = swapUsage(0, 0, 0)
	s, err := openMini(sys).Swap()
	if err != nil {
		t.Fatal(err)
	}
	if s.Used == nil || s.Total == nil || *s.Used != 0 || *s.Total != 0 {
		t.Errorf("swap is %s, want zeros", show(s))
	}
	text, err := ParseSwapUsage("total = 0.00M  used = 0.00M  free = 0.00M\n")
	if err != nil || text.Used == nil || *text.Used != 0 || text.Total == nil || *text.Total != 0 {
		t.Errorf("as text: %s, %v; want zeros", show(text), err)
	}
}

// The counters since the start never make the amount in use: 48 GB were shown on
// a Mac of 24 (gao-sun/eul#190).
func TestSwapCountersAreNoAmount(t *testing.T) {
	sys := newMini()
	sys.statistics = pages(map[int]uint32{0: 1}, map[int]uint64{112: 3 << 20, 120: 3 << 20})
	sys.values["vm.swapusage"] = swapUsage(2<<30, 1<<30, 1<<30)
	s, err := openMini(sys).Swap()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "used", *s.Used, uint64(1<<30))
	equal(t, "in and out since the start", []uint64{*s.In, *s.Out}, []uint64{48 << 30, 48 << 30})
	delete(sys.values, "vm.swapusage")
	if s, err := openMini(sys).Swap(); err != nil || s.Used != nil || s.Total != nil {
		t.Errorf("without the amounts: %s, %v; want them absent", show(s), err)
	}
}

// Inactive pages are in use (Macchina-CLI/libmacchina#166): free and inactive together
// are 3,435,708,416 bytes of these 48 GiB, and nothing of inactive is free.
func TestMemoryInactiveIsUsed(t *testing.T) {
	const total, free, inactive = 48 << 30 / page16, 26076, 183623
	v := vmStatistics{free: free, inactive: inactive, active: 1500000, wired: 700000,
		internal: 1500000, external: 130000, purgeable: 20000, compressor: 600000}
	m := v.memory(page16)
	equal(t, "used", *m.Used, uint64(1500000-20000+700000+600000)*page16)
	equal(t, "free", *m.Free, uint64(free*page16))
	equal(t, "available", *m.Available, uint64(free+20000+130000)*page16)
	if naive := uint64(3435708416); naive != (free+inactive)*page16 || *m.Available >= naive {
		t.Errorf("available %d counts inactive pages (%d with free ones)", *m.Available, naive)
	}
	// The size of a page is the system's: the same counts on Intel are a quarter.
	if intel := v.memory(4096); *intel.Used*4 != *m.Used {
		t.Errorf("with pages of 4096 bytes %d are used, with 16384 %d", *intel.Used, *m.Used)
	}
}

// Direct calls and the text of vm_stat make the same account.
func TestMemoryOfTextAndCallAgree(t *testing.T) {
	text, err := os.ReadFile("testdata/text/vm_stat/16k.txt")
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVMStat(string(text))
	if err != nil {
		t.Fatal(err)
	}
	// vm_stat prints the free pages without the speculative ones.
	called := vmStatistics{free: 40211 + 20533, speculative: 20533, wired: 402118, purgeable: 30215, external: 300456, internal: 760321, compressor: 210987}
	equal(t, "account", v.Memory(), called.memory(page16))
}

// Numbers do not follow the locale (mactop pull request 46, salt 48304).
func TestLocaleChangesNothing(t *testing.T) {
	read := func() string {
		m := openMini(newMini())
		memory, err := m.Memory()
		if err != nil {
			t.Fatal(err)
		}
		swap, err := m.Swap()
		if err != nil {
			t.Fatal(err)
		}
		return show(memory) + show(swap)
	}
	want := read()
	for _, language := range []string{"de_DE.UTF-8", "uk_UA.UTF-8", "fi_FI.UTF-8", "C"} {
		for _, name := range []string{"LANG", "LC_ALL", "LC_NUMERIC"} {
			t.Setenv(name, language)
		}
		if got := read(); got != want {
			t.Errorf("with %s: %s, want %s", language, got, want)
		}
	}
	comma, err := ParseSwapUsage("total = 4096,00M  used = 2,99M  free = 4093,01M  (encrypted)")
	if err != nil {
		t.Fatal(err)
	}
	point, err := ParseSwapUsage("total = 4096.00M  used = 2.99M  free = 4093.01M  (encrypted)")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "with a comma", comma, point)
}

// No command is run: with a service's short PATH "sysctl" is not found, and a
// Mac was taken for a base M1 (jundot/omlx#1322). Commands of these names lie in
// the PATH here and would tell.
func TestNoCommandIsRun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sysctl", "vm_stat", "memory_pressure", "ps", "lsof", "uname", "sw_vers", "lsb_release", "getconf"} {
		script := "#!/bin/sh\necho " + name + " >> '" + dir + "/run'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	r.Machine()
	r.Memory()
	r.Swap()
	r.GPU()
	r.Thermal()
	r.Power()
	r.Process(os.Getpid())
	r.Processes()
	if ran, err := os.ReadFile(filepath.Join(dir, "run")); err == nil {
		t.Errorf("on %s these were run: %s", runtime.GOOS, ran)
	}
	// The code for the other system cannot run here: it must not be able to.
	for _, pattern := range []string{"*.go", "internal/iokit/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range parsed.Imports {
				if path, _ := strconv.Unquote(i.Path.Value); path == "os/exec" || path == "C" {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}

// What is not told stays unknown; it is never filled with a usual chip.
func TestUnknownChipStaysUnknown(t *testing.T) {
	sys := newMini()
	for _, name := range []string{"machdep.cpu.brand_string", "hw.model", "hw.physicalcpu", "hw.nperflevels"} {
		delete(sys.values, name)
	}
	r, err := openMini(sys).Machine()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "absent fields", absentFields(*r), []string{"Chip", "Model", "Cores", "Levels", "Generation", "Bandwidth", "BandwidthCertain"})
}

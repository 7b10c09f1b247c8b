package metal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The decoders take any text or bytes without a panic, and what they do tell keeps
// to a few rules.

func seed(f *testing.F, kind string) {
	f.Helper()
	files, err := filepath.Glob("testdata/text/" + kind + "/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
}

func mustHaveKind(t *testing.T, err error) {
	t.Helper()
	var fault *TextError
	if err != nil && (!errors.As(err, &fault) || fault.Kind == "" || fault.Error() == "") {
		t.Errorf("the error %v has no kind", err)
	}
}

func FuzzVMStat(f *testing.F) {
	seed(f, "vm_stat")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVMStat(text)
		mustHaveKind(t, err)
		if v.PageSize == nil && (v.Free != nil || v.Wired != nil || v.Anonymous != nil) {
			t.Error("bytes without a page size")
		}
		v.Memory()
	})
}

func FuzzSysctl(f *testing.F) {
	seed(f, "sysctl")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSysctl(text, "hw.memsize", "vm.swapusage")
		mustHaveKind(t, err)
		for i := 1; i < len(s.Levels); i++ {
			if s.Levels[i-1].Index >= s.Levels[i].Index {
				t.Errorf("levels %s are not in order", show(s.Levels))
			}
		}
		if p := s.UserWireLimitPercent; p != nil && (*p != *p || *p < 0) {
			t.Errorf("a share of %v percent", *p)
		}
	})
}

func FuzzSwapUsage(f *testing.F) {
	f.Add("total = 13312.00M  used = 11625.69M  free = 1686.31M  (encrypted)")
	f.Add("vm.swapusage: total = 9216,00M  used = 7742,00M")
	f.Add("total = 99999999999999999999.00M  used = .M  free = ,M")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSwapUsage(text)
		mustHaveKind(t, err)
		if err == nil && (s.Total == nil || s.Used == nil || s.Free == nil || s.Encrypted == nil) {
			t.Errorf("%q is whole and tells %s", text, show(s))
		}
	})
}

func FuzzMemoryPressure(f *testing.F) {
	seed(f, "memory_pressure")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMemoryPressure(text)
		mustHaveKind(t, err)
		if m.FreePercent != nil && *m.FreePercent > 100 {
			t.Errorf("%d percent", *m.FreePercent)
		}
	})
}

// FuzzMacBytes gives the decoders of binary answers anything.
func FuzzMacBytes(f *testing.F) {
	f.Add(newMini().statistics)
	f.Add(swapUsage(1, 2, 3))
	f.Add(kinfoProc(1, 0, 1, 1, 2, "launchd"))
	f.Add(rusageV4(1, 2, 3))
	f.Add(procArgs2("/x", []string{"a"}, []string{"b=c"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := decodeVMStatistics(b); err == nil {
			v.memory(page16)
		}
		decodeSwapUsage(b)
		decodeUsage(b)
		decodeArgs(b)
		decodeTimeval(b)
		decodeInteger(b)
		decodeString(b)
		if len(b) >= kinfoBytes {
			decodeKinfo(b)
		}
	})
}

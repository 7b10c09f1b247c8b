package iokit_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

// library is the fake with its counters and switches.
type library struct {
	*iokit.System
	path  string
	bad   func() int32
	hosts func() int32
	fail  func(on int32)
	words func(n int32)
}

func open(t testing.TB) *library {
	t.Helper()
	l := &library{path: fake.Build(t)}
	var err error
	if l.System, err = iokit.Open(iokit.Paths{System: l.path}); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(l.path, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&l.bad, handle, "fake_bad")
	purego.RegisterLibFunc(&l.hosts, handle, "fake_hosts")
	purego.RegisterLibFunc(&l.fail, handle, "fake_fail")
	purego.RegisterLibFunc(&l.words, handle, "fake_words")
	t.Cleanup(func() {
		if n := l.bad(); n != 0 {
			t.Errorf("%d calls had arguments that macOS would not take", n)
		}
	})
	return l
}

func TestVMStatistics(t *testing.T) {
	l := open(t)
	b, err := l.VMStatistics()
	if err != nil || len(b) != 152 {
		t.Fatalf("%d bytes, %v; want 152", len(b), err)
	}
	for at, want := range map[int]uint32{0: 40000, 12: 300000, 88: 20000, 92: 10000, 128: 200000, 136: 250000, 140: 700000} {
		if got := binary.LittleEndian.Uint32(b[at:]); got != want {
			t.Errorf("at %d stands %d, want %d", at, got, want)
		}
	}
	if got := binary.LittleEndian.Uint64(b[120:]); got != 6000000000 {
		t.Errorf("swapouts are %d", got)
	}
	// A kernel that fills in less says so, and what follows is not handed out.
	l.words(24)
	if b, err := l.VMStatistics(); err != nil || len(b) != 96 {
		t.Errorf("%d bytes, %v; want the 96 that were filled in", len(b), err)
	}
	l.words(38)
}

func TestSmallCalls(t *testing.T) {
	l := open(t)
	if n, err := l.PageSize(); n != 16384 || err != nil {
		t.Errorf("page size %d, %v", n, err)
	}
	if n, d, err := l.Timebase(); n != 125 || d != 3 || err != nil {
		t.Errorf("timebase %d/%d, %v", n, d, err)
	}
	if p, err := l.Path(fake.PID); p != "/Applications/Ollama.app/Contents/Resources/ollama" || err != nil {
		t.Errorf("path %q, %v", p, err)
	}
	b, err := l.Usage(fake.PID)
	if err != nil || len(b) != 296 {
		t.Fatalf("usage has %d bytes, %v; want 296", len(b), err)
	}
	if got := binary.LittleEndian.Uint64(b[72:]); got != 13795000000 {
		t.Errorf("the footprint is %d", got)
	}
}

func TestFailingCalls(t *testing.T) {
	l := open(t)
	if _, err := l.Usage(1); err == nil {
		t.Error("usage of an unknown process succeeds")
	}
	if p, err := l.Path(1); p != "" || err == nil {
		t.Errorf("path of an unknown process is %q", p)
	}
	l.fail(1)
	defer l.fail(0)
	if b, err := l.VMStatistics(); b != nil || err == nil || !strings.Contains(err.Error(), "kern_return_t 5") {
		t.Errorf("failing statistics: %v, %v", b, err)
	}
	if n, err := l.PageSize(); n != 0 || err == nil {
		t.Errorf("failing page size: %d, %v", n, err)
	}
	if _, _, err := l.Timebase(); err == nil {
		t.Error("failing timebase succeeds")
	}
}

// TestHostPortOnce: every mach_host_self adds a reference that nobody gives back.
func TestHostPortOnce(t *testing.T) {
	l := open(t)
	for range 100 {
		if _, err := l.VMStatistics(); err != nil {
			t.Fatal(err)
		}
		again, err := iokit.Open(iokit.Paths{System: l.path})
		if err != nil || again != l.System {
			t.Fatalf("opening again gives another system: %v", err)
		}
	}
	if n := l.hosts(); n != 1 {
		t.Errorf("%d references to the host port, want 1", n)
	}
}

// TestManyGoroutines moves stacks while calls are under way.
func TestManyGoroutines(t *testing.T) {
	l := open(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				b, err := l.VMStatistics()
				if err != nil || binary.LittleEndian.Uint32(b) != 40000 {
					t.Errorf("statistics %v, %v", b, err)
					return
				}
				if b, err := l.Usage(fake.PID); err != nil || len(b) != 296 {
					t.Errorf("usage %v, %v", b, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestOpenMissing(t *testing.T) {
	if s, err := iokit.Open(iokit.Paths{}); s != nil || err == nil {
		t.Errorf("no path at all: %v, %v", s, err)
	}
	for path, want := range map[string]string{
		t.TempDir() + "/none.so":          "opening",
		fake.Build(t, "-DWITHOUT_RUSAGE"): "finding proc_pid_rusage",
	} {
		s, err := iokit.Open(iokit.Paths{System: path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Usage(fake.PID); !errors.Is(err, iokit.ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error that has %q", err, want)
		}
	}
}

func BenchmarkVMStatistics(b *testing.B) {
	l := open(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.VMStatistics(); err != nil {
			b.Fatal(err)
		}
	}
}

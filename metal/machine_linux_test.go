package metal

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// waitUncollected waits until a child has ended, and leaves it there.
func waitUncollected(pid int) error {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}

// TestThisMachine reads the machine that the test runs on.
func TestThisMachine(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := r.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if machine.RAMBytes == nil || *machine.RAMBytes < 64<<20 || machine.OS == "" || machine.Uptime == nil || *machine.Uptime <= 0 || machine.BootID == "" {
		t.Errorf("machine %s", show(machine))
	}
	if machine.Cores != nil && *machine.Cores > runtime.NumCPU()*64 {
		t.Errorf("%d cores", *machine.Cores)
	}
	memory, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*uint64{"used": memory.Used, "app": memory.App, "wired": memory.Wired,
		"cached": memory.Cached, "free": memory.Free, "available": memory.Available} {
		if v == nil || *v == 0 || *v > *memory.Total {
			t.Errorf("%s memory of %s", name, show(memory))
		}
	}
	if _, err := os.ReadFile("/proc/pressure/memory"); err == nil && memory.Pressure == "" {
		t.Error("PSI is here and no pressure is told")
	}
	swap, err := r.Swap()
	if err != nil {
		t.Fatal(err)
	}
	if swap.Total == nil || swap.Used == nil || swap.In == nil || swap.Out == nil || *swap.Used > *swap.Total {
		t.Errorf("swap %s", show(swap))
	}
	list, err := r.Processes()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range list {
		if p.PID == os.Getpid() {
			found = true
			if p.Footprint == nil || *p.Footprint == 0 || p.Name != "metal.test" || len(p.Args) == 0 || p.CPU == nil {
				t.Errorf("this process is told as %s", show(p))
			}
			again, err := r.Process(p.PID)
			if err != nil || again.Started != p.Started || again.Name != p.Name || again.App != p.App || again.Parent != os.Getppid() {
				t.Errorf("read again: %s, %v", show(again), err)
			}
		}
	}
	if !found {
		t.Error("this process is not in the list")
	}
	t.Logf("%s\n%s\n%s\n%d processes", show(machine), show(memory), show(swap), len(list))
}

// The benchmarks measure what one tick costs on this machine.
func benchmark(b *testing.B, read func(Reader) error) {
	r, err := New()
	if err != nil {
		b.Fatal(err)
	}
	if err := read(r); err != nil {
		b.Skip(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := read(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMachine(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Machine(); return err })
}

func BenchmarkMemory(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Memory(); return err })
}

func BenchmarkPressure(b *testing.B) {
	benchmark(b, func(r Reader) error { return r.(*linux).pressure(&Memory{}) })
}

func BenchmarkSwap(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Swap(); return err })
}

func BenchmarkProcess(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Process(os.Getpid()); return err })
}

func BenchmarkProcesses(b *testing.B) {
	benchmark(b, func(r Reader) error { _, err := r.Processes(); return err })
}

func BenchmarkPower(b *testing.B) {
	l, _ := laptop(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Power(); err != nil {
			b.Fatal(err)
		}
	}
}

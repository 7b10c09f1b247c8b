package metal

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests prove on a Mac what is decoded from made-up bytes elsewhere: they
// hold the direct calls against the text that Apple's own tools print.

// tool runs one of Apple's tools with numbers written as in C.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// near fails unless two readings, taken a moment apart, differ by at most a
// share of the whole machine's memory.
func near(t *testing.T, what string, got, want *uint64, total uint64) {
	t.Helper()
	if got == nil || want == nil {
		t.Errorf("%s: read %v, printed %v", what, got, want)
		return
	}
	if d := max(*got, *want) - min(*got, *want); d > total/50 {
		t.Errorf("%s: read %d, printed %d", what, *got, *want)
	}
}

func TestThisMac(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := r.Machine()
	if err != nil {
		t.Fatal(err)
	}
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil || machine.RAMBytes == nil || *machine.RAMBytes != total {
		t.Errorf("RAM %v, hw.memsize %d (%v)", machine.RAMBytes, total, err)
	}
	if !strings.HasPrefix(machine.OS, "macOS ") || machine.Chip == "" || machine.Model == "" || machine.Uptime == nil || machine.BootID == "" {
		t.Errorf("machine %+v, want a chip, a model, a system, uptime and a boot", machine)
	}

	memory, err := r.Memory()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := ParseVMStat(tool(t, "/usr/bin/vm_stat"))
	if err != nil {
		t.Fatal(err)
	}
	printed := stat.Memory()
	near(t, "wired", memory.Wired, printed.Wired, total)
	near(t, "compressed", memory.Compressed, printed.Compressed, total)
	near(t, "app", memory.App, printed.App, total)
	near(t, "available", memory.Available, printed.Available, total)
	if memory.Pressure == "" || memory.PressureSource != "kernel" {
		t.Errorf("pressure %q from %q", memory.Pressure, memory.PressureSource)
	}

	swap, err := r.Swap()
	if err != nil {
		t.Fatal(err)
	}
	usage, err := ParseSwapUsage(tool(t, "/usr/sbin/sysctl", "vm.swapusage"))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "swap used", swap.Used, usage.Used, total)
	if swap.In == nil || swap.Out == nil {
		t.Errorf("swap counters %v and %v", swap.In, swap.Out)
	}
}

func TestThisMacsProcesses(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.PID != os.Getpid() {
			continue
		}
		one, err := r.Process(p.PID)
		if err != nil || one.Started != p.Started {
			t.Errorf("read again: %+v (%v), in the list: %+v", one, err, p)
		}
		if p.Footprint == nil || *p.Footprint == 0 || p.CPU == nil || len(p.Args) == 0 || p.Parent != os.Getppid() {
			t.Errorf("this process is %+v", p)
		}
		return
	}
	t.Errorf("%d processes, this one not among them", len(list))
}

package metal

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// kinfoProc builds struct kinfo_proc.
func kinfoProc(pid, parent int, seconds uint64, micros uint32, state byte, command string) []byte {
	b := make([]byte, kinfoBytes)
	binary.LittleEndian.PutUint64(b[0:], seconds)
	binary.LittleEndian.PutUint32(b[8:], micros)
	b[36] = state
	binary.LittleEndian.PutUint32(b[40:], uint32(pid))
	copy(b[243:259], command)
	binary.LittleEndian.PutUint32(b[560:], uint32(parent))
	return b
}

// rusageV4 builds struct rusage_info_v4; resident size differs from the footprint.
func rusageV4(user, system, footprint uint64) []byte {
	b := make([]byte, usageBytes)
	binary.LittleEndian.PutUint64(b[16:], user)
	binary.LittleEndian.PutUint64(b[24:], system)
	binary.LittleEndian.PutUint64(b[64:], 5107<<20)
	binary.LittleEndian.PutUint64(b[72:], footprint)
	return b
}

// procArgs2 builds what kern.procargs2 returns.
func procArgs2(executable string, args, env []string) []byte {
	b := le32(uint32(len(args)))
	b = append(b, executable...)
	for b = append(b, 0); len(b)%8 != 0; b = append(b, 0) {
	}
	for _, s := range slices.Concat(args, env) {
		b = append(append(b, s...), 0)
	}
	return b
}

func miniWithProcesses() *mini {
	m := newMini()
	runner := kinfoProc(4242, 900, 1700000000, 123456, 2, "ollama")
	helper := kinfoProc(500, 400, 1700000100, 0, 2, "Google Chrome He")
	root := kinfoProc(0, 0, 1690000000, 0, 2, "kernel_task")
	ended := kinfoProc(77, 1, 1700000200, 0, zombie, "ended")
	m.values["kern.proc.all"] = slices.Concat(root, helper, ended, runner, make([]byte, 100))
	m.values["kern.proc.pid 4242"] = runner
	m.values["kern.proc.pid 77"] = ended
	m.values["kern.proc.pid 4243"] = nil // the kernel's answer for nobody
	m.values["kern.procargs2 4242"] = procArgs2("/opt/ollama", []string{"/opt/ollama", "runner", "", "--model", "a b"}, []string{"HOME=/root", "TOKEN=secret"})
	m.paths = map[int]string{
		4242: "/opt/ollama",
		500:  "/Applications/Google Chrome.app/Contents/Frameworks/F.framework/Helpers/Google Chrome Helper.app/Contents/MacOS/Google Chrome Helper",
	}
	m.usage = map[int][]byte{4242: rusageV4(24_000_000, 12_000_000, 13795<<20), 500: rusageV4(0, 0, 1)}
	return m
}

func TestMacProcesses(t *testing.T) {
	list, err := openMini(miniWithProcesses()).Processes()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "processes", list, []Process{
		{PID: 0, Started: 1690000000_000000, Name: "kernel_task", App: "kernel_task"},
		{PID: 500, Parent: 400, Started: 1700000100_000000, Name: "Google Chrome Helper", App: "Google Chrome",
			Footprint: new(uint64(1)), CPU: new(0.0)},
		{PID: 4242, Parent: 900, Started: 1700000000_123456, Name: "ollama", App: "ollama",
			Args:      []string{"/opt/ollama", "runner", "", "--model", "a b"},
			Footprint: new(uint64(13795 << 20)),
			CPU:       new(1.5)}, // 36 million × 125 ÷ 3 ns
	})
}

func TestMacProcess(t *testing.T) {
	sys := miniWithProcesses()
	m := openMini(sys)
	p, err := m.Process(4242)
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != 4242 || p.Args != nil || *p.Footprint != 13795<<20 || p.Started != 1700000000_123456 {
		t.Errorf("process %s", show(p))
	}
	for _, pid := range []int{77, 4243} {
		if p, err := m.Process(pid); p != nil || !errors.Is(err, ErrNoProcess) {
			t.Errorf("process %d: %s, %v; want ErrNoProcess", pid, show(p), err)
		}
	}
	sys.values["kern.proc.pid 5"] = sys.values["kern.proc.pid 4242"]
	if p, err := m.Process(5); p != nil || !errors.Is(err, ErrNoProcess) {
		t.Errorf("an answer about another process: %s, %v", show(p), err)
	}
	// What belongs to its owner alone is absent, the rest stays.
	delete(sys.usage, 4242)
	delete(sys.paths, 4242)
	if p, err := m.Process(4242); err != nil || p.Footprint != nil || p.CPU != nil || p.Name != "ollama" || p.App != "ollama" {
		t.Errorf("another user's: %s, %v", show(p), err)
	}
	sys.usage[4242] = rusageV4(1, 1, 1)[:200]
	if p, err := m.Process(4242); err != nil || p.Footprint != nil {
		t.Errorf("a short usage: %s, %v", show(p), err)
	}
	sys = miniWithProcesses()
	sys.timebase = [2]uint32{}
	if p, err := openMini(sys).Process(4242); err != nil || p.CPU != nil || p.Footprint == nil {
		t.Errorf("without a timebase: %s, %v; want no processor time alone", show(p), err)
	}
}

// TestDecodeArgs: never a word of the environment, and none that was cut.
func TestDecodeArgs(t *testing.T) {
	full := procArgs2("/x", []string{"/x", "-a"}, []string{"SECRET=1"})
	equal(t, "arguments", decodeArgs(full), []string{"/x", "-a"})
	equal(t, "cut arguments", decodeArgs(full[:len("nnnn/x\x00\x00/x\x00-")]), []string{"/x"})
	for _, b := range [][]byte{nil, {1}, le32(0), le32(3), append(le32(1<<31), 'x', 0, 'y', 0)} {
		if got := decodeArgs(b); got != nil {
			t.Errorf("%q has arguments %q", b, got)
		}
	}
}

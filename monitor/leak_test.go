package monitor

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

func memoryLine(ramGiB, wiredGiB float64, more string) string {
	return fmt.Sprintf(`{"snapshot":{"memory":{"total_bytes":%.0f,"wired_bytes":%.0f,"pressure":"normal"}%s}}`, ramGiB*gib, wiredGiB*gib, more)
}

// Killing a process with a large wired model can leak its memory until the
// machine restarts (github.com/jundot/omlx/issues/2184).
func TestMemoryLeaked(t *testing.T) {
	const model = `,"residents":[{"backend":"ollama","model":"m","size_bytes":109521666048,"footprint_bytes":109521666048}]`
	for _, test := range []struct {
		name  string
		lines []string
		bytes float64 // GiB, 0 for no alert
	}{
		{"414 of 512 GiB without a model", times(20, memoryLine(512, 414, "")), 414 - 12},
		{"not at once", times(10, memoryLine(512, 414, "")), 0},
		{"while a model is in memory", times(60, memoryLine(512, 414, model)), 0},
		{"unloading freed 11 of 102", slices.Concat(times(20, memoryLine(512, 496, model)), times(20, memoryLine(512, 485, ""))), 485 - 12},
		{"memory that comes back", slices.Concat(times(20, memoryLine(512, 114, model)), times(5, memoryLine(512, 90, "")), times(30, memoryLine(512, 9, ""))), 0},
		{"an idle 16 GB Mac", times(60, memoryLine(16, 2.4, "")), 0},
		{"an idle 128 GB Mac", times(60, memoryLine(128, 8, "")), 0},
		{"a tenth of RAM more", times(60, memoryLine(16, 3+1.7, "")), 1.7},
		{"a cloud model is none", times(20, memoryLine(64, 40, `,"residents":[{"backend":"o","model":"m","cloud":true}]`)), 36},
		{"a model on another machine is none", times(20, memoryLine(64, 40, `,"backends":[{"name":"o","kind":"ollama","address":"http://10.0.0.2:11434","state":"running"}],"residents":[{"backend":"o","model":"m"}]`)), 36},
		{"Linux wires for other reasons", times(20, memoryLine(64, 40, `,"machine":{"os":"Debian GNU/Linux 12"}`)), 0},
		{"a model later leaves it standing", slices.Concat(times(20, memoryLine(512, 414, "")), times(20, memoryLine(512, 516, model))), 516 - 12 - 102},
		{"gone after a restart", slices.Concat(times(20, memoryLine(512, 414, "")), times(8, memoryLine(512, 6, ""))), 0},
		{"not told", times(20, `{"snapshot":{"memory":{"total_bytes":549755813888}}}`), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := play(t, test.lines...)
			a := standing(out[len(out)-1], "memory_leaked")
			if (a == nil) != (test.bytes == 0) {
				t.Fatalf("alert %+v, want %v GiB", a, test.bytes)
			}
			if a == nil {
				return
			}
			if got := float64(*a.Evidence.Bytes) / gib; got < test.bytes-0.1 || got > test.bytes+0.1 {
				t.Errorf("%.1f GiB, want %v", got, test.bytes)
			}
			if l := out[len(out)-1].Snapshot.Leaked; l == nil || l.Bytes != *a.Evidence.Bytes || l.System == 0 || l.Claimed != nil {
				t.Errorf("evidence in the snapshot: %+v", l)
			}
		})
	}
}

// Wired memory that a live program may hold is no leak; processes are read once
// a minute at most for it, and not at all where nothing is suspicious.
func TestLiveProgramsClaimWiredMemory(t *testing.T) {
	for _, test := range []struct {
		name      string
		wired     uint64
		processes []metal.Process
		leaked    uint64
		lists     int
	}{
		{"nothing suspicious", 4 * gib, nil, 0, 0},
		{"a leak", 20 * gib, []metal.Process{{PID: 9, Name: "Chrome", Footprint: new(uint64(gib / 2))}}, 17 * gib, 3},
		{"a virtual machine", 20 * gib, []metal.Process{{PID: 9, Name: "com.apple.Virtualization.VirtualMachine", Footprint: new(uint64(16 * gib))}}, 0, 3},
		{"a server that nobody watches", 7 * gib, []metal.Process{{PID: 9, Name: "llama-server", Footprint: new(uint64(gib * 9 / 10))}, {PID: 10, Name: "lms", Footprint: new(uint64(gib / 2))}}, 0, 3},
		{"nobody's", 8 * gib, []metal.Process{{PID: 9, Name: "root's"}}, 5 * gib, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine := newFakeMachine()
				machine.memory.Wired, machine.processes = &test.wired, test.processes
				_, box := start(t, machine)
				begin := time.Now()
				u := until(t, box, "two minutes passed", func(u Update) bool { return u.Snapshot.Taken.Sub(begin) > 100*time.Second })
				switch l := u.Snapshot.Leaked; {
				case (l == nil) != (test.leaked == 0), l != nil && l.Bytes != test.leaked:
					t.Errorf("%+v, want %d", l, test.leaked)
				case l != nil && l.Claimed == nil:
					t.Error("it is not said what live programs have")
				case l != nil && l.Since.Sub(begin) > leakQuiet+tickIdle:
					t.Errorf("since %v after the start", l.Since.Sub(begin))
				}
				machine.set(func(m *fakeMachine) {
					if m.lists > test.lists {
						t.Errorf("processes were listed %d times, want at most %d", m.lists, test.lists)
					}
				})
			})
		})
	}
}

func TestMappedWeights(t *testing.T) {
	memory := func() *metal.Memory {
		return &metal.Memory{Total: new(uint64(32 * gib)), Available: new(uint64(20 * gib)), Cached: new(uint64(15 * gib))}
	}
	model := func(size, footprint uint64) Resident {
		return Resident{Resident: backend.Resident{Model: "m", Size: &size, GPU: &size}, Footprint: &footprint}
	}
	for _, test := range []struct {
		name        string
		s           Snapshot
		mapped      uint64
		reclaimable uint64
		ram         uint64
	}{
		{"footprint holds it all", Snapshot{Memory: memory(), Residents: []Resident{model(9*gib, 10*gib)}}, 0, 20 * gib, 18 * gib},
		{"weights are file pages", Snapshot{Memory: memory(), Residents: []Resident{model(9*gib, 1*gib)}}, 8 * gib, 12 * gib, 19 * gib},
		{"two models", Snapshot{Memory: memory(), Residents: []Resident{model(9*gib, 3*gib), model(4*gib, 5*gib)}}, 6 * gib, 14 * gib, 14 * gib},
		{"no more than there are file pages", Snapshot{Memory: memory(), Residents: []Resident{model(31*gib, 1*gib)}}, 15 * gib, 5 * gib, 12 * gib},
		{"never below zero", Snapshot{Memory: &metal.Memory{Total: new(uint64(32 * gib)), Available: new(uint64(2 * gib))}, Residents: []Resident{model(31*gib, 1*gib)}}, 30 * gib, 0, 0},
		{"footprint not measured", Snapshot{Memory: memory(), Residents: []Resident{{Resident: backend.Resident{Size: new(uint64(9 * gib))}}}}, 0, 20 * gib, 19 * gib},
		{"size not told", Snapshot{Memory: memory(), Residents: []Resident{{Footprint: new(uint64(gib))}}}, 0, 20 * gib, 27 * gib},
		{"on another machine", Snapshot{Memory: memory(), Residents: []Resident{func() Resident { r := model(9*gib, 0); r.Cloud = true; return r }()}}, 0, 20 * gib, 28 * gib},
		{"a card with memory of its own", Snapshot{Memory: memory(), GPU: &metal.GPU{Source: "nvml"}, Residents: []Resident{model(9*gib, 1*gib)}}, 0, 20 * gib, 27 * gib},
		{"Linux on the processor", Snapshot{Memory: memory(), Machine: &metal.Machine{OS: "Debian GNU/Linux 12"},
			Residents: []Resident{{Resident: backend.Resident{Size: new(uint64(9 * gib)), GPU: new(uint64(0))}, Footprint: new(uint64(gib))}}}, 8 * gib, 12 * gib, 19 * gib},
	} {
		h := headroom(&test.s)
		if got := value(h.Mapped); got != test.mapped || *h.Reclaimable != test.reclaimable || *h.RAM != test.ram {
			t.Errorf("%s: mapped %d, reclaimable %d, RAM %d GiB; want %d, %d, %d", test.name,
				got/gib, *h.Reclaimable/gib, *h.RAM/gib, test.mapped/gib, test.reclaimable/gib, test.ram/gib)
		}
		if (h.Mapped == nil) != (test.mapped == 0) {
			t.Errorf("%s: %v, want absent where there is none", test.name, h.Mapped)
		}
	}
}

func value(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

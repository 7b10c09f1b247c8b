package metal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// mini is a Mac whose answers are bytes. What is deleted from it cannot be read.
type mini struct {
	values     map[string][]byte // sysctl; processes are at "kern.proc.pid 4242"
	statistics []byte
	page       uint64
	usage      map[int][]byte
	paths      map[int]string
	timebase   [2]uint32
	asked      map[string]int
}

var errClosed = errors.New("closed")

func (m *mini) Sysctl(name string, args ...int) ([]byte, error) {
	for _, a := range args {
		name += fmt.Sprintf(" %d", a)
	}
	m.asked[name]++
	b, ok := m.values[name]
	if !ok {
		return nil, fmt.Errorf("sysctl %s: %w", name, ErrUnsupported)
	}
	return b, nil
}

func (m *mini) VMStatistics() ([]byte, error) {
	m.asked["host_statistics64"]++
	if m.statistics == nil {
		return nil, errClosed
	}
	return m.statistics, nil
}

func (m *mini) PageSize() (uint64, error) {
	if m.page == 0 {
		return 0, errClosed
	}
	return m.page, nil
}

func (m *mini) Timebase() (uint32, uint32, error) { return m.timebase[0], m.timebase[1], nil }

func (m *mini) Usage(pid int) ([]byte, error) {
	if b := m.usage[pid]; b != nil {
		return b, nil
	}
	return nil, errClosed
}

func (m *mini) Path(pid int) (string, error) {
	if p := m.paths[pid]; p != "" {
		return p, nil
	}
	return "", errClosed
}

func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
func le64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// pages builds struct vm_statistics64 of the counts by their offsets.
func pages(words map[int]uint32, longs map[int]uint64) []byte {
	b := make([]byte, vmStatisticsBytes)
	for at, n := range words {
		binary.LittleEndian.PutUint32(b[at:], n)
	}
	for at, n := range longs {
		binary.LittleEndian.PutUint64(b[at:], n)
	}
	return b
}

// swapUsage builds struct xsw_usage.
func swapUsage(total, avail, used uint64) []byte {
	b := append(append(le64(total), le64(avail)...), le64(used)...)
	return append(append(b, le32(16384)...), le32(1)...)
}

const page16 = 16384

// now is the time of the tests.
var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

func newMini() *mini {
	return &mini{
		values: map[string][]byte{
			"machdep.cpu.brand_string":            []byte("Apple M5\x00"),
			"hw.model":                            []byte("Mac17,3\x00"),
			"hw.physicalcpu":                      le32(10),
			"hw.memsize":                          le64(32 << 30),
			"hw.nperflevels":                      le32(2),
			"hw.perflevel0.name":                  []byte("Super\x00"),
			"hw.perflevel0.physicalcpu":           le32(4),
			"hw.perflevel1.name":                  []byte("Efficiency\x00"),
			"hw.perflevel1.physicalcpu":           le32(6),
			"kern.osproductversion":               []byte("26.4\x00"),
			"kern.boottime":                       append(append(le64(uint64(now.Unix()-3600)), le32(500000)...), 0, 0, 0, 0),
			"kern.bootsessionuuid":                []byte("6C5E3A30-0F4B-4B0A-9D6E-3B1B7B0B1A11\x00"),
			"kern.memorystatus_vm_pressure_level": le32(2),
			"vm.swapusage":                        swapUsage(4<<30, 1<<30, 3<<30),
		},
		statistics: pages(map[int]uint32{
			0: 50000, 4: 700000, 8: 690000, 12: 260000, 88: 30000, 92: 20000, 128: 300000, 136: 310000, 140: 900000,
		}, map[int]uint64{32: 1, 40: 2, 112: 1000, 120: 7000}),
		page:     page16,
		timebase: [2]uint32{125, 3},
		asked:    map[string]int{},
	}
}

func openMini(m *mini) *mac { return newMac(m, nil, func() time.Time { return now }) }

func amount(pages uint64) *uint64 { return new(pages * page16) }

func TestMacMachine(t *testing.T) {
	r, err := openMini(newMini()).Machine()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "machine", r, &Machine{
		Chip: "Apple M5", Model: "Mac17,3", Cores: new(10),
		Levels:   []CoreLevel{{"Super", 4}, {"Efficiency", 6}},
		RAMBytes: new(uint64(32 << 30)), OS: "macOS 26.4", Uptime: new(3599.5),
		Generation: "M5", Bandwidth: new(153e9), BandwidthCertain: new(true),
		BootID: "6C5E3A30-0F4B-4B0A-9D6E-3B1B7B0B1A11",
	})
}

func TestMacMemory(t *testing.T) {
	r, err := openMini(newMini()).Memory()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "memory", r, &Memory{
		Total:          new(uint64(32 << 30)),
		Used:           amount(900000 - 30000 + 260000 + 300000),
		App:            amount(900000 - 30000),
		Wired:          amount(260000),
		Compressed:     amount(300000),
		Cached:         amount(310000 + 30000),
		Free:           amount(50000 - 20000), // free_count holds the speculative pages
		Available:      amount(50000 + 30000 + 310000),
		Pressure:       PressureWarning,
		PressureSource: "kernel",
	})
}

func TestMacSwap(t *testing.T) {
	r, err := openMini(newMini()).Swap()
	if err != nil {
		t.Fatal(err)
	}
	// swapins and swapouts, not the pageins and pageouts beside them.
	equal(t, "swap", r, &Swap{Used: new(uint64(3 << 30)), Total: new(uint64(4 << 30)), In: amount(1000), Out: amount(7000)})
}

// TestMacFieldsAbsentAlone makes one source after the other unreadable: the
// fields made of it go, and no other.
func TestMacFieldsAbsentAlone(t *testing.T) {
	machine := func(m *mac) (any, error) { r, err := m.Machine(); return valueOf(r), err }
	memory := func(m *mac) (any, error) { r, err := m.Memory(); return valueOf(r), err }
	swap := func(m *mac) (any, error) { r, err := m.Swap(); return valueOf(r), err }
	counted := []string{"Used", "App", "Wired", "Compressed", "Cached", "Free", "Available"}
	for _, c := range []struct {
		name   string
		spoil  func(*mini)
		read   func(*mac) (any, error)
		absent []string
	}{
		{"chip", gone("machdep.cpu.brand_string"), machine, []string{"Chip", "Generation", "Bandwidth", "BandwidthCertain"}},
		{"model", gone("hw.model"), machine, []string{"Model"}},
		{"cores", gone("hw.physicalcpu"), machine, []string{"Cores"}},
		{"cores 0", set("hw.physicalcpu", le32(0)), machine, []string{"Cores"}},
		{"levels", gone("hw.nperflevels"), machine, []string{"Levels"}},
		{"name of a level", gone("hw.perflevel1.name"), machine, []string{"Levels"}},
		{"absurd levels", set("hw.nperflevels", le32(1<<30)), machine, []string{"Levels"}},
		{"memory size", gone("hw.memsize"), machine, []string{"RAMBytes"}},
		{"memory size of a strange width", set("hw.memsize", []byte{1, 2}), machine, []string{"RAMBytes"}},
		{"version", gone("kern.osproductversion"), machine, []string{"OS"}},
		{"boot time", gone("kern.boottime"), machine, []string{"Uptime"}},
		{"boot time in the future", set("kern.boottime", append(le64(uint64(now.Unix()+9)), 0, 0, 0, 0)), machine, []string{"Uptime"}},
		{"boot session", gone("kern.bootsessionuuid"), machine, []string{"BootID"}},
		{"level", gone("kern.memorystatus_vm_pressure_level"), memory, []string{"Pressure", "PressureSource"}},
		{"unknown level", set("kern.memorystatus_vm_pressure_level", le32(3)), memory, []string{"Pressure", "PressureSource"}},
		{"total", gone("hw.memsize"), memory, []string{"Total"}},
		{"statistics", func(m *mini) { m.statistics = nil }, memory, counted},
		{"short statistics", func(m *mini) { m.statistics = m.statistics[:96] }, memory, counted},
		{"statistics of zeros", func(m *mini) { clear(m.statistics) }, memory, counted},
		{"page size", func(m *mini) { m.page = 0 }, memory, counted},
		{"absurd page size", func(m *mini) { m.page = 1000 }, memory, counted},
		{"more purgeable than anonymous pages", func(m *mini) { copy(m.statistics[140:], le32(1)) }, memory, []string{"Used", "App"}},
		{"more speculative than free pages", func(m *mini) { copy(m.statistics[0:], le32(1)) }, memory, []string{"Free", "Available"}},
		{"usage", gone("vm.swapusage"), swap, []string{"Used", "Total"}},
		{"short usage", set("vm.swapusage", make([]byte, 24)), swap, []string{"Used", "Total"}},
		{"counters", func(m *mini) { m.statistics = nil }, swap, []string{"In", "Out"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMini()
			c.spoil(m)
			r, err := c.read(openMini(m))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "absent fields", absentFields(r), c.absent)
		})
	}
}

func gone(name string) func(*mini) { return func(m *mini) { delete(m.values, name) } }

func set(name string, b []byte) func(*mini) { return func(m *mini) { m.values[name] = b } }

// valueOf is what a pointer leads to, so that its fields can be looked at.
func valueOf(p any) any {
	if v := reflect.ValueOf(p); !v.IsNil() {
		return v.Elem().Interface()
	}
	return nil
}

func TestMacNothingReadable(t *testing.T) {
	m := openMini(&mini{asked: map[string]int{}})
	if r, err := m.Machine(); r != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("machine %s, %v", show(r), err)
	}
	if r, err := m.Memory(); r != nil || !errors.Is(err, errClosed) {
		t.Errorf("memory %s, %v", show(r), err)
	}
	if r, err := m.Swap(); r != nil || !errors.Is(err, errClosed) {
		t.Errorf("swap %s, %v", show(r), err)
	}
	if r, err := m.Processes(); r != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("processes %s, %v", show(r), err)
	}
	for name, read := range map[string]func() error{
		"GPU":     func() error { _, err := m.GPU(); return err },
		"thermal": func() error { _, err := m.Thermal(); return err },
		"power":   func() error { _, err := m.Power(); return err },
	} {
		if err := read(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", name, err)
		}
	}
}

// TestMacAsksOnce: identity is read once, and memory and swap of one tick share a
// reading of the statistics, which the kernel rations.
func TestMacAsksOnce(t *testing.T) {
	sys := newMini()
	at := now
	m := newMac(sys, nil, func() time.Time { return at })
	for range 3 {
		m.Machine()
		m.Memory()
		m.Swap()
		at = at.Add(time.Second)
	}
	if n := sys.asked["machdep.cpu.brand_string"]; n != 1 {
		t.Errorf("the chip was asked for %d times", n)
	}
	if n := sys.asked["host_statistics64"]; n != 3 {
		t.Errorf("the statistics were asked for %d times in 3 ticks", n)
	}
	at = at.Add(-time.Hour) // a clock that was set back makes no reading last
	m.Memory()
	if n := sys.asked["host_statistics64"]; n != 4 {
		t.Errorf("the statistics were asked for %d times, want a new reading after the clock went back", n)
	}
}

package metal

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// macSystem is what a Mac is asked. The calls themselves stand in
// metal_darwin.go and internal/iokit; all that is made of their bytes stands here
// and is tested on Linux.
type macSystem interface {
	// Sysctl reads a value by its name. Unknown names wrap ErrUnsupported.
	Sysctl(name string, args ...int) ([]byte, error)
	// VMStatistics is struct vm_statistics64 as far as the kernel filled it in.
	VMStatistics() ([]byte, error)
	// PageSize is the size of a page of the kernel, which the statistics count in.
	// The sysctl hw.pagesize may differ from it under Rosetta.
	PageSize() (uint64, error)
	// Timebase makes nanoseconds of mach time: × numer ÷ denom.
	Timebase() (numer, denom uint32, err error)
	// Usage is struct rusage_info_v4 of a process.
	Usage(pid int) ([]byte, error)
	// Path is the executable of a process.
	Path(pid int) (string, error)
}

// mac makes facts of what a Mac tells. Every field is read on its own: one that
// cannot be read is absent and takes no other with it.
type mac struct {
	sys      macSystem
	hardware macHardware // nil where there is none to ask
	now      func() time.Time
	awake    func() time.Duration // without sleep
	identity *Machine             // what does not change, read once
	gpu      macGPU
	page     uint64
	timebase struct{ numer, denom float64 } // 0 while unknown

	counts   *vmStatistics
	countsAt time.Time
}

// newMac reads a Mac. Go's monotonic time, of which awake is made, stands still
// while a Mac sleeps (mach_absolute_time).
func newMac(sys macSystem, hardware macHardware, now func() time.Time) *mac {
	start := now()
	return &mac{sys: sys, hardware: hardware, now: now, awake: func() time.Duration { return now().Sub(start) }}
}

// Machine reads what does not change once, and the uptime.
func (m *mac) Machine() (*Machine, error) {
	if m.identity == nil {
		m.identity = m.identify()
	}
	r := *m.identity
	if b, err := m.sys.Sysctl("kern.boottime"); err == nil {
		if boot, ok := decodeTimeval(b); ok {
			if up := m.now().Sub(boot).Seconds(); up >= 0 {
				r.Uptime = &up
			}
		}
	}
	if r.Chip == "" && r.Model == "" && r.Cores == nil && r.RAMBytes == nil && r.OS == "" && r.Uptime == nil {
		m.identity = nil
		_, err := m.sys.Sysctl("hw.memsize")
		return nil, fmt.Errorf("reading the machine: nothing is told: %w", err)
	}
	return &r, nil
}

func (m *mac) identify() *Machine {
	r := &Machine{
		Chip:     m.text("machdep.cpu.brand_string"),
		Model:    m.text("hw.model"),
		Cores:    m.count("hw.physicalcpu"),
		RAMBytes: m.number("hw.memsize"),
		BootID:   m.text("kern.bootsessionuuid"),
		Levels:   m.levels(),
	}
	if version := m.text("kern.osproductversion"); version != "" {
		r.OS = "macOS " + version
	}
	m.identifyChip(r)
	return r
}

// identifyChip adds what the table knows of the chip. GPU cores decide on some, so
// the GPU is asked for them.
func (m *mac) identifyChip(r *Machine) {
	if m.gpu.cores == nil && m.hardware != nil {
		if accelerators, err := m.hardware.Accelerators(); err == nil {
			g := &GPU{}
			g.describe(accelerators)
			m.gpu.cores = g.Cores
		}
	}
	var fast *int
	if len(r.Levels) > 0 {
		fast = &r.Levels[0].Cores
	}
	if c, ok := lookupChip(r.Chip, m.gpu.cores, fast, r.RAMBytes); ok {
		r.Generation = c.Generation
		if c.Bandwidth != nil {
			r.Bandwidth, r.BandwidthCertain = c.Bandwidth, &c.Certain
		}
	}
}

// levels reads hw.perflevelN, 0 being the fastest. The names came after the
// counts (macOS 12): a list with unnamed or uncounted levels is no list.
func (m *mac) levels() []CoreLevel {
	n := m.count("hw.nperflevels")
	if n == nil || *n > maxLevels {
		return nil
	}
	var levels []CoreLevel
	for i := range *n {
		prefix := "hw.perflevel" + strconv.Itoa(i)
		name, cores := m.text(prefix+".name"), m.count(prefix+".physicalcpu")
		if name == "" || cores == nil {
			return nil
		}
		levels = append(levels, CoreLevel{Name: name, Cores: *cores})
	}
	return levels
}

// Memory makes the account of host_statistics64 and reads the kernel's level.
func (m *mac) Memory() (*Memory, error) {
	r := &Memory{}
	v, page, err := m.statistics()
	if err == nil {
		r = v.memory(page)
	}
	r.Total = m.number("hw.memsize")
	if level := m.number("kern.memorystatus_vm_pressure_level"); level != nil {
		if r.Pressure = kernelPressure(*level); r.Pressure != "" {
			r.PressureSource = pressureFromKernel
		}
	}
	if *r == (Memory{}) {
		return nil, fmt.Errorf("reading memory: %w", err)
	}
	return r, nil
}

// Swap reads amounts from vm.swapusage and counters from host_statistics64. The
// counters never make an amount: they count since the system started.
func (m *mac) Swap() (*Swap, error) {
	r := &Swap{}
	b, err := m.sys.Sysctl("vm.swapusage")
	if err == nil {
		var u *SwapUsage
		if u, err = decodeSwapUsage(b); err == nil {
			r.Used, r.Total = u.Used, u.Total
		}
	}
	v, page, countErr := m.statistics()
	if countErr == nil {
		r.In, r.Out = times(&v.swapIns, page), times(&v.swapOuts, page)
	}
	if *r == (Swap{}) {
		return nil, fmt.Errorf("reading swap: %w", errors.Join(err, countErr))
	}
	return r, nil
}

// sameReading is how long one reading of host_statistics64 serves: memory and
// swap of one tick are asked for one after the other, and the kernel answers
// programs that are not Apple's two to ten times a second and repeats itself in
// between (XNU, rate_limit_host_statistics).
const sameReading = 50 * time.Millisecond

// statistics reads the page counts and the size of a page.
func (m *mac) statistics() (*vmStatistics, uint64, error) {
	if m.page == 0 {
		n, err := m.sys.PageSize()
		if err != nil {
			return nil, 0, err
		}
		if pageSize(&n) == nil {
			return nil, 0, fmt.Errorf("the system tells a page size of %d bytes", n)
		}
		m.page = n
	}
	now := m.now()
	if age := now.Sub(m.countsAt); m.counts != nil && age >= 0 && age < sameReading {
		return m.counts, m.page, nil
	}
	b, err := m.sys.VMStatistics()
	if err != nil {
		return nil, 0, err
	}
	v, err := decodeVMStatistics(b)
	if err != nil {
		return nil, 0, err
	}
	m.counts, m.countsAt = v, now
	return v, m.page, nil
}

// number, count and text read a value by name; nil or "" when it is not told.
func (m *mac) number(name string) *uint64 {
	b, err := m.sys.Sysctl(name)
	if err != nil {
		return nil
	}
	return decodeInteger(b)
}

func (m *mac) count(name string) *int {
	n := m.number(name)
	if n == nil || *n == 0 || *n > 1<<16 {
		return nil
	}
	return new(int(*n))
}

func (m *mac) text(name string) string {
	b, err := m.sys.Sysctl(name)
	if err != nil {
		return ""
	}
	return decodeString(b)
}

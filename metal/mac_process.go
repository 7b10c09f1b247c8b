package metal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Processes lists all processes; what macOS keeps to their owners (footprint,
// processor time, arguments) is absent for other users'.
func (m *mac) Processes() ([]Process, error) {
	b, err := m.sys.Sysctl("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var gpu map[int]uint64 // nanoseconds by pid
	if m.hardware != nil {
		gpu, _ = m.hardware.GPUTimes()
	}
	list := make([]Process, 0, len(b)/kinfoBytes)
	for ; len(b) >= kinfoBytes; b = b[kinfoBytes:] {
		k := decodeKinfo(b)
		if k.gone() {
			continue
		}
		p := m.process(k)
		if args, err := m.sys.Sysctl("kern.procargs2", k.pid); err == nil {
			p.Args = decodeArgs(args)
		}
		if ns, ok := gpu[k.pid]; ok {
			p.GPU = new(float64(ns) / 1e9)
		}
		list = append(list, *p)
	}
	if len(list) == 0 {
		return nil, errors.New("listing processes: the system named none")
	}
	return list, nil
}

// Process reads one process again, without its arguments.
func (m *mac) Process(pid int) (*Process, error) {
	k, err := readKinfo(m.sys, pid)
	if err != nil {
		return nil, fmt.Errorf("reading process %d: %w", pid, err)
	}
	return m.process(k), nil
}

// readKinfo asks for one process. For a pid that nobody has the kernel returns
// no bytes and no error.
func readKinfo(sys interface {
	Sysctl(name string, args ...int) ([]byte, error)
}, pid int) (kinfo, error) {
	b, err := sys.Sysctl("kern.proc.pid", pid)
	if err != nil {
		return kinfo{}, err
	}
	if len(b) < kinfoBytes {
		return kinfo{}, ErrNoProcess
	}
	k := decodeKinfo(b)
	if k.pid != pid || k.gone() {
		return kinfo{}, ErrNoProcess
	}
	return k, nil
}

func (m *mac) process(k kinfo) *Process {
	p := &Process{PID: k.pid, Parent: k.parent, Started: k.started, Name: k.command}
	if executable, err := m.sys.Path(k.pid); err == nil && executable != "" {
		p.Name = path.Base(executable)
		p.App = bundleApp(executable)
	}
	if p.App == "" {
		p.App = p.Name
	}
	if b, err := m.sys.Usage(k.pid); err == nil {
		if u, err := decodeUsage(b); err == nil {
			p.Footprint = &u.footprint
			p.CPU = m.seconds(u.ticks)
		}
	}
	return p
}

// seconds makes seconds of mach time; nil while the timebase is not told.
func (m *mac) seconds(ticks uint64) *float64 {
	if m.timebase.denom == 0 {
		numer, denom, err := m.sys.Timebase()
		if err != nil || numer == 0 || denom == 0 {
			return nil
		}
		m.timebase.numer, m.timebase.denom = float64(numer), float64(denom)
	}
	return new(float64(ticks) * m.timebase.numer / (m.timebase.denom * 1e9))
}

// kinfo is what is used of struct kinfo_proc.
type kinfo struct {
	pid, parent int
	started     uint64 // microseconds since 1970
	state       byte
	command     string // at most 16 bytes
}

// Offsets in struct kinfo_proc of a 64-bit Mac (XNU, bsd/sys/sysctl.h and
// bsd/sys/proc.h). metal_darwin.go checks them against x/sys/unix when it is
// compiled.
const (
	kinfoBytes   = 648
	kinfoStarted = 0   // kp_proc.p_starttime, struct timeval
	kinfoState   = 36  // kp_proc.p_stat
	kinfoPID     = 40  // kp_proc.p_pid
	kinfoCommand = 243 // kp_proc.p_comm, char[17]
	kinfoParent  = 560 // kp_eproc.e_ppid
)

// zombie is SZOMB (XNU, bsd/sys/proc.h): ended and not collected.
const zombie = 5

func (k *kinfo) gone() bool { return k.state == zombie }

// decodeKinfo decodes the first kinfoBytes of b.
func decodeKinfo(b []byte) kinfo {
	int32At := func(at int) int { return int(int32(binary.LittleEndian.Uint32(b[at:]))) }
	k := kinfo{
		pid:     int32At(kinfoPID),
		parent:  int32At(kinfoParent),
		state:   b[kinfoState],
		command: decodeString(b[kinfoCommand : kinfoCommand+17]),
	}
	if t, ok := decodeTimeval(b[kinfoStarted:]); ok && t.UnixMicro() > 0 {
		k.started = uint64(t.UnixMicro())
	}
	return k
}

// usage is what is used of struct rusage_info_v4.
type usage struct {
	footprint uint64 // bytes
	ticks     uint64 // user and system time in mach time, not in nanoseconds
}

// usageBytes is the size of struct rusage_info_v4: a uuid of 16 bytes and 35
// times uint64_t (XNU, bsd/sys/resource.h).
const usageBytes = 296

// decodeUsage decodes what proc_pid_rusage(RUSAGE_INFO_V4) fills in.
func decodeUsage(b []byte) (usage, error) {
	if len(b) < usageBytes {
		return usage{}, fmt.Errorf("decoding rusage_info_v4: %d bytes instead of %d", len(b), usageBytes)
	}
	long := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	return usage{
		footprint: long(72),            // ri_phys_footprint
		ticks:     long(16) + long(24), // ri_user_time, ri_system_time
	}, nil
}

// decodeArgs decodes kern.procargs2: the number of arguments (int), the path of
// the executable, NULs up to a boundary, the arguments, each with its NUL, and
// then the environment, which is not looked at (XNU, sysctl_procargsx).
func decodeArgs(b []byte) []string {
	if len(b) < 4 {
		return nil
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	_, rest, ok := strings.Cut(string(b[4:]), "\x00")
	if !ok || n <= 0 {
		return nil
	}
	rest = strings.TrimLeft(rest, "\x00")
	var args []string
	for range n {
		arg, after, ok := strings.Cut(rest, "\x00")
		if !ok {
			break // cut: an argument without its end may be something else
		}
		args = append(args, arg)
		rest = after
	}
	return args
}

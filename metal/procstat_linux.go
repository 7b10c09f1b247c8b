package metal

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

// Decoding of what Linux tells about one process.

// procStat is what is used of /proc/PID/stat (proc_pid_stat(5)).
type procStat struct {
	command string // at most 15 bytes
	state   byte
	parent  int
	kernel  bool   // a thread of the kernel, without memory of its own
	ticks   uint64 // processor time, user and system, in 1/userHZ s
	started uint64 // ticks since boot
}

// userHZ is the unit of the kernel's times in proc, on every architecture that Go
// runs on (USER_HZ, include/asm-generic/param.h).
const userHZ = 100

// kernelThread is the flag PF_KTHREAD (include/linux/sched.h).
const kernelThread = 0x00200000

// parseProcStat reads "1234 (a name) S 1 …". A name may hold blanks and
// parentheses: it ends at the last one.
func parseProcStat(text []byte) (procStat, bool) {
	first, last := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if first < 0 || last < first {
		return procStat{}, false
	}
	s := procStat{command: strings.ToValidUTF8(string(text[first+1:last]), "\uFFFD")}
	number := 3 // of the field, as the manual page counts them
	for field := range bytes.FieldsSeq(text[last+1:]) {
		switch number {
		case 3:
			s.state = field[0]
		case 4:
			n, err := strconv.Atoi(string(field))
			if err != nil {
				return s, false
			}
			s.parent = n
		case 9, 14, 15, 22:
			n, err := strconv.ParseUint(string(field), 10, 64)
			if err != nil {
				return s, false
			}
			switch number {
			case 9:
				s.kernel = n&kernelThread != 0
			case 22:
				s.started = n
				return s, true
			default:
				s.ticks += n
			}
		}
		number++
	}
	return s, false
}

// gone says that the process has ended and only waits to be collected.
func (s *procStat) gone() bool {
	return s.state == 'Z' || s.state == 'X'
}

// procFootprint adds what a process would give back: anonymous and shared memory
// that is resident, and what of it is swapped (proc_pid_status(5)). Nil before
// Linux 4.5, which does not tell them, and for other users' where it is hidden.
func procFootprint(status []byte) *uint64 {
	anonymous := statusValue(status, "\nRssAnon:")
	shared := statusValue(status, "\nRssShmem:")
	swapped := statusValue(status, "\nVmSwap:")
	if swapped == nil {
		swapped = new(uint64(0)) // a kernel without swap prints no such line
	}
	return sum(anonymous, shared, swapped)
}

func statusValue(status []byte, label string) *uint64 {
	i := bytes.Index(status, []byte(label))
	if i < 0 {
		return nil
	}
	value := status[i+len(label):]
	if end := bytes.IndexByte(value, '\n'); end >= 0 {
		value = value[:end]
	}
	return kilobytes(value)
}

// procArgs splits /proc/PID/cmdline. A process that writes its own title puts
// blanks where the NULs were; it stays one argument.
func procArgs(text []byte) []string {
	text = bytes.TrimRight(text, "\x00")
	if len(text) == 0 {
		return nil
	}
	return strings.Split(string(text), "\x00")
}

// procName is the base name of the executable; for other users' processes, whose
// executable is not told, the command, and in full when the arguments tell it.
func procName(executable, command string, args []string) string {
	if executable != "" {
		return strings.ToValidUTF8(path.Base(strings.TrimSuffix(executable, " (deleted)")), "\uFFFD")
	}
	const cut = 15 // TASK_COMM_LEN − 1
	if len(command) == cut && len(args) > 0 {
		first, _, _ := strings.Cut(args[0], " ")
		if base := path.Base(first); strings.HasPrefix(base, command) {
			return base
		}
	}
	return command
}

// procCgroup is the path of the cgroup that systemd put a process in: of the
// unified hierarchy ("0::/…"), or of systemd's own where the old ones are in use.
func procCgroup(text []byte) string {
	var unified, own string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			unified = p
		} else if _, p, ok := strings.Cut(line, ":name=systemd:"); ok {
			own = p
		}
	}
	if unified == "" || unified == "/" {
		return own
	}
	return unified
}

package iokit

import (
	"fmt"
	"unsafe"
)

// libproc is what libproc tells about processes.
type libproc struct {
	part

	// int proc_pidpath(int pid, void *buffer, uint32_t buffersize);  <libproc.h>
	pidpath func(pid int32, buffer unsafe.Pointer, size uint32) int32

	// int proc_pid_rusage(int pid, int flavor, rusage_info_t *buffer);  <libproc.h>
	pidRusage func(pid, flavor int32, buffer unsafe.Pointer) int32
}

func (s *System) processes() (*libproc, error) {
	p := &s.proc
	if !p.bound() {
		p.bind("libSystem", s.paths.System,
			binding{"proc_pidpath", &p.pidpath},
			binding{"proc_pid_rusage", &p.pidRusage})
	}
	return p, p.err
}

// rusageInfoV4 is the flavor RUSAGE_INFO_V4 (XNU, bsd/sys/resource.h).
const rusageInfoV4 = 4

// rusageInfo is the space for struct rusage_info_v4: ri_uuid, 16 bytes, and 35
// times uint64_t.
type rusageInfo [2 + 35]uint64

var _ = [1]struct{}{}[unsafe.Sizeof(rusageInfo{})-296]

// Usage is struct rusage_info_v4 of a process. It fails for a pid that nobody has
// and for processes of other users; which of the two, libproc leaves to errno.
func (s *System) Usage(pid int) ([]byte, error) {
	p, err := s.processes()
	if err != nil {
		return nil, err
	}
	out := new(rusageInfo)
	if r := p.pidRusage(int32(pid), rusageInfoV4, unsafe.Pointer(out)); r != 0 {
		return nil, fmt.Errorf("proc_pid_rusage of process %d: result %d", pid, r)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(out)), unsafe.Sizeof(*out)), nil
}

// pathSize is PROC_PIDPATHINFO_MAXSIZE, 4 × MAXPATHLEN (XNU, bsd/sys/proc_info.h).
const pathSize = 4 * 1024

// Path is the executable of a process.
func (s *System) Path(pid int) (string, error) {
	p, err := s.processes()
	if err != nil {
		return "", err
	}
	buffer := new([pathSize]byte)
	n := p.pidpath(int32(pid), unsafe.Pointer(buffer), pathSize)
	if n <= 0 || n > pathSize {
		return "", fmt.Errorf("proc_pidpath of process %d: result %d", pid, n)
	}
	return string(buffer[:n]), nil
}

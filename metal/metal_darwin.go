package metal

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/metal/internal/iokit"
)

// The offsets that mac_process.go decodes by; a wrong one does not compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(unix.KinfoProc{})-kinfoBytes]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.KinfoProc{}.Proc)+unsafe.Offsetof(unix.ExternProc{}.P_starttime)-kinfoStarted]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.ExternProc{}.P_stat)-kinfoState]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.ExternProc{}.P_pid)-kinfoPID]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.ExternProc{}.P_comm)-kinfoCommand]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.KinfoProc{}.Eproc)+unsafe.Offsetof(unix.Eproc{}.Ppid)-kinfoParent]
)

// New opens this machine.
func New() (Reader, error) {
	system, err := iokit.Open(iokit.MacPaths())
	if err != nil {
		return nil, fmt.Errorf("opening the machine: %w", err)
	}
	return newMac(darwin{System: system}, frameworks{system}, time.Now), nil
}

// darwin is the real Mac.
type darwin struct {
	*iokit.System
	sysctls
}

// sysctls reads values through the system call. The command sysctl is never run:
// a service manager's short PATH does not find it, and its numbers follow the
// locale.
type sysctls struct{}

func (sysctls) Sysctl(name string, args ...int) ([]byte, error) {
	var b []byte
	var err error
	// The list of processes may grow between asking for its size and reading it.
	for range 4 {
		if b, err = unix.SysctlRaw(name, args...); !errors.Is(err, unix.ENOMEM) {
			break
		}
	}
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, unix.ENOENT):
		err = ErrUnsupported
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		err = ErrNotPermitted
	case errors.Is(err, unix.ESRCH):
		err = ErrNoProcess
	}
	return nil, fmt.Errorf("sysctl %s: %w", name, err)
}

// processStarted tells when a living process started, in the unit of
// Process.Started.
func processStarted(pid int) (uint64, error) {
	k, err := readKinfo(sysctls{}, pid)
	return k.started, err
}

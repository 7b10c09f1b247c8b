package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"plimsoll/metal/wired"
)

// native is this Mac.
type native struct {
	syslog func(priority int32, format string)
}

// open takes the socket that launchd made. There is no other way to start the
// helper on a Mac.
func open(args []string) (net.Listener, *machine, error) {
	if len(args) > 0 {
		return nil, nil, errors.New("takes no arguments")
	}
	m := &machine{Folder: wired.Folder{Path: wired.Home}}
	var activate func(name string, fds **int32, count *uintptr) int32
	system, err := purego.Dlopen("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW)
	for name, function := range map[string]any{"launch_activate_socket": &activate, "syslog": &m.syslog} {
		var address uintptr
		if err == nil {
			address, err = purego.Dlsym(system, name)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("loading the system's library: %w", err)
		}
		purego.RegisterFunc(function, address)
	}
	var fds *int32 // is not freed: it is asked for once
	var count uintptr
	if errno := activate("Listener", &fds, &count); errno != 0 || count != 1 {
		return nil, nil, fmt.Errorf("asking launchd for the socket: %d of them, %w", count, unix.Errno(errno))
	}
	l, err := net.FileListener(os.NewFile(uintptr(*fds), wired.Socket))
	return l, m, err
}

// peerUser asks for LOCAL_PEERCRED, unix(4) of macOS and sys/un.h.
func peerUser(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

func (native) BootSession() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// Continuous is mach_continuous_time (Libc, gen/clock_gettime.c).
func (native) Continuous() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &t)
	return time.Duration(t.Nano()), err
}

func (native) Sysctl(name string) (uint64, error) {
	b, err := unix.SysctlRaw(name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, wired.ErrNoKey
	case err == nil && len(b) == 4:
		return uint64(binary.NativeEndian.Uint32(b)), nil
	case err == nil && len(b) == 8:
		return binary.NativeEndian.Uint64(b), nil
	}
	return 0, errors.Join(err, fmt.Errorf("%d bytes are no number", len(b)))
}

// SetSysctl writes as many bytes as reading gives. x/sys reads alone, so this is
// the system call itself (XNU, bsd/kern/syscalls.master: sysctlbyname).
func (native) SetSysctl(name string, value uint64) error {
	b, err := unix.SysctlRaw(name)
	if err != nil {
		return err
	}
	if len(b) != 8 && (len(b) != 4 || value>>32 != 0) {
		return fmt.Errorf("%d does not go into %d bytes", value, len(b))
	}
	key, next := []byte(name), binary.NativeEndian.AppendUint64(nil, value) // little-endian on every Mac
	//lint:ignore SA1019 the number that XNU has for it; no function of x/sys sets a value
	_, _, errno := unix.Syscall6(unix.SYS_SYSCTLBYNAME, uintptr(unsafe.Pointer(&key[0])), uintptr(len(key)), 0, 0, uintptr(unsafe.Pointer(&next[0])), uintptr(len(b)))
	if errno != 0 {
		return errno
	}
	return nil
}

// log writes to the system log. Package log/syslog does not reach it since macOS 12
// (golang/go#59229). LOG_AUTH | LOG_NOTICE; the text is all format and no arguments.
func (n native) log(line string) {
	n.syslog(4<<3|5, "plimsoll-helper: "+strings.ReplaceAll(line, "%", "%%"))
}

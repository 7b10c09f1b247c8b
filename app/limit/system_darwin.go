package limit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/metal/wired"
)

// system reads how the limit stands on this Mac.
type system struct{}

func (system) Sysctl(name string) (uint64, error) {
	raw, err := unix.SysctlRaw(name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, fmt.Errorf("%s: %w", name, wired.ErrNoKey)
	case err != nil:
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	switch len(raw) {
	case 4:
		return uint64(binary.LittleEndian.Uint32(raw)), nil
	case 8:
		return binary.LittleEndian.Uint64(raw), nil
	}
	return 0, fmt.Errorf("reading %s: %d bytes, not a number", name, len(raw))
}

func (system) BootSession() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// Continuous is mach_continuous_time (Libc, gen/clock_gettime.c), as the helper has it.
func (system) Continuous() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &t); err != nil {
		return 0, fmt.Errorf("reading the continuous clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

func (system) Files() wired.Files { return wired.Folder{Path: wired.Home} }

func dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", wired.Socket)
}

// xattr is an extended attribute of a file.
func xattr(path, name string) (string, error) {
	value := make([]byte, 1<<10)
	n, err := unix.Getxattr(path, name, value)
	if err != nil {
		return "", err
	}
	return string(value[:n]), nil
}

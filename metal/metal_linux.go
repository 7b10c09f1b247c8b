package metal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Roots are the folders that Linux is read from. An empty one is the usual place.
// A container that has the host's folders mounted elsewhere names them here, and
// a test its own.
type Roots struct {
	Proc string // "/proc"
	Sys  string // "/sys"
	Etc  string // "/etc"
}

// RootsFromEnv takes the roots from HOST_PROC, HOST_SYS and HOST_ETC, the names
// that gopsutil gave them.
func RootsFromEnv(getenv func(string) string) Roots {
	return Roots{Proc: getenv("HOST_PROC"), Sys: getenv("HOST_SYS"), Etc: getenv("HOST_ETC")}
}

// New opens this machine, at the roots that the environment names.
func New() (Reader, error) {
	return NewAt(RootsFromEnv(os.Getenv))
}

// NewAt opens the machine whose folders are given. It fails only when there is no
// proc to read at all.
func NewAt(roots Roots) (Reader, error) {
	for _, r := range []struct {
		root  *string
		usual string
	}{{&roots.Proc, "/proc"}, {&roots.Sys, "/sys"}, {&roots.Etc, "/etc"}} {
		if *r.root == "" {
			*r.root = r.usual
		}
	}
	if _, err := os.Stat(roots.Proc); err != nil {
		return nil, fmt.Errorf("opening the machine: %w", err)
	}
	return &linux{
		roots:   roots,
		meminfo: kept{path: roots.Proc + "/meminfo"},
		vmstat:  kept{path: roots.Proc + "/vmstat"},
		psi:     kept{path: roots.Proc + "/pressure/memory"},
		uptime:  kept{path: roots.Proc + "/uptime"},
		zswap:   kept{path: roots.Sys + "/module/zswap/parameters/enabled"},
		gpu:     linuxGPU{sys: roots.Sys, library: nvmlLibrary, now: time.Now},
		scratch: make([]byte, 8<<10),
	}, nil
}

// linux reads /proc and /sys. The files that are read at every tick stay open.
type linux struct {
	roots                               Roots
	meminfo, vmstat, psi, uptime, zswap kept
	identity                            *Machine // what does not change, read once
	gpu                                 linuxGPU
	scratch                             []byte // for the small files of one process
}

// Thermal has no counterpart on Linux: there are temperatures, and no level.
func (l *linux) Thermal() (*Thermal, error) {
	return nil, fmt.Errorf("thermal pressure is a notion of macOS: %w", ErrUnsupported)
}

// kept is a small file that is opened once and read again and again. The kernel
// makes the text of a proc file anew at each read from the start.
type kept struct {
	path string
	file *os.File
	buf  []byte
}

// read gives the text of the file, valid until the next call.
func (k *kept) read() ([]byte, error) {
	if k.file != nil {
		text, err := k.whole()
		if err == nil {
			return text, nil
		}
		// The file system below may have been mounted anew: open it once more.
		k.file.Close()
		k.file = nil
	}
	// Not by os.Open, which would have the runtime's poller watch the pressure file.
	fd, err := unix.Open(k.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fileError(k.path, err)
	}
	file := os.NewFile(uintptr(fd), k.path)
	k.file = file
	text, err := k.whole()
	if err != nil {
		file.Close()
		k.file = nil
		return nil, fileError(k.path, err)
	}
	return text, nil
}

// whole reads from the start to the end; the kernel hands out long files page by
// page, and ReadAt asks until there is no more.
func (k *kept) whole() ([]byte, error) {
	if k.buf == nil {
		k.buf = make([]byte, 8<<10)
	}
	for {
		n, err := k.file.ReadAt(k.buf, 0)
		switch {
		case err == io.EOF:
			return k.buf[:n], nil
		case err != nil:
			return nil, err
		}
		k.buf = make([]byte, 2*len(k.buf))
	}
}

// fileError says what could not be read, in the words of this package.
func fileError(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTDIR):
		// EOPNOTSUPP is what a pressure file says when the kernel runs with psi=0.
		return fmt.Errorf("reading %s: %w", path, ErrUnsupported)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("reading %s: %w", path, ErrNotPermitted)
	}
	return fmt.Errorf("reading %s: %w", path, err)
}

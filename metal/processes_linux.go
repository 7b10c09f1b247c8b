package metal

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Processes lists the processes that this user may see, without the threads of
// the kernel, which have no memory of their own, and without those that have
// ended. One that goes while it is read is left out.
func (l *linux) Processes() ([]Process, error) {
	dir, err := os.Open(l.roots.Proc)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil && len(names) == 0 {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	list := make([]Process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := l.process(pid, true); err == nil {
			list = append(list, *p)
		}
	}
	return list, nil
}

// Process reads one process again, without its arguments. A process that has
// ended and was not collected counts as gone.
func (l *linux) Process(pid int) (*Process, error) {
	p, err := l.process(pid, false)
	if err != nil {
		return nil, fmt.Errorf("reading process %d: %w", pid, err)
	}
	return p, nil
}

// process reads all files of one process through a handle of its folder: if the
// process goes and another gets its pid, the rest fails instead of mixing both.
func (l *linux) process(pid int, withArgs bool) (*Process, error) {
	if pid <= 0 {
		return nil, ErrNoProcess
	}
	dir, err := openProc(l.roots.Proc, pid)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	text, err := l.readIn(dir, "stat")
	if err != nil {
		return nil, err
	}
	stat, ok := parseProcStat(text)
	if !ok {
		return nil, errors.New("its stat file is not as the kernel writes it")
	}
	if stat.gone() || stat.kernel {
		return nil, ErrNoProcess
	}
	p := &Process{PID: pid, Parent: stat.parent, Started: stat.started, CPU: new(float64(stat.ticks) / userHZ)}
	// From here on a file that is closed to this user leaves its field absent, and
	// only a process that goes ends the reading.
	if text, err = l.readIn(dir, "status"); err == nil {
		p.Footprint = procFootprint(text)
	} else if errors.Is(err, ErrNoProcess) {
		return nil, err
	}
	if withArgs {
		if text, err = l.readIn(dir, "cmdline"); err == nil {
			p.Args = procArgs(text)
		}
	}
	p.Name = procName(l.linkIn(dir, "exe"), stat.command, p.Args)
	p.App = p.Name
	if text, err = l.readIn(dir, "cgroup"); err == nil {
		if app := scopeApp(procCgroup(text)); app != "" {
			p.App = app
		}
	}
	return p, nil
}

// processStarted tells when a living process of this machine started, in the
// unit of Process.Started. It reads /proc itself: only there pids are ours.
func processStarted(pid int) (uint64, error) {
	l := linux{roots: Roots{Proc: "/proc"}, scratch: make([]byte, 1<<10)}
	dir, err := openProc(l.roots.Proc, pid)
	if err != nil {
		return 0, err
	}
	defer unix.Close(dir)
	text, err := l.readIn(dir, "stat")
	if err != nil {
		return 0, err
	}
	stat, ok := parseProcStat(text)
	if !ok || stat.gone() || stat.kernel {
		return 0, ErrNoProcess
	}
	return stat.started, nil
}

// openProc opens the folder of a process as a handle.
func openProc(root string, pid int) (int, error) {
	for {
		fd, err := unix.Open(root+"/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, processError(err)
		}
	}
}

// readIn reads a small file of a process, valid until the next call.
func (l *linux) readIn(dir int, name string) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, processError(err)
	}
	defer unix.Close(fd)
	n := 0
	for {
		if n == len(l.scratch) {
			l.scratch = append(l.scratch, make([]byte, len(l.scratch))...)
		}
		got, err := unix.Read(fd, l.scratch[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, processError(err)
		}
		if got == 0 {
			return l.scratch[:n], nil
		}
		n += got
	}
}

// linkIn is where a link of a process leads, "" when that is not told.
func (l *linux) linkIn(dir int, name string) string {
	n, err := unix.Readlinkat(dir, name, l.scratch)
	if err != nil {
		return ""
	}
	return string(l.scratch[:n])
}

func processError(err error) error {
	switch err {
	case nil:
		return nil
	case unix.ENOENT, unix.ESRCH, unix.ENOTDIR:
		return ErrNoProcess
	case unix.EACCES, unix.EPERM:
		return ErrNotPermitted
	}
	return err
}

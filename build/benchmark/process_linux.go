package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// processor is the time that a process has run, all its threads together, those
// that ended included. It is read from the process's own processor clock, in
// nanoseconds: the ticks of /proc/PID/stat are 10 ms, a tenth of all that is
// allowed here in a minute.
// Source: clock_getcpuclockid(3); the kernel's include/linux/posix-timers.h.
func processor(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0, fmt.Errorf("reading the agent's processor time: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// resident is VmRSS in MiB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the agent's memory: %w", err)
	}
	return parseRSS(string(text))
}

// childCount counts the processes whose parent is pid, ended ones that nobody
// waited for included.
func childCount(pid int) (int, error) {
	files, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("listing processes: %w", err)
	}
	count := 0
	for _, f := range files {
		if f.Name()[0] < '1' || f.Name()[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + f.Name() + "/stat")
		if err == nil && parentIs(string(stat), pid) {
			count++
		}
	}
	return count, nil
}

// openFiles counts the open files of a process, sockets and the rest included.
func openFiles(pid int) (int, error) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, fmt.Errorf("listing the agent's open files: %w", err)
	}
	return len(files), nil
}

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// parseRSS reads VmRSS out of /proc/PID/status, in MiB.
func parseRSS(status string) (float64, error) {
	_, rest, ok := strings.Cut(status, "\nVmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	var kib float64
	if _, err := fmt.Sscanf(line, "%f kB", &kib); !ok || err != nil {
		return 0, fmt.Errorf("no VmRSS in %q", status)
	}
	return kib / 1024, nil
}

// parentIs reads the fourth field of a stat line. The second is a name in
// brackets that may hold anything, brackets too.
func parentIs(stat string, pid int) bool {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	return len(fields) > 1 && fields[1] == strconv.Itoa(pid)
}

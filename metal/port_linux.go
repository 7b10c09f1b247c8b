package metal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Listener is the process that listens for TCP connections to this machine at a
// port. It fails with ErrNoProcess when nobody does, and with ErrNotPermitted
// when the process is not one whose files this user may see. It looks through
// the open files of all processes, which takes milliseconds.
func (l *linux) Listener(port int) (*Process, error) {
	sockets := map[string]bool{}
	for _, table := range []string{"/net/tcp", "/net/tcp6"} {
		if text, err := os.ReadFile(l.roots.Proc + table); err == nil {
			listeningAt(text, port, sockets)
		}
	}
	if len(sockets) == 0 {
		return nil, fmt.Errorf("looking for who listens at port %d: %w", port, ErrNoProcess)
	}
	links, _ := filepath.Glob(l.roots.Proc + "/[0-9]*/fd/*")
	for _, link := range links {
		n, err := unix.Readlink(link, l.scratch)
		if err != nil || !sockets[string(l.scratch[:n])] {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(link))))
		if err != nil {
			continue
		}
		if p, err := l.process(pid, false); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("looking for who listens at port %d: %w", port, ErrNotPermitted)
}

// listening is the state of a socket that listens (net/tcp_states.h, TCP_LISTEN).
const listening = "0A"

// listeningAt notes the sockets that listen at a port, as links in /proc/PID/fd
// name them. A table holds, in hexadecimal,
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 …
func listeningAt(table []byte, port int, sockets map[string]bool) {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) < 10 || fields[3] != listening || fields[9] == "0" {
			continue
		}
		_, at, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(at, 16, 16); err == nil && int(n) == port {
			sockets["socket:["+fields[9]+"]"] = true
		}
	}
}

package server

import "golang.org/x/sys/unix"

// awaitStop waits until a stop signal has reached every thread of a child: a
// running one may answer for some hundred microseconds more.
func awaitStop(pid int) error {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil); err != unix.EINTR {
			return err
		}
	}
}

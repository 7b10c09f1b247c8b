package server

import "syscall"

// ownGroup gives the server a process group of its own, and ends it when this
// program ends in any way, a panic or a test's time-out included.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

//go:build !linux

package server

import "syscall"

// ownGroup gives the server a process group of its own.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/metal/wired"
)

// native is a folder that stands in for a Mac, so that the very program can be
// tested on Linux: a file for each sysctl, and for the clock in seconds. The
// socket is descriptor 3. None of this is part of the program for a Mac.
type native struct {
	dir   string
	steps *uint64
}

func open(args []string) (net.Listener, *machine, error) {
	if len(args) != 2 || args[0] != "-seam" {
		return nil, nil, errors.New("this system has no adjustable GPU limit; tests say -seam FOLDER")
	}
	n := native{dir: args[1], steps: new(uint64)}
	m := &machine{Folder: wired.Folder{Path: filepath.Join(n.dir, "home"), Owner: os.Getuid(), Step: n.step}, native: n}
	l, err := net.FileListener(os.NewFile(3, "socket"))
	return l, m, err
}

// peerUser asks for SO_PEERCRED, unix(7).
func peerUser(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// step ends the process, as kill -9 does, at the step that the file kill counts to.
// Steps are made one after the other.
func (n native) step(string) {
	*n.steps++
	if at, err := n.Sysctl("kill"); err == nil && *n.steps == at {
		unix.Kill(unix.Getpid(), unix.SIGKILL)
		select {}
	}
}

func (n native) BootSession() (string, error) {
	b, err := os.ReadFile(filepath.Join(n.dir, "kern.bootsessionuuid"))
	return string(b), err
}

func (n native) Continuous() (time.Duration, error) {
	seconds, err := n.Sysctl("clock")
	return time.Duration(seconds) * time.Second, err
}

func (n native) Sysctl(name string) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(n.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return 0, wired.ErrNoKey
	} else if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(b), 10, 64)
}

func (n native) SetSysctl(name string, value uint64) error {
	n.step("set")
	err := os.WriteFile(filepath.Join(n.dir, name), fmt.Append(nil, value), 0o644)
	n.step("was set")
	return err
}

func (native) log(line string) { fmt.Fprintln(os.Stderr, line) }

// Plimsoll-helper sets the GPU's wired limit and can do nothing else. It runs as
// root; launchd starts it when the system starts and when somebody connects to its
// socket. What it does is package wired's Server; here it is tied to a Mac.
//
// # What can be attacked
//
// This process takes one line of at most 64 bytes a connection, from a Unix
// socket that everybody may connect to: set, confirm, reset or version, and one or
// two numbers. It takes no path, no command and no other text; it has no arguments
// on a Mac, reads no environment, starts no process, opens no network connection
// and loads nothing but the system's own library. The kernel tells who connects
// (the effective user id), and only root and the users recorded at install, in a
// file of root's, are heard. It writes one sysctl, nothing but 0 or a value within
// the bounds of the machine, and two files in one folder of root's, of which it
// follows no link. It gives away what everybody may read: its version, and why it
// refused.
//
// The agent and the terminal (plimsoll) run as the person and ask this process
// like any other program of the person's could. The window and whoever uses the
// agent's API can ask the agent for the same, and no more.
// The counting proxy has nothing to do with any of it.
//
// Whoever has the rights of a recorded user gains a limit within the bounds,
// and that it comes back after a restart: at worst, memory is short, models do not
// fit and the machine is slow until somebody sets it back, or restarts it once or
// twice. That includes confirming: a program that sets a limit may confirm it too.
// Users that are not recorded gain nothing; they can keep the helper running, and
// hold it up for the moment that refusing them takes.
//
// What this cannot help: the helper is put in place by a prompt for an
// administrator's password. A Plimsoll that somebody tampered with before can show
// the same prompt and install what it likes, as can any program that a person
// gives the password to.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"plimsoll/metal/wired"
)

// version is set by the linker.
var version = "unversioned"

// machine is what stands around wired's Server. What a system does in its own way
// is in the file of that system.
type machine struct {
	wired.Folder
	native
}

func main() {
	stop, done := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer done()
	listener, m, err := open(os.Args[1:])
	if err == nil {
		err = wired.NewServer(m, version).Run(stop, listener, peer, m.log)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plimsoll-helper:", err)
		os.Exit(1)
	}
}

// peer is the effective user at the other end, as the kernel noted it when the
// connection was made.
func peer(conn net.Conn) (uid int, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) { uid, err = peerUser(int(fd)) })
	return uid, errors.Join(failed, err)
}

func (m *machine) Files() wired.Files { return m.Folder }

func (m *machine) RAM() (uint64, error) { return m.Sysctl("hw.memsize") }

func (m *machine) Audit(line string) error {
	m.log(line)
	return m.Append(wired.AuditFile, time.Now().UTC().Format(time.RFC3339)+" "+line)
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"plimsoll/monitor/api"
)

// errShown says that another window of the same agent is there and came forward.
var errShown = errors.New("another window is open and was shown")

// answerTime is how long another window may take to come forward.
const answerTime = 3 * time.Second

// single is this process's claim to be the one window of an agent.
type single struct {
	lock     *flock.Flock
	listener net.Listener
}

// windowSocket is where the window of the agent at path listens: window.sock
// beside agent.sock.
func windowSocket(path string) string {
	folder, name := filepath.Split(path)
	if other := strings.Replace(name, "agent", "window", 1); other != name {
		return folder + other
	}
	return path + ".window"
}

// claim becomes the window of the agent at path, and calls show for every
// window that is started after it. If there is a window already, claim asks it
// to show page and returns errShown.
func claim(path, page string, show func(page string)) (*single, error) {
	socket, err := api.CheckPath(windowSocket(path))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, fmt.Errorf("making the window's folder: %w", err)
	}
	lock := flock.New(socket+".lock", flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the window's socket: %w", err)
	}
	if !held {
		if err := forward(socket, page); err != nil {
			return nil, fmt.Errorf("asking the open window to come forward: %w", err)
		}
		return nil, errShown
	}
	os.Remove(socket) // what a killed window left: the lock says that nobody listens
	listener, err := net.Listen("unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("opening the window's socket: %w", err)
	}
	s := &single{lock: lock, listener: listener}
	go s.serve(show)
	return s, nil
}

// serve answers "show PAGE" with "ok" until the listener is closed.
func (s *single) serve(show func(page string)) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		conn.SetDeadline(time.Now().Add(answerTime))
		line, _ := bufio.NewReader(conn).ReadString('\n')
		if page, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "show "); ok {
			show(page)
			fmt.Fprintln(conn, "ok")
		}
		conn.Close()
	}
}

// forward asks the window at socket to show a page.
func forward(socket, page string) error {
	conn, err := net.DialTimeout("unix", socket, answerTime)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(answerTime))
	fmt.Fprintf(conn, "show %s\n", page)
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "ok\n" {
		return fmt.Errorf("it answered %q: %w", answer, err)
	}
	return nil
}

// Close gives the claim back.
func (s *single) Close() error {
	err := s.listener.Close() // removes the socket
	if unlock := s.lock.Unlock(); err == nil {
		err = unlock
	}
	return err
}

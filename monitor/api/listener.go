package api

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// lookEvery is how often the agent looks whether its socket is still there,
// which costs it some microseconds. What cleans up old files, or a person who
// does, takes it from under a running agent, which nobody could reach then.
const lookEvery = 5 * time.Second

// listener is a socket together with the lock that makes it this process's.
type listener struct {
	path  string
	owner int           // whose processes are let in
	look  time.Duration // see lookEvery

	mutex  sync.Mutex // guards what follows
	socket *net.UnixListener
	file   fs.FileInfo // of the socket, as it was made
	lock   *flock.Flock
	closed bool
	err    error // of closing
}

// Accept waits for a connection of a process that may connect. Others are hung
// up on: they were let past the modes of socket and folder by somebody's mistake.
func (l *listener) Accept() (net.Conn, error) {
	for {
		socket := l.listening()
		// A connection shows that the socket is where it should be, so only
		// silence is a reason to look.
		if err := socket.SetDeadline(time.Now().Add(l.look)); err != nil {
			return nil, err
		}
		conn, err := socket.AcceptUnix()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			l.restore()
		case err != nil:
			return nil, err
		default:
			if peer, err := peerOf(conn); err == nil && mayConnect(peer, l.owner) {
				return conn, nil
			}
			conn.Close()
		}
	}
}

// mayConnect tells whether processes of user peer may talk to an agent of
// owner. Nothing can be kept from root, whose tools are let in.
func mayConnect(peer, owner int) bool { return peer == owner || peer == 0 }

// Addr is the socket's path.
func (l *listener) Addr() net.Addr { return l.listening().Addr() }

func (l *listener) listening() *net.UnixListener {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.socket
}

// restore listens at the path again when its file is gone or another's.
// Connections that stand are not touched. What fails now is tried again at the
// next look.
func (l *listener) restore() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed || l.there() {
		return
	}
	if prepareFolder(filepath.Dir(l.path)) != nil || !l.locked() {
		return
	}
	socket, file, err := listenLocked(l.path)
	if err != nil {
		return
	}
	l.socket.SetUnlinkOnClose(false) // the path is the new socket's
	l.socket.Close()
	l.socket, l.file = socket, file
}

// there tells whether the path still leads to this socket. Its number cannot
// have gone to another file: an open socket keeps it.
func (l *listener) there() bool {
	info, err := os.Lstat(l.path)
	return err == nil && os.SameFile(info, l.file)
}

// locked tells whether the lock is this process's. A lock whose file was deleted
// as well holds nobody back; the new file's is taken, unless an agent has it that
// was started in between.
func (l *listener) locked() bool {
	held, err := l.lock.Stat()
	if err != nil {
		return false
	}
	if info, err := os.Lstat(lockPath(l.path)); err == nil && os.SameFile(info, held) {
		return true
	}
	lock, err := lockSocket(l.path)
	if err != nil {
		return false
	}
	l.lock.Close()
	l.lock = lock
	return true
}

// Close removes the socket first, if it is still this one's, and gives the lock
// back last, so that no other agent can have a socket of its own removed.
func (l *listener) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return l.err
	}
	l.closed = true
	l.socket.SetUnlinkOnClose(l.there())
	l.err = errors.Join(l.socket.Close(), l.lock.Close())
	return l.err
}

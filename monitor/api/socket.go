package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// longestPath is the most bytes a socket's path may have: sun_path is 104 bytes
// on macOS with its end mark (sys/un.h), 108 on Linux.
const longestPath = 103

// SocketPath is where the agent listens: PLIMSOLL_SOCKET, else the folder of
// the application on macOS ("darwin"), else the user's runtime folder, else the
// user's state folder. It fails when the path is longer than the system allows,
// or when neither a variable nor home says where.
func SocketPath(goos, home string, getenv func(string) string) (string, error) {
	path := getenv("PLIMSOLL_SOCKET")
	switch runtime := getenv("XDG_RUNTIME_DIR"); {
	case path != "":
		// As given; relative to the working folder.
	case goos == "darwin" && home != "":
		path = filepath.Join(home, "Library", "Application Support", "Plimsoll", "agent.sock")
	case goos != "darwin" && filepath.IsAbs(runtime): // a relative one is to be ignored (XDG Base Directory 0.8)
		path = filepath.Join(runtime, "plimsoll", "agent.sock")
	case goos != "darwin" && home != "":
		path = filepath.Join(home, ".local", "state", "plimsoll", "agent.sock")
	default:
		return "", failuref("no_home", "finding the agent's socket: HOME is not set; set PLIMSOLL_SOCKET to a path in a folder of your own")
	}
	return CheckPath(path)
}

// CheckPath makes a socket's path absolute and refuses one that is too long.
func CheckPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the agent's socket: %w", err)
	}
	if len(absolute) > longestPath {
		return "", failuref("path_too_long", "socket path %s has %d bytes, the system allows %d: set PLIMSOLL_SOCKET to a shorter one",
			absolute, len(absolute), longestPath)
	}
	return absolute, nil
}

// Listen takes the socket at path for this process. Its folder is made with
// mode 0700 if it is missing and must belong to this user alone; neither it nor
// the socket may be a symbolic link. A lock beside the socket (path + ".lock")
// says who the agent is: Listen fails with ErrAgentRunning while another
// process holds it, and removes what a killed agent left behind otherwise.
// Only processes of this user and of root are let in, and a socket whose file
// was deleted is made again within seconds. Closing the listener removes the
// socket and gives the lock back.
func Listen(path string) (net.Listener, error) {
	path, err := CheckPath(path)
	if err != nil {
		return nil, err
	}
	if err := prepareFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	l := &listener{path: path, owner: os.Geteuid(), look: lookEvery, lock: lock}
	if l.socket, l.file, err = listenLocked(path); err != nil {
		lock.Close()
		return nil, err
	}
	return l, nil
}

// lockSocket takes the lock beside a socket, or fails with ErrAgentRunning.
func lockSocket(path string) (*flock.Flock, error) {
	if err := refuseLink(lockPath(path)); err != nil {
		return nil, err
	}
	lock := flock.New(lockPath(path), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the agent's socket: %w", err)
	}
	if !held {
		return nil, ErrAgentRunning
	}
	return lock, nil
}

func lockPath(path string) string { return path + ".lock" }

// listenLocked binds path, which nobody else may do now, and tells what file
// that made.
func listenLocked(path string) (*net.UnixListener, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, nil, fmt.Errorf("looking at the agent's socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, nil, failuref("unsafe_socket", "%s is not a socket but %s: move it away", path, kindOf(info))
	default: // left by an agent that was killed, as we hold the lock
		if err := os.Remove(path); err != nil {
			return nil, nil, fmt.Errorf("removing a dead agent's socket: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("opening the agent's socket: %w", err)
	}
	// Whatever the umask is. Until here the folder's mode keeps others out.
	if err = os.Chmod(path, 0o600); err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		l.Close()
		return nil, nil, fmt.Errorf("closing the agent's socket to others: %w", err)
	}
	return l, info, nil
}

// prepareFolder makes sure that folder is this user's alone.
func prepareFolder(folder string) error {
	info, err := os.Lstat(folder)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("making the agent's folder: %w", err)
		}
		if err := os.Chmod(folder, 0o700); err != nil { // a strange umask
			return fmt.Errorf("making the agent's folder: %w", err)
		}
		info, err = os.Lstat(folder)
	}
	if err != nil {
		return fmt.Errorf("looking at the agent's folder: %w", err)
	}
	if !info.IsDir() {
		return failuref("unsafe_socket", "the agent's folder %s is %s: it must be a real folder", folder, kindOf(info))
	}
	if owner := ownerOf(info); owner != os.Geteuid() {
		return failuref("unsafe_socket", "the agent's folder %s belongs to user %d, not to you: set PLIMSOLL_SOCKET to a path in a folder of your own", folder, owner)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	// A folder of our name is ours to close; any other may be open for a reason.
	if strings.EqualFold(filepath.Base(folder), "plimsoll") {
		if err := os.Chmod(folder, 0o700); err != nil {
			return fmt.Errorf("closing the agent's folder to others: %w", err)
		}
		return nil
	}
	return failuref("unsafe_socket", "the agent's folder %s is open to other users (mode %04o): chmod 700 it, or name another in PLIMSOLL_SOCKET", folder, info.Mode().Perm())
}

// checkSocket says whether a client may trust what listens at path: nil, an
// error of fs.ErrNotExist, or why not.
func checkSocket(path string) error {
	for _, place := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(place)
		if err != nil {
			return err
		}
		if info.Mode().Type() == fs.ModeSymlink {
			return failuref("unsafe_socket", "%s is a symbolic link: name the agent's real socket", place)
		}
		// root may look at anybody's agent.
		if owner := ownerOf(info); owner != os.Geteuid() && os.Geteuid() != 0 {
			return failuref("unsafe_socket", "%s belongs to user %d, not to you", place, owner)
		}
	}
	return nil
}

func refuseLink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return failuref("unsafe_socket", "%s is %s: move it away", path, kindOf(info))
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

func kindOf(info fs.FileInfo) string {
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeDir:
		return "a folder"
	case 0:
		return "a file"
	case fs.ModeSocket:
		return "a socket"
	}
	return "something else"
}

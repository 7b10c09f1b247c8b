package api

import (
	"fmt"
	"net"
)

// peerOf is the user at the other end, as the kernel noted it when the
// connection was made.
func peerOf(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err == nil {
		failed := raw.Control(func(fd uintptr) { uid, err = peerUser(int(fd)) })
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		return 0, fmt.Errorf("asking who connects: %w", err)
	}
	return uid, nil
}

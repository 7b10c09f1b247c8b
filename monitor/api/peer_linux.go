package api

import "golang.org/x/sys/unix"

// peerUser asks for SO_PEERCRED, unix(7).
func peerUser(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

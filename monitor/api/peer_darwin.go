package api

import "golang.org/x/sys/unix"

// peerUser asks for LOCAL_PEERCRED, unix(4) of macOS and sys/un.h.
func peerUser(fd int) (uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

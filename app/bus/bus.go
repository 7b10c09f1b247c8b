// Package bus finds the desktop's session bus. It never starts one: godbus
// runs dbus-launch when it knows no address, which would leave a stray daemon
// behind on a machine without a desktop.
package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/godbus/dbus/v5"
)

// ErrNone means that this login has no session bus, so there is neither a tray
// nor notifications.
var ErrNone = errors.New("no session bus")

// Address is the session bus's address. It is DBUS_SESSION_BUS_ADDRESS, else
// the socket that systemd and elogind make in XDG_RUNTIME_DIR. The error is
// ErrNone.
func Address(getenv func(string) string) (string, error) {
	if address := getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return address, nil
	}
	folder := getenv("XDG_RUNTIME_DIR")
	if folder == "" {
		return "", ErrNone
	}
	socket := filepath.Join(folder, "bus")
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return "", ErrNone
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(socket), nil
}

// Connect opens a connection of the caller's own, which the caller closes. The
// error wraps ErrNone when there is no bus or it does not answer.
func Connect(options ...dbus.ConnOption) (*dbus.Conn, error) {
	address, err := Address(os.Getenv)
	if err != nil {
		return nil, err
	}
	conn, err := dbus.Connect(address, options...)
	if err != nil {
		return nil, fmt.Errorf("%w: connecting to %s: %w", ErrNone, address, err)
	}
	return conn, nil
}

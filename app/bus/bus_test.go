package bus

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
)

func TestAddress(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	socket, err := net.Listen("unix", filepath.Join(with, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, c := range []struct{ name, variable, folder, want string }{
		{"named", "unix:path=/x", with, "unix:path=/x"},
		{"systemd's", "", with, "unix:path=" + filepath.Join(with, "bus")},
		{"would be started", "autolaunch:", without, ""},
		{"no socket", "", without, ""},
		{"nothing", "", "", ""},
	} {
		got, err := Address(func(name string) string {
			return map[string]string{"DBUS_SESSION_BUS_ADDRESS": c.variable, "XDG_RUNTIME_DIR": c.folder}[name]
		})
		if got != c.want || (c.want == "") != errors.Is(err, ErrNone) {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestConnectToADeadBusIsNone(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "gone"))
	if _, err := Connect(); !errors.Is(err, ErrNone) {
		t.Errorf("connecting to a dead bus: %v", err)
	}
}

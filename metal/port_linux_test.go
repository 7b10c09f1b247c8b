package metal

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// This very process listens, and is found by its port.
func TestListener(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"} {
		s, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		port := s.Addr().(*net.TCPAddr).Port
		r, err := New()
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.(*linux).Listener(port)
		if err != nil || p.PID != os.Getpid() {
			t.Errorf("%s: %s, %v; want this process, %d", at, show(p), err, os.Getpid())
		}
		s.Close()
		if p, err := r.(*linux).Listener(port); !errors.Is(err, ErrNoProcess) {
			t.Errorf("%s, closed: %s, %v; want nobody", at, show(p), err)
		}
	}
}

// Tables and links of a machine of the test's own.
func TestListenerOfTables(t *testing.T) {
	l, root := laptop(t)
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("/proc/net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+
		"   0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 100 0 0 10 0\n"+
		"   1: 0100007F:2CAB 0100007F:2CAA 01 00000000:00000000 00:00000000 00000000  1000        0 31338 1 0 100 0 0 10 0\n"+
		"   2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 31339 1 0 100 0 0 10 0\n"+
		"a line cut off 0A\n")
	for link, to := range map[string]string{"/proc/4101/fd/3": "socket:[31337]", "/proc/5200/fd/9": "socket:[31338]", "/proc/5500/fd/0": "/dev/null"} {
		if err := os.MkdirAll(filepath.Dir(root+link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, root+link); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := l.Listener(11434); err != nil || p.PID != 4101 || p.Name != "ollama" {
		t.Errorf("port 11434: %s, %v; want the ollama of the fixture", show(p), err)
	}
	if p, err := l.Listener(11435); !errors.Is(err, ErrNoProcess) {
		t.Errorf("a port that is only connected: %s, %v; want nobody", show(p), err)
	}
	if p, err := l.Listener(8080); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("a socket that is in nobody's files: %s, %v; want not permitted", show(p), err)
	}
	remove(t, root+"/proc/net")
	if p, err := l.Listener(11434); !errors.Is(err, ErrNoProcess) {
		t.Errorf("without tables: %s, %v; want nobody", show(p), err)
	}
}

package wired

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const mibKey, byteKey = "iogpu.wired_limit_mb", "debug.iogpu.wired_limit"

// errCut is what a fakeMac panics with where the process is cut off.
var errCut = errors.New("cut off")

// fakeMac is a Mac in memory. Everything in it survives the process.
type fakeMac struct {
	mu      *sync.Mutex
	ram     uint64
	sysctls map[string]uint64
	boot    string
	now     time.Duration
	files   map[string]string
	audit   []string
	written []uint64 // what was ever written by SetSysctl

	cut        int // the step at which the process is cut off, from 1; 0: none
	steps      int
	fail       map[string]error              // errors of "set", "get", "get after set", "write", "after write", "read FILE", "audit", "ram", "boot", "clock"
	takes      func(uint64) uint64           // what the system makes of a value
	delay      time.Duration                 // before each line of the audit
	continuous func() (time.Duration, error) // instead of now
}

func newFakeMac(ram uint64) *fakeMac {
	return &fakeMac{
		mu: new(sync.Mutex), ram: ram, sysctls: map[string]uint64{mibKey: 0}, boot: "boot 1", now: time.Minute,
		files: map[string]string{UsersFile: "501\n"}, fail: map[string]error{},
	}
}

// step is a moment at which a process may be cut off.
func (m *fakeMac) step() {
	m.steps++
	if m.steps == m.cut {
		panic(errCut)
	}
}

func (m *fakeMac) Sysctl(name string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.sysctls[name]
	if err := m.fail["get"]; err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("sysctl %s: %w", name, ErrNoKey)
	}
	return n, nil
}

func (m *fakeMac) SetSysctl(name string, value uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail["set"]; err != nil {
		return err
	}
	m.step()
	if m.written = append(m.written, value); m.takes != nil {
		value = m.takes(value)
	}
	m.sysctls[name] = value
	m.fail["get"] = m.fail["get after set"]
	m.step()
	return nil
}

func (m *fakeMac) RAM() (uint64, error) { return m.ram, m.failure("ram") }

func (m *fakeMac) BootSession() (string, error) { return m.boot, m.failure("boot") }

func (m *fakeMac) Files() Files { return m }

func (m *fakeMac) Continuous() (time.Duration, error) {
	if m.continuous != nil {
		return m.continuous()
	}
	return m.now, m.failure("clock")
}

func (m *fakeMac) failure(of string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fail[of]
}

func (m *fakeMac) Audit(line string) error {
	time.Sleep(m.delay)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail["audit"]; err != nil {
		return err
	}
	m.step()
	m.audit = append(m.audit, line)
	return nil
}

func (m *fakeMac) Read(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.files[name]
	switch {
	case m.fail["read "+name] != nil:
		return nil, m.fail["read "+name]
	case !ok:
		return nil, os.ErrNotExist
	}
	return []byte(text), nil
}

func (m *fakeMac) Write(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail["write"]; err != nil {
		return err
	}
	m.step()
	m.files[name] = string(data)
	delete(m.fail, "read "+name)
	m.step()
	return m.fail["after write"]
}

// restart starts the system again: the limit is gone, the files stay.
func (m *fakeMac) restart() {
	m.boot += "'"
	m.now = 20 * time.Second
	for name := range m.sysctls {
		m.sysctls[name] = 0
	}
}

// clone is a Mac of its own in the same state.
func (m *fakeMac) clone() *fakeMac {
	c := *m
	c.mu = new(sync.Mutex)
	c.sysctls, c.files, c.fail = maps.Clone(m.sysctls), maps.Clone(m.files), maps.Clone(m.fail)
	return &c
}

// limit is what is set, in MiB.
func (m *fakeMac) limit() MiB {
	n, _ := m.Sysctl(mibKey)
	return MiB(n)
}

func (m *fakeMac) state(t *testing.T) State {
	t.Helper()
	s, err := ReadState(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends one request to a server as a user over a connection, and returns the
// error's code, "" when it was done.
func ask(s *Server, uid int, line string) string {
	client, server := net.Pipe()
	defer client.Close()
	go s.Serve(server, uid)
	c := Client{Dial: func(context.Context) (net.Conn, error) { return client, nil }}
	_, err := c.ask(context.Background(), line)
	return codeOf(err)
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded.Code()
	}
	return "no code: " + err.Error()
}

// want runs lines of "request → code" and what follows, one user's.
func want(t *testing.T, s *Server, lines ...string) {
	t.Helper()
	for _, line := range lines {
		request, code, _ := strings.Cut(line, " → ")
		if got := ask(s, 0, request); got != code {
			t.Fatalf("%s: %q, want %q", request, got, code)
		}
	}
}

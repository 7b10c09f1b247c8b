package wired

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzProtocol gives bytes to a server over a connection in memory, one line a
// connection, with the clock and the system's starts in between. Whatever they
// are, nothing is ever written but 0 and what is within the bounds, and the answer
// is one of the known ones.
func FuzzProtocol(f *testing.F) {
	f.Add(uint16(32), true, []byte("set 26624 lease 120\nconfirm\nset 20000\nreset\nversion\nconfirm 20000\n"))
	f.Add(uint16(16), false, []byte("set 12000 lease 30\n\x01set 12288 lease 600\n\x02\nconfirm\n\x03"))
	f.Add(uint16(8), true, []byte("set 4096 lease 30\nset 4097 lease 30\nset 0\n"))
	f.Add(uint16(512), true, []byte("set 507904 lease 600\nset 507905 lease 600\nset 99999999 lease 1\n"))
	f.Add(uint16(0), true, []byte("set 1 lease 30\nset  1\nset 01\nset -1\n\x00"))
	f.Fuzz(func(t *testing.T, ram uint16, mib bool, data []byte) {
		m := newFakeMac(uint64(ram) * gib)
		key := mibKey
		if !mib {
			m.sysctls, key = map[string]uint64{byteKey: 0}, byteKey
		}
		s := NewServer(m, "1")
		for line := range bytes.Lines(data) {
			drive(t, s, m, line)
		}
		b := BoundsOf(m.ram)
		for _, value := range m.written {
			limit := MiB(value)
			if key == byteKey {
				if limit = MiB(value >> 20); limit.Bytes() != value {
					t.Fatalf("%d bytes were written", value)
				}
			}
			if err := b.Check(limit); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// drive gives one line to a server. A line that begins with a byte below 4 moves
// the clock, or starts the system again, first.
func drive(t *testing.T, s *Server, m *fakeMac, line []byte) {
	if len(line) > 0 && line[0] < 4 {
		m.now += time.Duration(line[0]) * 5 * time.Minute
		if line[0] == 3 {
			m.restart()
		}
		_, _ = s.Tick()
		line = line[1:]
	}
	before := m.files[StateFile]
	c := &memoryConn{in: line}
	err := s.Serve(c, 501)
	if !c.closed || !strings.HasSuffix(c.out.String(), "}\n") {
		t.Fatalf("answered %q", c.out.String())
	}
	switch code := codeOf(err); code {
	case "", CodeBounds, CodeNeedsLease, CodeNoLease, CodeChanged, CodeBusy, CodeBadRequest:
		// What is accepted is written as one would write it.
		if r, ok := parse(strings.TrimSuffix(string(line), "\n")); code == "" && (!ok || !written(r, string(line))) {
			t.Fatalf("accepted %q as %+v", line, r)
		}
		if after := m.files[StateFile]; code != "" && after != before && !strings.Contains(before, "_ns") {
			t.Fatalf("refused %q with %s, and yet %s became %s", line, code, before, after)
		}
	default:
		t.Fatalf("%q: %v", line, err)
	}
}

// written tells whether a line is the one way to write a request.
func written(r request, line string) bool {
	text := r.verb
	if r.verb == "set" || r.limit > 0 {
		text += " " + strconv.FormatUint(uint64(r.limit), 10)
	}
	lease := " lease " + strconv.FormatInt(int64(r.lease/time.Second), 10)
	return line == text+lease+"\n" && r.verb == "set" || line == text+"\n" && r.lease == 0
}

// memoryConn is one end of a connection whose other end has said all it will.
type memoryConn struct {
	net.Conn
	in     []byte
	out    strings.Builder
	closed bool
}

func (c *memoryConn) Read(b []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *memoryConn) Write(b []byte) (int, error)   { return c.out.Write(b) }
func (c *memoryConn) Close() error                  { c.closed = true; return nil }
func (c *memoryConn) SetDeadline(t time.Time) error { return nil }

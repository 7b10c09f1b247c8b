package wired

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// raw sends bytes as they are and returns the answer's code.
func raw(t *testing.T, s *Server, uid int, text string) string {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	go s.Serve(server, uid)
	go io.WriteString(client, text)
	return answered(t, client)
}

func answered(t *testing.T, conn net.Conn) string {
	t.Helper()
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil || a.Protocol != Protocol || a.Version != "1" {
		t.Fatalf("answer %s, %v", line, err)
	}
	return a.Code
}

func TestGarbage(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	for _, text := range []string{
		"\n", " \n", "set\n", "set \n", "set 26624 \n", " set 26624\n", "set  26624\n", "SET 26624\n", "set 26624 lease\n",
		"set 26624 lease \n", "set 26624 lease 120 120\n", "set 26624 for 120\n", "set +26624 lease 120\n", "set -1 lease 120\n",
		"set 026624 lease 120\n", "set 0x6800 lease 120\n", "set 2e4 lease 120\n", "set 26_624 lease 120\n", "set 26624.0 lease 120\n",
		"set 266240000 lease 120\n", "set 18446744073709551616 lease 120\n", "set 26624 lease 1e2\n", "set 26624 lease -1\n",
		"set 26624 lease 1000000\n", "set 26624 lease 120\r\n", "set 26624 lease 120\x00\n", "set ２６６２４ lease 120\n",
		"reset \n", "reset 0\n", "confirm 0\n", "confirm 01\n", "confirm -1\n", "confirm 1 lease 30\n", "confirm \n", "version 1\n", "reset\nset 26624 lease 120\n", "reset\n\n",
		strings.Repeat("a", 63) + "\n", strings.Repeat("a", 64) + "\n", strings.Repeat("a", 1<<20) + "\n", "\x00\xff\xfe\n", "GET / HTTP/1.1\n",
		"set 26624;reset lease 120\n", "set $(id) lease 120\n", "../../etc/passwd\n",
	} {
		if got := raw(t, s, 0, text); got != CodeBadRequest {
			t.Errorf("%.40q: %q", text, got)
		}
	}
	if m.steps != 0 {
		t.Errorf("%d steps", m.steps)
	}
}

func TestWhoMayAsk(t *testing.T) {
	for _, test := range []struct {
		name  string
		users string
		uid   int
		code  string
	}{
		{"root", "501\n", 0, ""},
		{"recorded", "501\n502\n", 502, ""},
		{"not recorded", "501\n502\n", 503, CodeNotPermitted},
		{"last line without an end", "501\n502", 502, ""},
		{"nobody recorded", "", 501, CodeNotPermitted},
		{"a list that cannot be read permits nobody", "501\nx\n", 501, CodeNotPermitted},
		{"nor one with signs", "+501\n", 501, CodeNotPermitted},
		{"nor one with blanks", "501 \n", 501, CodeNotPermitted},
		{"nor one that is too long", strings.Repeat("501\n", usersMost+1), 501, CodeNotPermitted},
		{"root needs none", "x", 0, ""},
		{"no user at all", "501\n", -1, CodeNotPermitted},
	} {
		m := newFakeMac(32 * gib)
		m.files[UsersFile] = test.users
		s := NewServer(m, "1")
		for _, line := range []string{"version", "reset", "set 26624 lease 30", "confirm"} {
			if got := ask(s, test.uid, line); got != test.code {
				t.Errorf("%s, %s: %q", test.name, line, got)
			}
		}
		if permitted := m.limit() != 0; permitted != (test.code == "") {
			t.Errorf("%s: %d is set", test.name, m.limit())
		}
	}
	m := newFakeMac(32 * gib)
	m.fail["read "+UsersFile] = ErrUntrusted
	if got := ask(NewServer(m, "1"), 501, "reset"); got != CodeNotPermitted {
		t.Errorf("a list that others could have written: %q", got)
	}
	delete(m.files, UsersFile)
	if got := ask(NewServer(m, "1"), 501, "reset"); got != CodeNotPermitted {
		t.Errorf("no list: %q", got)
	}
}

func TestUsersFile(t *testing.T) {
	text := Users{501, 0, 2147483647}.Text()
	if string(text) != "501\n0\n2147483647\n" {
		t.Errorf("%q", text)
	}
	if got, err := ParseUsers(text); err != nil || fmt.Sprint(got) != "[501 0 2147483647]" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestSlow: a connection is over after 2 s, however its bytes drip.
func TestSlow(t *testing.T) {
	for name, drip := range map[string]string{"silent": "", "dripping": "set 26624 lease 120\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFakeMac(32 * gib)
				s := NewServer(m, "1")
				client, server := net.Pipe()
				defer client.Close()
				began := time.Now()
				done, dripped := make(chan error, 1), make(chan struct{})
				go func() { done <- s.Serve(server, 501) }()
				go func() {
					defer close(dripped)
					for _, b := range []byte(drip) {
						time.Sleep(time.Second)
						if _, err := client.Write([]byte{b}); err != nil {
							return
						}
					}
				}()
				err := <-done
				if took := time.Since(began); took != requestTime || !errors.Is(err, os.ErrDeadlineExceeded) || m.steps != 0 {
					t.Errorf("%v after %v", err, took)
				}
				client.Close()
				<-dripped
			})
		})
	}
}

// TestAnswerIsNotTaken: nor does one wait for a client that reads nothing.
func TestAnswerIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(newFakeMac(32*gib), "1")
		client, server := net.Pipe()
		defer client.Close()
		done := make(chan error, 1)
		go func() { done <- s.Serve(server, 501) }()
		io.WriteString(client, "version\n")
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(newFakeMac(32*gib), "1")
		var held []net.Conn
		for range atOnce {
			client, server := net.Pipe()
			held = append(held, client)
			go s.Serve(server, 501)
		}
		synctest.Wait()
		if got := ask(s, 501, "version"); got != CodeBusy {
			t.Errorf("one too many: %q", got)
		}
		for _, c := range held {
			c.Close()
		}
		synctest.Wait()
		if got := ask(s, 501, "version"); got != "" {
			t.Errorf("after they left: %q", got)
		}
	})
}

func TestRate(t *testing.T) {
	m := newFakeMac(32 * gib)
	m.files[UsersFile] = "501\n502\n"
	s := NewServer(m, "1")
	for i := range burst {
		if got := ask(s, 501, "version"); got != "" {
			t.Fatalf("request %d: %q", i, got)
		}
	}
	for _, line := range []string{"version", "set 26624 lease 120", "nonsense"} {
		if got := ask(s, 501, line); got != CodeBusy && line != "nonsense" {
			t.Errorf("%s: %q", line, got)
		}
	}
	if got := ask(s, 502, "version"); got != "" {
		t.Errorf("another user: %q", got)
	}
	for range 2 * burst {
		if got := ask(s, 0, "version"); got != "" {
			t.Fatalf("root: %q", got)
		}
	}
	m.now += refill
	if got := ask(s, 501, "version") + "," + ask(s, 501, "version"); got != ","+CodeBusy {
		t.Errorf("after a second: %q", got)
	}
	for _, requests := range []int{1, burst} {
		m.now += time.Hour
		for range requests {
			ask(s, 501, "version")
		}
	}
	if got := ask(s, 501, "version"); got != CodeBusy {
		t.Errorf("an hour gives more than %d: %q", burst, got)
	}
	m.fail["clock"] = errors.New("broken")
	if got := ask(s, 501, "version"); got != CodeFailed {
		t.Errorf("no clock: %q", got)
	}
}

// TestRateWhenTheClockGoesBack: that costs nobody anything.
func TestRateWhenTheClockGoesBack(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	for _, now := range []time.Duration{time.Hour, 0, 0} {
		m.now = now
		if got := ask(s, 501, "version"); got != "" {
			t.Errorf("at %v: %q", now, got)
		}
	}
}

// TestReplay: a request that is sent again is a request: a confirmation finds
// nothing on trial, and what comes back is what was there first.
func TestReplay(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	for range 3 {
		want(t, s, "set 26624 lease 30 → ")
		m.now += 20 * time.Second
	}
	if l := m.state(t).Lease; l.Previous != 0 || l.Left != 10*time.Second {
		t.Errorf("%+v", l)
	}
	want(t, s, "confirm → ", "confirm → "+CodeNoLease, "reset → ", "confirm → "+CodeNoLease, "reset → ")
	stands(t, m, 0, 0, 0)
}

func TestConcurrent(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "1")
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for range 100 {
				ask(s, 0, []string{"set 26624 lease 30", "set 28672 lease 600", "confirm", "reset", "set 20000 lease 40", "version"}[i])
				if _, err := s.Tick(); err != nil {
					t.Error(err)
				}
				if _, err := ReadState(m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	b := BoundsOf(m.ram)
	for _, value := range m.written {
		if err := b.Check(MiB(value)); err != nil {
			t.Fatal(err)
		}
	}
	state := m.state(t)
	if state.Lease != nil && state.Lease.Value != state.Set || state.Remembered != nil && state.Lease == nil && *state.Remembered != state.Set {
		t.Errorf("%+v", state)
	}
}

func TestClient(t *testing.T) {
	m := newFakeMac(32 * gib)
	s := NewServer(m, "0.1.0")
	c := &Client{Dial: func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go s.Serve(server, 501)
		return client, nil
	}}
	ctx := t.Context()
	if h, err := c.Version(ctx); err != nil || h != (Helper{Protocol, "0.1.0"}) {
		t.Errorf("%+v, %v", h, err)
	}
	if err := c.Set(ctx, 26624, 30500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if l := m.state(t).Lease; l.Left != 31*time.Second {
		t.Errorf("half a second was not rounded up: %v", l.Left)
	}
	if err := errors.Join(c.Confirm(ctx, 0), c.Set(ctx, 20000, 0)); err != nil {
		t.Fatal(err)
	}
	stands(t, m, 20000, 20000, 0)
	if err := c.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	stands(t, m, 0, 0, 0)
	if got := codeOf(c.Set(ctx, 26624, 0)); got != CodeNeedsLease {
		t.Errorf("%q", got)
	}
	if got := codeOf(c.Set(ctx, 26624, 20*time.Minute)); got != CodeNeedsLease {
		t.Errorf("%q", got)
	}
	m.sysctls = map[string]uint64{}
	if err := c.Reset(ctx); !errors.Is(err, ErrNoKey) {
		t.Error(err)
	}
}

func TestClientOfAnotherHelper(t *testing.T) {
	for _, test := range []struct{ name, answer, code string }{
		{"newer", `{"protocol":2,"version":"9","new":[1]}` + "\n", CodeProtocol},
		{"older", `{"protocol":0,"code":"limit_bad_request"}` + "\n", CodeProtocol},
		{"not ours", "hello\n", CodeProtocol},
		{"nothing", "", CodeSilent},
		{"cut", `{"protocol":1`, CodeSilent},
		{"endless", strings.Repeat("a", 2*answerMost), CodeSilent},
	} {
		client, server := net.Pipe()
		go func() {
			bufio.NewReader(server).ReadString('\n')
			io.WriteString(server, test.answer)
			server.Close()
		}()
		c := &Client{Dial: func(context.Context) (net.Conn, error) { return client, nil }}
		h, err := c.Version(t.Context())
		if got := codeOf(err); got != test.code {
			t.Errorf("%s: %q", test.name, got)
		}
		if test.name == "newer" && h != (Helper{2, "9"}) {
			t.Errorf("%+v", h)
		}
	}
	gone := &Client{Dial: func(context.Context) (net.Conn, error) { return nil, os.ErrNotExist }}
	if err := gone.Reset(t.Context()); codeOf(err) != CodeSilent || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		began := time.Now()
		c := &Client{Dial: func(context.Context) (net.Conn, error) { return client, nil }}
		err := c.Reset(t.Context())
		if codeOf(err) != CodeSilent || time.Since(began) != patience || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

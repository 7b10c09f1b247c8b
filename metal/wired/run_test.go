package wired

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	end   chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), end: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.end:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.end) }); return nil }
func (p *pipes) Addr() net.Addr { return nil }

func (p *pipes) client() *Client {
	return &Client{Dial: func(ctx context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		select {
		case p.conns <- server:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// running is a helper in a synctest bubble, whose clock is the Mac's.
type running struct {
	mac    *fakeMac
	client *Client
	stop   func()
	pipes  *pipes
	ended  chan error
	began  time.Time
	log    []string
}

func start(t *testing.T, m *fakeMac) *running {
	t.Helper()
	r := &running{mac: m, pipes: newPipes(), ended: make(chan error, 1), began: time.Now()}
	m.continuous = func() (time.Duration, error) { return time.Minute + time.Since(r.began), nil }
	r.client = r.pipes.client()
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	who := func(net.Conn) (int, error) { return 501, nil }
	go func() {
		r.ended <- NewServer(m, "1").Run(ctx, r.pipes, who, func(s string) { r.log = append(r.log, s) })
	}()
	return r
}

func TestStaysAfterTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newFakeMac(32*gib))
		time.Sleep(14 * time.Second)
		if _, err := r.client.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if stayed := time.Since(asked); stayed < 15*time.Second || stayed > 25*time.Second {
			t.Errorf("stayed %v", stayed)
		}
	})
}

// TestTheStartComesBeforeTheFirstRequest: whoever is answered sees a machine on which
// all that was due is done.
func TestTheStartComesBeforeTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMac(32 * gib)
		want(t, NewServer(m, "1"), "set 28672 lease 60 → ", "confirm → ")
		m.restart()
		m.delay = time.Second
		began, accepted := time.Now(), make(chan time.Time, 1)
		l := firstAccept{newPipes(), accepted}
		stop, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- NewServer(m, "1").Run(stop, l, nil, func(string) {}) }()
		if at := <-accepted; at.Sub(began) < m.delay {
			t.Errorf("it took requests after %v", at.Sub(began))
		}
		cancel()
		if err := <-ended; m.limit() != 28672 || !errors.Is(err, ErrOpen) {
			t.Errorf("%d MiB set, %v", m.limit(), err)
		}
	})
}

// firstAccept tells when it was first asked for a connection.
type firstAccept struct {
	*pipes
	at chan<- time.Time
}

func (l firstAccept) Accept() (net.Conn, error) {
	select {
	case l.at <- time.Now():
	default:
	}
	return l.pipes.Accept()
}

func TestStaysWhileALeaseIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newFakeMac(32*gib))
		if err := r.client.Set(t.Context(), 28672, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		if got := r.mac.limit(); got != 28672 {
			t.Errorf("%d before the time", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := r.mac.limit(); got != 0 {
			t.Errorf("%d after the time", got)
		}
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStaysUntilTheStartIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := confirmed(t)
		r := start(t, m)
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if up := time.Since(r.began); up < survived || up > survived+time.Minute {
			t.Errorf("ended after %v", up)
		}
		if m.limit() != 28672 || strings.Contains(m.files[StateFile], "pending") {
			t.Errorf("%d set, %s", m.limit(), m.files[StateFile])
		}
	})
}

// TestToldToStop: the lease stays in its file, and the error makes launchd start
// the helper again.
func TestToldToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMac(32 * gib)
		r := start(t, m)
		if err := r.client.Set(t.Context(), 28672, time.Minute); err != nil {
			t.Fatal(err)
		}
		r.stop()
		if err := <-r.ended; !errors.Is(err, ErrOpen) {
			t.Errorf("ended with %v", err)
		}
		stands(t, m, 28672, 0, 28672)
		r = start(t, m)
		time.Sleep(2 * time.Minute)
		if err := <-r.ended; err != nil || m.limit() != 0 {
			t.Errorf("%v, %d set", err, m.limit())
		}
		r = start(t, m)
		r.stop()
		if err := <-r.ended; err != nil {
			t.Errorf("nothing open: %v", err)
		}
	})
}

func TestListenerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newFakeMac(32*gib))
		synctest.Wait()
		r.pipes.Close()
		if err := <-r.ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestSameErrorIsSaidOnce also when it is there every second.
func TestSameErrorIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMac(32 * gib)
		m.files[StateFile] = "{"
		r := start(t, m)
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if len(r.log) != 1 || !strings.Contains(r.log[0], StateFile) {
			t.Errorf("%q", r.log)
		}
	})
}

func TestUnknownCallerIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newFakeMac(32*gib), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		who := func(net.Conn) (int, error) { return 0, errors.New("not told") }
		go func() { ended <- NewServer(m, "1").Run(ctx, p, who, func(string) {}) }()
		if err := p.client().Set(t.Context(), 28672, time.Minute); codeOf(err) != CodeSilent {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil || m.limit() != 0 {
			t.Errorf("%v, %d set", err, m.limit())
		}
	})
}

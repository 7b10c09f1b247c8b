package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"plimsoll/monitor"
)

func TestFiftyWatchersSeeEveryTickAndTheEnd(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	stop := start(t, a, path, stuckAfter)
	const watchers, ticks = 50, 5
	var group sync.WaitGroup
	ready := make(chan struct{}, watchers)
	seen := make(chan error, watchers)
	for i := range watchers {
		group.Go(func() {
			var last time.Time
			first := true
			err := Dial(path).Watch(context.Background(), monitor.Options{Lossless: i%2 == 0}, func(u monitor.Update) error {
				if first {
					first = false
					ready <- struct{}{}
				}
				if u.Snapshot.Taken.Before(last) {
					return fmt.Errorf("an update from %v after one from %v", u.Snapshot.Taken, last)
				}
				if last = u.Snapshot.Taken; last.Equal(epoch.Add(ticks * time.Second)) {
					seen <- nil
				}
				return nil
			})
			if !errors.Is(err, ErrGone) {
				seen <- fmt.Errorf("a watcher ended with %v, want ErrGone", err)
			}
		})
	}
	for range watchers {
		receive(t, ready, "a watcher's first update")
	}
	for range ticks {
		a.clock.tick(t)
	}
	for range watchers {
		if err := receive(t, seen, "a watcher's last update"); err != nil {
			t.Error(err)
		}
	}
	stop()
	group.Wait()
	if len(seen) > 0 {
		t.Error(<-seen)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket outlived the server")
	}
}

// stream opens an update stream that a test reads as slowly as it likes.
func stream(t *testing.T, path, query string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("unix", path)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(deadline))
	fmt.Fprintf(conn, "GET /v1/updates%s HTTP/1.1\r\nHost: plimsoll\r\n\r\n", query)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	return conn, bufio.NewReader(answer.Body)
}

func TestASlowReaderGetsTheNewestAndHoldsNobody(t *testing.T) {
	a := newFakeAgent(t, long(200<<10)) // a line is about the size of the socket's buffer
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	_, lines := stream(t, path, "")
	var u monitor.Update
	for range 30 {
		a.clock.tick(t) // fails should the monitor wait for the reader
	}
	read := 0
	for u.Snapshot == nil || !u.Snapshot.Taken.Equal(epoch.Add(30*time.Second)) {
		line, err := lines.ReadBytes('\n')
		must(t, err)
		u = monitor.Update{}
		must(t, json.Unmarshal(line, &u))
		read++
	}
	if read > 15 {
		t.Errorf("the slow reader got %d of 30 updates, want them joined", read)
	}
}

// closeListener tells when the server hangs up on a client.
type closeListener struct {
	net.Listener
	closed chan struct{}
}

func (l closeListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return closeConn{conn, l.closed}, err
}

type closeConn struct {
	net.Conn
	closed chan struct{}
}

func (c closeConn) Close() error {
	c.closed <- struct{}{}
	return c.Conn.Close()
}

func TestAStuckReaderIsLetGo(t *testing.T) {
	a := newFakeAgent(t, long(200<<10))
	path := agentPath(t)
	l, err := Listen(path)
	must(t, err)
	closed := make(chan struct{}, 8)
	serving(t, a, closeListener{l, closed}, 50*time.Millisecond)
	stream(t, path, "?lossless=1")
	for range 20 {
		a.clock.tick(t) // far more than the socket's buffer holds
	}
	receive(t, closed, "the server's end of the connection") // though nobody reads
}

func TestALosslessReaderThatFallsFarBehindGetsAGap(t *testing.T) {
	a := newFakeAgent(t, long(200<<10))
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	_, lines := stream(t, path, "?lossless=1")
	const ticks = 600 // past the mailbox's bound
	for range ticks {
		a.clock.tick(t)
	}
	updates, missing := 0, 0
	for {
		line, err := lines.ReadBytes('\n')
		must(t, err)
		var u monitor.Update
		must(t, json.Unmarshal(line, &u))
		updates++
		for _, e := range u.Events {
			if e.Kind == monitor.EventGap {
				missing += *e.Evidence.Count
			}
		}
		if missing > 0 || updates > ticks {
			break
		}
	}
	if missing == 0 {
		t.Errorf("%d updates came and none tells of the gap", updates)
	}
}

func TestAClientFindsTheNextAgent(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	client := Dial(path)
	ctx := context.Background()
	nothing := func(monitor.Update) error { return nil }
	if err := client.Watch(ctx, monitor.Options{}, nothing); !errors.Is(err, ErrNoAgent) {
		t.Errorf("before the agent: %v, want ErrNoAgent", err)
	}
	for range 3 {
		stop := start(t, a, path, stuckAfter)
		first := make(chan struct{}, 8)
		ended := make(chan error, 1)
		go func() {
			ended <- client.Watch(ctx, monitor.Options{}, func(monitor.Update) error { first <- struct{}{}; return nil })
		}()
		receive(t, first, "the first update")
		stop()
		if err := receive(t, ended, "the stream's end"); !errors.Is(err, ErrGone) {
			t.Errorf("when the agent ended: %v, want ErrGone", err)
		}
		if err := client.Watch(ctx, monitor.Options{}, nothing); !errors.Is(err, ErrNoAgent) {
			t.Errorf("after the agent: %v, want ErrNoAgent", err)
		}
	}
}

func TestAWatchEndsAsItsCallerWants(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	enough := errors.New("enough")
	err := Dial(path).Watch(context.Background(), monitor.Options{}, func(monitor.Update) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("the callback's error came as %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = Dial(path).Watch(ctx, monitor.Options{}, func(monitor.Update) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the context came as %v", err)
	}
}

func TestWatchAsksForConsumers(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	enough := errors.New("enough")
	ticked := false
	err := Dial(path).Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
		if !ticked { // subscribed
			ticked = true
			a.clock.tick(t)
		}
		if len(u.Snapshot.Consumers) > 0 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("no consumers came: %v", err)
	}
}

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(deadline):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

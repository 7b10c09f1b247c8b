package wired

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// lingers is how long the helper stays after the last request. launchd holds up
	// a job that ended within 10 s of its start (launchd.plist(5), ThrottleInterval).
	lingers = 20 * time.Second
	// ticks is how often a lease is looked at. A timer would stand still in sleep,
	// which counts.
	ticks = time.Second
)

// ErrOpen says that the server ended before what it has to watch was over.
// Its process must end with an error then, so that launchd starts it again.
var ErrOpen = errors.New("ended with a lease or a start open")

// Run serves until nobody has asked for a while and nothing is open, or until it
// is told to stop; a lease stays in its file then, and the error is ErrOpen. who
// tells the effective user at the other end of a connection.
func (s *Server) Run(stop context.Context, l net.Listener, who func(net.Conn) (int, error), log func(string)) error {
	said := ""
	tick := func() bool {
		open, err := s.Tick()
		if now := fmt.Sprint(err); err != nil && now != said {
			log(now)
			said = now
		}
		return open
	}
	// What is due comes first: whoever has an answer knows that it is done.
	open := tick()
	asked, done := make(chan struct{}, 1), make(chan error, 1)
	go func() { done <- s.accept(l, who, asked) }()
	idle, every := time.NewTimer(lingers), time.NewTicker(ticks)
	defer every.Stop()
	defer idle.Stop()
	for running := true; running; {
		select {
		case <-asked:
			idle.Reset(lingers)
		case <-every.C:
			open = tick()
		case <-idle.C:
			running = open
			idle.Reset(lingers)
		case <-stop.Done():
			running = false
		case err := <-done:
			return fmt.Errorf("waiting for requests: %w", err)
		}
	}
	l.Close()
	<-done
	if tick() {
		return ErrOpen
	}
	return nil
}

// accept answers each connection, until the listener is closed and all are answered.
func (s *Server) accept(l net.Listener, who func(net.Conn) (int, error), asked chan<- struct{}) error {
	var answering sync.WaitGroup
	defer answering.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		answering.Go(func() {
			if uid, err := who(conn); err != nil {
				conn.Close()
			} else {
				_ = s.Serve(conn, uid) // it was answered
			}
			select {
			case asked <- struct{}{}:
			default:
			}
		})
	}
}

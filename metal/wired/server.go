package wired

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is all that root does: it answers requests and keeps leases. Its
// methods may be called by several goroutines.
type Server struct {
	system  System
	version string
	slots   chan struct{}

	mu      sync.Mutex
	trial   *lease          // of the file's last reading; also one that is gone from it and not back yet
	budgets map[int]*budget // by user id
}

// What one caller may take.
const (
	requestTime = 2 * time.Second // for a whole connection
	atOnce      = 8               // connections
	burst       = 20              // requests of a user, of which one comes back
	refill      = time.Second     // in this time
)

// NewServer makes a server for a system. version is what it tells of itself.
func NewServer(system System, version string) *Server {
	return &Server{system: system, version: version, slots: make(chan struct{}, atOnce), budgets: map[int]*budget{}}
}

// Serve answers the one request of a connection and closes it. peer is the
// effective user id at the other end, as the kernel tells it. Every check is made
// here: who asks, how much and how long it takes, how often, and what for. The
// error is the one that was answered.
func (s *Server) Serve(conn net.Conn, peer int) error {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(requestTime))
	err := s.serve(conn, peer)
	a := answer{Protocol: Protocol, Version: s.version}
	if err != nil {
		a.Code, a.Text = CodeFailed, err.Error()
		if coded, ok := errors.AsType[*Error](err); ok {
			a.Code = coded.code
		}
	}
	text, failed := json.Marshal(a)
	if failed == nil {
		_, failed = conn.Write(append(text, '\n'))
	}
	return errors.Join(err, failed)
}

func (s *Server) serve(conn net.Conn, peer int) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return failure(CodeBusy, "too many connections", nil)
	}
	if err := s.permitted(peer); err != nil {
		return err
	}
	r, err := read(conn)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.spend(peer); err != nil {
		return err
	}
	return s.do(r, peer)
}

// permitted tells whether a user may ask: root, and those recorded at install. A
// list that cannot be believed permits nobody.
func (s *Server) permitted(peer int) error {
	if peer == 0 {
		return nil
	}
	data, err := s.system.Files().Read(UsersFile)
	var users Users
	if err == nil {
		users, err = ParseUsers(data)
	}
	if err != nil || !slices.Contains(users, peer) {
		return failure(CodeNotPermitted, fmt.Sprintf("user %d may not change the limit", peer), err)
	}
	return nil
}

// read takes one line, and nothing after it.
func read(conn net.Conn) (request, error) {
	in := bufio.NewReaderSize(io.LimitReader(conn, requestMost), requestMost)
	line, err := in.ReadString('\n')
	if err != nil {
		return request{}, failure(CodeBadRequest, "reading the request", err)
	}
	r, ok := parse(strings.TrimSuffix(line, "\n"))
	if !ok || in.Buffered() > 0 {
		return request{}, failure(CodeBadRequest, "not a request", nil)
	}
	return r, nil
}

// budget is what a user may still ask.
type budget struct {
	left int
	at   time.Duration // of the last refill
}

// spend takes one request from a user's budget. Root, who could change the limit
// anyhow, has no bounds. There are only budgets of users on the list.
func (s *Server) spend(peer int) error {
	if peer == 0 {
		return nil
	}
	now, err := s.system.Continuous()
	if err != nil {
		return fmt.Errorf("reading the time: %w", err)
	}
	b := s.budgets[peer]
	if b == nil {
		b = &budget{left: burst, at: now}
		s.budgets[peer] = b
	}
	if back := (now - b.at) / refill; back > 0 {
		b.left = min(burst, b.left+int(min(back, burst)))
		b.at += back * refill
	}
	if b.left <= 0 {
		return failure(CodeBusy, "too many requests", nil)
	}
	b.left--
	return nil
}

// do carries out a request.
func (s *Server) do(r request, peer int) error {
	if r.verb == "version" {
		return nil
	}
	t, err := s.begin()
	if t == nil {
		return err
	}
	switch {
	case r.verb == "reset" || r.verb == "set" && r.limit == 0:
		return t.reset(peer)
	case err != nil:
		return err
	case r.verb == "confirm":
		return t.confirm(r, peer)
	}
	return t.setLimit(r, peer)
}

// permission tells a refusal of the system from other failures to write.
func permission(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return failure(CodeRefused, "the system does not let the limit be set", err)
	}
	return err
}

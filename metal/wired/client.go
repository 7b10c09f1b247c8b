package wired

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Client speaks to a helper. Each call is one connection.
type Client struct {
	// Dial opens a connection to the helper's socket.
	Dial func(context.Context) (net.Conn, error)
}

// patience bounds a call whose context has no deadline: launchd starts the helper
// on the first connection.
const patience = 10 * time.Second

// Set sets the limit. Raised, it is on trial for the time of the lease, whole
// seconds (rounded up) from LeaseLeast to LeaseMost; lowered or 0, it needs none.
func (c *Client) Set(ctx context.Context, limit MiB, lease time.Duration) error {
	line := fmt.Sprintf("set %d", limit)
	if lease > 0 {
		line += fmt.Sprintf(" lease %d", (lease+time.Second-1)/time.Second)
	}
	return c.change(ctx, line)
}

// Confirm ends the trial: the limit stays and is remembered. It fails with
// CodeChanged when another limit than the one that is named is on trial; 0 names
// none.
func (c *Client) Confirm(ctx context.Context, limit MiB) error {
	if limit == 0 {
		return c.change(ctx, "confirm")
	}
	return c.change(ctx, fmt.Sprintf("confirm %d", limit))
}

// Reset goes back to the system's default and forgets what was remembered.
func (c *Client) Reset(ctx context.Context) error { return c.change(ctx, "reset") }

// Version asks the helper what it is. It fails with CodeProtocol, beside the
// Helper, when that speaks another version of the protocol than this program.
func (c *Client) Version(ctx context.Context) (Helper, error) {
	a, err := c.ask(ctx, "version")
	return Helper{Protocol: a.Protocol, Version: a.Version}, err
}

func (c *Client) change(ctx context.Context, line string) error {
	_, err := c.ask(ctx, line)
	return err
}

func (c *Client) ask(ctx context.Context, line string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := c.Dial(ctx)
	if err != nil {
		return answer{}, failure(CodeSilent, "connecting to the helper", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// A helper that refuses without reading takes nothing: its answer is read
	// whether the request went out or not.
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, line+"\n")
		sent <- err
	}()
	text, err := bufio.NewReader(io.LimitReader(conn, answerMost)).ReadString('\n')
	if err != nil {
		conn.Close()
		return answer{}, failure(CodeSilent, "asking the helper", errors.Join(<-sent, err, context.Cause(ctx)))
	}
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return answer{}, failure(CodeProtocol, "reading the helper's answer", err)
	}
	switch {
	case a.Protocol != Protocol:
		return a, failure(CodeProtocol, fmt.Sprintf("the helper speaks protocol %d, not %d", a.Protocol, Protocol), nil)
	case a.Code == CodeNoKey:
		return a, ErrNoKey
	case a.Code != "":
		return a, failure(a.Code, "the helper: "+a.Text, nil)
	}
	return a, nil
}

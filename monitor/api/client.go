package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

const (
	// patience is how long the agent may take to answer; a command waits for
	// the model server's own time-out of a few seconds.
	patience = 15 * time.Second
	// margin is what a command may take beyond the time that the agent gives it.
	margin = 5 * time.Second
	// dialPatience is for the connection alone, which is local.
	dialPatience = 2 * time.Second
	// answerLimit bounds what is not a stream. A list of a thousand models is
	// under a megabyte.
	answerLimit = 16 << 20
)

// Client talks to the agent at one socket. It connects for each call, so an
// agent that was started again is found again. It is safe for concurrent use.
type Client struct {
	path string
	http *http.Client
	slow *http.Client // for commands, of which each has its own time
}

// Dial makes a client. It does not connect yet.
func Dial(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := checkSocket(path); err != nil {
			return nil, err
		}
		return (&net.Dialer{Timeout: dialPatience}).DialContext(ctx, "unix", path)
	}
	over := func(wait time.Duration) *http.Client {
		// No proxy, whatever the variables say; a connection each, as an agent
		// that ended leaves nothing to keep.
		return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: wait}}
	}
	return &Client{path: path, http: over(patience), slow: over(0)}
}

// Path is the socket's.
func (c *Client) Path() string { return c.path }

// Health asks the agent about itself. Like every call it fails with ErrNoAgent
// when nobody listens.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var health Health
	err := c.call(ctx, http.MethodGet, "/v1/health", nil, &health)
	return health, err
}

// Models lists what the model servers have on disk.
func (c *Client) Models(ctx context.Context) ([]backend.Model, error) {
	var models []backend.Model
	err := c.call(ctx, http.MethodGet, "/v1/models", nil, &models)
	return models, err
}

// Builds tells how the models on disk are built, as far as their servers have told.
func (c *Client) Builds(ctx context.Context) ([]monitor.Build, error) {
	var builds []monitor.Build
	err := c.call(ctx, http.MethodGet, "/v1/builds", nil, &builds)
	return builds, err
}

// Plans is a short plan of every model on disk.
func (c *Client) Plans(ctx context.Context) ([]monitor.Plan, error) {
	var plans []monitor.Plan
	err := c.call(ctx, http.MethodGet, "/v1/plans", nil, &plans)
	return plans, err
}

// Plan asks what a model on disk comes to. It fails as monitor.Monitor.Plan does.
func (c *Client) Plan(ctx context.Context, asked monitor.PlanRequest) (monitor.Plan, error) {
	var plan monitor.Plan
	err := c.call(ctx, http.MethodPost, "/v1/plan", asked, &plan)
	return plan, err
}

// Do sends a command. nil means that it was accepted; its effect is seen in the
// updates. It fails as monitor.Monitor.Do does.
func (c *Client) Do(ctx context.Context, command monitor.Command) error {
	ctx, cancel := context.WithTimeout(ctx, max(patience, command.Kind.Patience()+margin))
	defer cancel()
	answer, err := c.sendOver(ctx, c.slow, http.MethodPost, "/v1/command", command)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Advise asks where a task belongs.
func (c *Client) Advise(ctx context.Context, task monitor.Task) (monitor.Advice, error) {
	var advice monitor.Advice
	err := c.call(ctx, http.MethodPost, "/v1/advice", task, &advice)
	return advice, err
}

// Settings asks for the settings in force.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	var settings Settings
	err := c.call(ctx, http.MethodGet, "/v1/settings", nil, &settings)
	return settings, err
}

// SetSettings stores settings and puts them in force.
func (c *Client) SetSettings(ctx context.Context, settings Settings) error {
	return c.call(ctx, http.MethodPut, "/v1/settings", settings, nil)
}

// OpenWindow asks the agent to show its window on a page ("", "planner",
// "limit" or "settings").
func (c *Client) OpenWindow(ctx context.Context, page string) error {
	return c.call(ctx, http.MethodPost, "/v1/window", map[string]string{"page": page}, nil)
}

// Watch hands each update to each, until ctx ends (its error), each fails (that
// error), or the agent ends or hangs up (ErrGone). It fails with ErrNoAgent when
// nobody listens.
func (c *Client) Watch(ctx context.Context, options monitor.Options, each func(monitor.Update) error) error {
	query := url.Values{}
	if options.Watch {
		query.Set("watch", "1")
	}
	if options.Lossless {
		query.Set("lossless", "1")
	}
	answer, err := c.send(ctx, http.MethodGet, "/v1/updates?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for lines := json.NewDecoder(answer.Body); ; {
		var update monitor.Update
		if err := lines.Decode(&update); err != nil {
			switch _, broken := errors.AsType[*net.OpError](err); {
			case ctx.Err() != nil:
				return ctx.Err()
			case broken, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
				return &Error{code: ErrGone.code, text: ErrGone.text}
			}
			return fmt.Errorf("reading the agent's updates: %w", err)
		}
		if err := each(update); err != nil {
			return err
		}
	}
}

// call sends in, if any, and decodes the answer into out, if any.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, answerLimit)).Decode(out); err != nil {
		return fmt.Errorf("reading the agent's answer to %s: %w", path, err)
	}
	return nil
}

// send returns the answer if it is a good one. The caller closes its Body.
func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	return c.sendOver(ctx, c.http, method, path, in)
}

func (c *Client) sendOver(ctx context.Context, over *http.Client, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encoding a request to the agent: %w", err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+host+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := over.Do(request)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	var refused refusal
	if err := json.NewDecoder(io.LimitReader(answer.Body, answerLimit)).Decode(&refused); err != nil || refused.Code == "" {
		return nil, failuref("failed", "the agent answered %s to %s", answer.Status, path)
	}
	return nil, received(refused.Code, refused.Error)
}

// unreached explains why no answer came.
func (c *Client) unreached(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it names a URL that means nothing to a person
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return &Error{code: ErrNoAgent.code, text: ErrNoAgent.text, cause: err}
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &Error{code: ErrGone.code, text: ErrGone.text, cause: err}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Failure("agent_silent", "the agent does not answer", ctx.Err())
	}
	return fmt.Errorf("reaching the agent at %s: %w", c.path, err)
}

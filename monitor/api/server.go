package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"plimsoll/monitor"
)

// host is the only Host a request may name. A browser that was led here by a
// page names another, and an Origin besides.
const host = "plimsoll"

const (
	// bodyLimit is far above any command or settings.
	bodyLimit = 64 << 10
	// stuckAfter is how long a client may leave one update unread. Until then
	// its mailbox joins what comes; after it the connection ends.
	stuckAfter = 15 * time.Second
	// farewell is how long requests in flight may take when the agent ends.
	farewell = 2 * time.Second
)

// Serve answers requests on l until ctx ends, which is no error. It ends every
// stream, lets commands in flight finish for a moment, and closes l.
func Serve(ctx context.Context, l net.Listener, agent Agent, health func() Health) error {
	return serve(ctx, l, &server{agent: agent, health: health, stuck: stuckAfter})
}

func serve(ctx context.Context, l net.Listener, s *server) error {
	defer l.Close()
	s.ending = ctx.Done()
	web := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		// Nobody is left to read what net/http has to say of a client that hung up.
		ErrorLog: quietLog,
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving the local API: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if web.Shutdown(last) != nil {
		web.Close()
	}
	return nil
}

// server holds what the handlers share.
type server struct {
	agent  Agent
	health func() Health
	stuck  time.Duration
	ending <-chan struct{}
}

// handler routes. Every path has all its methods in one row, so that a wrong
// method and a wrong path are told apart, in JSON like every error.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]func(*http.Request) (any, error){
		"/v1/health":   {http.MethodGet: func(*http.Request) (any, error) { return s.health(), nil }},
		"/v1/models":   {http.MethodGet: s.models},
		"/v1/builds":   {http.MethodGet: s.builds},
		"/v1/plans":    {http.MethodGet: s.plans},
		"/v1/plan":     {http.MethodPost: s.plan},
		"/v1/command":  {http.MethodPost: s.command},
		"/v1/advice":   {http.MethodPost: s.advice},
		"/v1/settings": {http.MethodGet: s.settings, http.MethodPut: s.setSettings},
		"/v1/window":   {http.MethodPost: s.window},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			answer, ok := methods[r.Method]
			if !ok {
				refuse(w, failuref("bad_method", "%s has no %s", path, r.Method))
				return
			}
			value, err := answer(r)
			if err != nil {
				refuse(w, err)
				return
			}
			reply(w, http.StatusOK, value)
		})
	}
	mux.HandleFunc("/v1/updates", s.updates)
	mux.HandleFunc("/v1/requests", s.requests)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, failuref("not_found", "there is no %s", r.URL.Path))
	})
	return guard(mux)
}

// guard keeps browsers out and bodies small.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
			refuse(w, failuref("forbidden", "this API is not for browsers: the host must be %q and no origin may be named", host))
			return
		}
		if r.URL.Path != "/v1/requests" { // a stream without an end, whose lines are bounded
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) builds(*http.Request) (any, error) {
	if builds := s.agent.Builds(); builds != nil {
		return builds, nil
	}
	return []monitor.Build{}, nil
}

func (s *server) models(*http.Request) (any, error) {
	if models := s.agent.Models(); models != nil {
		return models, nil
	}
	return []struct{}{}, nil
}

func (s *server) plans(*http.Request) (any, error) {
	if plans := s.agent.Plans(); plans != nil {
		return plans, nil
	}
	return []monitor.Plan{}, nil
}

func (s *server) plan(r *http.Request) (any, error) {
	var asked monitor.PlanRequest
	if err := read(r, &asked); err != nil {
		return nil, err
	}
	return s.agent.Plan(r.Context(), asked)
}

func (s *server) command(r *http.Request) (any, error) {
	var c monitor.Command
	if err := read(r, &c); err != nil {
		return nil, err
	}
	return nil, s.agent.Do(r.Context(), c)
}

func (s *server) advice(r *http.Request) (any, error) {
	var task monitor.Task
	if err := read(r, &task); err != nil {
		return nil, err
	}
	return s.agent.Advise(task), nil
}

func (s *server) settings(*http.Request) (any, error) { return s.agent.Settings(), nil }

func (s *server) setSettings(r *http.Request) (any, error) {
	var settings Settings
	if err := read(r, &settings); err != nil {
		return nil, err
	}
	if err := s.agent.SetSettings(settings); err != nil {
		return nil, err
	}
	return s.agent.Settings(), nil
}

func (s *server) window(r *http.Request) (any, error) {
	var asked struct {
		Page string `json:"page"`
	}
	if r.ContentLength != 0 {
		if err := read(r, &asked); err != nil {
			return nil, err
		}
	}
	return nil, s.agent.OpenWindow(asked.Page)
}

// updates streams, one write per update. The mailbox stands between monitor and
// client: however slow the client is, the monitor never waits.
func (s *server) updates(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		refuse(w, failuref("bad_method", "/v1/updates has no %s", r.Method))
		return
	}
	options, err := optionsOf(r)
	if err != nil {
		refuse(w, err)
		return
	}
	box := s.agent.Subscribe(options)
	defer box.Close()
	header(w, "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	conn := http.NewResponseController(w)
	if conn.Flush() != nil {
		return
	}
	for {
		select {
		case <-box.Ready():
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		}
		for update, ok := box.Take(); ok; update, ok = box.Take() {
			line, err := json.Marshal(update)
			if err != nil {
				return // a Snapshot holds no value that JSON cannot, NaN excepted; the stream ends rather than lies
			}
			conn.SetWriteDeadline(time.Now().Add(s.stuck))
			if _, err := w.Write(append(line, '\n')); err != nil || conn.Flush() != nil {
				return
			}
		}
	}
}

func optionsOf(r *http.Request) (monitor.Options, error) {
	var options monitor.Options
	for name, to := range map[string]*bool{"watch": &options.Watch, "lossless": &options.Lossless} {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			return options, failuref("bad_request", "%s must be 0 or 1, not %q", name, text)
		}
		*to = value
	}
	return options, nil
}

// read decodes a body that is exactly one JSON value with no field unknown here:
// a misspelt field must not pass for one that is absent.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("more than one JSON value")
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return failuref("too_large", "the body is longer than %d bytes", bodyLimit)
	}
	return Failure("bad_request", "reading the request", err)
}

func header(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// reply sends value as one line of JSON; nil is an empty object.
func reply(w http.ResponseWriter, status int, value any) {
	if value == nil {
		value = struct{}{}
	}
	line, err := json.Marshal(value)
	if err != nil {
		status, line = http.StatusInternalServerError, []byte(`{"error":"encoding the answer","code":"failed"}`)
	}
	header(w, "application/json")
	w.WriteHeader(status)
	w.Write(append(line, '\n'))
}

// refusal is an error on the wire.
type refusal struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

func refuse(w http.ResponseWriter, err error) {
	code, status := classify(err)
	reply(w, status, refusal{Error: err.Error(), Code: code})
}

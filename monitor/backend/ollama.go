package backend

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"plimsoll/monitor/backend/serverlog"
)

const (
	// versionAge is how old the version may become while the server answers: an
	// update between two polls goes unseen for this long.
	versionAge = 5 * time.Minute
	// versionLimit is the longest version in bytes: built from a commit it has 50.
	versionLimit = 200
	// modelsAge is how old the list of models on disk may become.
	modelsAge = time.Minute
)

// Option changes how a server is watched.
type Option func(*watching)

// watching is what options change.
type watching struct {
	name string
	now  func() time.Time
	log  *serverlog.Follower
}

// WithName gives the backend another name than that of its kind; names tell
// several servers apart.
func WithName(name string) Option { return func(w *watching) { w.name = name } }

// WithClock sets the time that answers carry and by which lists grow old.
func WithClock(now func() time.Time) Option { return func(w *watching) { w.now = now } }

// ollama watches one Ollama server. It implements Backend and io.Closer.
type ollama struct {
	name string
	base *url.URL // without credentials
	now  func() time.Time
	http *http.Client
	api  *api.Client
	log  *serverlog.Follower // nil: there is none to follow

	turn chan struct{} // held by the Poll that is under way

	// What is known of the server; mu is held for moments, never over a call.
	mu        sync.Mutex
	status    Status
	versionAt time.Time
	models    []listed
	places    map[string]int // of each name in models
	modelsAt  time.Time      // zero: ask as soon as may be
	modelsFor string         // the resident models when the list was asked for
	shown     map[string]*shown
	shownAt   time.Time     // when a model on disk was asked about last
	described []Description // not handed out yet
}

// NewOllama watches the Ollama server at an address in any form of OLLAMA_HOST;
// "" is DefaultServer. Nothing is contacted yet. The error, which wraps
// ErrAddress, means that the address cannot be used.
//
// Looking asks for /api/ps each time, for /api/version and /api/tags seldom and
// for /api/show once a model, on disk one in ten seconds: nothing that loads a
// model or moves its expiry. /api/generate and /api/embed are sent only by Unload and Keep.
func NewOllama(server string, opts ...Option) (Backend, error) {
	base, err := ParseHost(server)
	if err != nil {
		return nil, fmt.Errorf("reading the address of Ollama: %w", err)
	}
	w := watching{name: "ollama", now: time.Now}
	for _, opt := range opts {
		opt(&w)
	}
	o := &ollama{
		name: w.name, now: w.now, http: newClient(base, http.ProxyFromEnvironment),
		turn: make(chan struct{}, 1), shown: map[string]*shown{},
	}
	if loopback(base.Hostname()) {
		o.log = w.log
	}
	plain := *base
	plain.User = nil
	o.base, o.api = &plain, api.NewClient(&plain, o.http)
	o.status = Status{Name: o.name, Kind: "ollama", Address: o.Address()}
	return o, nil
}

func (o *ollama) Name() string    { return o.name }
func (o *ollama) Address() string { return strings.TrimSuffix(o.base.String(), "/") }

// Close drops idle connections. A backend that is not used any more and not
// closed drops them by itself after half a minute.
func (o *ollama) Close() error {
	o.http.CloseIdleConnections()
	if o.log != nil {
		return o.log.Close()
	}
	return nil
}

// Poll implements Backend. It takes 1.8 s at most.
func (o *ollama) Poll(ctx context.Context) Answer {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return o.fail(caller, ctx.Err())
	}
	defer o.followLog()
	if err := o.askVersion(ctx); err != nil {
		return o.fail(caller, err)
	}
	running, took, err := o.askRunning(ctx)
	if err != nil {
		return o.fail(caller, err)
	}
	o.answered(took)
	o.askModels(ctx, running)
	o.askShown(ctx, running)
	o.askInstalled(ctx, running)
	return o.answer(running)
}

// answered notes that the server is as it should be.
func (o *ollama) answered(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &o.status
	s.State, s.Cause, s.Detail = Running, "", ""
	s.Answered, s.RoundTrip = new(o.now()), new(took.Seconds())
}

// fail notes what a failed call says of the server. A caller who gave up has
// learned nothing, so nothing is noted then.
func (o *ollama) fail(caller context.Context, err error) Answer {
	state, cause, detail := judge(err, o.base)
	o.mu.Lock()
	defer o.mu.Unlock()
	if caller.Err() == context.Canceled {
		status := o.status
		status.State, status.Cause, status.Detail = NotAnswering, "", context.Canceled.Error()
		return Answer{Status: status, Models: o.modelsNow()}
	}
	o.status.State, o.status.Cause, o.status.Detail = state, cause, detail
	// Whatever answers next may be another server.
	o.versionAt, o.modelsAt = time.Time{}, time.Time{}
	return Answer{Status: o.status, Models: o.modelsNow()}
}

// answer puts together what is known after a good poll.
func (o *ollama) answer(running []loaded) Answer {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := Answer{Status: o.status, Models: o.modelsNow(), Residents: make([]Resident, 0, len(running)), Described: o.takeDescribed()}
	for _, r := range running {
		a.Residents = append(a.Residents, o.resident(r))
	}
	return a
}

// askVersion finds out whether an Ollama is there, at first and after each
// failure, and now and then whether it is still the same.
func (o *ollama) askVersion(ctx context.Context) error {
	o.mu.Lock()
	fresh := !o.versionAt.IsZero() && o.now().Sub(o.versionAt) < versionAge
	o.mu.Unlock()
	if fresh {
		return nil
	}
	ctx, x := observed(ctx)
	version, err := o.api.Version(ctx)
	if err := x.check(err); err != nil {
		return err
	}
	if version == "" || len(version) > versionLimit {
		return &reply{x, problemForeign}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.versionAt, o.status.Version = o.now(), version
	return nil
}

// stateError is the error of a command after a failed call.
func (o *ollama) stateError(err error) error {
	e := &StateError{Status{Name: o.name, Kind: "ollama", Address: o.Address()}}
	e.State, e.Cause, e.Detail = judge(err, o.base)
	return e
}

package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	llamaServer = "llama-server"
	// propsAge is how old what /props says may become: it is set when the server
	// starts.
	propsAge = time.Minute
)

// fixedError is ErrFixed, with a code for clients and for the sentence on it.
type fixedError struct{}

func (fixedError) Error() string { return "the server holds its model as long as it runs" }
func (fixedError) Code() string  { return "fixed_model" }

// ErrFixed: a server of this kind neither drops its model nor can be told how long
// to keep it; it has to be ended.
var ErrFixed error = fixedError{}

// llama watches a llama-server of llama.cpp that stands alone. It implements
// Backend and io.Closer, and tells its slots.
type llama struct {
	name string
	base *url.URL // without credentials
	user *url.Userinfo
	now  func() time.Time
	http *http.Client

	turn chan struct{} // held by the Poll that is under way

	mu      sync.Mutex
	status  Status
	props   llamaProps
	propsAt time.Time // zero: ask as soon as may be
}

// NewLlamaServer watches the llama-server at an address; "" is the port that one
// has of itself. Nothing is contacted yet. The error, which wraps ErrAddress, means
// that the address cannot be used.
//
// Looking asks for /health and /v1/models each time and for /props seldom: none of
// them waits for a prompt that is being read, and none loads a model.
func NewLlamaServer(server string, opts ...Option) (Backend, error) {
	base, err := ParseHost(cmp.Or(server, "http://127.0.0.1:8080"))
	if err != nil {
		return nil, fmt.Errorf("reading the address of %s: %w", llamaServer, err)
	}
	w := watching{name: llamaServer, now: time.Now}
	for _, opt := range opts {
		opt(&w)
	}
	l := &llama{
		name: w.name, user: base.User, now: w.now, http: newClient(base, http.ProxyFromEnvironment),
		turn: make(chan struct{}, 1),
	}
	plain := *base
	plain.User = nil
	l.base = &plain
	l.status = Status{Name: l.name, Kind: llamaServer, Address: l.Address()}
	return l, nil
}

func (l *llama) Name() string    { return l.name }
func (l *llama) Address() string { return strings.TrimSuffix(l.base.String(), "/") }

// Slots implements SlotTeller.
func (l *llama) Slots() SlotReader {
	base := *l.base
	base.User = l.user
	return newSlots(&base, http.ProxyFromEnvironment)
}

// Close drops idle connections.
func (l *llama) Close() error {
	l.http.CloseIdleConnections()
	return nil
}

// Unload implements Backend. It is always ErrFixed.
func (l *llama) Unload(_ context.Context, model string) error {
	return fmt.Errorf("unloading %s: %w", model, ErrFixed)
}

// Keep implements Backend. It is always ErrFixed.
func (l *llama) Keep(_ context.Context, model string, _ time.Duration) error {
	return fmt.Errorf("keeping %s: %w", model, ErrFixed)
}

// Poll implements Backend. It takes 1.8 s at most.
func (l *llama) Poll(ctx context.Context) Answer {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return l.fail(caller, ctx.Err())
	}
	took, loading, err := l.askHealth(ctx)
	if err == nil && !loading {
		err = l.askProps(ctx)
	}
	if err != nil {
		return l.fail(caller, err)
	}
	var models []llamaModel
	if !loading {
		if models, err = l.askModels(ctx); err != nil {
			return l.fail(caller, err)
		}
	}
	return l.answer(models, took)
}

// askHealth asks whether the server is there and whether it is still loading.
func (l *llama) askHealth(ctx context.Context) (took time.Duration, loading bool, err error) {
	var health struct{ Status string }
	x, err := l.get(ctx, "/health", &health)
	var answer *reply
	if errors.As(err, &answer) && x.status == http.StatusServiceUnavailable && strings.Contains(strings.ToLower(message(x.body)), "loading model") {
		l.mu.Lock()
		l.propsAt = time.Time{}
		l.mu.Unlock()
		return x.took, true, nil
	}
	if err == nil && health.Status == "" {
		err = &reply{x, problemForeign}
	}
	return x.took, false, err
}

// llamaProps is what /props says that is looked at.
type llamaProps struct {
	Slots    *int                       `json:"total_slots"`
	Path     string                     `json:"model_path"`
	Build    string                     `json:"build_info"`
	Sleeping bool                       `json:"is_sleeping"`
	Default  map[string]json.RawMessage `json:"default_generation_settings"`
}

// context is the context length of one slot: what one request has.
func (p *llamaProps) context() *int {
	if n := read[int](p.Default["n_ctx"]); n != nil && *n > 0 {
		return n
	}
	return nil
}

// askProps finds out whether it is a llama-server, at first and after each failure,
// and what it was started with.
func (l *llama) askProps(ctx context.Context) error {
	l.mu.Lock()
	fresh := !l.propsAt.IsZero() && l.now().Sub(l.propsAt) < propsAge
	l.mu.Unlock()
	if fresh {
		return nil
	}
	var props llamaProps
	x, err := l.get(ctx, "/props", &props)
	if err != nil {
		return err
	}
	if props.Slots == nil && props.Default == nil {
		return &reply{x, problemForeign}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.props, l.propsAt = props, l.now()
	l.props.Default = map[string]json.RawMessage{"n_ctx": props.Default["n_ctx"]}
	if len(props.Build) <= versionLimit {
		l.status.Version = props.Build
	}
	return nil
}

// llamaModel is an entry of /v1/models.
type llamaModel struct {
	ID   string
	Meta struct {
		Trained    *int    `json:"n_ctx_train"`
		Parameters *uint64 `json:"n_params"`
		Size       *uint64 `json:"size"`
	}
	// Status is told by a server of several models.
	Status *struct{ Value string }
}

func (l *llama) askModels(ctx context.Context) ([]llamaModel, error) {
	var list struct{ Data []llamaModel }
	x, err := l.get(ctx, "/v1/models", &list)
	if err != nil {
		return nil, err
	}
	if list.Data == nil || len(list.Data) > runningMost {
		return nil, &reply{x, problemForeign}
	}
	return slices.DeleteFunc(list.Data, func(m llamaModel) bool { return m.ID == "" }), nil
}

// get asks for a JSON object.
func (l *llama) get(ctx context.Context, path string, into any) (*exchange, error) {
	ctx, x := observed(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base.JoinPath(path).String(), nil)
	if err != nil {
		return x, err
	}
	resp, err := l.http.Do(req)
	if err == nil {
		resp.Body.Close() // the transport has read it
		err = json.Unmarshal(x.body, into)
	}
	return x, x.check(err)
}

// answer puts together what is known after a good poll.
func (l *llama) answer(models []llamaModel, took time.Duration) Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status
	s.State, s.Cause, s.Detail = Running, "", ""
	s.Answered, s.RoundTrip = new(l.now()), new(took.Seconds())
	a := Answer{Status: *s, Residents: []Resident{}}
	for _, m := range models {
		if l.props.Sleeping || m.Status != nil && m.Status.Value != "loaded" {
			continue
		}
		r := Resident{
			Backend: l.name, Model: modelName(m.ID), Size: m.Meta.Size, Context: l.props.context(), TrainedContext: m.Meta.Trained,
			Parameters: billions(m.Meta.Parameters), Pinned: true,
		}
		if len(models) == 1 {
			r.Weights = l.props.Path
		}
		a.Residents = append(a.Residents, r)
	}
	slices.SortFunc(a.Residents, func(x, y Resident) int { return cmp.Compare(x.Model, y.Model) })
	return a
}

// modelName is a model's id without the folders of a path on somebody's disk.
func modelName(id string) string {
	if strings.HasPrefix(id, "/") || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "~") {
		return path.Base(id)
	}
	return id
}

// billions writes a number of parameters as Ollama does, "" when there is none.
func billions(n *uint64) string {
	switch {
	case n == nil || *n == 0:
		return ""
	case *n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(*n)/1e9)
	}
	return fmt.Sprintf("%.1fM", float64(*n)/1e6)
}

// fail notes what a failed call says of the server. A caller who gave up has
// learned nothing.
func (l *llama) fail(caller context.Context, err error) Answer {
	state, cause, detail := judge(err, l.base)
	l.mu.Lock()
	defer l.mu.Unlock()
	status := l.status
	if caller.Err() == context.Canceled {
		status.State, status.Cause, status.Detail = NotAnswering, "", context.Canceled.Error()
		return Answer{Status: status}
	}
	l.status.State, l.status.Cause, l.status.Detail = state, cause, detail
	l.propsAt = time.Time{} // whatever answers next may be another server
	return Answer{Status: l.status}
}

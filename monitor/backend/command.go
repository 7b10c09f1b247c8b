package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// order is the body of a command. The library's own requests are not used: they
// write durations as text, which clients of other servers were refused for, and
// their sender takes 8 MB for a stream that is one line here.
type order struct {
	Model string `json:"model"`
	// Input is an empty list for /api/embed, absent for /api/generate. There is
	// never a prompt.
	Input     []string       `json:"input,omitzero"`
	KeepAlive int64          `json:"keep_alive"` // seconds; 0 drops, −1 pins
	Options   map[string]int `json:"options,omitzero"`
}

// Unload implements Backend. A model that is not in memory is ErrNotResident, one
// that the server does not have ErrNotFound; neither is sent anything. A busy
// model goes when its answer is complete.
func (o *ollama) Unload(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	r, _, err := o.target(ctx, model)
	if err == nil {
		// Generate first: v0.6.5 and later drop any kind of model on it, before they
		// look at what it can do. Through embed, a model that was loaded with
		// other options would be loaded anew in order to be dropped.
		err = o.generate(ctx, order{Model: r.name()})
	}
	if errors.Is(err, errNoGenerate) {
		err = o.embed(ctx, order{Model: r.name()})
	}
	if err != nil {
		return fmt.Errorf("unloading %s: %w", model, err)
	}
	return nil
}

// Keep implements Backend. d is rounded up to seconds; Forever pins. Errors are
// those of Unload. The server compares a request's options with those the model
// was loaded with and loads it anew when they differ: the context length is sent
// as it is, other options that a client chose per request cannot be seen.
func (o *ollama) Keep(ctx context.Context, model string, d time.Duration) error {
	if d != Forever && d <= 0 {
		return fmt.Errorf("keeping %s: %v is no time to keep a model", model, d)
	}
	seconds := int64(-1)
	if d != Forever {
		seconds = int64((d + time.Second - 1) / time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	r, s, err := o.target(ctx, model)
	if err != nil {
		return fmt.Errorf("keeping %s: %w", model, err)
	}
	send := order{Model: r.name(), KeepAlive: seconds, Options: options(r, s)}
	if s.capabilities == nil || slices.Contains(s.capabilities, "completion") {
		err = o.generate(ctx, send)
	} else {
		err = errNoGenerate
	}
	if errors.Is(err, errNoGenerate) { // embedding models, and those that make pictures
		err = o.embed(ctx, send)
	}
	if err != nil {
		return fmt.Errorf("keeping %s: %w", model, err)
	}
	return nil
}

// options are those that keep the server from loading the model anew. At the
// trained length the context says nothing: the server shows the trained length
// too when more was asked for, by its own default above all.
func options(r loaded, s *shown) map[string]int {
	if r.ContextLength == nil || *r.ContextLength <= 0 || s.trained != nil && *r.ContextLength >= *s.trained {
		return nil
	}
	return map[string]int{"num_ctx": *r.ContextLength}
}

// target finds the resident model that a command is about, by asking afresh.
// Commands for a model that is not in memory would load it.
func (o *ollama) target(ctx context.Context, model string) (loaded, *shown, error) {
	ctx, cancel := context.WithTimeout(ctx, pollLimit) // no more than looking takes
	defer cancel()
	o.mu.Lock()
	entry, listed := o.find(model)
	o.mu.Unlock()
	if listed && entry.Cloud || cloudTag(model) {
		return loaded{}, nil, ErrCloud
	}
	if !listed {
		if err := o.fetchModels(ctx); err != nil {
			return loaded{}, nil, o.stateError(err)
		}
	}
	models, _, err := o.askRunning(ctx)
	if err != nil {
		return loaded{}, nil, o.stateError(err)
	}
	i := slices.IndexFunc(models, func(r loaded) bool { return sameModel(r.name(), model) })
	o.mu.Lock()
	_, listed = o.find(model)
	cloud := o.cloud(model)
	o.mu.Unlock()
	switch {
	case cloud:
		return loaded{}, nil, ErrCloud
	case i < 0 && !listed:
		return loaded{}, nil, ErrNotFound
	case i < 0:
		return loaded{}, nil, ErrNotResident
	}
	return models[i], o.details(ctx, models[i], models), nil
}

// details are what /api/show says of a model, asked for when it is not known.
func (o *ollama) details(ctx context.Context, r loaded, all []loaded) *shown {
	o.mu.Lock()
	s := o.shown[r.key()]
	o.mu.Unlock()
	if s == nil || s.failed {
		s = o.fetchShown(ctx, r.name(), r.key())
		o.remember(r.key(), s, all)
	}
	return s
}

// errNoGenerate: the model does something else than completing text.
var errNoGenerate = errors.New("the model does not generate")

// generate sends an order that is no prompt.
func (o *ollama) generate(ctx context.Context, send order) error {
	var done api.GenerateResponse
	x, err := o.post(ctx, "/api/generate", send, &done)
	if err != nil {
		if x.status == http.StatusBadRequest && strings.Contains(message(x.body), "does not support generate") {
			return errNoGenerate
		}
		return o.commandError(x, err)
	}
	if !done.Done {
		return o.stateError(&reply{x, "the reply does not say that it is done"})
	}
	return nil
}

// embed sends an order with nothing to embed. It is taken for any kind of model.
func (o *ollama) embed(ctx context.Context, send order) error {
	send.Input = []string{}
	var done struct {
		Embeddings json.RawMessage `json:"embeddings"`
	}
	x, err := o.post(ctx, "/api/embed", send, &done)
	if err == nil && done.Embeddings == nil {
		err = &reply{x, problemForeign}
	}
	if err != nil {
		return o.commandError(x, err)
	}
	return nil
}

// commandError names what a person can act on.
func (o *ollama) commandError(x *exchange, err error) error {
	if x.status == http.StatusNotFound && strings.Contains(message(x.body), "not found") {
		return ErrNotFound
	}
	return o.stateError(err)
}

// post sends JSON and reads the one JSON object of the reply.
func (o *ollama) post(ctx context.Context, path string, send, receive any) (*exchange, error) {
	ctx, x := observed(ctx)
	body, err := json.Marshal(send)
	if err != nil {
		return x, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return x, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := o.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(receive)
		if errors.Is(err, io.EOF) {
			err = nil // check says that it is empty
		}
	}
	return x, x.check(err)
}

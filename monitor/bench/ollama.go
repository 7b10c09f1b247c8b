package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// ollama is a Server that speaks Ollama's API.
type ollama struct {
	base  *url.URL
	http  *http.Client
	clock monitor.Clock
	// simulated: the server lives by a clock of its own, so that moments are the
	// server's and not this program's.
	simulated bool
}

const (
	// questionLimit is how long the server may take for anything but an answer.
	questionLimit = 10 * time.Second
	// replyLimit is the longest reply and the longest line, in bytes.
	replyLimit = 8 << 20
)

// NewOllama makes a Server of an address in any form of OLLAMA_HOST. Simulated
// says that it lives by a clock of its own.
func NewOllama(address string, clock monitor.Clock, simulated bool) (Server, error) {
	base, err := backend.ParseHost(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the server: %w", err)
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: questionLimit}
	if host := base.Hostname(); host != "localhost" && !strings.HasPrefix(host, "127.") && host != "::1" {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &ollama{base: base, clock: clock, simulated: simulated, http: &http.Client{
		Transport:     transport, // no time-out of its own: headers come with the first token
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// send sends one request; body is nil for a GET.
func (o *ollama) send(ctx context.Context, path string, body any) (*http.Response, error) {
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, content = http.MethodPost, bytes.NewReader(text)
	}
	address := *o.base
	address.User = nil
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address.String(), "/")+path, content)
	if err != nil {
		return nil, err
	}
	if o.base.User != nil {
		password, _ := o.base.User.Password()
		req.SetBasicAuth(o.base.User.Username(), password)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return o.http.Do(req)
}

// ask sends a question that is answered at once, and decodes the answer.
func (o *ollama) ask(ctx context.Context, path string, body, into any, model string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, questionLimit)
	defer cancel()
	resp, err := o.send(ctx, path, body)
	if err != nil {
		return nil, &Error{Kind: CodeServer, Model: model, cause: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, replyLimit))
	if err == nil && resp.StatusCode != http.StatusOK {
		return nil, refusal(resp.StatusCode, text, model)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return nil, &Error{Kind: CodeServer, Model: model, cause: err}
	}
	return text, nil
}

// refusal is the error of a reply that is no success.
func refusal(status int, text []byte, model string) error {
	var said struct{ Error string }
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		said.Error = http.StatusText(status)
	}
	e := &Error{Kind: CodeRefused, Model: model, cause: errors.New(firstRunes(said.Error, 300))}
	if status == http.StatusNotFound {
		e.Kind = CodeNoModel
	}
	return e
}

func (o *ollama) About(ctx context.Context) (About, error) {
	var v struct{ Version string }
	address := *o.base
	address.User = nil
	about := About{Engine: "ollama", Address: strings.TrimSuffix(address.String(), "/")}
	if _, err := o.ask(ctx, "/api/version", nil, &v, ""); err != nil {
		return about, err
	}
	about.Version = firstRunes(v.Version, 200)
	return about, nil
}

// tagged is a model's name with its tag.
func tagged(name string) string {
	if !strings.Contains(name, ":") {
		name += ":latest"
	}
	return strings.ToLower(name)
}

func (o *ollama) Describe(ctx context.Context, model string) (Model, error) {
	m := Model{Name: model}
	var shown struct {
		Details struct {
			Family        string `json:"family"`
			ParameterSize string `json:"parameter_size"`
			Quantization  string `json:"quantization_level"`
		}
		RemoteModel  string         `json:"remote_model"`
		Info         map[string]any `json:"model_info"`
		Capabilities []string
	}
	var err error
	if m.Show, err = o.ask(ctx, "/api/show", map[string]string{"model": model}, &shown, model); err != nil {
		return m, err
	}
	m.Family, m.Parameters, m.Quantization = shown.Details.Family, shown.Details.ParameterSize, shown.Details.Quantization
	m.Cloud = shown.RemoteModel != ""
	architecture, _ := shown.Info["general.architecture"].(string)
	if n, ok := shown.Info[architecture+".context_length"].(float64); ok && n >= 1 && n < 1<<40 {
		m.Trained = new(int(n))
	}
	writes := len(shown.Capabilities) == 0 // versions before v0.6.4 do not tell
	for _, c := range shown.Capabilities {
		writes = writes || c == "completion"
	}
	_, pooling := shown.Info[architecture+".pooling_type"]
	m.Embedding = !writes || pooling
	var tags struct {
		Models []struct {
			Name   string
			Digest string
			Size   uint64
		}
	}
	if _, err := o.ask(ctx, "/api/tags", nil, &tags, model); err != nil {
		return m, err
	}
	for _, t := range tags.Models {
		if tagged(t.Name) == tagged(model) {
			m.Name, m.Digest, m.SizeBytes = t.Name, t.Digest, new(t.Size)
		}
	}
	until, listed, context, err := o.listed(ctx, model)
	if listed {
		m.Resident = &context
		m.Pinned = until.Year() > 2200
	}
	return m, err
}

func (o *ollama) Listed(ctx context.Context, model string) (time.Time, bool, error) {
	until, ok, _, err := o.listed(ctx, model)
	return until, ok, err
}

func (o *ollama) listed(ctx context.Context, model string) (until time.Time, ok bool, context int, err error) {
	var ps struct {
		Models []struct {
			Name    string
			Expires time.Time `json:"expires_at"`
			Context int       `json:"context_length"`
		}
	}
	_, err = o.ask(ctx, "/api/ps", nil, &ps, model)
	for _, r := range ps.Models {
		if tagged(r.Name) == tagged(model) {
			return r.Expires, true, r.Context, err
		}
	}
	return time.Time{}, false, 0, err
}

func (o *ollama) Unload(ctx context.Context, model string) error {
	_, err := o.ask(ctx, "/api/generate", map[string]any{"model": model, "keep_alive": 0, "stream": false}, nil, model)
	return err
}

func (o *ollama) Keep(ctx context.Context, model string, d time.Duration) error {
	resp, err := o.send(ctx, "/api/generate", map[string]any{"model": model, "keep_alive": keepAlive(d), "stream": false})
	if err != nil {
		return broken(ctx, err, model, CodeServer)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, nil, model)
	}
	return nil
}

// keepAlive is how Ollama writes a duration: below zero is for ever.
func keepAlive(d time.Duration) any {
	if d < 0 {
		return -1
	}
	return d.String()
}

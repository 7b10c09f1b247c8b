package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

const (
	// shownMost is how many models' details are remembered.
	shownMost = 1024
	// shownRetry is when details that could not be had are asked for again.
	shownRetry = time.Minute
	// shownSpacing is the least time between two models on disk that are asked about:
	// a server with a hundred of them is not kept busy.
	shownSpacing = 10 * time.Second
	// capabilityMost and capabilityLimit bound what a model can do, in words and
	// in bytes a word: servers know eight, of eleven bytes at most.
	capabilityMost, capabilityLimit = 16, 32
	// contextMost is beyond every context length, in tokens.
	contextMost = 1 << 40
	// weightsLimit is the longest path of a file (PATH_MAX of Linux).
	weightsLimit = 4096
)

// shown is what /api/show said of a model: it does not change under one digest.
type shown struct {
	trained      *int     // context length it was made for, in tokens
	capabilities []string // nil when the server does not tell (before v0.6.4)
	weights      string
	asked        time.Time
	failed       bool
}

// askShown asks for the details of resident models that are not known yet.
func (o *ollama) askShown(ctx context.Context, running []loaded) {
	for _, r := range running {
		o.mu.Lock()
		s := o.shown[r.key()]
		due := s == nil || s.failed && o.now().Sub(s.asked) >= shownRetry
		due = due && !o.cloud(r.name())
		o.mu.Unlock()
		if due && ctx.Err() == nil {
			s := o.fetchShown(ctx, r.name(), r.key())
			o.remember(r.key(), s, running)
		}
	}
}

// askInstalled asks for the details of one model on disk that was never asked about:
// of each build once, and not often.
func (o *ollama) askInstalled(ctx context.Context, running []loaded) {
	o.mu.Lock()
	var next *listed
	if o.now().Sub(o.shownAt) >= shownSpacing && len(o.shown) < shownMost {
		for i := range o.models {
			if m := &o.models[i]; !m.Cloud && m.digest != "" && o.shown[m.digest] == nil {
				next = new(*m)
				break
			}
		}
	}
	if next != nil {
		o.shownAt = o.now()
	}
	o.mu.Unlock()
	if next != nil && ctx.Err() == nil {
		s := o.fetchShown(ctx, next.Model.Model, next.digest)
		o.remember(next.digest, s, running)
	}
}

// takeDescribed hands out what was learned since the last time. The caller holds mu.
func (o *ollama) takeDescribed() []Description {
	described := o.described
	o.described = nil
	return described
}

// fetchShown asks for a model's details. That neither loads it nor keeps it.
func (o *ollama) fetchShown(ctx context.Context, model, digest string) *shown {
	ctx, x := observed(ctx)
	details, err := o.api.Show(ctx, &api.ShowRequest{Model: model})
	if x.check(err) != nil {
		return &shown{asked: o.now(), failed: true}
	}
	s := &shown{asked: o.now(), weights: weightsFile(details.Modelfile)}
	if architecture, ok := details.ModelInfo["general.architecture"].(string); ok {
		if n, ok := details.ModelInfo[architecture+".context_length"].(float64); ok && n >= 1 && n <= contextMost {
			s.trained = new(int(n))
		}
	}
	for _, c := range details.Capabilities[:min(len(details.Capabilities), capabilityMost)] {
		if len(c) > capabilityLimit {
			continue
		}
		s.capabilities = append(s.capabilities, string(c))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	d := Description{Model: model, Digest: digest, Reply: x.body}
	if m, there := o.find(model); there {
		d.Size = m.Size
	}
	o.described = append(o.described, d)
	return s
}

// remember keeps details, and forgets those of models that are not in memory
// when there are too many.
func (o *ollama) remember(key string, s *shown, running []loaded) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.shown) >= shownMost {
		for old := range o.shown {
			if !slices.ContainsFunc(running, func(r loaded) bool { return r.key() == old }) {
				delete(o.shown, old)
			}
		}
	}
	o.shown[key] = s
}

// weightsFile is the file in a Modelfile's FROM line: the first that is a path, as
// the comments above it name the model.
func weightsFile(modelfile string) string {
	for line := range strings.Lines(modelfile) {
		keyword, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.Trim(strings.TrimSpace(rest), `"`)
		if strings.EqualFold(keyword, "FROM") && strings.ContainsAny(rest, `/\`) && strings.Contains(rest, "sha256") && len(rest) <= weightsLimit {
			return rest
		}
	}
	return ""
}

// Describe implements Describer.
func (o *ollama) Describe(ctx context.Context, model string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	ctx, x := observed(ctx)
	_, err := o.api.Show(ctx, &api.ShowRequest{Model: model})
	if err := x.check(err); err != nil {
		return nil, fmt.Errorf("asking what %s is: %w", model, o.commandError(x, err))
	}
	return x.body, nil
}

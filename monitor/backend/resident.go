package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// pinnedFrom is how far ahead an expiry means "for ever". The server adds 2^63-1
// ns to the time of the request: the year 2318 and later.
const pinnedFrom = 10 * 365 * 24 * time.Hour

// loaded is one entry of /api/ps: the library's type, but fields that a server
// may leave out are nil then. size_vram is 0 for a model on the CPU, and v0.6.5
// has no context_length.
type loaded struct {
	api.ProcessModelResponse
	Size          *int64     `json:"size"`
	SizeVRAM      *int64     `json:"size_vram"`
	ContextLength *int       `json:"context_length"`
	ExpiresAt     *time.Time `json:"expires_at"`
}

// name is what the server calls the model. Newer servers fill both fields.
func (r loaded) name() string { return cmp.Or(r.Model, r.Name) }

// key is what /api/show is remembered under.
func (r loaded) key() string { return cmp.Or(r.Digest, r.name()) }

// askRunning asks which models are in memory, sorted by name: the server's order
// flips from poll to poll among equal expiries.
func (o *ollama) askRunning(ctx context.Context) ([]loaded, time.Duration, error) {
	ctx, x := observed(ctx)
	_, err := o.api.ListRunning(ctx)
	if err := x.check(err); err != nil {
		return nil, 0, err
	}
	models, err := decodeRunning(x)
	return models, x.took, err
}

const (
	// runningLimit and runningMost bound the list of models in memory, which the
	// history keeps for ten minutes: bytes of the reply, and models. An entry has
	// 400 bytes, and servers hold a handful.
	runningLimit = 128 << 10
	runningMost  = 256
)

func decodeRunning(x *exchange) ([]loaded, error) {
	if len(x.body) > runningLimit {
		return nil, &reply{x, fmt.Sprintf("the list of models in memory is longer than %d KiB", runningLimit>>10)}
	}
	var list struct {
		Models json.RawMessage `json:"models"`
	}
	var models []loaded
	if err := json.Unmarshal(x.body, &list); err != nil || list.Models == nil {
		return nil, &reply{x, problemForeign}
	}
	if err := json.Unmarshal(list.Models, &models); err != nil {
		return nil, &reply{x, "the reply cannot be read: " + err.Error()}
	}
	if len(models) > runningMost {
		return nil, &reply{x, fmt.Sprintf("the reply lists more than %d models in memory", runningMost)}
	}
	models = slices.DeleteFunc(models, func(r loaded) bool { return r.name() == "" })
	slices.SortFunc(models, func(a, b loaded) int {
		return cmp.Or(cmp.Compare(a.name(), b.name()), cmp.Compare(a.Digest, b.Digest))
	})
	return models, nil
}

// resident is the entry in our own words, with what /api/show said earlier. The
// caller holds mu.
func (o *ollama) resident(r loaded) Resident {
	m := Resident{
		Backend: o.name, Model: r.name(), Digest: r.Digest,
		Quantization: known(r.Details.QuantizationLevel), Parameters: r.Details.ParameterSize, Family: r.Details.Family,
		Cloud: o.cloud(r.name()),
	}
	m.Expires, m.Pinned = expiry(r.ExpiresAt, o.now())
	if r.ContextLength != nil && *r.ContextLength > 0 { // 0: the runner has not said yet
		m.Context = r.ContextLength
	}
	if !m.Cloud {
		m.Size, m.GPU = bytes64(r.Size), bytes64(r.SizeVRAM)
	}
	if s := o.shown[r.key()]; s != nil {
		m.TrainedContext, m.Capabilities, m.Weights = s.trained, s.capabilities, s.weights
	}
	return m
}

// expiry tells when a model goes: nil with true means never.
func expiry(at *time.Time, now time.Time) (*time.Time, bool) {
	switch {
	case at == nil || at.Unix() <= 0 || date(*at) == nil:
		return nil, false
	case at.Sub(now) > pinnedFrom: // Sub caps at 292 years, far above
		return nil, true
	}
	return at, false
}

// bytes64 is a size as the server gave it; below zero is no size.
func bytes64(n *int64) *uint64 {
	if n == nil || *n < 0 {
		return nil
	}
	return new(uint64(*n))
}

// known drops the word that stands for no value.
func known(s string) string {
	if strings.EqualFold(s, "unknown") {
		return ""
	}
	return s
}

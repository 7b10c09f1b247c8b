package backend

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// listed is a model of /api/tags.
type listed struct {
	Model
	digest string
}

// askModels asks for the models on disk when the list is old or other models are
// in memory than when it was asked for. A server that does not give it keeps the
// one it gave before; the next poll in a minute asks again.
func (o *ollama) askModels(ctx context.Context, running []loaded) {
	var names strings.Builder
	for _, r := range running {
		names.WriteString(r.name() + "\n" + r.Digest + "\n")
	}
	o.mu.Lock()
	due := o.modelsAt.IsZero() || o.now().Sub(o.modelsAt) >= modelsAge || o.modelsFor != names.String()
	o.mu.Unlock()
	if !due {
		return
	}
	err := o.fetchModels(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.modelsFor = names.String()
	if err != nil {
		o.modelsAt = o.now()
	}
}

// fetchModels asks for the models on disk.
func (o *ollama) fetchModels(ctx context.Context) error {
	ctx, x := observed(ctx)
	list, err := o.api.List(ctx)
	if err := x.check(err); err != nil {
		return err
	}
	if list.Models == nil && !strings.Contains(string(x.body), `"models"`) {
		return &reply{x, problemForeign}
	}
	models := o.list(list)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.models, o.modelsAt = models, o.now()
	o.places = make(map[string]int, len(models))
	for i, m := range models {
		o.places[place(m.Model.Model)] = i
	}
	cloud := 0
	for _, m := range models {
		if m.Cloud {
			cloud++
		}
	}
	o.status.Installed, o.status.Cloud = new(len(models)-cloud), new(cloud)
	return nil
}

// list is a reply in our own words, sorted by model.
func (o *ollama) list(reply *api.ListResponse) []listed {
	models := make([]listed, 0, len(reply.Models))
	for _, m := range reply.Models {
		l := listed{Model{
			Backend: o.name, Model: cmp.Or(m.Model, m.Name),
			Quantization: known(m.Details.QuantizationLevel), Parameters: m.Details.ParameterSize, Family: m.Details.Family,
			Modified: date(m.ModifiedAt),
		}, m.Digest}
		l.Cloud = m.RemoteHost != "" || m.RemoteModel != "" || cloudTag(l.Model.Model) ||
			cloudName(l.Model.Model) && m.Details.Format == ""
		if !l.Cloud { // what is on disk of a cloud model is its manifest
			l.Size = bytes64(&m.Size)
		}
		models = append(models, l)
	}
	slices.SortFunc(models, func(a, b listed) int { return cmp.Compare(a.Model.Model, b.Model.Model) })
	return models
}

// date is a time as the server gave it. One that cannot be written again is no
// time: a zone of 24 hours is read without complaint (go.dev/issue/54580).
func date(t time.Time) *time.Time {
	if _, err := t.MarshalJSON(); err != nil || t.IsZero() {
		return nil
	}
	return &t
}

// modelsNow is the list for an Answer, nil when there never was one. The caller
// holds mu.
func (o *ollama) modelsNow() []Model {
	if o.models == nil {
		return nil
	}
	models := make([]Model, len(o.models))
	for i, m := range o.models {
		models[i] = m.Model
		models[i].Digest = m.digest
		if s := o.shown[m.digest]; s != nil {
			models[i].Capabilities = s.capabilities
		}
	}
	return models
}

// find looks a model up by any form of its name. The caller holds mu.
func (o *ollama) find(model string) (listed, bool) {
	i, ok := o.places[place(model)]
	if !ok {
		return listed{}, false
	}
	return o.models[i], true
}

// cloud tells whether a model runs elsewhere, by the list of models and, for one
// that is not on it, by its name. The caller holds mu.
func (o *ollama) cloud(model string) bool {
	if m, ok := o.find(model); ok {
		return m.Cloud
	}
	return cloudName(model)
}

// cloudTag tells names that every server of v0.18 and later takes for a cloud
// model's whatever is on disk: a tag that is "cloud" or ends in "-cloud".
func cloudTag(model string) bool {
	_, tag, _ := strings.Cut(model[strings.LastIndexByte(model, '/')+1:], ":")
	tag = strings.ToLower(tag)
	return tag == "cloud" || strings.HasSuffix(tag, "-cloud")
}

// cloudName is cloudTag for models that go without a tag too ("glm-cloud").
func cloudName(model string) bool {
	name := strings.ToLower(strings.TrimSuffix(model, ":latest"))
	return cloudTag(model) || strings.HasSuffix(name, "-cloud")
}

// sameModel compares names as the server does: without regard to case, and
// "latest" is the tag of a name that has none.
func sameModel(a, b string) bool { return place(a) == place(b) }

// place is what all forms of one name have in common.
func place(model string) string { return strings.ToLower(fullName(model)) }

func fullName(model string) string {
	model = strings.TrimPrefix(model, "library/")
	if !strings.Contains(model[strings.LastIndexByte(model, '/')+1:], ":") {
		return model + ":latest"
	}
	return model
}

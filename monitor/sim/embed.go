package sim

import (
	"net/http"
	"time"
)

// embed answers /api/embed: one vector for each text.
func (m *Mac) embed(w http.ResponseWriter, hq *http.Request) {
	q, texts, r, ok := m.embedding(w, hq, "EmbedRequest", func(q *query) ([]string, *fault) { return q.inputs() })
	if !ok {
		return
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = embedding(text, r.model.embedding)
	}
	m.mu.Lock()
	result := r.result()
	m.mu.Unlock()
	whole(w, http.StatusOK, struct {
		Model      string        `json:"model"`
		Embeddings [][]float32   `json:"embeddings"`
		Total      time.Duration `json:"total_duration,omitempty"`
		Load       time.Duration `json:"load_duration,omitempty"`
		Prompt     int           `json:"prompt_eval_count,omitempty"`
	}{q.Model, vectors, result.Total, result.Load, result.PromptTokens})
}

// embeddings answers the older /api/embeddings: one vector, no statistics.
func (m *Mac) embeddings(w http.ResponseWriter, hq *http.Request) {
	_, texts, r, ok := m.embedding(w, hq, "EmbeddingRequest", func(q *query) ([]string, *fault) { return []string{q.Prompt}, nil })
	if ok {
		whole(w, http.StatusOK, map[string]any{"embedding": embedding(texts[0], r.model.embedding)})
	}
}

// embedding runs a request that only evaluates its texts. Where ok is false the
// client has its answer or has gone.
func (m *Mac) embedding(w http.ResponseWriter, hq *http.Request, kind string, inputs func(*query) ([]string, *fault)) (q query, texts []string, r *request, ok bool) {
	f := read(hq, kind, &q)
	var model *model
	if f == nil {
		if model = find(q.Model); model == nil {
			f = missing(q.Model)
		}
	}
	if f == nil {
		texts, f = inputs(&q)
	}
	if f == nil && m.elsewhere(w, model) {
		return q, nil, nil, false
	}
	if f == nil {
		r = &request{model: model, context: m.openContext()}
		for _, text := range texts {
			r.prompt += countTokens(text)
		}
		if r.loadOnly = r.prompt == 0; q.KeepAlive != nil {
			r.keep = new(time.Duration(*q.KeepAlive))
		}
		f = m.enter(r)
	}
	if f != nil {
		refuse(w, f)
		return q, nil, nil, false
	}
	select {
	case <-r.done:
	case <-hq.Context().Done():
		m.cancel(r)
		return q, nil, nil, false
	}
	if m.serving.answering(hq.Context()) != nil {
		return q, nil, nil, false
	}
	if r.err != nil {
		refuse(w, r.err)
		return q, nil, nil, false
	}
	return q, texts, r, true
}

// inputs are the texts of /api/embed: one string or several.
func (q *query) inputs() ([]string, *fault) {
	wrong := &fault{http.StatusBadRequest, "invalid input type"}
	switch v := q.Input.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []string{v}, nil
	case []any:
		var texts []string
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, wrong
			}
			texts = append(texts, text)
		}
		return texts, nil
	}
	return nil, wrong
}

package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// dialect is what generate and chat do differently.
type dialect struct {
	kind string // Ollama's name of the request's type
	chat bool
}

func (m *Mac) generate(w http.ResponseWriter, q *http.Request) {
	m.answer(w, q, dialect{kind: "GenerateRequest"})
}

func (m *Mac) chatting(w http.ResponseWriter, q *http.Request) {
	m.answer(w, q, dialect{kind: "ChatRequest", chat: true})
}

// answer serves one request of generate or chat.
func (m *Mac) answer(w http.ResponseWriter, hq *http.Request, d dialect) {
	var q query
	if f := read(hq, d.kind, &q); f != nil {
		refuse(w, f)
		return
	}
	model := find(q.Model)
	if model == nil {
		if d.chat && q.Model == "" {
			refuse(w, &fault{http.StatusBadRequest, "model is required"})
			return
		}
		refuse(w, missing(q.Model))
		return
	}
	if m.elsewhere(w, model) {
		return
	}
	empty := q.Prompt == "" && !d.chat || len(q.Messages) == 0 && d.chat
	if empty && q.KeepAlive != nil && *q.KeepAlive == 0 {
		m.mu.Lock()
		m.advance()
		m.expireModel(model)
		m.mu.Unlock()
		whole(w, http.StatusOK, d.line(&q, m.clock.Now(), "", "unload"))
		return
	}
	r, f := m.prepare(&q, model, d)
	if f == nil {
		f = m.enter(r)
	}
	if f != nil {
		refuse(w, f)
		return
	}
	m.deliver(w, hq, &q, r, d)
}

// elsewhere answers for a model of the cloud, which this simulation does not
// reach: as Ollama does without an account.
func (m *Mac) elsewhere(w http.ResponseWriter, model *model) bool {
	if model.remoteModel == "" {
		return false
	}
	m.mu.Lock()
	m.cloudCalls++
	m.mu.Unlock()
	whole(w, http.StatusUnauthorized, map[string]string{"error": "unauthorized", "signin_url": "https://ollama.com/connect"})
	return true
}

// prepare makes a request of a body.
func (m *Mac) prepare(q *query, model *model, d dialect) (*request, *fault) {
	switch {
	case !model.can("completion"):
		what := "generate"
		if d.chat {
			what = "chat"
		}
		return nil, &fault{http.StatusBadRequest, fmt.Sprintf("%q does not support %s", q.Model, what)}
	case q.Think != nil && q.Think != false && !model.can("thinking"):
		return nil, &fault{http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", q.Model)}
	case len(q.Tools) > 0 && !model.can("tools"):
		return nil, &fault{http.StatusBadRequest, fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", model.name)}
	}
	text := q.System + q.Prompt
	for _, turn := range q.Messages {
		text += "<|" + turn.Role + "|>" + turn.Content
	}
	r := &request{model: model, text: text, prompt: countTokens(text), want: naturalLength(text), natural: true}
	r.loadOnly = q.Prompt == "" && len(q.Messages) == 0
	var f *fault
	if r.context, f = q.count("num_ctx", m.openContext()); f != nil {
		return nil, f
	}
	limit, f := q.count("num_predict", -1)
	if f != nil {
		return nil, f
	}
	if limit > 0 && limit < r.want {
		r.want, r.natural = limit, false
	}
	if q.KeepAlive != nil {
		r.keep = new(time.Duration(*q.KeepAlive))
	}
	if fits := min(r.context, model.trained); r.prompt > fits {
		if q.Truncate != nil && !*q.Truncate {
			return nil, &fault{http.StatusBadRequest, "the input length exceeds the context length"}
		}
		r.prompt = fits // cut without a word, as Ollama does
	}
	return r, nil
}

// enter submits a request that a client waits for.
func (m *Mac) enter(r *request) *fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if f := m.submit(r); f != nil {
		return f
	}
	m.watch(r)
	return nil
}

// deliver sends the answer as it comes, or whole at the end.
func (m *Mac) deliver(w http.ResponseWriter, hq *http.Request, q *query, r *request, d dialect) {
	stream := (q.Stream == nil || *q.Stream) && !r.loadOnly
	var text strings.Builder
	sent := 0
	for {
		lines, ended := m.progress(r, sent)
		sent += len(lines)
		if m.serving.answering(hq.Context()) != nil {
			m.cancel(r)
			return
		}
		for i, at := range lines {
			word := word(r.text, sent-len(lines)+i)
			if text.WriteString(word); stream {
				send(w, d.line(q, at, word, ""))
			}
		}
		if ended {
			m.conclude(w, q, r, d, text.String(), stream, sent > 0)
			return
		}
		select {
		case <-r.changed:
		case <-hq.Context().Done():
			m.cancel(r)
			return
		}
	}
}

// progress tells the moments of the lines that have come since the first sent,
// and whether these were all. The end token makes no line.
func (m *Mac) progress(r *request, sent int) (lines []time.Time, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	n := len(r.tokens)
	if r.natural {
		n = min(n, r.want-1)
	}
	for _, at := range r.tokens[min(sent, n):n] {
		lines = append(lines, m.wallAt(at))
	}
	return lines, r.phase == phaseDone
}

// conclude sends what ends an answer: the statistics, or what went wrong. After
// the first line an error can only be a line itself.
func (m *Mac) conclude(w http.ResponseWriter, q *query, r *request, d dialect, text string, stream, begun bool) {
	m.mu.Lock()
	result, err, at := r.result(), r.err, m.wallAt(r.ended)
	m.mu.Unlock()
	switch {
	case err != nil && begun && stream:
		send(w, map[string]string{"error": err.text})
		return
	case err != nil:
		refuse(w, err)
		return
	case r.loadOnly:
		whole(w, http.StatusOK, d.line(q, at, "", "load"))
		return
	}
	reason := "length"
	if r.natural {
		reason = "stop"
	}
	if stream {
		text = ""
	}
	last := d.line(q, at, text, reason)
	last.statistics = statistics{result.Total, result.Load, result.PromptTokens, result.Prompt, result.Tokens, result.Decode}
	if !d.chat {
		last.Context = tokenNumbers(r.text, r.prompt+len(r.tokens))
	}
	if stream {
		send(w, last)
		return
	}
	whole(w, http.StatusOK, last)
}

// line is one line of an answer; with a reason it is the last.
func (d dialect) line(q *query, at time.Time, text, reason string) reply {
	l := reply{Model: q.Model, CreatedAt: at.UTC(), Done: reason != "", DoneReason: reason}
	if d.chat {
		l.Message = &message{Role: "assistant", Content: text}
	} else {
		l.Response = &text
	}
	return l
}

// tokenNumbers are the conversation as a client may send it back.
func tokenNumbers(text string, n int) []int {
	numbers := make([]int, n)
	seed := hash(text)
	for i := range numbers {
		numbers[i] = int((seed >> (i % 48)) % 150000)
	}
	return numbers
}

// send writes one line of a stream and lets it go at once.
func send(w http.ResponseWriter, line any) {
	text, err := json.Marshal(line)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Write(append(text, '\n'))
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

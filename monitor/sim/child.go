package sim

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"plimsoll/metal"
)

// children are the listeners of the runners, which are llama-server processes: they
// live as long as the server serves, and no longer than their runner.
type children struct {
	wait sync.WaitGroup
	ctx  context.Context // nil: nobody serves
}

// serveChildren opens the listeners of runners from now on, until ctx ends; done
// waits until all are closed.
func (m *Mac) serveChildren(ctx context.Context) (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.child.ctx = ctx
	for _, r := range m.runners {
		m.listen(r)
	}
	return func() {
		m.mu.Lock()
		m.child.ctx = nil
		for _, r := range m.runners {
			r.hangUp()
		}
		m.mu.Unlock()
		m.child.wait.Wait()
	}
}

// listen opens the listener of a runner and gives it its port. The lock is held. A
// runner that cannot listen tells nothing.
func (m *Mac) listen(r *runner) {
	if m.slots == 0 || m.child.ctx == nil || r.http != nil || r.dead || r.unlisted {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	r.port = l.Addr().(*net.TCPAddr).Port
	ctx := m.child.ctx
	r.http = &http.Server{Handler: m.childHandler(r), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	server := r.http
	m.child.wait.Go(func() { server.Serve(l) }) // it ends by hangUp
}

// childProcess is a runner as the list of processes has it since v0.30.
func (m *Mac) childProcess(r *runner) metal.Process {
	args := []string{llamaPath, "--model", r.model.blob(), "--port", strconv.Itoa(r.port), "--host", "127.0.0.1",
		"-c", strconv.Itoa(r.context * len(r.slots)), "-np", strconv.Itoa(len(r.slots)), "--flash-attn", "on", "-b", strconv.Itoa(prefillBatch)}
	if m.metrics {
		args = append(args, "--metrics")
	}
	return metal.Process{PID: r.pid, Parent: m.ollama.pid, Name: "llama-server", App: "Ollama", Started: micros(r.started),
		Args: args, Footprint: new(r.footprint()), CPU: new(r.cpu)}
}

// hangUp ends a runner's listener.
func (r *runner) hangUp() {
	if r.http != nil {
		r.http.Close()
		r.http = nil
	}
	r.passed() // whoever waits has waited for nothing
}

// childHandler is a llama-server's API, as far as it tells of itself. Its tasks are
// numbered, and a question about slots or totals is one of them.
func (m *Mac) childHandler(r *runner) http.Handler {
	routes := map[string]func(http.ResponseWriter, *http.Request, *runner){
		"GET /health": m.childHealth, "GET /props": m.childProps, "GET /slots": m.childSlots, "GET /metrics": m.childMetrics,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		serve, ok := routes[q.Method+" "+q.URL.Path]
		if !ok {
			childFails(w, http.StatusNotFound, "File Not Found", "not_found_error")
			return
		}
		m.mu.Lock()
		m.advance()
		loading := r.loaded < r.bytes
		m.mu.Unlock()
		if loading {
			childFails(w, http.StatusServiceUnavailable, "Loading model", "unavailable_error")
			return
		}
		serve(w, q, r)
	})
}

func childFails(w http.ResponseWriter, status int, message, kind string) {
	whole(w, status, map[string]any{"error": map[string]any{"code": status, "message": message, "type": kind}})
}

func (m *Mac) childHealth(w http.ResponseWriter, _ *http.Request, _ *runner) {
	whole(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (m *Mac) childProps(w http.ResponseWriter, _ *http.Request, r *runner) {
	whole(w, http.StatusOK, map[string]any{
		"default_generation_settings": map[string]any{"params": samplingOf(nil), "n_ctx": r.context},
		"total_slots":                 len(r.slots), "model_path": r.model.blob(), "modalities": map[string]bool{"vision": false, "audio": false},
		"chat_template": chatTemplate, "build_info": "b10298-simulated",
	})
}

// childSlot is a slot as llama-server has told it since 2026. A slot that was never
// used has the first four fields alone.
type childSlot struct {
	ID          int  `json:"id"`
	Context     int  `json:"n_ctx"`
	Speculative bool `json:"speculative"`
	Processing  bool `json:"is_processing"`
	*childTask
}

type childTask struct {
	Task      int            `json:"id_task"`
	Tokens    int            `json:"n_prompt_tokens"`
	Processed int            `json:"n_prompt_tokens_processed"`
	Cached    int            `json:"n_prompt_tokens_cache"`
	Target    int            `json:"n_prompt_tokens_target"`
	Params    map[string]any `json:"params"`
	Next      []childToken   `json:"next_token"`
	Prompt    string         `json:"prompt"`
}

type childToken struct {
	HasNext bool `json:"has_next_token"`
	NewLine bool `json:"has_new_line"`
	Remain  int  `json:"n_remain"`
	Decoded int  `json:"n_decoded"`
}

// childSlots answers between two passes.
func (m *Mac) childSlots(w http.ResponseWriter, q *http.Request, r *runner) {
	if !m.settle(r, q.Context().Done()) {
		return
	}
	m.mu.Lock()
	r.tasks++
	list := make([]childSlot, len(r.slots))
	for i, s := range r.slots {
		list[i] = childSlot{ID: s.id, Context: r.context, Processing: s.r != nil}
		if !s.used {
			continue
		}
		c := s.count()
		list[i].childTask = &childTask{
			Task: s.task, Tokens: c.cached + c.read + c.decoded, Processed: c.read, Cached: c.cached, Target: c.prompt,
			Params: samplingOf(s.r), Next: []childToken{{HasNext: s.r != nil, Remain: -1, Decoded: c.decoded}}, Prompt: c.text,
		}
	}
	m.mu.Unlock()
	whole(w, http.StatusOK, list)
}

// samplingOf are the options of a request, of which there are many more.
func samplingOf(r *request) map[string]any {
	predict := -1
	if r != nil && !r.natural {
		predict = r.want
	}
	return map[string]any{"n_predict": predict, "seed": 4294967295, "temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "n_keep": 4, "stream": true}
}

// childMetrics tells totals where the runner was started with --metrics. Ollama does
// not.
func (m *Mac) childMetrics(w http.ResponseWriter, q *http.Request, r *runner) {
	if !m.metrics {
		childFails(w, http.StatusNotImplemented, "This server does not support metrics endpoint. Start it with `--metrics`", "not_supported_error")
		return
	}
	if !m.settle(r, q.Context().Done()) {
		return
	}
	m.mu.Lock()
	r.tasks++
	t := r.totals
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, c := range []struct {
		name  string
		value any
	}{{"prompt_tokens_total", t.prompt}, {"prompt_seconds_total", t.promptSeconds}, {"tokens_predicted_total", t.decoded}, {"tokens_predicted_seconds_total", t.decodeSeconds}} {
		fmt.Fprintf(w, "# TYPE llamacpp:%s counter\nllamacpp:%s %v\n", c.name, c.name, c.value)
	}
}

package sim

import (
	"fmt"
	"time"
)

// Job is a request from inside, as a user's program would send it.
type Job struct {
	mac *Mac
	r   *request
}

// Result is how a job went, on the simulation's time. Durations are those of the
// server's statistics.
type Result struct {
	Finished                    bool
	Err                         error // the server's refusal, or why it broke off
	PromptTokens, Tokens        int
	Total, Load, Prompt, Decode time.Duration
}

// Rate is token/s of the answer, made as clients make it of the statistics.
func (r Result) Rate() float64 {
	if r.Decode <= 0 {
		return 0
	}
	return float64(r.Tokens) / r.Decode.Seconds()
}

// Load loads a model as a request without a prompt does.
func (m *Mac) Load(model string) (*Job, error) {
	return m.ask(&request{loadOnly: true}, model)
}

// Ask sends a prompt of that many tokens that is answered with that many. A model
// that is not resident is loaded first. It fails at once for a model that is not
// in the store or runs in the cloud.
func (m *Mac) Ask(model string, promptTokens, outputTokens int) (*Job, error) {
	return m.ask(&request{prompt: max(promptTokens, 1), want: max(outputTokens, 1)}, model)
}

func (m *Mac) ask(r *request, name string) (*Job, error) {
	model := find(name)
	if model == nil || model.remoteModel != "" {
		return nil, fmt.Errorf("asking %s: not a model of this machine", name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if r.model, r.internal = model, true; r.context == 0 {
		r.context = m.defaultContext()
	}
	if err := m.submit(r); err != nil {
		return nil, fmt.Errorf("asking %s: %w", name, err)
	}
	return &Job{m, r}, nil
}

// Unload drops a model as keep_alive 0 does: now, or when its requests have ended.
func (m *Mac) Unload(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.expireModel(find(name))
}

// expireModel is Ollama's answer to keep_alive 0 without a prompt.
func (m *Mac) expireModel(model *model) {
	m.respect(model)
	if r := m.listed(model); r != nil {
		r.expiresWall, r.expires = m.wall(), m.now
		m.expire(r)
	}
}

// Done is closed when the job has ended. From the first call on the simulation
// runs on behalf of whoever waits.
func (j *Job) Done() <-chan struct{} {
	j.mac.mu.Lock()
	defer j.mac.mu.Unlock()
	j.mac.advance()
	j.mac.watch(j.r)
	return j.r.done
}

// Cancel is the client going away.
func (j *Job) Cancel() { j.mac.cancel(j.r) }

// Result is how the job stands.
func (j *Job) Result() Result {
	j.mac.mu.Lock()
	defer j.mac.mu.Unlock()
	j.mac.advance()
	return j.r.result()
}

func (r *request) result() Result {
	s := Result{Finished: r.phase == phaseDone, PromptTokens: r.prompt, Tokens: len(r.tokens)}
	if r.err != nil {
		s.Err = r.err
	}
	if s.Finished {
		s.Total = r.ended - r.arrived
	}
	if r.acquired > 0 {
		s.Load = r.acquired - r.arrived + overhead
	}
	if r.prefilled > 0 {
		s.Prompt = r.prefilled - r.began
		if n := len(r.tokens); n > 0 {
			s.Decode = r.tokens[n-1] - r.prefilled
		}
	}
	return s
}

func (m *Mac) cancel(r *request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.finish(r, m.now, &fault{499, "client closed the request"})
}

// StartApp opens an app, or makes a running one want that many bytes. It fills
// them at about 1 GB/s, slower when the system has to make room.
func (m *Mac) StartApp(name string, bytes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	a := m.app(name)
	if a == nil {
		a = m.openApp(app{name: name, cores: 0.05}, 0)
	}
	a.goal = float64(bytes)
}

// QuitApp ends an app and gives its memory back.
func (m *Mac) QuitApp(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.closeApp(name)
}

// SetWiredLimit sets iogpu.wired_limit_mb, in bytes, past the helper, as somebody
// with sysctl does; 0 is the default. Metal shows it at once, as on a Mac, and the
// server when it is started again.
func (m *Mac) SetWiredLimit(bytes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.memory.limit = float64(bytes)
}

// HoldAfterUnload makes the next unload of a model leave that many bytes behind,
// held by a runner that the server no longer lists, until EndProcess.
func (m *Mac) HoldAfterUnload(name string, bytes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	if model := find(name); model != nil {
		m.hold[model] = float64(bytes)
	}
}

// Hang makes the server accept connections and say nothing, as a stopped process
// does, or lets it go on. Runners go on meanwhile.
func (m *Mac) Hang(hang bool) { m.serving.hang(hang) }

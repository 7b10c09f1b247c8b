package meter

import (
	"math"
	"sync"
	"time"

	"plimsoll/monitor/request"
)

const (
	// modelsKnown and promptsKnown bound what is remembered: models, and prompts of
	// each, as many as a server has slots or a little more.
	modelsKnown, promptsKnown = 32, 4
	// baseTokens is the shortest prompt that says how fast a model reads; shortPrompt
	// is one whose rate is shown as an estimate.
	baseTokens, shortPrompt = 256, 64
	// alike is the shared part of a prompt from which on it may have come from the
	// cache; reread the part from which on it is worth a word that it did not.
	alike, reread = 0.05, 0.3
	// tooFast is how many times the best rate that was seen a prompt cannot be read at.
	tooFast = 3
)

// known is what earlier requests taught about models: how fast each reads a
// prompt, how many tokens it puts in a chunk, and what its last prompts were
// like. It is safe for concurrent use.
type known struct {
	mu     sync.Mutex
	models map[string]*knownModel
}

type knownModel struct {
	used     time.Time
	best     float64 // tokens/s of the fastest prompt that was read whole, 0 before the first
	perChunk float64 // tokens in a chunk of the last finished answer, 0 before the first
	prompts  []fingerprint
}

// of finds a model, which is made if it is new. The caller holds mu.
func (k *known) of(model string, now time.Time) *knownModel {
	m := k.models[model]
	if m == nil {
		if len(k.models) >= modelsKnown {
			k.forget()
		}
		m = &knownModel{}
		k.models[model] = m
	}
	m.used = now
	return m
}

// forget drops the model that was not used for longest.
func (k *known) forget() {
	var oldest string
	for name, m := range k.models {
		if oldest == "" || m.used.Before(k.models[oldest].used) {
			oldest = name
		}
	}
	delete(k.models, oldest)
}

// perChunk is how many tokens a chunk of a model's answers holds, 1 as long as
// that is not known.
func (k *known) perChunk(model string) float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.models[model]; m != nil && m.perChunk > 0 {
		return m.perChunk
	}
	return 1
}

func (k *known) setPerChunk(model string, tokens, chunks int, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of(model, now).perChunk = float64(tokens) / float64(chunks)
}

// reading is what the time for a prompt means.
type reading uint8

const (
	readWhole   reading = iota
	readCached          // some of it, and nobody says how much, came from the cache
	readAgain           // it could have come from the cache and did not
	readUnclear         // too little is known
)

// judge tells what it means that a prompt of so many tokens took so many seconds,
// where the server does not tell what came from its cache: Ollama counts the
// whole prompt and only the time shrinks. It remembers the prompt.
func (k *known) judge(model string, print fingerprint, tokens int, seconds float64, now time.Time) reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.of(model, now)
	shared := 0.0
	for i := range m.prompts {
		shared = max(shared, print.shared(&m.prompts[i]))
	}
	if print.size > 0 {
		m.prompts = append(m.prompts, print)
		m.prompts = m.prompts[max(0, len(m.prompts)-promptsKnown):]
	}
	if seconds <= 0 || tokens <= 0 {
		return readUnclear
	}
	rate := float64(tokens) / seconds
	switch {
	case m.best > 0 && rate > tooFast*m.best:
		return readCached
	case shared >= reread && m.best > 0 && tokens >= baseTokens && rate < m.best*math.Sqrt(1/(1-min(shared, 0.99))):
		return readAgain // nearer to the best rate than to what the cache would make of it
	case shared >= alike:
		return readCached
	}
	if tokens >= baseTokens && seconds >= request.LeastTime.Seconds() {
		m.best = max(m.best, rate)
	}
	return readWhole
}

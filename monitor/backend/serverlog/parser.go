package serverlog

import (
	"strings"
	"time"
)

// Parser makes events of lines, one after another, and remembers what they say of
// the server and of the models in memory. The zero value is ready.
type Parser struct {
	settings *Settings
	load     *Load   // the one that lines on buffers are about
	loads    []*Load // newest last, one for each file or name
	// computing are the buffers for computing that the load's runner told.
	computing map[string]uint64
	works     []*Work // in the works, newest last
	timed     *Work   // the one that lines without a beginning are about
	mlx       int     // requests to MLX so far
	lastWork  *Work   // the MLX request that ended last, whose statistics may follow
	model     string  // named last
	scarce    time.Time

	now    time.Time
	events []Event
}

const (
	// mostLoads and mostWorks bound what is remembered: a server holds a handful of
	// models, a runner has at most some dozen slots.
	mostLoads = 16
	mostWorks = 64
	// scarceFor is how long memory that was refused again is no news: each command
	// buffer in flight fails with a line of its own.
	scarceFor = 10 * time.Second
)

// Settings are those that the log told last, nil before any.
func (p *Parser) Settings() *Settings {
	if p.settings == nil {
		return nil
	}
	return new(*p.settings)
}

// Loads are the models that were loaded since the server started, oldest first,
// the newest of each file. Whether one still is in memory the server must say.
func (p *Parser) Loads() []Load {
	loads := make([]Load, 0, len(p.loads))
	for _, l := range p.loads {
		loads = append(loads, *l)
	}
	return loads
}

// Line reads one line, without its end; now is when it was read. It returns what
// the line told, mostly nothing.
func (p *Parser) Line(text string, now time.Time) []Event {
	p.now, p.events = now, nil
	text = strings.TrimRight(text, "\r")
	if strings.HasPrefix(text, answerMark) {
		p.answered(text)
		return p.events
	}
	if strings.HasPrefix(text, "slot ") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "prompt eval time") {
		if p.slotLine(text) {
			return p.events
		}
	}
	l := split(text)
	if !l.record {
		p.runnerLine(&l)
		return p.events
	}
	if read := records[l.msg]; read != nil {
		read(p, &l)
		return p.events
	}
	for _, r := range begun {
		if strings.HasPrefix(l.msg, r.prefix) {
			r.read(p, &l)
			return p.events
		}
	}
	p.broken(l.attribute("error"), &l)
	return p.events
}

// records are the messages of the server that say something, by their whole text.
var records = map[string]func(*Parser, *line){
	configMark:                           (*Parser).setting,
	"vram-based default context":         (*Parser).defaultContext,
	"starting runner":                    (*Parser).starting, // to v0.29
	"starting llama server":              (*Parser).starting, // v0.6
	"starting llama-server":              (*Parser).starting, // from v0.30
	"starting mlx runner subprocess":     (*Parser).startingMLX,
	"mlx runner is ready":                (*Parser).readyMLX,
	"template selection":                 (*Parser).named,
	"load":                               (*Parser).asked,
	"model weights":                      (*Parser).estimated,
	"kv cache":                           (*Parser).estimated,
	"compute graph":                      (*Parser).estimated,
	"loading model":                      func(p *Parser, l *line) { p.layers(l.count("model layers"), nil) },
	"Load failed":                        (*Parser).failed,
	"truncating input prompt":            (*Parser).truncated,
	"model request too large for system": func(p *Parser, l *line) { p.scarceMemory(CauseSystem, l) },
	"cache miss":                         (*Parser).cacheMLX,
	"cache hit":                          (*Parser).cacheMLX,
	"Prompt processing progress":         (*Parser).progressMLX,
	"speculative decode stats":           (*Parser).speculatedMLX,
	"ServeHTTP":                          (*Parser).servedMLX,
	"found an idle runner to unload":     (*Parser).evicting,
	"model requires more system memory than is currently available, evicting a model to make space": (*Parser).evicting,
	"model requires more gpu memory than is currently available, evicting a model to make space":    (*Parser).evicting,
}

// begun are those with something in them that changes, by how they begin.
var begun = []struct {
	prefix string
	read   func(*Parser, *line)
}{
	{"Listening on ", (*Parser).listening},
	{"llama-server started in ", (*Parser).started},
	{"llama runner started in ", (*Parser).started},
	{"offloaded ", func(p *Parser, l *line) { p.offloaded(l.msg) }},
}

// emit adds an event with the time of its line.
func (p *Parser) emit(e Event, l *line) {
	e.Time = p.now
	if l != nil {
		e.Stamp = l.stamp
		if at := l.time(); !at.IsZero() {
			e.Time = at
		}
	}
	p.events = append(p.events, e)
}

// answered reads the server's line on a request that ended.
func (p *Parser) answered(text string) {
	stamp, a, _ := answer(text)
	if a == nil {
		return
	}
	p.emit(Event{Kind: Answered, Answer: a}, &line{stamp: stamp})
}

// named remembers which model the next lines are about.
func (p *Parser) named(l *line) {
	if p.model = shortName(l.attribute("model")); p.load != nil && p.load.Model == "" {
		p.load.Model = p.model
	}
}

// shortName is a model's name without the registry that it came from.
func shortName(name string) string {
	if _, rest, ok := strings.Cut(name, "/library/"); ok {
		return rest
	}
	return name
}

func (p *Parser) truncated(l *line) {
	limit, prompt, keep, now := l.count("limit"), l.count("prompt"), l.count("keep"), l.count("new")
	if limit == nil || prompt == nil || now == nil {
		return
	}
	c := &Cut{Limit: *limit, Prompt: *prompt, New: *now}
	if keep != nil {
		c.Keep = *keep
	}
	p.emit(Event{Kind: Truncated, Cut: c}, l)
}

// evicting tells that a model has to go. Only a log of debugging names it.
func (p *Parser) evicting(l *line) {
	p.emit(Event{Kind: Evicted, Model: shortName(l.attribute("runner.name"))}, l)
}

// failed is the end of a load that came to nothing.
func (p *Parser) failed(l *line) {
	if p.load == nil || p.load.Ready != nil {
		return
	}
	p.load.Failed = true
	p.emit(Event{Kind: LoadFailed, Load: new(*p.load), Model: p.load.Model}, l)
	p.broken(l.attribute("error"), l)
}

// broken looks in an error for what it says of memory. The server's own texts go
// no further.
func (p *Parser) broken(text string, l *line) {
	switch {
	case text == "":
	case strings.Contains(text, "kIOGPUCommandBufferCallbackErrorOutOfMemory"):
		p.scarceMemory(CauseCommandBuffer, l)
	case strings.Contains(text, "model requires more system memory"):
		p.scarceMemory(CauseSystem, l)
	case strings.Contains(text, cacheNeedsFlash):
		p.emit(Event{Kind: CacheRefused}, l)
	}
}

// scarceMemory tells that memory was not given, once for all lines of one failure.
func (p *Parser) scarceMemory(cause string, l *line) {
	at := p.now
	if !p.scarce.IsZero() && at.Sub(p.scarce) < scarceFor && !at.Before(p.scarce) {
		return
	}
	p.scarce = at
	p.emit(Event{Kind: OutOfMemory, Cause: cause}, l)
}

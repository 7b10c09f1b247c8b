package serverlog

import (
	"strings"
	"time"
)

// configMark is in the line with which a server tells its settings at its start,
// in either form of a record.
const configMark = "server config"

// variables reads "map[OLLAMA_A:1 OLLAMA_B: OLLAMA_C:[x y] http_proxy:]", as Go
// prints a map, for the names that begin with "OLLAMA_". Values may have blanks.
func variables(env string) map[string]string {
	env = strings.TrimSuffix(strings.TrimPrefix(env, "map["), "]")
	values := map[string]string{}
	name := ""
	for word := range strings.SplitSeq(env, " ") {
		before, after, ok := strings.Cut(word, ":")
		switch {
		case ok && isVariable(before):
			if name = ""; strings.HasPrefix(before, "OLLAMA_") {
				name, values[before] = before, after
			}
		case name != "":
			values[name] += " " + word
		}
	}
	return values
}

// isVariable tells the name of an environment variable from the beginning of a
// value ("https", "C").
func isVariable(s string) bool {
	if strings.HasSuffix(s, "_proxy") {
		return true
	}
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return strings.Contains(s, "_")
}

// setting takes the line with a server's settings. It is the first that a server
// writes, so what was known is another's.
func (p *Parser) setting(l *line) {
	values := variables(l.attribute("env"))
	if len(values) == 0 {
		return
	}
	s := &Settings{At: l.time(), Models: values["OLLAMA_MODELS"], CacheType: values["OLLAMA_KV_CACHE_TYPE"], MaxQueue: positive(values["OLLAMA_MAX_QUEUE"])}
	s.Parallel, s.MaxLoaded = positive(values["OLLAMA_NUM_PARALLEL"]), positive(values["OLLAMA_MAX_LOADED_MODELS"])
	s.Context = positive(values["OLLAMA_CONTEXT_LENGTH"])
	s.ContextSet = s.Context != nil
	switch values["OLLAMA_FLASH_ATTENTION"] {
	case "1", "true":
		s.FlashAttention = true
	}
	if d, err := time.ParseDuration(values["OLLAMA_KEEP_ALIVE"]); err == nil {
		if d > 10*365*24*time.Hour { // for ever is written as the longest time there is
			d = -1
		}
		s.KeepAlive = &d
	}
	if _, port, ok := cutLast(values["OLLAMA_HOST"], ":"); ok {
		if n := count(strings.TrimRight(port, "/")); n != nil {
			s.Port = *n
		}
	}
	*p = Parser{settings: s, mlx: p.mlx, scarce: p.scarce, now: p.now}
	p.emit(Event{Kind: Configured}, l)
}

// positive reads a number of which 0 means that the server decides.
func positive(s string) *int {
	if n := count(s); n != nil && *n > 0 {
		return n
	}
	return nil
}

func cutLast(s, mark string) (before, after string, ok bool) {
	i := strings.LastIndex(s, mark)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(mark):], true
}

// own is what the settings are kept in; a log whose first line is not there has
// settings all the same, of what later lines tell.
func (p *Parser) own() *Settings {
	if p.settings == nil {
		p.settings = &Settings{}
	}
	return p.settings
}

// listening reads "Listening on 127.0.0.1:11434 (version 0.17.0)".
func (p *Parser) listening(l *line) {
	address, version, ok := strings.Cut(strings.TrimPrefix(l.msg, "Listening on "), " (version ")
	if !ok {
		return
	}
	s := p.own()
	s.Version = strings.TrimSuffix(version, ")")
	if _, port, ok := cutLast(address, ":"); ok {
		if n := count(port); n != nil {
			s.Port = *n
		}
	}
}

// defaultContext reads what the server made of the GPU's memory: the context of
// every request that asks for none, unless a person set one.
func (p *Parser) defaultContext(l *line) {
	if s := p.own(); !s.ContextSet {
		if n := positive(l.attribute("default_num_ctx")); n != nil {
			s.Context = n
		}
	}
}

package serverlog

import "strings"

// Arguments are what a runner's command line says of how a model is loaded. What
// it does not say is absent.
type Arguments struct {
	Weights string // the file
	Port    *int
	// Cells is the length of the whole cache in tokens, for all Slots together.
	Cells *int
	Slots *int
	// CacheType is the type of the keys' cache, "q8_0".
	CacheType      string
	FlashAttention *bool
	// Batch is the number of tokens of a prompt that are read at once.
	Batch *int
}

// Context is the length that one request may have, in tokens: Cells ÷ Slots.
func (a *Arguments) Context() *int { return perSlot(a.Cells, a.Slots) }

func perSlot(cells, slots *int) *int {
	switch {
	case cells == nil || *cells == 0: // 0: as the model was trained
		return nil
	case slots == nil || *slots == 0:
		return cells
	}
	return new(*cells / *slots)
}

// options are the names that the arguments have: llama-server's, short and long,
// and those of Ollama's older runner.
var options = map[string]func(*Arguments, string){
	"-m": func(a *Arguments, v string) { a.Weights = v }, "--model": func(a *Arguments, v string) { a.Weights = v },
	"--port": func(a *Arguments, v string) { a.Port = count(v) },
	"-c":     func(a *Arguments, v string) { a.Cells = count(v) }, "--ctx-size": func(a *Arguments, v string) { a.Cells = count(v) },
	"-np": func(a *Arguments, v string) { a.Slots = count(v) }, "--parallel": func(a *Arguments, v string) { a.Slots = count(v) },
	"-ctk": func(a *Arguments, v string) { a.CacheType = v }, "--cache-type-k": func(a *Arguments, v string) { a.CacheType = v },
	"--kv-cache-type": func(a *Arguments, v string) { a.CacheType = v },
	"-b":              func(a *Arguments, v string) { a.Batch = count(v) }, "--batch-size": func(a *Arguments, v string) { a.Batch = count(v) },
	"-fa": flash, "--flash-attn": flash,
}

// flash reads "on", "off" and no value, which is on. "auto" is not known.
func flash(a *Arguments, v string) {
	switch v {
	case "on", "1", "true", "":
		a.FlashAttention = new(true)
	case "off", "0", "false":
		a.FlashAttention = new(false)
	}
}

// ParseArguments reads the arguments of a runner's process.
func ParseArguments(args []string) Arguments {
	var a Arguments
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		set := options[name]
		if set == nil {
			continue
		}
		if !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		set(&a, value)
	}
	return a
}

// parseCommand reads a command line as a log has it, joined by blanks: a value
// reaches to the next option, for there may be blanks in a path.
func parseCommand(cmd string) Arguments {
	var args []string
	for _, word := range strings.Fields(cmd) {
		last := len(args) - 1
		if last > 0 && !strings.HasPrefix(word, "-") && !strings.HasPrefix(args[last], "-") {
			args[last] += " " + word
			continue
		}
		args = append(args, word)
	}
	return ParseArguments(args)
}

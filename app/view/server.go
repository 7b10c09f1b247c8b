package view

import (
	"fmt"
	"strings"

	"plimsoll/monitor/backend"
)

// serverNames are the names that the servers' makers write.
var serverNames = map[string]string{
	"ollama":       "Ollama",
	"llama-server": "llama-server",
	"llama_server": "llama-server",
	"lmstudio":     "LM Studio",
	"lm-studio":    "LM Studio",
	"mlx":          "MLX",
}

// serverName is how a person knows a backend.
func serverName(name string) string {
	if known := serverNames[name]; known != "" {
		return known
	}
	return clean(name)
}

// statusName tells two servers of one kind apart.
func statusName(b backend.Status) string {
	if b.Kind == "" || b.Kind == b.Name {
		return serverName(b.Name)
	}
	return fmt.Sprintf("%s (%s)", serverName(b.Kind), clean(b.Name))
}

// trouble says what a server is and what to do about it; next is "" while all is
// well or nothing is known yet.
func (r *Renderer) trouble(name, address, state, cause, detail string) (text, next string) {
	text = r.Text("view.server.unknown")
	if id := "view.server.state." + state; state != "" && r.has(id) {
		text = r.Text(id)
	} else if state != "" {
		text = clean(state)
	}
	address = clean(address)
	scheme, host, _ := strings.Cut(address, "://")
	args := Args{"Name": name, "Address": address, "Scheme": scheme, "Host": host, "Detail": clean(detail), "Ollama": name == "Ollama"}
	for _, id := range []string{"view.server.next." + cause, "view.server.next." + state} {
		if r.has(id) && state != string(backend.Running) {
			return text, r.Text(id, args)
		}
	}
	return text, ""
}

// servers are the model servers in the order of the snapshot.
func (sc *scene) servers() []Server {
	var list []Server
	for _, b := range sc.s.Backends {
		name := statusName(b)
		text, next := sc.trouble(name, b.Address, string(b.State), b.Cause, b.Detail)
		level := serverLevel(b)
		switch {
		case b.State == backend.Running:
			text = line(text, clean(b.Version))
		case b.State == backend.NotAnswering && b.Answered != nil:
			text = line(text, sc.since("view.server.last", *b.Answered, sc.now, 0))
		}
		s := Server{Name: name, Text: text, Next: next, Level: level}
		s.Row = Row{Label: name, Text: text, Detail: lines(next, sc.serverDetail(b)), Level: level, Share: -1}
		list = append(list, s)
	}
	return list
}

// serverLevel is never an alarm for what is not known, nor for a server that was
// never there: the person may not have it.
func serverLevel(b backend.Status) Level {
	switch b.State {
	case backend.Running:
		return Normal
	case backend.NotRunning:
		if b.Answered != nil {
			return Warning
		}
	case backend.NotAnswering, backend.LoginNeeded, backend.Failed:
		return Warning
	}
	return Unknown
}

func (sc *scene) serverDetail(b backend.Status) string {
	installed, cloud, took := "", "", ""
	if b.Installed != nil && *b.Installed >= 0 {
		installed = sc.Text("view.server.installed", Args{"Count": *b.Installed})
	}
	if b.Cloud != nil && *b.Cloud > 0 {
		cloud = sc.Text("view.server.cloud", Args{"Count": *b.Cloud})
	}
	if n, ok := finite(b.RoundTrip); ok && n > 0 && b.State == backend.Running {
		took = sc.fact("view.fact.round_trip", fmt.Sprintf("%.1f ms", min(n*1e3, 1e6)))
	}
	return lines(clean(b.Address), line(installed, cloud), took)
}

package monitor

import (
	"plimsoll/monitor/backend/serverlog"
	"plimsoll/monitor/request"
)

// takeNews tells the requests what a server's log said of them, and keeps what is
// an event for this tick.
func (m *Monitor) takeNews(s *Snapshot, name string, known serverlog.Known, events []serverlog.Event) {
	models := 0
	only := ""
	for i := range s.Residents {
		if r := &s.Residents[i]; r.Backend == name && !r.Cloud {
			models++
			only = r.Model
		}
	}
	if models == 0 && len(known.Loads) > 0 {
		only = known.Loads[len(known.Loads)-1].Name()
	}
	for i := range events {
		e := &events[i]
		if line, ok := e.Line(name); ok {
			m.observeLine(line, models, only)
		}
		if n, ok := newsOf(e, name); ok {
			if n.Evidence.Model == "" && models == 1 {
				n.Evidence.Model = only
			}
			m.news = append(m.news, n)
		}
	}
}

// observeLine tells one line. Of several models in memory the lines of one runner
// cannot be told from those of another: they number slots and requests alike.
func (m *Monitor) observeLine(line request.Line, models int, only string) {
	switch line.Kind {
	case request.LineLoading, request.LineLoaded, request.LineFailed, request.LineReply:
	default:
		if models > 1 {
			return
		}
		if line.Model == "" {
			line.Model = only
		}
	}
	m.ObserveLine(line)
}

// newsOf is what a line says as an event; false for what is none.
func newsOf(e *serverlog.Event, name string) (Event, bool) {
	n := Event{Time: e.Time, Evidence: Evidence{Backend: name, Model: e.Model, Cause: e.Cause}}
	switch e.Kind {
	case serverlog.OutOfMemory:
		n.Kind = EventOutOfMemory
	case serverlog.CacheRefused:
		n.Kind = EventCacheRefused
	case serverlog.Evicted:
		n.Kind = EventEvicted
	case serverlog.Truncated:
		n.Kind = EventTruncated
		n.Evidence.Tokens, n.Evidence.KeptTokens = new(e.Cut.Prompt), new(e.Cut.New)
	default:
		return Event{}, false
	}
	return n, true
}

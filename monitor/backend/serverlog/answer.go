package serverlog

import (
	"strings"
	"time"
)

// answerMark begins the line that Ollama's web framework writes on each request:
//
//	[GIN] 2026/02/25 - 18:14:21 | 200 |    1.445958ms |    192.168.1.10 | GET      "/api/tags"
const answerMark = "[GIN] "

// answer reads such a line. cut tells one that does not reach its end.
func answer(s string) (stamp string, a *Answer, cut bool) {
	rest, ok := strings.CutPrefix(s, answerMark)
	if !ok {
		return "", nil, false
	}
	fields := strings.SplitN(rest, "|", 5)
	if len(fields) < 5 {
		return "", nil, true
	}
	at, err := time.Parse("2006/01/02 - 15:04:05", strings.TrimSpace(fields[0]))
	status := count(fields[1])
	took, bad := time.ParseDuration(strings.TrimSpace(fields[2]))
	method, path, ok := strings.Cut(strings.TrimSpace(fields[4]), " ")
	path = strings.TrimSpace(path)
	if err != nil || bad != nil || status == nil || !ok || len(path) < 2 || path[0] != '"' || path[len(path)-1] != '"' {
		return "", nil, true
	}
	path, _, _ = strings.Cut(path[1:len(path)-1], "?")
	return at.Format("2006-01-02T15:04:05"), &Answer{Status: *status, Duration: took, Method: method, Path: path}, false
}

// generates tells the requests that make a model work.
func (a *Answer) generates() bool {
	switch a.Path {
	case "/api/generate", "/api/chat", "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages":
		return a.Method == "POST"
	}
	return false
}

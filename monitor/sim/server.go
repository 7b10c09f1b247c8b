package sim

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// serving is what the server has beside the machine.
type serving struct {
	mu      sync.Mutex
	address string
	goOn    chan struct{} // closed while the server answers
}

func (s *serving) init() {
	s.goOn = make(chan struct{})
	close(s.goOn)
}

func (s *serving) hang(hang bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.goOn:
		if hang {
			s.goOn = make(chan struct{})
		}
	default:
		if !hang {
			close(s.goOn)
		}
	}
}

// answering waits until the server answers, or the client has gone.
func (s *serving) answering(ctx context.Context) error {
	s.mu.Lock()
	goOn := s.goOn
	s.mu.Unlock()
	select {
	case <-goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Address is the base URL of the server, "" before Serve.
func (m *Mac) Address() string {
	m.serving.mu.Lock()
	defer m.serving.mu.Unlock()
	return m.serving.address
}

// Serve speaks Ollama's API on l until ctx ends; then it closes l, breaks off
// what is being answered and returns nil. The models stay in memory.
func (m *Mac) Serve(ctx context.Context, l net.Listener) error {
	m.serving.mu.Lock()
	m.serving.address = "http://" + l.Addr().String()
	m.serving.mu.Unlock()
	closed := m.serveChildren(ctx)
	defer closed()
	server := &http.Server{
		Handler:           m.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}

// handler answers one route.
type handler func(http.ResponseWriter, *http.Request)

// Handler is the server's API without a socket.
func (m *Mac) Handler() http.Handler {
	routes := map[string]map[string]handler{
		"/":               {"GET": m.root, "HEAD": m.root},
		"/api/version":    {"GET": m.version, "HEAD": m.version},
		"/api/tags":       {"GET": m.tags, "HEAD": m.tags},
		"/api/ps":         {"GET": m.ps},
		"/api/show":       {"POST": m.show},
		"/api/generate":   {"POST": m.generate},
		"/api/chat":       {"POST": m.chatting},
		"/api/embed":      {"POST": m.embed},
		"/api/embeddings": {"POST": m.embeddings},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if m.serving.answering(q.Context()) != nil {
			return
		}
		if !local(q) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		route, ok := routes[q.URL.Path]
		if !ok {
			plain(w, http.StatusNotFound, "404 page not found")
			return
		}
		serve, ok := route[q.Method]
		if !ok {
			var allowed []string
			for method := range route {
				allowed = append(allowed, method)
			}
			slices.Sort(allowed)
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			plain(w, http.StatusMethodNotAllowed, "405 method not allowed")
			return
		}
		serve(w, q)
	})
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	w.Write([]byte(text))
}

// local is Ollama's guard against web pages: Host and Origin must name this
// machine.
func local(q *http.Request) bool {
	if !localName(q.Host) {
		return false
	}
	origin := q.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "app", "file", "tauri", "vscode-webview", "vscode-file":
		return true
	}
	return localName(u.Host)
}

func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsUnspecified()
	}
	if name, err := os.Hostname(); err == nil && host == strings.ToLower(name) {
		return true
	}
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

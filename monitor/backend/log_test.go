package backend

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/build/ollama/server"
	"plimsoll/monitor/backend/serverlog"
)

// A log belongs to a server on this machine alone.
func TestLogOfThisMachineOnly(t *testing.T) {
	for address, want := range map[string]bool{"": true, "127.0.0.1:11434": true, "[::1]:1": true, "localhost": true, "0.0.0.0": true,
		"192.168.1.2": false, "mini.local:11434": false, "https://ollama.example.com": false} {
		log := serverlog.NewFollower(nil, false)
		b, err := NewOllama(address, WithLog(log))
		if err != nil {
			t.Fatal(err)
		}
		if got := b.(LogTeller).Log(); (got != nil) != want || got != nil && got != log {
			t.Errorf("%q: %v", address, got)
		}
		b.(*ollama).Close()
	}
}

// Every Poll reads what is new, whether the server answers or not.
func TestPollFollowsTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	log := serverlog.NewFollower([]string{path}, false)
	f := newFake(t, nil)
	b := backendAt(t, f.URL, WithLog(log))
	b.Poll(t.Context())
	if s := log.Known().Status; s.State != serverlog.Missing {
		t.Errorf("%+v", s)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const line = `level=WARN msg="truncating input prompt" limit=64 prompt=222 keep=5 new=64` + "\n"
	write(line)
	b.Poll(t.Context())
	if e := log.Take(); len(e) != 1 || e[0].Kind != serverlog.Truncated {
		t.Errorf("%+v", e)
	}
	f.set("GET /api/ps", fails(http.StatusInternalServerError, "", ""))
	write(line + line)
	b.Poll(t.Context())
	if e := log.Take(); len(e) != 1 {
		t.Errorf("of a server that fails: %+v", e)
	}
	b.Close()
	write(line + line + line)
	b.Poll(t.Context())
	if e := log.Take(); len(e) != 0 {
		t.Errorf("after its end: %+v", e)
	}
}

// TestRealServersLog follows the log of a real Ollama through a request.
func TestRealServersLog(t *testing.T) {
	s := server.Run(t, server.Versions[0])
	log := serverlog.NewFollower([]string{filepath.Join(s.Dir, "serve.log")}, false)
	r := real{t: t, version: server.Versions[0], Server: s, o: backendAt(t, s.URL, WithLog(log))}
	r.poll(t)
	log.Take()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	k := log.Known()
	if k.Settings == nil || k.Settings.Version != strings.TrimPrefix(r.version, "v") || fmt.Sprint(k.Settings.Port) != u.Port() ||
		*k.Settings.KeepAlive != 5*time.Minute || *k.Settings.Parallel != 1 || k.Settings.Models != filepath.Join(s.Dir, "models") {
		t.Fatalf("%s", pretty(k))
	}
	r.request(t, "/api/generate", `{"model":"tiny","prompt":"`+strings.Repeat("Hello ", 200)+`","stream":false,"options":{"num_predict":5,"num_ctx":64}}`)
	var events []serverlog.Event
	r.until(t, "the request in the log", func(Answer) bool { // its request lines go to standard output
		events = append(events, log.Take()...)
		return slices.ContainsFunc(events, func(e serverlog.Event) bool { return e.Kind == serverlog.Truncated })
	})
	seen := map[serverlog.Kind]serverlog.Event{}
	for _, e := range events {
		seen[e.Kind] = e
	}
	if c := seen[serverlog.Truncated].Cut; c == nil || c.Limit != 64 || c.New != 64 || c.Prompt < 200 {
		t.Errorf("truncation %s", pretty(events))
	}
	if e := seen[serverlog.Loaded]; e.Load == nil || *e.Load.Ready <= 0 {
		t.Errorf("load %s", pretty(events))
	}
	loads := log.Known().Loads
	if len(loads) != 1 {
		t.Fatalf("%s", pretty(loads))
	}
	l, m := loads[0], r.resident(t, "tiny:latest")
	file, err := os.Stat(l.Weights)
	if err != nil || l.Weights != m.Weights || *l.WeightsBytes < 100<<10 || *l.WeightsBytes > uint64(file.Size()) || *l.CacheBytes == 0 || *l.Context() != 64 ||
		l.CacheType != "f16" || l.Estimated || l.FlashAttention == nil {
		t.Errorf("%s, %v, weights of the model %s", pretty(l), err, m.Weights)
	}
}

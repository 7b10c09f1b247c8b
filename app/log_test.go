package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/monitor/api"
	"plimsoll/monitor/backend/serverlog"
)

// The flag counts before the setting, and the setting before the usual place.
func TestWhichLogIsFollowed(t *testing.T) {
	home := t.TempDir()
	usual := filepath.Join(home, ".ollama", "logs", "server.log")
	if err := os.MkdirAll(filepath.Dir(usual), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(usual, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, setting, want string }{
		{"", "", usual}, {"", "/var/log/a.log", "/var/log/a.log"}, {"/b.log", "/var/log/a.log", "/b.log"},
		{"off", "/var/log/a.log", ""}, {"", api.LogOff, ""}, {"/b.log", api.LogOff, "/b.log"},
	} {
		p := &program{goos: "darwin", home: home, logFlag: c.flag}
		log := p.serverLog(api.Settings{Log: c.setting})
		if log == nil {
			if c.want != "" {
				t.Errorf("%+v: none", c)
			}
			continue
		}
		log.Poll(time.Now())
		if s := log.Known().Status; s.Path != c.want || (s.State == serverlog.Following) != (c.want == usual) {
			t.Errorf("%+v: %+v", c, s)
		}
		log.Close()
	}
}

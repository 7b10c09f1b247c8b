//go:build linux && !race

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/app/tray/traytest"
	"plimsoll/build/ollama/server"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// post sends a request as a user's program would and waits for the answer.
func post(t *testing.T, url, path, body string) {
	t.Helper()
	reply, err := http.Post(url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", path, body, reply.Status)
	}
}

// listed is the names in the server's own list of resident models.
func listed(t *testing.T, url string) []string {
	t.Helper()
	reply, err := http.Get(url + "/api/ps")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var list struct{ Models []struct{ Name string } }
	if err := json.NewDecoder(reply.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, m := range list.Models {
		names = append(names, m.Name)
	}
	return names
}

// childOnBus runs plimsoll itself, as a process of its own, on a test's session
// bus and follows it.
func childOnBus(t *testing.T, host *traytest.Host, ollama string) *course {
	t.Helper()
	folder := shortFolder(t)
	follow := &course{nudge: make(chan struct{}, 1), host: host, socket: filepath.Join(folder, "agent.sock")}
	agent := exec.Command(os.Args[0])
	agent.Env = host.Env("PLIMSOLL_TEST_MAIN=1", "PLIMSOLL_SOCKET="+follow.socket, "HOME="+folder, "OLLAMA_HOST="+ollama, "LANG=en_US.UTF-8")
	var log output
	agent.Stderr = &log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	host.Wait(t, "the agent's tray item", func() bool { return len(host.Items()) == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- follow.watch(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-watched
		agent.Process.Signal(os.Interrupt)
		if err := agent.Wait(); err != nil {
			t.Errorf("the agent ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the agent's log:\n%s", log.String())
		}
	})
	return follow
}

// The tray on a real session bus beside a real Ollama with two resident models:
// both have rows, a click on Unload empties the server's list, and a server that
// stands still makes its own row stale and nothing else.
func TestTrayWithRealOllama(t *testing.T) {
	ollama := server.Run(t, server.Versions[0])
	host := traytest.New(t)
	follow := childOnBus(t, host, ollama.URL)
	for _, model := range []string{"tiny", "stop"} {
		post(t, ollama.URL, "/api/generate", `{"model":"`+model+`","prompt":"hello","stream":false,"options":{"num_predict":5}}`)
	}
	follow.row(t, true, "tiny", "Unload")
	follow.row(t, true, "stop", "Unload")

	t.Run("status agrees with the server", func(t *testing.T) {
		follow.until(t, "both models are in the update", func(u monitor.Update) bool { return len(u.Snapshot.Residents) == 2 })
		var out, errs output
		p := &program{out: &out, errs: &errs, getenv: func(string) string { return "" }, home: t.TempDir(), goos: "linux",
			terminal: func(any) bool { return false }, size: func() (int, int) { return 0, 0 }, machine: metal.New, clock: monitor.SystemClock()}
		if code := p.run(t.Context(), []string{"--socket", follow.socket, "status", "--json"}); code != 0 {
			t.Fatalf("status ended with %d: %s", code, errs.String())
		}
		var printed monitor.Update
		if err := json.Unmarshal([]byte(out.String()), &printed); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		var names []string
		for _, r := range printed.Snapshot.Residents {
			names = append(names, r.Model)
			if r.RunnerPID == nil || r.Footprint == nil || *r.Footprint == 0 {
				t.Errorf("%s has no measured runner: %+v", r.Model, r)
			}
		}
		ps := listed(t, ollama.URL)
		slices.Sort(ps)
		if !slices.Equal(ps, names) {
			t.Errorf("status says %v, the server %v", names, ps)
		}
	})

	t.Run("looking does not keep a model", func(t *testing.T) {
		expiry := func() time.Time {
			u := follow.until(t, "the expiry is known", func(u monitor.Update) bool {
				return len(u.Snapshot.Residents) == 2 && u.Snapshot.Residents[0].Expires != nil
			})
			return *u.Snapshot.Residents[0].Expires
		}
		before := expiry()
		taken := follow.until(t, "an update", func(monitor.Update) bool { return true }).Snapshot.Taken
		follow.until(t, "five polls went by", func(u monitor.Update) bool { return u.Snapshot.Taken.Sub(taken) > 10*time.Second })
		if after := expiry(); !after.Equal(before) {
			t.Errorf("the expiry moved from %v to %v while nobody asked", before, after)
		}
	})

	t.Run("a server that stands still", func(t *testing.T) {
		if err := ollama.Pause(); err != nil {
			t.Fatal(err)
		}
		u := follow.until(t, "it is said not to answer", func(u monitor.Update) bool { return u.Snapshot.Backends[0].State == backend.NotAnswering })
		if len(u.Snapshot.Residents) != 2 || u.Snapshot.Memory == nil {
			t.Errorf("residents %d, memory %v; want both to stay", len(u.Snapshot.Residents), u.Snapshot.Memory)
		}
		silent := u.Snapshot.Taken
		follow.until(t, "memory goes on ticking", func(u monitor.Update) bool { return u.Snapshot.Taken.After(silent.Add(2 * time.Second)) })
		if err := ollama.Resume(); err != nil {
			t.Fatal(err)
		}
		follow.until(t, "it is back by itself", func(u monitor.Update) bool { return u.Snapshot.Backends[0].State == backend.Running })
	})

	for _, model := range []string{"tiny", "stop"} {
		if err := follow.row(t, true, model, "Unload").Click(model, "Unload"); err != nil {
			t.Fatal(err)
		}
		follow.row(t, false, model)
	}
	if left := listed(t, ollama.URL); len(left) != 0 {
		t.Errorf("the server still lists %v", left)
	}
	kinds := strings.Join(follow.kinds(), " ")
	if strings.Count(kinds, "unloaded") != 2 || strings.Contains(kinds, "unload_held") {
		t.Errorf("events %s, want two unloads whose memory was seen to come back", kinds)
	}
}

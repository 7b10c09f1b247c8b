package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/app/term"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/sim"
)

// both runs a test with an agent and without one: the commands must not differ.
func both(t *testing.T, test func(t *testing.T, w *world, run func(args ...string) (int, string, string))) {
	t.Run("agent", func(t *testing.T) {
		w := newWorld(t)
		socket, _ := w.agent()
		test(t, w, func(args ...string) (int, string, string) {
			return w.run(append([]string{"--socket", socket}, args...)...)
		})
	})
	t.Run("alone", func(t *testing.T) {
		w := newWorld(t)
		test(t, w, func(args ...string) (int, string, string) {
			code, out, errs := w.run(args...)
			own := "No agent is running: reading this machine and the model server directly.\n"
			has(t, "standard error", errs, own)
			return code, out, strings.Replace(errs, own, "", 1)
		})
	})
}

func TestStatus(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.Model7B)
		w.resident(1)
		code, out, errs := run("status")
		if code != 0 || errs != "" {
			t.Errorf("exit code %d, %s", code, errs)
		}
		has(t, "status", out, "Plimsoll [demo]"[:8], "Apple M5", "│ GPU limit", "Biggest other memory users", "Google Chrome", "qwen2.5:7b", "Ollama  running")
		code, out, errs = run("status", "--json")
		var u monitor.Update
		if err := json.Unmarshal([]byte(out), &u); code != 0 || errs != "" || err != nil || strings.Count(out, "\n") != 1 {
			t.Fatalf("exit code %d, %s: %v in %s", code, errs, err, out)
		}
		if s := u.Snapshot; len(s.Residents) != 1 || s.Residents[0].Model != sim.Model7B || s.Swap.OutRate == nil || s.Consumers == nil {
			t.Errorf("the update lacks something: %s", out)
		}
		if code, _, _ := run("status", "--check"); code != 0 {
			t.Errorf("--check on a calm machine: exit code %d", code)
		}
		w.mac.StartApp("Xcode", 12<<30)
		if _, err := w.mac.Ask(sim.Model32B, 200, 100000); err != nil { // the Mac swaps now, for hours
			t.Fatal(err)
		}
		eventually(t, "the alert", func() bool {
			code, _, errs := run("status", "--check")
			if code != exitAlert && code != 0 {
				t.Fatalf("--check: exit code %d, %s", code, errs)
			}
			return code == exitAlert
		})
	})
}

func TestModels(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.Model7B)
		w.resident(1)
		code, out, errs := run("models")
		if code != 0 || errs != "" {
			t.Errorf("exit code %d, %s", code, errs)
		}
		has(t, "models", out, "MODEL  ", "qwen2.5:7b               7.6B        Q4_0          3.8 GiB   4.3 GiB    4096     in ", "gpt-oss:120b-cloud", "cloud\n", "qwen2.5:14b")
		_, out, _ = run("models", "--json")
		var list []struct {
			Model    string
			Resident *monitor.Resident
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) < 4 {
			t.Fatalf("%v in %s", err, out)
		}
		for _, m := range list {
			if (m.Resident != nil) != (m.Model == sim.Model7B) {
				t.Errorf("%s: resident %v", m.Model, m.Resident)
			}
		}
	})
}

func TestUnload(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.Model7B)
		code, out, errs := run("unload", "QWEN2.5:7b")
		if code != 0 || errs != "" {
			t.Errorf("exit code %d, %s", code, errs)
		}
		has(t, "unload", out, "qwen2.5:7b", "GiB")
		for _, m := range w.mac.Truth().Models {
			if m.Listed {
				t.Errorf("%s is still resident", m.Model)
			}
		}
		code, _, errs = run("unload", "qwen2.5:7b")
		if code != exitNoModel {
			t.Errorf("unloading it again: exit code %d, want %d", code, exitNoModel)
		}
		has(t, "unloading it again", errs, "not in memory; no model is")
		if code, out, _ := run("unload", "--all"); code != 0 || out != "No model is in memory.\n" {
			t.Errorf("unloading all of nothing: exit code %d, %q", code, out)
		}
	})
}

func TestUnloadAllAndNamesWithoutTag(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.ModelEmbed)
		code, out, errs := run("unload", "nomic-embed-text")
		if code != 0 || errs != "" {
			t.Errorf("without a tag: exit code %d, %s%s", code, out, errs)
		}
		w.load(sim.ModelEmbed)
		w.load(sim.Model7B)
		w.resident(2)
		code, _, errs = run("unload", "qwen2.5:8b")
		if code != exitNoModel {
			t.Errorf("a misspelt name: exit code %d", code)
		}
		has(t, "a misspelt name", errs, "Did you mean qwen2.5:7b? In memory: nomic-embed-text:latest, qwen2.5:7b")
		if code, _, errs = run("unload", "llama"); code != exitNoModel || strings.Contains(errs, "mean") {
			t.Errorf("a name like no other: exit code %d, %s", code, errs)
		}
		code, out, errs = run("unload", "--all")
		if code != 0 || errs != "" {
			t.Errorf("all: exit code %d, %s%s", code, out, errs)
		}
		has(t, "unload --all", out, "nomic-embed-text:latest", "qwen2.5:7b")
	})
}

func TestUnloadWaitsForTheAnswer(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	job, err := w.mac.Ask(sim.Model7B, 100, 2500) // minutes of the Mac's time
	if err != nil {
		t.Fatal(err)
	}
	w.await(socket, "a busy model", func(u monitor.Update) bool {
		return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].Activity == monitor.ActivityBusy
	})
	code, out, errs := w.run("--socket", socket, "unload", sim.Model7B, "--timeout", "1s")
	if code != exitFailed {
		t.Errorf("at the time limit: exit code %d", code)
	}
	has(t, "at the time limit", out, "after this answer")
	has(t, "at the time limit", errs, "still answering after 1 s")
	code, out, errs = w.run("--socket", socket, "unload", sim.Model7B)
	if code != 0 || errs != "" {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	<-job.Done()
	if r := job.Result(); r.Err != nil || r.Tokens != 2500 {
		t.Errorf("the answer was cut: %+v", r)
	}
}

func TestUnloadTellsOfMemoryThatIsStillHeld(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	w.load(sim.Model7B)
	w.await(socket, "the model", func(u monitor.Update) bool { return len(u.Snapshot.Residents) == 1 })
	w.mac.HoldAfterUnload(sim.Model7B, 4<<30)
	code, out, _ := w.run("--socket", socket, "unload", sim.Model7B)
	if code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	has(t, "unload", out, "are still held by ollama")
}

func TestKeep(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.Model7B)
		for args, says := range map[string]string{
			"1h":      "qwen2.5:7b stays in memory for 1 h after its last answer.\n",
			"5400":    "qwen2.5:7b stays in memory for 1 h 30 min after its last answer.\n",
			"forever": "qwen2.5:7b is pinned: it stays in memory until it is unloaded.\n",
		} {
			if code, out, errs := run("keep", sim.Model7B, args); code != 0 || out != says || errs != "" {
				t.Errorf("keep %s: exit code %d, %q, %s", args, code, out, errs)
			}
		}
		if code, _, _ := run("keep", "nothing", "1h"); code != exitNoModel {
			t.Errorf("keep of no model: exit code %d", code)
		}
	})
}

func TestKeepSeconds(t *testing.T) {
	for text, want := range map[string]float64{"30m": 1800, "1h30m": 5400, "90": 90, "1.5": 1.5, "forever": -1, "-1": -1,
		"0": 0, "-5": 0, "0s": 0, "-1h": 0, "1e300": 0, "NaN": 0, "Inf": 0, "": 0, "soon": 0, "99999999h": 0} {
		if got, ok := keepSeconds(text); got != want && ok || ok != (want != 0) {
			t.Errorf("keepSeconds(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
}

func TestNamedAgentThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"status"}, {"models"}, {"unload", "--all"}, {"keep", "a", "1h"}, {"record", "-"}} {
		code, out, errs := w.run(append(args, "--socket", filepath.Join(w.home, "none.sock"))...)
		if code != exitNoAgent || out != "" {
			t.Errorf("%q: exit code %d and %q, want %d", args, code, out, exitNoAgent)
		}
		has(t, args[0], errs, "Plimsoll is not running")
	}
	w.env["PLIMSOLL_SOCKET"] = "/" + strings.Repeat("x", 110)
	if code, _, errs := w.run("status"); code != exitFailed || !strings.Contains(errs, "111") {
		t.Errorf("a path too long: exit code %d, %s", code, errs)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.env["OLLAMA_HOST"] = "127.0.0.1:1"
	code, out, _ := w.run("status")
	if code != 0 {
		t.Errorf("status: exit code %d", code)
	}
	has(t, "status", out, "Ollama  not running", "127.0.0.1:1")
	for _, args := range [][]string{{"unload", "a"}, {"unload", "--all"}, {"models"}} {
		code, _, errs := w.run(args...)
		if code != exitFailed {
			t.Errorf("%q: exit code %d, want %d", args, code, exitFailed)
		}
		has(t, args[0], errs, "Ollama: not running. ")
	}
	w.env["OLLAMA_HOST"] = "http://["
	code, out, _ = w.run("status")
	if code != 0 || !strings.Contains(out, "Ollama") {
		t.Errorf("status with an address that is none: exit code %d\n%s", code, out)
	}
}

func TestServerFlagIsAskedDirectly(t *testing.T) {
	w := newWorld(t)
	address := w.env["OLLAMA_HOST"]
	w.env["OLLAMA_HOST"] = "127.0.0.1:1"
	code, out, errs := w.run("status", "--server", address)
	if code != 0 || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	has(t, "status", out, "Ollama  running")
}

func TestWatchedStatusLivesThroughARestart(t *testing.T) {
	w := newWorld(t)
	socket, stop := w.agent()
	for _, args := range [][]string{{"status", "--watch"}, {"status", "--watch", "--json"}} {
		var out, errs output
		ctx, cancel := contextOf(t)
		ended := make(chan int, 1)
		go func() { ended <- w.program(&out, &errs).run(ctx, append([]string{"--socket", socket}, args...)) }()
		eventually(t, "two updates", func() bool { return strings.Count(out.String(), "Ollama")+strings.Count(out.String(), `"taken"`) >= 2 })
		stop()
		eventually(t, "word of the end", func() bool { return strings.Contains(out.String()+errs.String(), "The agent has ended") })
		_, stop = w.agent()
		before := len(out.String())
		eventually(t, "updates of the next agent", func() bool { return len(out.String()) > before+200 })
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("%q ended with exit code %d\n%s", args, code, errs.String())
		}
	}
}

func TestALiveViewGivesTheTerminalBack(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	var out, errs output
	p := w.program(&out, &errs)
	p.terminal = func(any) bool { return true }
	p.size = func() (int, int) { return 50, 12 }
	ctx, cancel := contextOf(t)
	ended := make(chan int, 1)
	go func() { ended <- p.run(ctx, []string{"--socket", socket, "status", "--watch"}) }()
	eventually(t, "a page", func() bool { return strings.Count(out.String(), "\x1b[H") >= 2 })
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	text := out.String()
	if !strings.HasPrefix(text, "\x1b[?1049h") || !strings.HasSuffix(text, "\x1b[?1049l") {
		t.Errorf("the terminal is not given back: %.40q … %q", text, text[max(len(text)-40, 0):])
	}
	for page := range strings.SplitSeq(text, "\x1b[H") {
		lines := strings.Split(page, "\r\n")
		if len(lines) > 12 {
			t.Errorf("a page has %d lines, the terminal 12", len(lines))
		}
		for _, line := range lines {
			if n := term.Width(plainText(line)); n > 50 {
				t.Errorf("%q has %d columns, the terminal 50", line, n)
			}
		}
	}
}

// plainText is a line without control sequences.
func plainText(line string) string {
	for {
		start := strings.IndexByte(line, '\x1b')
		if start < 0 {
			return line
		}
		end := start + 2 + strings.IndexFunc(line[start+2:], func(r rune) bool { return r >= '@' })
		line = line[:start] + line[end+1:]
	}
}

func TestNoColour(t *testing.T) {
	w := newWorld(t)
	terminal := func(p *program) { p.terminal = func(any) bool { return true } }
	if _, out, _ := w.runWith(terminal, "status"); !strings.Contains(out, "\x1b[") {
		t.Error("no colour on a terminal")
	}
	w.env["NO_COLOR"] = "1"
	if _, out, _ := w.runWith(terminal, "status"); strings.Contains(out, "\x1b") {
		t.Errorf("colour in spite of NO_COLOR:\n%q", out)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"qwen3:14b", "llama3.2:3b", "nomic-embed-text:latest"}
	for name, want := range map[string]string{"qwen3": "qwen3:14b", "qwen3:15b": "qwen3:14b", "llama3.2:3": "llama3.2:3b", "Nomic": "nomic-embed-text:latest", "mistral": "", "": ""} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestASecondStart(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	code, out, _ := w.runWith(func(p *program) { p.terminal = func(any) bool { return true } }, "--socket", socket)
	if code != 0 {
		t.Errorf("at a terminal: exit code %d", code)
	}
	has(t, "at a terminal", out, "running already", socket, "plimsoll status --watch")
	if code, _, errs := w.run("--socket", socket, "serve"); code != exitFailed || !strings.Contains(errs, "already") {
		t.Errorf("serve: exit code %d, %s", code, errs)
	}
	opened := filepath.Join(w.home, "opened")
	fake := filepath.Join(w.home, "window")
	write(t, fake, "#!/bin/sh\necho \"$@\" > "+opened+"\n")
	chmod(t, fake)
	w.env["PLIMSOLL_WINDOW"] = fake
	if code, _, errs := w.run("--socket", socket); code != 0 {
		t.Errorf("from a desktop: exit code %d, %s", code, errs)
	}
	if text := readFile(t, opened); text != "--socket "+socket+"\n" {
		t.Errorf("the window was started with %q", text)
	}
	if err := api.Dial(socket).OpenWindow(t.Context(), "settings"); err != nil {
		t.Error(err)
	}
	if text := readFile(t, opened); text != "--socket "+socket+" --page settings\n" {
		t.Errorf("the window was started with %q", text)
	}
	write(t, fake, "#!/bin/sh\nexit 1\n")
	if code, _, errs := w.run("--socket", socket); code != exitFailed || errs == "" {
		t.Errorf("a window that cannot open: exit code %d, %s", code, errs)
	}
	delete(w.env, "PLIMSOLL_WINDOW")
	if code, _, errs := w.run("--socket", socket, "window"); code != exitFailed || !strings.Contains(errs, "PLIMSOLL_WINDOW") {
		t.Errorf("no window program: exit code %d, %s", code, errs)
	}
}

func TestWindowProgram(t *testing.T) {
	dir := t.TempDir()
	none := func(string) string { return "" }
	agent := filepath.Join(dir, "Plimsoll.app", "Contents", "MacOS", "plimsoll")
	write(t, agent, "")
	if _, err := windowProgram(none, agent); code(err) != "no_window" {
		t.Errorf("nothing installed: %v", err)
	}
	bundled := filepath.Join(dir, "Plimsoll.app", "Contents", "Helpers", "Plimsoll Window.app", "Contents", "MacOS", "plimsoll-window")
	write(t, bundled, "")
	if _, err := windowProgram(none, agent); code(err) != "no_window" {
		t.Errorf("a file that cannot be run: %v", err)
	}
	chmod(t, bundled)
	if got, err := windowProgram(none, agent); err != nil || got != bundled {
		t.Errorf("in the bundle: %q, %v", got, err)
	}
	beside := filepath.Join(filepath.Dir(agent), "plimsoll-window")
	write(t, beside, "")
	chmod(t, beside)
	if got, err := windowProgram(none, agent); err != nil || got != beside {
		t.Errorf("beside the agent: %q, %v", got, err)
	}
	if got, _ := windowProgram(func(string) string { return "/named" }, agent); got != "/named" {
		t.Errorf("named: %q", got)
	}
}

// eventually waits until a condition holds that nobody announces: the growth of
// another goroutine's output.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.Now().Add(deadline)
	for !holds() {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

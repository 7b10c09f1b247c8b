package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor"
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
		// Slow enough that a busy machine sees several ticks in the time it looks,
		// and with both models there for as long as that takes.
		w.clock.SetSpeed(10)
		if code, _, errs := run("keep", sim.Model7B, "forever"); code != 0 {
			t.Fatalf("keep: exit code %d, %s", code, errs)
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

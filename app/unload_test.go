package main

import (
	"strings"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/sim"
)

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

func TestNearest(t *testing.T) {
	names := []string{"qwen3:14b", "llama3.2:3b", "nomic-embed-text:latest"}
	for name, want := range map[string]string{"qwen3": "qwen3:14b", "qwen3:15b": "qwen3:14b", "llama3.2:3": "llama3.2:3b", "Nomic": "nomic-embed-text:latest", "mistral": "", "": ""} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

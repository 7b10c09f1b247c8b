package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor/bench"
	"plimsoll/monitor/sim"
)

func TestBench(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	run := func(args ...string) (int, string, string) {
		return w.run(append([]string{"--socket", socket}, args...)...)
	}
	file := filepath.Join(w.home, "a.json")
	code, out, errs := run("bench", sim.Model7B, "--runs", "3", "--tokens", "32", "--depths", "none", "--save", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	has(t, "the result", out, "qwen2.5:7b", "Apple M5", "ollama 0.17.4", "32 tokens out", "a simulated machine", "loaded afresh in", "English prose", "DECODE")
	has(t, "the progress", errs, "loading the model afresh", "Chinese prose: first run, which does not count\nChinese prose: run 1 of 3\n", "is not kept", "Written to "+file)

	markdown := filepath.Join(w.home, "b.md")
	code, out, errs = run("bench", sim.Model7B, "--runs", "3", "--tokens", "32", "--depths", "none", "--json", "--save", markdown)
	var r bench.Result
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || len(r.Tests) != 3 || r.Tests[0].Decode == nil {
		t.Fatalf("exit code %d, %s: %v in %s", code, errs, err, out)
	}
	has(t, "the document", readFile(t, markdown), "## qwen2.5:7b", "- context ", "| English prose | 2", "- digest ")

	other := filepath.Join(w.home, "b.json")
	if code, _, errs := run("bench", sim.Model7B, "--runs", "3", "--tokens", "32", "--depths", "none", "--save", other); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	code, out, errs = run("bench", "--compare", file, other)
	if code != 0 || strings.Contains(out, "better") || strings.Contains(out, "worse") {
		t.Errorf("the same model twice: exit code %d, %s\n%s", code, errs, out)
	}
	has(t, "the comparison", out, "A is qwen2.5:7b", "no different")
}

func TestBenchRefuses(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"none"}, exitFailed, "no such model"},
		{[]string{sim.ModelEmbed}, exitFailed, "makes vectors"},
		{[]string{sim.ModelCloud}, exitFailed, "runs in the cloud"},
		{nil, exitUsage, "MODEL is missing"},
		{[]string{"a", "b"}, exitUsage, "b"},
		{[]string{"a", "--runs", "0"}, exitUsage, "1 to 100"},
		{[]string{"a", "--tokens", "1"}, exitUsage, "16 to 8192"},
		{[]string{"a", "--depths", "12"}, exitUsage, "from 512 on"},
		{[]string{"a", "--sustained=5s"}, exitUsage, "1m to 24h"},
		{[]string{"a", "--save", "x.txt"}, exitUsage, ".json or .md"},
		{[]string{"--compare", "a"}, exitUsage, "B"},
		{[]string{"--show", "-1"}, exitUsage, "number of a result"},
		{[]string{"--list"}, exitFailed, "There is no history yet"},
		{[]string{"--compare", "/nowhere.json", "b"}, exitFailed, "Cannot read /nowhere.json"},
	} {
		code, out, errs := w.run(append([]string{"bench"}, row.args...)...)
		if code != row.code || !strings.Contains(errs, row.want) || out != "" {
			t.Errorf("%q: exit code %d, %s%s; want %d, %q", row.args, code, errs, out, row.code, row.want)
		}
	}
}

// Results of this machine are kept, listed, shown and compared.
func TestBenchHistory(t *testing.T) {
	w := newWorld(t)
	p := w.program(&output{}, &output{})
	p.words = view.In("en")
	result := func(model string, decode float64, battery bool) *bench.Result {
		s := &bench.Spread{Median: decode, Low: decode - 0.2, High: decode + 0.2, Runs: 3}
		return &bench.Result{
			Taken: time.Date(2026, 11, 30, 9, 0, 0, 0, time.Local), Prompts: bench.PromptSet,
			Server: bench.About{Engine: "ollama", Version: "0.17.4"}, Model: bench.Model{Name: model},
			Options: bench.Options{Context: 4096, Output: 512, Seed: 42, Runs: 3}, Before: bench.Conditions{OnBattery: &battery},
			Tests: []bench.Test{{Kind: bench.English, Decode: s},
				{Kind: bench.Deep, Depth: 16384, Skipped: &bench.Reason{Kind: bench.SkipMemory, Value: new(float64(3 << 30))}},
				{Kind: bench.Code, Void: []bench.Reason{{Kind: bench.ReasonSwapping, Value: new(2e9)}, {Kind: bench.ReasonOtherModel, Name: "other:7b"}}}},
		}
	}
	for i, r := range []*bench.Result{result("a:7b", 20, false), result("a:7b", 24, false), result("a:7b", 24.1, false), result("b:7b", 24, true)} {
		p.keepResult(r)
		if r.ID != int64(i+1) {
			t.Fatalf("kept as %d", r.ID)
		}
	}
	code, out, errs := w.run("bench", "--list")
	if code != 0 || strings.Count(out, "\n") != 5 {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	code, out, errs = w.run("bench", "--show", "1")
	has(t, "a result", out, "a:7b", "on mains power", "20.0 ±0.20", "16,384 tokens deep: left out, there is no room: 3.0 GiB are missing",
		"code: void, 1.9 GiB went to swap meanwhile · other:7b was at work")
	if code != 0 {
		t.Errorf("exit code %d, %s", code, errs)
	}
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"1 2", 0, "better"}, {"2 1", 0, "worse"}, {"2 3", 0, "no different"}, {"a:7b 1", 0, "A is 3: a:7b"},
		{"2 4", exitFailed, "A ran on mains, B on battery."}, {"2 4 --force", 0, "no different"}, {"1 99", exitFailed, ""},
	} {
		code, out, errs := w.run(append([]string{"bench", "--compare"}, strings.Fields(row.args)...)...)
		if code != row.code || !strings.Contains(out, row.want) {
			t.Errorf("%s: exit code %d, %s\n%s", row.args, code, errs, out)
		}
	}
	code, out, _ = w.run("--lang", "zh", "bench", "--show", "1")
	has(t, "a result in Chinese", out, "英文散文", "接通电源", "内存不够，还差 3.0 GiB")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.371: "0.37", 9.876: "9.88", 24.34: "24.3", 449.6: "450"} {
		if got := figure(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := percent(-0.034); got != "−3.4 %" {
		t.Errorf("%s", got)
	}
}

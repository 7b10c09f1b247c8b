package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/monitor/sim"
)

// qwen4B is the model of case 15, as model_info has it.
const qwen4B = `{"general.architecture":"qwen3","qwen3.block_count":36,"qwen3.attention.head_count":32,"qwen3.attention.head_count_kv":8,
"qwen3.attention.key_length":128,"qwen3.attention.value_length":128,"qwen3.context_length":262144,"qwen3.embedding_length":2560,
"qwen3.feed_forward_length":9728,"qwen3.vocab_size":151936}`

// fileOf writes a file for one test.
func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// planned runs plimsoll fit and decodes what it prints.
func planned(t *testing.T, w *world, args ...string) map[string]any {
	t.Helper()
	code, out, errs := w.run(append([]string{"fit", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("fit %q: code %d, %s", args, code, errs)
	}
	var plan map[string]any
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatalf("fit %q: %v in %s", args, err, out)
	}
	return plan
}

func TestFitOfAFile(t *testing.T) {
	w := newWorld(t)
	show := fileOf(t, "show.json", qwen4B)
	mac := []string{"--machine", "M4 32GB", "--weights", "2500000000"}
	plan := planned(t, w, append(mac, "--show", show, "--context", "32768")...)
	for key, want := range map[string]any{
		"weights_bytes": 2.5e9, "kv_bytes": 36.0 * 8 * 256 * 2 * 32768, "kv_bytes_per_token": 147456.0, "context_tokens": 32768.0,
		"verdict": "fits", "binding_limit": "gpu_limit", "cache_type": "f16", "slots": 1.0,
	} {
		if plan[key] != want {
			t.Errorf("%s is %v, want %v", key, plan[key], want)
		}
	}
	if total, sum := plan["total_bytes"].(float64), plan["weights_bytes"].(float64)+plan["kv_bytes"].(float64)+plan["compute_bytes"].(float64); total != sum {
		t.Errorf("%.0f is not %.0f", total, sum)
	}
	for _, key := range []string{"reason", "state_bytes", "projector_bytes", "short_bytes"} {
		if v, there := plan[key]; there {
			t.Errorf("%s is there: %v", key, v)
		}
	}
	// Case 15: the whole of its context takes 36 GiB, which a 32 GB Mac has not.
	full := planned(t, w, append(mac, "--show", show, "--context", "262144")...)
	if full["kv_bytes"] != 36.0*(1<<30) || full["verdict"] != "does_not_fit" {
		t.Errorf("at 262144: %v B, %v", full["kv_bytes"], full["verdict"])
	}
	longest := full["largest_context_by_cache_type"].(map[string]any)
	if f16, q8 := longest["f16"].(float64), longest["q8_0"].(float64); f16 < 125000 || f16 > 140000 || math.Abs(q8/f16-64.0/34) > 0.03 {
		t.Errorf("the longest contexts are %v", longest)
	}
	// Case 14: slots multiply; where nobody told them both are shown.
	one := planned(t, w, append(mac, "--show", show, "--context", "4096")...)
	four := planned(t, w, append(mac, "--show", show, "--context", "4096", "--parallel", "4")...)
	if four["kv_bytes"] != 4*one["kv_bytes"].(float64) || four["with_four_slots"] != nil {
		t.Errorf("four slots take %v, one %v", four["kv_bytes"], one["kv_bytes"])
	}
	if both := one["with_four_slots"].(map[string]any); both["kv_bytes"] != four["kv_bytes"] {
		t.Errorf("shown for four slots: %v", both)
	}
	reply := fileOf(t, "reply.json", `{"details":{"format":"gguf"},"model_info":`+qwen4B+`}`)
	if again := planned(t, w, append(mac, "--show", reply, "--context", "32768")...); again["kv_bytes"] != plan["kv_bytes"] {
		t.Errorf("a whole reply: %v", again["kv_bytes"])
	}
}

// What is not known is unknown, with its reason: never zero, never a warning.
func TestFitOfAnUnknownModel(t *testing.T) {
	w := newWorld(t)
	plan := planned(t, w, "--machine", "M4 32GB", "--show", fileOf(t, "empty.json", `{"model_info":{}}`), "--weights", "1000")
	if plan["verdict"] != "unknown" || plan["reason"] != "no_model_info" {
		t.Errorf("%v: %v", plan["verdict"], plan["reason"])
	}
	for _, key := range []string{"kv_bytes", "kv_bytes_per_token", "total_bytes", "largest_context", "state_bytes"} {
		if v, there := plan[key]; there {
			t.Errorf("%s is there: %v", key, v)
		}
	}
	code, out, _ := w.run("fit", "--machine", "M4 32GB", "--show", fileOf(t, "bare.json", qwen4B))
	if code != 0 || !strings.Contains(out, "cannot estimate: the size of its weights is not told") {
		t.Errorf("code %d: %s", code, out)
	}
	// Case 25: recurrent, so no cache; nothing is NaN.
	code, out, _ = w.run("fit", "--machine", "M4 32GB", "--weights", "5200000000", "--show",
		fileOf(t, "rwkv.json", `{"general.architecture":"rwkv7","rwkv7.block_count":32,"rwkv7.embedding_length":4096}`))
	if code != 0 || !strings.Contains(out, "none needed") || !strings.Contains(out, "4.8 GiB") || strings.Contains(out, "NaN") {
		t.Errorf("code %d: %s", code, out)
	}
}

// Case 35: one name, two bandwidths; the number of cores decides, else the lower.
func TestFitKnowsTheMachine(t *testing.T) {
	w := newWorld(t)
	show := fileOf(t, "show.json", qwen4B)
	for _, c := range []struct {
		machine string
		gbs     float64
		certain bool
		limit   float64 // MiB
	}{
		{"M3 Max 30-core 36GB", 300, true, 27648}, {"M3 Max 40-core 48GB", 400, true, 36864}, {"M4 Max 32-core 36GB", 410, true, 27648},
		{"Apple M4 Max 40-core GPU 128 GB", 546, true, 98304}, {"m5 max 32 core 36gb", 460, true, 28753}, {"M5 Max 40-core 128GB", 614, true, 110100},
		{"MacBook Pro, M4 Max (14-core CPU, 32-core GPU), 36 GB", 410, true, 27648}, {"M3 Max 40 核 48GB", 400, true, 36864}, {"M3 Max 16-core CPU 48GB", 300, false, 36864},
		{"M4 Pro 48GB", 273, true, 36864}, {"M1 16GB", 68, false, 10922}, {"M9 Ultra 64GB", 0, false, 0},
	} {
		plan := planned(t, w, "--machine", c.machine, "--show", show, "--weights", "2500000000")
		machine := plan["machine"].(map[string]any)
		bandwidth, _ := machine["memory_bandwidth_bytes_per_second"].(float64)
		if math.Abs(bandwidth/1e9-c.gbs) > 1 {
			t.Errorf("%s: %.1f GB/s, want %.0f", c.machine, bandwidth/1e9, c.gbs)
		}
		if certain, _ := machine["memory_bandwidth_certain"].(bool); certain != c.certain && c.gbs > 100 {
			t.Errorf("%s: certain %t", c.machine, certain)
		}
		limit, _ := machine["gpu_limit_bytes"].(float64)
		if math.Floor(limit/(1<<20)) != c.limit {
			t.Errorf("%s: a limit of %.0f MiB, want %.0f", c.machine, limit/(1<<20), c.limit)
		}
		rates := plan["expected"].([]any)[0].(map[string]any)
		if _, told := rates["centre_tokens_per_second"]; told != (c.gbs > 0) {
			t.Errorf("%s: %v", c.machine, rates)
		}
	}
}

// Case 19: a raised limit takes Ollama's default context along.
func TestFitUnderAnotherLimit(t *testing.T) {
	w := newWorld(t)
	show := fileOf(t, "14b.json", `{"general.architecture":"qwen3","qwen3.block_count":40,"qwen3.attention.head_count":40,"qwen3.attention.head_count_kv":8,
		"qwen3.attention.key_length":128,"qwen3.attention.value_length":128,"qwen3.context_length":40960,"qwen3.embedding_length":5120}`)
	args := []string{"fit", "--machine", "M4 32GB", "--show", show, "--weights", "9300000000", "--limit", "26000"}
	code, out, errs := w.run(args...)
	for _, says := range []string{"21.3 GiB → 25.4 GiB", "default context 4,096 → 32,768, cache 0.6 GiB → 5.0 GiB", "takes more than the 4.1 GiB gained"} {
		if code != 0 || !strings.Contains(out, says) {
			t.Errorf("code %d, %s\n%s\nwant %q", code, errs, out, says)
		}
	}
	plan := planned(t, w, append(args[1:], "--context", "4096")...)
	if change := plan["limit_change"].(map[string]any); change["gain_eaten"] != nil {
		t.Errorf("with a pinned context: %v", change)
	}
}

func TestFitOfInstalledModels(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.Model7B)
		w.resident(1)
		code, out, errs := run("fit", "--all", "--json")
		var plans []map[string]any
		if err := json.Unmarshal([]byte(out), &plans); err != nil || code != 0 || len(plans) < 2 {
			t.Fatalf("code %d, %s, %v: %s", code, errs, err, out)
		}
		rank, last := map[any]int{"fits": 0, "borderline": 1, "does_not_fit": 2, "unknown": 3}, 0
		seen := false
		for _, plan := range plans {
			if r := rank[plan["verdict"]]; r < last {
				t.Errorf("%v comes after worse ones", plan["model"])
			} else {
				last = r
			}
			if plan["model"] == sim.Model7B {
				seen = true
				if plan["reported_bytes"] == nil || plan["kv_bytes"] == nil {
					t.Errorf("the model in memory: %v", plan)
				}
			}
		}
		if !seen {
			t.Errorf("%s is not in the list: %s", sim.Model7B, out)
		}
		code, out, errs = run("fit", sim.Model7B)
		if code != 0 || !strings.Contains(out, "Server says") || !strings.Contains(out, "How it adds up") {
			t.Errorf("code %d, %s:\n%s", code, errs, out)
		}
		code, _, errs = run("fit", "nosuch:1b")
		if code != exitNoModel || !strings.Contains(errs, "no model nosuch:1b") {
			t.Errorf("code %d, %q", code, errs)
		}
		if code, out, _ := run("fit", "--all"); code != 0 || !strings.Contains(out, "LONGEST") {
			t.Errorf("code %d: %s", code, out)
		}
	})
}

func TestFitRefusesWhatMakesNoPlan(t *testing.T) {
	w := newWorld(t)
	show := fileOf(t, "show.json", qwen4B)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "name a MODEL"}, {[]string{"a", "--all"}, "exclude each other"}, {[]string{"--show", show, "--gguf", show}, "exclude each other"},
		{[]string{"a", "b"}, "b is one argument too many"},
		{[]string{"--show", show, "--context", "0"}, "--context takes"}, {[]string{"--show", show, "--context", "-5"}, "--context takes"},
		{[]string{"--show", show, "--parallel", "0"}, "--parallel takes"}, {[]string{"--show", show, "--kv", "q3"}, "not q3"},
		{[]string{"--show", show, "--flash", "maybe"}, "on or off"}, {[]string{"--show", show, "--limit", "0"}, "--limit takes"},
		{[]string{"--show", show, "--weights", "-1"}, "--weights takes"}, {[]string{"--show", show, "--machine", "fast"}, "a chip and its memory"},
		{[]string{"--show", show, "--machine", "48GB"}, "a chip and its memory"}, {[]string{"--show", show, "--machine", "M4 0GB"}, "a chip and its memory"},
	} {
		if code, _, errs := w.run(append([]string{"fit"}, c.args...)...); code != exitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("fit %q: code %d, %q, want %q", c.args, code, errs, c.says)
		}
	}
	for _, file := range []string{fileOf(t, "no.json", "{"), fileOf(t, "no.gguf", "GGUF"), filepath.Join(t.TempDir(), "absent")} {
		if code, _, errs := w.run("fit", "--machine", "M4 32GB", "--show", file); code != exitFailed || !strings.Contains(errs, "cannot be read") {
			t.Errorf("%s: code %d, %q", file, code, errs)
		}
	}
}

// Case 28: a draft model's needs are added.
func TestFitWithADraft(t *testing.T) {
	w := newWorld(t)
	show := fileOf(t, "show.json", qwen4B)
	draft := fileOf(t, "draft.json", `{"details":{"quantization_level":"Q8_0"},"model_info":{"general.architecture":"llama","general.parameter_count":500000000,
		"llama.block_count":16,"llama.attention.head_count":8,"llama.embedding_length":1024}}`)
	args := []string{"--machine", "M4 32GB", "--show", show, "--weights", "2500000000", "--context", "8192"}
	alone, with := planned(t, w, args...), planned(t, w, append(args, "--draft", draft)...)
	if extra := with["total_bytes"].(float64) - alone["total_bytes"].(float64); extra != with["draft_bytes"].(float64) || extra < 500e6*8.5/8+16*8*256*2*8192 {
		t.Errorf("the draft takes %v, the total grows by %.0f", with["draft_bytes"], extra)
	}
}

// The words of a plan, in both languages.
func TestFitWords(t *testing.T) {
	w := newWorld(t)
	show := fileOf(t, "show.json", qwen4B)
	for language, all := range map[string]string{"en": "", "zh": ""} {
		for _, args := range [][]string{
			{"--context", "32768"}, {"--context", "262144", "--kv", "q8_0", "--limit", "26000"}, {"--context", "100000", "--parallel", "2", "--flash", "off", "--kv", "q4_0"},
		} {
			code, out, errs := w.run(append([]string{"--lang", language, "fit", "--machine", "M4 32GB", "--show", show, "--weights", "2500000000"}, args...)...)
			if code != 0 {
				t.Fatalf("code %d, %s", code, errs)
			}
			all += fmt.Sprintf("===== %s\n%s", strings.Join(args, " "), strings.Replace(out, show, "show.json", 1))
		}
		golden(t, "fit."+language+".txt", all)
	}
}

// Case 28: a draft model's weights and cache count too, whatever file tells its build.
func TestFitCountsADraft(t *testing.T) {
	w := newWorld(t)
	draft := fileOf(t, "draft.json", `{"general.architecture":"llama","block_count":28,"embedding_length":3072,"attention.head_count":24,"attention.head_count_kv":8}`)
	args := []string{"--machine", "M4 Pro 24GB", "--weights", "16000000000", "--context", "8192", "--show", fileOf(t, "show.json", qwen4B), "--draft", draft}
	plan := planned(t, w, args...)
	if plan["verdict"] == "fits" || plan["total_bytes"] != nil {
		t.Errorf("a draft of unknown weights: %v, together %v", plan["verdict"], plan["total_bytes"])
	}
	plan = planned(t, w, append(args, "--draft-weights", "7000000000")...)
	if both, _ := plan["draft_bytes"].(float64); both < 7e9+28*8*256*2*8192 || plan["verdict"] != "does_not_fit" {
		t.Errorf("a draft of %.0f B: %v", both, plan["verdict"])
	}
	if code, _, errs := w.run("fit", "--show", draft, "--draft-weights", "7"); code != 2 || !strings.Contains(errs, "--draft FILE") {
		t.Errorf("weights of no draft: %d, %q", code, errs)
	}
}

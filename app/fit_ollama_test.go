//go:build linux && !race

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"plimsoll/build/ollama/server"
	"plimsoll/metal"
	"plimsoll/monitor"
)

// loadLine is what the server's log says of the memory of a load.
var loadLine = regexp.MustCompile(`msg="(model weights|kv cache|compute graph)" device=CPU size="([^"]+)"`)

// TestFitAgainstRealOllama holds the plan of each tiny model against what a real
// server writes into its log when it loads it: by its older runner, whose weights
// are without the token table, and by its own engine.
func TestFitAgainstRealOllama(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		own  bool
	}{{"older runner", nil, false}, {"own engine", []string{"OLLAMA_NEW_ENGINE=1"}, true}, {"two slots", []string{"OLLAMA_NUM_PARALLEL=2"}, false}} {
		t.Run(c.name, func(t *testing.T) {
			ollama := server.Run(t, server.Versions[0], c.env...)
			slots := "1"
			if c.name == "two slots" {
				slots = "2"
			}
			for _, m := range []struct {
				model   string
				context int
			}{{"tiny", 4096}, {"tiny", 1024}, {"slow", 4096}, {"slow", 8192}, {"stop", 2048}} {
				log := filepath.Join(ollama.Dir, "serve.log")
				before, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				post(t, ollama.URL, "/api/generate", fmt.Sprintf(`{"model":%q,"prompt":"hello","stream":false,"options":{"num_predict":2,"num_ctx":%d}}`, m.model, m.context))
				told := map[string]string{}
				after, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range loadLine.FindAllStringSubmatch(string(after[len(before):]), -1) {
					told[line[1]] = line[2]
				}
				plan := fitOf(t, ollama.URL, m.model, "--context", fmt.Sprint(m.context), "--parallel", slots)
				weights := *plan.Weights
				if !c.own {
					weights = plan.Rates[0].readOrWeights(weights)
				}
				for what, want := range map[string]string{"model weights": humanBytes(weights), "kv cache": humanBytes(*plan.KV)} {
					if told[what] != want {
						t.Errorf("%s at %d: %s is %q in the server's log, %q in the plan", m.model, m.context, what, told[what], want)
					}
				}
				if c.own { // which does without flash attention for this family
					var mib float64
					fmt.Sscanf(told["compute graph"], "%f MiB", &mib)
					plan := fitOf(t, ollama.URL, m.model, "--context", fmt.Sprint(m.context), "--flash", "off")
					if planned := float64(*plan.Compute) / (1 << 20); planned < mib*0.93 || planned > mib*1.07 {
						t.Errorf("%s at %d: a compute graph of %.1f MiB, planned %.1f", m.model, m.context, mib, planned)
					}
				}
			}
		})
	}
}

// realPlan is what the test reads of a plan.
type realPlan struct {
	Weights *uint64 `json:"weights_bytes"`
	KV      *uint64 `json:"kv_bytes"`
	Compute *uint64 `json:"compute_bytes"`
	Rates   []realRate
}

type realRate struct {
	Read *uint64 `json:"read_bytes_per_token"`
}

// fitOf asks plimsoll fit for a model of a server.
func fitOf(t *testing.T, url, model string, args ...string) realPlan {
	t.Helper()
	var out, errs output
	p := &program{out: &out, errs: &errs, getenv: func(string) string { return "" }, home: t.TempDir(), goos: "linux",
		terminal: func(any) bool { return false }, size: func() (int, int) { return 0, 0 }, machine: metal.New, clock: monitor.SystemClock()}
	if code := p.run(t.Context(), append([]string{"fit", model, "--server", url, "--machine", "M4 Pro 48GB", "--json"}, args...)); code != 0 {
		t.Fatalf("fit %s ended with %d: %s", model, code, errs.String())
	}
	var plan struct {
		realPlan
		Rates []realRate `json:"expected"`
	}
	if err := json.Unmarshal([]byte(out.String()), &plan); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if plan.Weights == nil || plan.KV == nil || plan.Compute == nil || len(plan.Rates) == 0 {
		t.Fatalf("not planned: %s", out.String())
	}
	plan.realPlan.Rates = plan.Rates
	return plan.realPlan
}

// readOrWeights is the weights that are read for a token: all but the token table.
func (r realRate) readOrWeights(weights uint64) uint64 {
	if r.Read == nil {
		return weights
	}
	return *r.Read
}

// humanBytes is an amount as Ollama's log writes it (format.HumanBytes2).
func humanBytes(b uint64) string {
	switch {
	case b >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30))
	case b >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(b)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(b)/(1<<10))
}

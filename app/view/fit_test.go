package view

import (
	"strings"
	"testing"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// planned14B is a model with 160 KiB a token.
func planned14B(weights uint64) fit.Model {
	return fit.Model{Architecture: "qwen3", Blocks: 40, Width: 5120, Heads: 40, Vocabulary: 151936, Trained: 131072, Weights: &weights,
		Layers: []fit.Layers{{Kind: fit.Full, Count: 40, KVHeads: 8, Key: 128, Value: 128}}}
}

// What will fit under another limit: the models whose verdict changes come first,
// and a longer default context is said with what it takes.
func TestFitsUnderALimit(t *testing.T) {
	const g = 1 << 30
	s := &monitor.Snapshot{
		Machine:  &metal.Machine{RAMBytes: new(uint64(32 * g))},
		GPU:      &metal.GPU{WorkingSet: new(uint64(21 * g)), InUse: new(uint64(0))},
		Headroom: &monitor.Headroom{GPU: new(uint64(21 * g)), RAM: new(uint64(28 * g)), Bytes: 21 * g, Binding: monitor.BindingGPU},
	}
	builds := []monitor.Build{
		{Backend: "ollama", Model: "small", Build: planned14B(2 * g)}, {Backend: "ollama", Model: "big", Build: planned14B(21 * g)},
		{Backend: "ollama", Model: "huge", Build: planned14B(60 * g)}, {Backend: "ollama", Model: "unknown", Build: fit.Model{}},
	}
	r := In("en")
	if r.FitsUnder(s, nil) != nil {
		t.Error("no build and yet a list")
	}
	// Just above 23 GiB the default context takes its step, and eats what was gained.
	rows := r.FitsUnder(s, builds)(24 * g)
	if len(rows) != 3 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	for _, row := range rows {
		if row.Level == Unknown || row.Text == "" || !strings.Contains(row.Text, "context 4,096 → 32,768, cache 5.0 GiB") {
			t.Errorf("%+v", row)
		}
	}
	if rows[0].Label != "small" || rows[2].Label != "huge" {
		t.Errorf("in the order %s, %s, %s", rows[0].Label, rows[1].Label, rows[2].Label)
	}
	rows = r.FitsUnder(s, builds)(229 * g / 10)
	if rows[0].Label != "big" || rows[0].Level != Warning || !strings.Contains(rows[0].Text, "borderline") {
		t.Errorf("what fits only then: %+v", rows[0])
	}
}

// Every reason, note, risk and state has words in both languages.
func TestEveryWordOfAPlan(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		r := In(language)
		for _, reason := range []fit.Reason{fit.ReasonNoInfo, fit.ReasonNoLayers, fit.ReasonNoHeads, fit.ReasonListLeftOut, fit.ReasonWindow, fit.ReasonLatent,
			fit.ReasonImplausible, fit.ReasonNoWeights, fit.ReasonNoLimit, fit.ReasonNoBandwidth, fit.ReasonCloud} {
			if !r.has("fit.reason." + string(reason)) {
				t.Errorf("%s: no words for %s", language, reason)
			}
		}
		for _, note := range []fit.Note{fit.NoteFloor, fit.NoteTrained, fit.NoteReported, fit.NoteCacheFallback, fit.NoteOneSlot, fit.NoteExpanded, fit.NoteNoCache,
			fit.NoteStateUnknown, fit.NoteWeightsRough, fit.NoteHeadsRough, fit.NoteBuffersRough, fit.NoteVision} {
			if !r.has("fit.note." + string(note)) {
				t.Errorf("%s: no words for %s", language, note)
			}
		}
		for _, risk := range []fit.Risk{fit.RiskVision, fit.RiskGPU, fit.RiskSwap} {
			v := fit.Verdict{State: fit.Borderline, Binding: fit.BindingGPU, Spare: new(uint64(1 << 29)), Risk: risk, Share: new(0.07)}
			if text := r.FitVerdict(&v); !r.has("fit.risk."+string(risk)) || strings.Contains(text, "<no value>") {
				t.Errorf("%s: %q for %s", language, text, risk)
			}
		}
	}
}

// An unknown verdict is grey, whatever else is known.
func TestUnknownIsNoAlarm(t *testing.T) {
	for state, want := range map[fit.State]Level{fit.Fits: Normal, fit.Borderline: Warning, fit.TooBig: Critical, fit.Unknown: Unknown, "": Unknown} {
		if got := planLevel(state); got != want {
			t.Errorf("%s is level %d, want %d", state, got, want)
		}
	}
	p := monitor.Place{}.Plan(monitor.Subject{Name: "x", Model: fit.Model{Unknown: fit.ReasonNoInfo}})
	v := In("en").Plan(p)
	if v.Verdict.Level != Unknown || !strings.HasPrefix(v.Verdict.Text, "cannot estimate: ") {
		t.Errorf("%+v", v.Verdict)
	}
	for _, row := range v.Rows {
		if row.Level == Critical || strings.Contains(row.Text, "NaN") {
			t.Errorf("%+v", row)
		}
	}
}

// A load says what was predicted beside what it took.
func TestLoadedAsPlanned(t *testing.T) {
	e := monitor.Event{Kind: monitor.EventModelLoaded, Evidence: monitor.Evidence{Model: "m", Bytes: new(uint64(94 << 30 / 10)), Planned: new(uint64(89 << 30 / 10))}}
	if got := In("en").Event(e); got != "m loaded: predicted 8.9 GiB, took 9.4 GiB" {
		t.Errorf("%q", got)
	}
	if got := In("zh").Event(e); got != "m 已加载：预计 8.9 GiB，实际 9.4 GiB" {
		t.Errorf("%q", got)
	}
	e.Evidence.Planned = nil
	if got := In("en").Event(e); got != "m loaded, 9.4 GiB" {
		t.Errorf("%q", got)
	}
}

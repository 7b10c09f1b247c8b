package view

import (
	"strings"
	"testing"
	"time"

	"plimsoll/monitor"
)

// allCauses are those of the diagnosis, normal included.
var allCauses = []monitor.DiagnosisCause{
	monitor.SlowSwapping, monitor.SlowSpill, monitor.SlowThrottled, monitor.SlowSecondModel, monitor.SlowSecondUser,
	monitor.SlowDeepContext, monitor.SlowReread, monitor.SlowColdLoad, monitor.SlowOtherGPU, monitor.SlowBattery,
	monitor.SlowBackground, monitor.SlowGrown, monitor.SlowEngine, monitor.SlowNot,
}

// TestDiagnosisWords reads every sentence in both languages, with all its numbers
// and with those alone that are always there: each has a sentence of its own and
// says what to do, and none has a hole in it.
func TestDiagnosisWords(t *testing.T) {
	full := monitor.Evidence{
		SwapOutRate: new(52e6), GPUShare: new(0.72), Bytes: new(uint64(3 << 30)), Limit: new(uint64(22 << 30)), Before: new(uint64(2 << 30)),
		Consumer: "gemma3:4b", Count: new(3), Tokens: new(30080), Drop: new(0.41), Seconds: new(12.0), LoadRate: new(1.4e9), Process: "mds_stores",
		Cores: new(1.2), DecodeRate: new(11.0), UsualDecodeRate: new(20.0), Volume: "Models", Cause: string(monitor.CauseHeat),
	}
	bare := full
	bare.DecodeRate, bare.UsualDecodeRate, bare.SwapOutRate, bare.Drop, bare.LoadRate, bare.Seconds = nil, nil, nil, nil, nil, nil
	for _, tag := range []string{"en", "zh"} {
		r := In(tag)
		seen := map[string]monitor.DiagnosisCause{}
		for _, cause := range allCauses {
			for _, e := range []monitor.Evidence{full, bare} {
				text, next := r.slowness(cause, e)
				if text == "" || strings.Contains(text, "  ") || strings.Contains(text, ", ,") || strings.Contains(text, "<") || strings.HasSuffix(text, ",") {
					t.Errorf("%s %s: %q", tag, cause, text)
				}
				if other, was := seen[text]; was && other != cause {
					t.Errorf("%s: %s and %s both say %q", tag, cause, other, text)
				}
				seen[text] = cause
				if (next == "") != (cause == monitor.SlowNot) {
					t.Errorf("%s %s: what to do is %q", tag, cause, next)
				}
			}
		}
	}
}

func TestDiagnosisRow(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	s := &monitor.Snapshot{Taken: now, Diagnosis: &monitor.Diagnosis{
		Cause: monitor.SlowSecondModel, Backend: "ollama", Model: "qwen3:14b", Since: now,
		Evidence: monitor.Evidence{Consumer: "gemma3:4b", ConsumerIsModel: true, DecodeRate: new(11.0), UsualDecodeRate: new(20.0)},
		Also:     []monitor.DiagnosisCause{monitor.SlowBattery, monitor.SlowBackground},
		Action:   &monitor.Command{Kind: monitor.CommandUnload, Backend: "ollama", Model: "gemma3:4b"},
	}}
	v := In("en").Render(monitor.Update{Snapshot: s}, now)
	want := Row{Label: "Pace of qwen3:14b", Text: "Slow: gemma3:4b works at the same time, 11.0 tokens/s instead of 20.0 tokens/s",
		Detail: "Let one finish before the other, or unload one.\nAlso: on battery, background work", Level: Warning, Share: -1}
	if v.Diagnosis != want {
		t.Errorf("got  %+v\nwant %+v", v.Diagnosis, want)
	}
	if v.DiagnosisAction == nil || v.DiagnosisAction.Label != "Unload gemma3:4b" {
		t.Errorf("action %+v", v.DiagnosisAction)
	}
	same := monitor.Alert{ID: "pressure", Rule: "pressure", Severity: monitor.SeverityWarning, Action: s.Diagnosis.Action}
	if v = In("en").Render(monitor.Update{Snapshot: s, Alerts: []monitor.Alert{same}}, now); v.DiagnosisAction != nil {
		t.Errorf("an alert offers it already: %+v", v.DiagnosisAction)
	}
	v = In("zh").Render(monitor.Update{Snapshot: s}, now)
	if !strings.Contains(v.Diagnosis.Text, "变慢：gemma3:4b 同时在工作") {
		t.Errorf("%q", v.Diagnosis.Text)
	}
	s.Diagnosis = &monitor.Diagnosis{Cause: monitor.SlowNot, Model: "qwen3:14b", Evidence: monitor.Evidence{DecodeRate: new(20.0)}}
	if v = In("en").Render(monitor.Update{Snapshot: s}, now); v.Diagnosis.Level != Normal || v.Diagnosis.Text != "At its normal rate, 20.0 tokens/s" {
		t.Errorf("%+v", v.Diagnosis)
	}
	s.Diagnosis = nil
	if v = In("en").Render(monitor.Update{Snapshot: s}, now); v.Diagnosis.Text != "" || v.DiagnosisAction != nil {
		t.Errorf("nothing works: %+v", v.Diagnosis)
	}
}

package view

import (
	"math"
	"strings"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

func TestPlanOfAResident(t *testing.T) {
	u := withRequests()
	u.Snapshot.Residents = []monitor.Resident{{
		Resident: backend.Resident{Backend: "ollama", Model: "qwen3:14b", Size: new(uint64(9 << 30))}, Footprint: new(uint64(94 << 30 / 10)),
		Planned: new(uint64(89 << 30 / 10)), PlannedCache: new(uint64(5 << 30 / 8)), Efficiency: new(0.62), Comfort: fit.Comfortable,
		Expected: &fit.Expected{Low: new(9.4), High: new(12.8), Ceiling: new(17.1), Source: fit.SourceLearned, Runs: 7},
	}}
	u.Snapshot.LargestFit = &monitor.LargestFit{Backend: "ollama", Model: "gemma3:4b", Needs: 3 << 30, Context: 4096, Borderline: true}
	v := In("en").Render(u, noon)
	if m := v.Models[0]; !strings.Contains(m.Text, "comfortable · 62 % of its ceiling") ||
		!strings.Contains(m.Detail, "Planned: 8.9 GiB, 0.6 GiB of it cache; took 9.4 GiB") ||
		!strings.Contains(m.Detail, "~9.4 to 13 tokens/s, never over 17, by 7 of its own requests") {
		t.Errorf("%q\n%s", m.Text, m.Detail)
	}
	if v.Largest.Text != "gemma3:4b · ~3.0 GiB · 4K · borderline" {
		t.Errorf("%q", v.Largest.Text)
	}
	v = In("zh").Render(u, noon)
	if m := v.Models[0]; !strings.Contains(m.Text, "舒适") || !strings.Contains(m.Detail, "计划：8.9 GiB") {
		t.Errorf("%q\n%s", m.Text, m.Detail)
	}
}

// Case 29: what cannot be planned says why, and is no alarm; no number that is none.
func TestUnplannedIsGreyAndSaysWhy(t *testing.T) {
	u := withRequests()
	u.Snapshot.Residents = []monitor.Resident{{Resident: backend.Resident{Backend: "ollama", Model: "rwkv"}, Unplanned: fit.ReasonWindow,
		Efficiency: new(math.NaN()), Expected: &fit.Expected{Low: new(math.Inf(1))}}}
	m := In("en").Render(u, noon).Models[0]
	if !strings.Contains(m.Detail, "Cannot be planned: some layers keep only a window") || m.Level > Normal || strings.Contains(m.Text+m.Detail, "NaN") || strings.Contains(m.Detail, "Inf") {
		t.Errorf("level %d, %q\n%s", m.Level, m.Text, m.Detail)
	}
}

// Case 17: what was asked for stands beside what runs, and the row is marked.
func TestContextThatIsNotWhatWasAskedFor(t *testing.T) {
	u := withRequests()
	u.Snapshot.Residents = []monitor.Resident{{Resident: backend.Resident{Backend: "ollama", Model: "qwen3.6:27b", Context: new(262144)}, Asked: new(16384)}}
	for language, want := range map[string][2]string{
		"en": {"256K (asked: 16K)", "Context: 256K tokens; 16K were asked for"},
		"zh": {"256K（要求 16K）", "上下文：256K 个 token；请求的是 16K"},
	} {
		m := In(language).Render(u, noon).Models[0]
		if !strings.Contains(m.Text, want[0]) || !strings.Contains(m.Detail, want[1]) || m.Level != Warning {
			t.Errorf("level %d, %q\n%s", m.Level, m.Text, m.Detail)
		}
	}
}

package view

import (
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func measured(v float64, s request.Source, ago time.Duration) *request.Number {
	return &request.Number{Value: v, Source: s, At: noon.Add(-ago)}
}

func withRequests(list ...request.Request) monitor.Update {
	return monitor.Update{Snapshot: &monitor.Snapshot{Taken: noon, Interval: new(1.0), Requests: list,
		Headroom:  &monitor.Headroom{Bytes: 8 << 30, Binding: monitor.BindingGPU},
		Residents: []monitor.Resident{{Resident: backend.Resident{Backend: "ollama", Model: "qwen3:14b"}}}}}
}

func doneAt(ago time.Duration) request.Request {
	return request.Request{ID: "1", Model: "qwen3:14b", Phase: request.PhaseDone, Outcome: request.OutcomeFinished, Ended: new(noon.Add(-ago)),
		Began: noon.Add(-ago - 20*time.Second), Decode: measured(11.2, request.SourceServer, ago)}
}

// The title tells the request in flight, then the last one for ten minutes, then
// headroom, in one width.
func TestTitleFollowsTheRequest(t *testing.T) {
	flight := func(phase request.Phase, change func(*request.Request)) request.Request {
		r := request.Request{ID: "2", Model: "qwen3:14b", Phase: phase, Began: noon.Add(-4 * time.Second)}
		if change != nil {
			change(&r)
		}
		return r
	}
	for _, c := range []struct {
		name   string
		list   []request.Request
		en, zh string
	}{
		{"decode", []request.Request{flight(request.PhaseDecode, func(r *request.Request) { r.Live = measured(11.23, request.SourceSlots, 0) })}, "11.2 t/s", "11.2 t/s"},
		{"an estimate", []request.Request{flight(request.PhaseDecode, func(r *request.Request) {
			r.Live = &request.Number{Value: 11.23, Source: request.SourceMeter, At: noon, Approximate: true}
		})}, "~11.2 t/s", "~11.2 t/s"},
		{"slow as can be", []request.Request{flight(request.PhaseDecode, func(r *request.Request) { r.Live = measured(0.031, request.SourceSlots, 0) })}, "0.03 t/s", "0.03 t/s"},
		{"prefill", []request.Request{flight(request.PhasePrefill, func(r *request.Request) { r.ReadTokens = new(12034) }), doneAt(time.Minute)}, "reading 12k", "读取 12k"},
		{"prefill, nothing told", []request.Request{flight(request.PhasePrefill, nil)}, "reading", "读取中"},
		{"loading", []request.Request{flight(request.PhaseLoading, nil)}, "loading", "加载中"},
		{"the last, just now", []request.Request{doneAt(5 * time.Second)}, "11.2 ·<1m", "11.2 ·<1m"},
		{"the last", []request.Request{doneAt(3*time.Minute + 50*time.Second)}, "11.2 ·3m", "11.2 ·3m"},
		{"long ago", []request.Request{doneAt(10 * time.Minute)}, "8.0 GiB", "8.0 GiB"},
		{"a cancelled one without a rate", []request.Request{{ID: "3", Phase: request.PhaseDone, Outcome: request.OutcomeCancelled}}, "8.0 GiB", "8.0 GiB"},
		{"none", nil, "8.0 GiB", "8.0 GiB"},
	} {
		for tag, want := range map[string]string{"en": c.en, "zh": c.zh} {
			title := In(tag).Render(withRequests(c.list...), noon).Title
			if strings.Trim(title, figureSpace) != want {
				t.Errorf("%s, %s: %q, want %q", c.name, tag, title, want)
			}
			if width := runewidth.StringWidth(title); width != titleWide {
				t.Errorf("%s, %s: %q is %d cells wide, want %d", c.name, tag, title, width, titleWide)
			}
		}
	}
}

func TestRequestWords(t *testing.T) {
	r := request.Request{
		ID: "7", Backend: "ollama", Model: "qwen3:14b", Endpoint: "/api/chat", Sources: []request.Source{request.SourceMeter, request.SourceSlots},
		Phase: request.PhaseDone, Outcome: request.OutcomeFinished, Began: noon.Add(-time.Minute), Ended: new(noon.Add(-30 * time.Second)),
		PromptTokens: new(18010), CachedTokens: new(12000), OutputTokens: new(200), Queue: new(1.305), Load: new(0.01),
		TTFT:    &request.Number{Value: 1.4, Source: request.SourceSlots, At: noon.Add(-50 * time.Second), Approximate: true, Spread: new(0.5)},
		Prefill: measured(640, request.SourceServer, 30*time.Second), Decode: measured(11.2, request.SourceServer, 30*time.Second),
		Live: measured(11.3, request.SourceSlots, 31*time.Second), Session: measured(6.7, request.SourceMeter, 30*time.Second),
		Notes: []request.Note{request.NoteCached, request.NoteOverContext}, Boundary: &request.Boundary{Context: new(8192), Queue: new(2)},
	}
	v := In("en").Render(withRequests(r), noon).Requests[0]
	for _, c := range []struct{ name, got, want string }{
		{"prompt", v.Prompt, "18,010"}, {"cached", v.Cached, "12,000"}, {"output", v.Output, "200"}, {"TTFT", v.TTFT, "~1.40 s ±0.5"},
		{"prefill", v.Prefill, "640.0 tokens/s"}, {"decode", v.Decode, "11.2 tokens/s"}, {"session", v.Session, "6.7 tokens/s"},
		{"live", v.Live, "11.3 tokens/s (+0.9 %)"}, {"state", v.State, "finished"}, {"source", v.Source, "the meter, slots"},
		{"notes", v.Notes, "prompt from the cache · over your context boundary"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	for _, fact := range []string{"Generated (incl. thinking): 200 tokens", "Queued: 1.30 s", "Decode rate: 11.2 tokens/s, by the server, 30 s ago", "Endpoint: /api/chat"} {
		if !strings.Contains(v.Detail, fact) {
			t.Errorf("no %q in\n%s", fact, v.Detail)
		}
	}
	if strings.Contains(v.Detail, "Load time") {
		t.Errorf("a load of nothing is told:\n%s", v.Detail)
	}
	speed := In("en").Render(withRequests(r), noon).Speed
	if speed.Text != "11.2 tokens/s · TTFT ~1.40 s ±0.5 · qwen3:14b · 30 s ago · over your 8K/2 boundary" {
		t.Errorf("%q", speed.Text)
	}
}

// A request that nobody counted says so with nothing, never with 0.
func TestRequestWithoutNumbers(t *testing.T) {
	for _, tag := range []string{"en", "zh"} {
		v := In(tag).Render(withRequests(request.Request{ID: "1", Phase: request.PhaseDone, Outcome: request.OutcomeCut}), noon).Requests[0]
		if got := v.Prompt + v.Cached + v.Output + v.TTFT + v.Prefill + v.Decode + v.Session + v.Live + v.Detail; got != "" {
			t.Errorf("%s: %q of nothing", tag, got)
		}
		if v.State == "" || v.Level != Warning {
			t.Errorf("%s: %+v", tag, v)
		}
	}
}

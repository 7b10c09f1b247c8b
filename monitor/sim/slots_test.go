package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/metal"
)

// serveSlots is a server with llama-server runners on a frozen clock.
func serveSlots(t *testing.T, c Config) (*Mac, *Clock) {
	t.Helper()
	clock := NewClock(noon, 0)
	c.Clock, c.Seed = clock, 11
	m := New(c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	address(m)
	return m, clock
}

// childReply is an answer of a runner.
type childReply struct {
	status int
	body   []byte
	err    error
}

// get asks a runner in a goroutine.
func get(t *testing.T, m *Mac, path string) <-chan childReply {
	t.Helper()
	port := m.Truth().Models[0].Port
	replies := make(chan childReply, 1)
	q, err := http.NewRequestWithContext(deadline(t), "GET", fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			replies <- childReply{err: err}
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		replies <- childReply{resp.StatusCode, body, err}
	}()
	return replies
}

// waits tells whether somebody waits for a runner's pass to end.
func waits(m *Mac) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.runners, func(r *runner) bool { return r.between != nil })
}

// stepped steps the clock while a runner cannot answer, and no further.
func stepped(t *testing.T, m *Mac, clock *Clock, replies <-chan childReply, step time.Duration) childReply {
	t.Helper()
	for end := deadline(t); ; {
		select {
		case r := <-replies:
			if r.err != nil {
				t.Fatal(r.err)
			}
			return r
		case <-end.Done():
			t.Fatal("no answer")
		default:
			if waits(m) {
				clock.Advance(step)
			}
			runtime.Gosched()
		}
	}
}

// toldSlot is what a client reads of a slot.
type toldSlot struct {
	Processing bool         `json:"is_processing"`
	Task       *int         `json:"id_task"`
	Processed  int          `json:"n_prompt_tokens_processed"`
	Next       []childToken `json:"next_token"`
}

// slotsNow asks for the slots while the clock goes on in steps, and tells when the
// answer was made.
func slotsNow(t *testing.T, m *Mac, clock *Clock, step time.Duration) ([]toldSlot, time.Duration) {
	t.Helper()
	r := stepped(t, m, clock, get(t, m, "/slots"), step)
	var list []toldSlot
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return list, clock.Awake()
}

func TestChildProcess(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 4})
	load(t, m, clock, Model7B)
	list, err := m.Processes()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(p metal.Process) bool { return p.Name == "llama-server" })
	if i < 0 {
		t.Fatal("no llama-server runs")
	}
	p, port := list[i], m.Truth().Models[0].Port
	args := strings.Join(p.Args, " ")
	if want := fmt.Sprintf(" --model %s --port %d --host 127.0.0.1 -c %d -np 4 ", find(Model7B).blob(), port, 4*m.openContext()); !strings.Contains(args, want) {
		t.Errorf("%q, want %q in it", args, want)
	}
	if p.Parent != m.ollama.pid || port < 1024 || *p.Footprint < uint64(find(Model7B).need(4*m.openContext())) {
		t.Errorf("%+v, port %d", p, port)
	}
	if v := call(m, "GET", "/api/version", "").Body.String(); v != `{"version":"`+childVersion+`"}` {
		t.Error(v)
	}
}

func TestChildWhileLoadingAndAfter(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 1})
	job, err := m.Load(Model7B)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(100 * time.Millisecond)
	for _, path := range []string{"/health", "/slots"} {
		if r := <-get(t, m, path); r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), "Loading model") {
			t.Errorf("%s while loading: %d %s %v", path, r.status, r.body, r.err)
		}
	}
	until(t, clock, time.Minute, "loading", func() bool { return job.Result().Finished })
	r := <-get(t, m, "/slots")
	if string(r.body) != fmt.Sprintf(`[{"id":0,"n_ctx":%d,"speculative":false,"is_processing":false}]`, m.openContext()) {
		t.Errorf("a slot that was never used: %s", r.body)
	}
	for path, want := range map[string]string{"/health": `{"status":"ok"}`, "/props": `"total_slots":1`, "/metrics": `not_supported_error`, "/nothing": `not_found_error`} {
		if r := <-get(t, m, path); !strings.Contains(string(r.body), want) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	port := m.Truth().Models[0].Port
	m.Unload(Model7B)
	clock.Advance(time.Second)
	if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		c.Close()
		t.Error("the runner is gone and listens")
	}
}

// While a batch of a prompt is read there is no answer; after it there is, with
// what was read in whole batches.
func TestNoAnswerWhileABatchIsRead(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 2})
	load(t, m, clock, Model7B)
	m.Pace(Model7B, 20, 100) // a batch takes 5.12 s
	job := ask(t, m, Model7B, 1100, 60)
	clock.Advance(time.Second)
	replies := get(t, m, "/slots")
	eventually(t, "the question is there", func() bool { return waits(m) })
	clock.Advance(4 * time.Second)
	select {
	case r := <-replies:
		t.Fatalf("an answer in the middle of a batch: %s", r.body)
	default:
	}
	r := stepped(t, m, clock, replies, 20*time.Millisecond)
	if took := clock.Awake(); took < 5*time.Second {
		t.Errorf("answered after %v", took)
	}
	for _, want := range []string{`"is_processing":true,"id_task":0,"n_prompt_tokens":512,"n_prompt_tokens_processed":512,"n_prompt_tokens_cache":0,"n_prompt_tokens_target":1100`,
		`"next_token":[{"has_next_token":true,"has_new_line":false,"n_remain":-1,"n_decoded":0}]`} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("%s lacks %s", r.body, want)
		}
	}
	until(t, clock, time.Minute, "decoding", func() bool { return m.Truth().Requests[0].Phase == "decode" })
	list, _ := slotsNow(t, m, clock, 20*time.Millisecond)
	if s := list[0]; s.Processed != 1100 || s.Next[0].Decoded == 0 {
		t.Errorf("%+v", s)
	}
	until(t, clock, time.Minute, "the end", func() bool { return job.Result().Finished })
	list, _ = slotsNow(t, m, clock, 20*time.Millisecond)
	if s := list[0]; s.Processing || s.Next[0].Decoded != 60 || s.Next[0].HasNext || *s.Task != 0 || list[1].Task != nil {
		t.Errorf("after the end: %+v, %+v", s, list[1])
	}
}

// The counters go up at the rate that was set, whatever it is and however many
// slots are at work.
func TestTrueRates(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		slots int
	}{{0.03, 1}, {1, 2}, {24, 4}, {300, 1}, {300, 4}} {
		t.Run(fmt.Sprint(c.rate, c.slots), func(t *testing.T) {
			m, clock := serveSlots(t, Config{Slots: c.slots})
			load(t, m, clock, Model7B)
			m.Pace(Model7B, c.rate, 1e6)
			for range c.slots {
				ask(t, m, Model7B, 5, 4000)
			}
			step := time.Duration(0.2 / c.rate * float64(time.Second)).Round(stepTime)
			step = max(step, stepTime)
			clock.Advance(20 * step)
			list, at := slotsNow(t, m, clock, step)
			first := list
			clock.Advance(time.Duration(200 / c.rate * float64(time.Second)))
			list, end := slotsNow(t, m, clock, step)
			for i := range list {
				n := list[i].Next[0].Decoded - first[i].Next[0].Decoded
				if got := float64(n) / (end - at).Seconds(); math.Abs(got/c.rate-1) > 0.02 {
					t.Errorf("slot %d: %d tokens in %v are %.3f/s, want %v", i, n, end-at, got, c.rate)
				}
			}
			for _, r := range m.Truth().Requests {
				if math.Abs(r.Rate-c.rate) > 1e-9*c.rate || r.Slot < 0 || r.Task < 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// Another's prompt lets an answer stand still, and a request that waits gets the
// first free slot, with a number of its own and counters from the start.
func TestSlotsShareARunner(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 2})
	load(t, m, clock, Model7B)
	m.Pace(Model7B, 20, 100)
	first := ask(t, m, Model7B, 10, 400)
	clock.Advance(3 * time.Second)
	before := first.Result().Tokens
	ask(t, m, Model7B, 400, 100) // 4 s to read
	ask(t, m, Model7B, 10, 10)
	clock.Advance(3900 * time.Millisecond)
	if n := first.Result().Tokens - before; n > 1 {
		t.Errorf("%d tokens while another's prompt was read", n)
	}
	truth := m.Truth().Requests
	if truth[0].Rate != 0 || truth[1].Phase != "prefill" || truth[1].Slot != 1 || truth[2].Phase != "queued" || truth[2].Slot != -1 {
		t.Errorf("%+v", truth)
	}
	clock.Advance(2 * time.Second)
	if truth = m.Truth().Requests; truth[0].Rate != 20 || truth[1].Rate != 20 {
		t.Errorf("%+v", truth)
	}
	first.Cancel()
	clock.Advance(300 * time.Millisecond)
	list, _ := slotsNow(t, m, clock, stepTime)
	if s := list[0]; *s.Task <= *list[1].Task || s.Next[0].Decoded > 10 || !s.Processing {
		t.Errorf("the free slot: %+v", s)
	}
}

func TestChildTotals(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 1, Metrics: true})
	load(t, m, clock, Model7B)
	m.Pace(Model7B, 10, 100)
	job := ask(t, m, Model7B, 200, 50)
	until(t, clock, time.Minute, "the end", func() bool { return job.Result().Finished })
	r := stepped(t, m, clock, get(t, m, "/metrics"), stepTime)
	for _, want := range []string{"llamacpp:prompt_tokens_total 200\n", "llamacpp:tokens_predicted_total 50\n", "# TYPE llamacpp:prompt_seconds_total counter\n"} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("%s lacks %q", r.body, want)
		}
	}
}

// Whoever waits for an answer gets none when the runner goes, and the server's end
// ends its runners' listeners.
func TestRunnerGoesWhileAsked(t *testing.T) {
	m, clock := serveSlots(t, Config{Slots: 1})
	load(t, m, clock, Model7B)
	m.Pace(Model7B, 1, 1)
	ask(t, m, Model7B, 500, 10)
	clock.Advance(time.Second)
	replies := get(t, m, "/slots")
	eventually(t, "the question is there", func() bool { return waits(m) })
	list, _ := m.Processes()
	for _, p := range list {
		if p.Name == "llama-server" {
			if err := m.EndProcess(p.PID, p.Started); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := <-replies; r.err == nil {
		t.Errorf("a runner that was ended answers %s", r.body)
	}
}

// fixture is a recording of a source beside the repository.
func fixture(t *testing.T, path ...string) []byte {
	t.Helper()
	file := filepath.Join(append([]string{"..", "..", "..", "shared", "fixtures"}, path...)...)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%s is not there", file)
	}
	return data
}

// TestKeysOfRealSlots: what a real llama-server tells of a slot at work is told here,
// but for the options of sampling.
func TestKeysOfRealSlots(t *testing.T) {
	var real []map[string]any
	if err := json.Unmarshal(fixture(t, "llama_server", "slots-docs-2slots-01.json"), &real); err != nil {
		t.Fatal(err)
	}
	m, clock := serveSlots(t, Config{Slots: 1})
	load(t, m, clock, Model7B)
	ask(t, m, Model7B, 5, 400)
	clock.Advance(time.Second)
	var ours []map[string]any
	if err := json.Unmarshal(stepped(t, m, clock, get(t, m, "/slots"), stepTime).body, &ours); err != nil {
		t.Fatal(err)
	}
	want := real[0]
	delete(want, "params")
	want["next_token"] = []any{want["next_token"]} // an object until 2026
	if missing := lacks("", want, ours[0]); len(missing) > 0 {
		t.Errorf("lacks %v", missing)
	}
}

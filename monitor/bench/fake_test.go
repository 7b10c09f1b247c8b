package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// fakeServer answers as slowly as it is told, on the clock of its bubble. A token
// is four characters.
type fakeServer struct {
	model   Model
	about   About
	decode  func(depth, ask int) float64 // tokens/s
	prefill float64
	load    time.Duration
	queue   func(ask int) time.Duration
	output  func(ask, want int) int // tokens of an answer
	fail    func(ask int) error
	stolen  bool // somebody else's request ends after each of ours

	loaded  bool
	context int
	until   time.Time
	cache   string
	prompts []Prompt
	actions []string
}

func newServer() *fakeServer {
	return &fakeServer{
		model:   Model{Name: "m:latest", Digest: "d", SizeBytes: new(uint64(4e9)), Trained: new(32768)},
		about:   About{Engine: "ollama", Version: "0.17.4", Address: "http://127.0.0.1:11434"},
		decode:  func(int, int) float64 { return 20 },
		prefill: 400, load: 2 * time.Second,
	}
}

func (s *fakeServer) About(context.Context) (About, error) { return s.about, nil }
func (s *fakeServer) Describe(_ context.Context, model string) (Model, error) {
	if tagged(model) != s.model.Name {
		return Model{}, &Error{Kind: CodeNoModel, Model: model}
	}
	return s.model, nil
}
func (s *fakeServer) Listed(context.Context, string) (time.Time, bool, error) {
	return s.until, s.loaded, nil
}
func (s *fakeServer) Unload(context.Context, string) error {
	s.loaded, s.cache = false, ""
	s.actions = append(s.actions, "unload")
	return nil
}
func (s *fakeServer) Keep(_ context.Context, _ string, d time.Duration) error {
	s.actions = append(s.actions, fmt.Sprintf("keep %v", d))
	return nil
}

func (s *fakeServer) Ask(ctx context.Context, p Prompt, each func(time.Time)) (a Answer, err error) {
	ask := len(s.prompts)
	s.prompts = append(s.prompts, p)
	if s.fail != nil {
		if err := s.fail(ask); err != nil {
			return a, err
		}
	}
	began := time.Now()
	sleep := func(d time.Duration) time.Duration {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			err = ctx.Err()
		}
		return d
	}
	if s.queue != nil {
		sleep(s.queue(ask))
	}
	if !s.loaded || p.Context != 0 && p.Context != s.context {
		a.Load = sleep(s.load)
		s.loaded, s.context, s.cache = true, p.Context, ""
	}
	text := p.System + p.Text
	tokens := len(text) / 4
	read := tokens - commonPrefix(s.cache, text)/4
	s.cache = text
	a.Prompt = sleep(time.Duration(float64(max(1, read)) / s.prefill * float64(time.Second)))
	want := p.Output
	if s.output != nil {
		want = s.output(ask, want)
	}
	rate := s.decode(tokens, ask)
	for n := range want {
		rate = s.decode(tokens, ask)
		if n > 0 {
			a.Decode += sleep(time.Duration(float64(time.Second) / rate))
		} else {
			a.First = time.Since(began)
		}
		if err != nil {
			return a, err
		}
		if each != nil {
			each(time.Now())
		}
	}
	a.Decode += time.Duration(float64(time.Second) / rate) // of the first one, which came with the prompt
	sleep(time.Duration(float64(time.Second) / rate))
	a.PromptTokens, a.OutputTokens, a.Reason = &tokens, &want, "length"
	a.Wall = time.Since(began)
	a.Total, a.Ended = a.Wall, time.Now()
	s.until = a.Ended.Add(p.Keep)
	if s.stolen {
		s.until = a.Ended.Add(5 * time.Minute)
	}
	return a, err
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// fakeWatcher tells of a healthy Mac once a second, but for what a test changes.
type fakeWatcher struct {
	change func(n int, u *monitor.Update)
	stop   int // after so many updates it goes away; 0: never
}

func (w fakeWatcher) Watch(ctx context.Context, _ monitor.Options, each func(monitor.Update) error) error {
	for n := 0; w.stop == 0 || n < w.stop; n++ {
		s := &monitor.Snapshot{
			Taken: time.Now(), Machine: &metal.Machine{Chip: "Apple M5", RAMBytes: new(uint64(32 << 30))},
			Memory:   &metal.Memory{Pressure: metal.PressureNormal},
			Swap:     &monitor.Swap{Swap: metal.Swap{Out: new(uint64(7e9)), Used: new(uint64(0))}},
			GPU:      &metal.GPU{Temperature: new(60.0), Clock: new(1500.0), Power: new(20.0)},
			Power:    &metal.Power{OnBattery: new(false), LowPower: new(false)},
			Thermal:  &metal.Thermal{Pressure: metal.ThermalNominal},
			Throttle: &monitor.Throttle{}, Headroom: &monitor.Headroom{Bytes: 20 << 30},
			Backends: []backend.Status{{Name: "ollama", State: backend.Running}},
		}
		u := monitor.Update{Snapshot: s}
		if w.change != nil {
			w.change(n, &u)
		}
		if err := each(u); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

// short is a plan that a test need not wait long for.
func short() Plan { return Plan{Runs: 3, Output: 64, DeepOutput: 32, Depths: []int{4096}, Seed: 42} }

// measure runs a benchmark in a bubble.
func measure(t *testing.T, s *fakeServer, w Watcher, plan Plan, more ...func(*Config)) (r *Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := Config{Server: s, Clock: monitor.SystemClock(), Model: "m", Plan: plan, Watch: w,
			Unique: func() string { n++; return fmt.Sprintf("%04d", n) }}
		for _, change := range more {
			change(&c)
		}
		r, err = Run(t.Context(), c)
	})
	return r, err
}

func good(t *testing.T, s *fakeServer, w Watcher, plan Plan, more ...func(*Config)) *Result {
	t.Helper()
	r, err := measure(t, s, w, plan, more...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Result) test(kind Kind) *Test {
	for i, t := range r.Tests {
		if t.Kind == kind {
			return &r.Tests[i]
		}
	}
	return &Test{}
}

func reasons(list []Reason) string {
	var all []string
	for _, r := range list {
		all = append(all, string(r.Kind))
	}
	return strings.Join(all, " ")
}

func near(got *Spread, want float64) bool {
	return got != nil && got.Median > want*0.98 && got.Median < want*1.02
}

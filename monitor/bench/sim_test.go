package bench

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/sim"
)

// simulated is a benchmark on the simulated Mac at so many times real speed.
func simulated(t *testing.T, speed float64, model string, plan Plan) (Config, *sim.Mac) {
	t.Helper()
	clock := sim.NewClock(time.Now(), speed)
	mac := sim.New(sim.Config{Clock: clock, Seed: 3})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	b, err := backend.NewOllama(address, backend.WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewOllama(address, clock, true)
	if err != nil {
		t.Fatal(err)
	}
	m := monitor.New(monitor.Config{Local: mac, Backends: []backend.Backend{b}, Clock: clock, Simulated: true})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	running.Go(func() { _ = mac.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	n := 0
	return Config{Server: server, Clock: clock, Model: model, Plan: plan, Watch: m,
		Unique: func() string { n++; return strconv.Itoa(n * 7919) }}, mac
}

// The simulated Mac decodes by its bandwidth: 153 GB/s × 0.65 ÷ (4.1 GB + cache).
func TestSimulatedMac(t *testing.T) {
	c, _ := simulated(t, 80, sim.Model7B, Plan{Runs: 3, Output: 32, DeepOutput: 32, Depths: []int{4096, 16384, 65536}, Seed: 1})
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const perToken = 28 * 4 * 128 * 2 * 2
	for _, test := range r.Tests {
		if test.Depth == 65536 {
			if test.Skipped == nil || test.Skipped.Kind != SkipTrained {
				t.Errorf("65,536 tokens: %+v, want them skipped: the model knows 32,768", test)
			}
			continue
		}
		depth := float64(max(test.Depth, 350))
		want := 0.65 * 153e9 / (4.1e9 + perToken*depth)
		// The server's rate is n tokens over n − 1 gaps.
		want *= 32.0 / 31
		if !near(test.Decode, want) || test.Decode.High > 1.01*test.Decode.Low || len(test.Void) > 0 {
			t.Errorf("%s at %d: %+v, void %v; want %.1f", test.Kind, test.Depth, test.Decode, test.Void, want)
		}
		if !near(test.Prefill, 450) {
			t.Errorf("%s at %d: prefill %+v, want 450", test.Kind, test.Depth, test.Prefill)
		}
		if test.Depth == 16384 && (test.Drop == nil || test.Expected == nil || *test.Drop < *test.Expected-0.02 || *test.Drop > *test.Expected+0.02 || test.Steep) {
			t.Errorf("drop of %+v, expected %v: want what its cache explains", test, test.Expected)
		}
	}
	if !r.Simulated || r.Load == nil || r.Load.Seconds < 1.3 || r.Load.Seconds > 3 || r.Cached == nil || r.Cached.TTFT.Median > 0.5 {
		t.Errorf("load %+v, cached %+v", r.Load, r.Cached)
	}
}

// Runs on a Mac that swaps do not count, and say why.
func TestSimulatedSwapVoids(t *testing.T) {
	c, mac := simulated(t, 20, sim.Model14B, Plan{Runs: 2, Output: 64, Seed: 1})
	var once sync.Once
	c.Progress = func(p Progress) {
		if p.Step == StepRun && p.Kind == English {
			once.Do(func() {
				mac.StartApp("Lightroom", 60e9)
				for !mac.Truth().Swapping { // it fills its memory first
					<-c.Clock.After(time.Second)
				}
			})
		}
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if test := r.test(Chinese); test.Decode == nil || len(test.Void) > 0 {
		t.Errorf("before: %+v, void %v", test.Decode, test.Void)
	}
	for i, run := range r.test(English).Runs[:2] {
		if len(run.Void) == 0 || run.Void[0].Kind != ReasonSwapping || *run.Void[0].Value < swapMost {
			t.Errorf("swapping: run %d is void for %v", i, run.Void)
		}
	}
}

// A second client of the same server voids what it disturbs.
func TestSimulatedSecondClientVoids(t *testing.T) {
	c, mac := simulated(t, 20, sim.Model7B, Plan{Runs: 2, Output: 48, Seed: 1})
	c.Progress = func(p Progress) {
		if p.Step == StepRun && p.Tokens == 0 {
			mac.Ask(sim.Model14B, 100, 400) //nolint:errcheck // the next one tries again
		}
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range r.Tests {
		if test.Decode != nil || len(test.Void) == 0 {
			t.Errorf("%s: %+v, void %v", test.Kind, test.Decode, test.Void)
		}
	}
}

// Fifteen minutes without a pause on a thin machine: it gets hot, and is slower
// when it is slowed. How hot depends on how soon the next answer is asked for.
func TestSimulatedSustained(t *testing.T) {
	c, _ := simulated(t, 80, sim.Model14B, Plan{Runs: 1, Output: 512, Sustained: 15 * time.Minute, SustainedOnly: true, Seed: 1})
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Sustained.Minutes
	if len(m) != 15 || r.Sustained.Kept == nil {
		t.Fatalf("%d minutes, kept %v", len(m), r.Sustained.Kept)
	}
	first, last := m[0], m[14]
	if *last.Temperature < *first.Temperature+10 || last.Clock == nil || last.Power == nil || last.Throttled == nil {
		t.Errorf("first %+v, last %+v", first, last)
	}
	if *last.Throttled == 1 && (last.Cause == "" || *last.Decode > 0.95**first.Decode) {
		t.Errorf("slowed by %q, and yet %v after %v tokens/s", last.Cause, *last.Decode, *first.Decode)
	}
}

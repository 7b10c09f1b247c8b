package sim

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// still is a Mac on a frozen clock: it moves only when the test moves it.
func still(t testing.TB, c Config) (*Mac, *Clock) {
	t.Helper()
	clock := NewClock(noon, 0)
	c.Clock = clock
	return New(c), clock
}

// load brings models into memory and waits until they are there.
func load(t testing.TB, m *Mac, clock *Clock, names ...string) {
	t.Helper()
	for _, name := range names {
		job, err := m.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		until(t, clock, 2*time.Minute, "loading "+name, func() bool { return job.Result().Finished })
	}
}

func ask(t testing.TB, m *Mac, name string, prompt, tokens int) *Job {
	t.Helper()
	job, err := m.Ask(name, prompt, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// until steps the clock until it is so, at most for the simulated time given.
func until(t testing.TB, clock *Clock, most time.Duration, what string, so func() bool) time.Duration {
	t.Helper()
	began := clock.Awake()
	for !so() {
		if clock.Awake()-began > most {
			t.Fatalf("%s: not within %v", what, most)
		}
		clock.Advance(100 * time.Millisecond)
	}
	return clock.Awake() - began
}

func TestDecodeRates(t *testing.T) {
	for _, c := range []struct {
		model string
		rate  float64
		load  time.Duration
	}{{Model7B, 24, 1600 * time.Millisecond}, {Model14B, 11, 3400 * time.Millisecond}, {Model32B, 5, 7100 * time.Millisecond}} {
		m, clock := still(t, Config{Seed: 7})
		job := ask(t, m, c.model, 100, 120)
		until(t, clock, 2*time.Minute, c.model, func() bool { return job.Result().Finished })
		r := job.Result()
		if rate := r.Rate(); rate < 0.97*c.rate || rate > 1.03*c.rate {
			t.Errorf("%s decodes %.2f token/s, want about %v", c.model, rate, c.rate)
		}
		if r.Load < c.load*9/10 || r.Load > c.load*12/10 {
			t.Errorf("%s loads in %v, want about %v", c.model, r.Load, c.load)
		}
		if parts := r.Load + r.Prompt + r.Decode; r.Total < parts || r.Total > parts+50*time.Millisecond {
			t.Errorf("%s: total %v, parts %v", c.model, r.Total, parts)
		}
	}
}

func TestPrefillScalesWithParameters(t *testing.T) {
	rate := func(model string) float64 {
		m, clock := still(t, Config{})
		load(t, m, clock, model)
		job := ask(t, m, model, 2000, 2)
		until(t, clock, time.Minute, model, func() bool { return job.Result().Finished })
		return float64(2000) / job.Result().Prompt.Seconds()
	}
	if r := rate(Model7B); r < 440 || r > 460 {
		t.Errorf("7B prefill %.0f token/s, want 450", r)
	}
	if r := rate(Model14B); r < 225 || r > 240 {
		t.Errorf("14B prefill %.0f token/s, want 232", r)
	}
}

func TestRequestsOfTwoModelsShareTheBandwidth(t *testing.T) {
	m, clock := still(t, Config{})
	load(t, m, clock, Model7B, Model14B)
	a, b := ask(t, m, Model7B, 10, 400), ask(t, m, Model14B, 10, 400)
	clock.Advance(5 * time.Second)
	truth := m.Truth()
	if len(truth.Requests) != 2 || truth.Requests[0].Rate < 11.5 || truth.Requests[0].Rate > 12.5 ||
		truth.Requests[1].Rate < 5.2 || truth.Requests[1].Rate > 5.8 {
		t.Fatalf("rates %+v, want half of 24 and 11", truth.Requests)
	}
	a.Cancel()
	clock.Advance(time.Second)
	if r := m.Truth().Requests[0].Rate; r < 10.5 {
		t.Errorf("14B alone again decodes %.1f token/s, want 11", r)
	}
	b.Cancel()
	if n := len(m.Truth().Requests); n != 0 {
		t.Errorf("%d requests left after both were cancelled", n)
	}
}

// BenchmarkIdle is a second of an idle machine as a monitor reads it.
func BenchmarkIdle(b *testing.B) {
	m, clock := still(b, Config{})
	b.ReportAllocs()
	for b.Loop() {
		clock.Advance(time.Second)
		m.Memory()
		m.Swap()
		m.GPU()
		m.Thermal()
	}
}

// BenchmarkDay is a whole day that nobody looked at.
func BenchmarkDay(b *testing.B) {
	m, clock := still(b, Config{Auto: true})
	for b.Loop() {
		clock.Advance(24 * time.Hour)
		m.Memory()
	}
}

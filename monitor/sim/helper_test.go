package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/metal/wired"
)

// helperOf is a client of the simulated helper.
func helperOf(m *Mac) *wired.Client { return &wired.Client{Dial: m.DialHelper} }

func limitOf(t *testing.T, m *Mac) wired.State {
	t.Helper()
	state, err := m.LimitState()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// A raised limit is on trial on the simulation's time: Metal shows it at once, and
// it goes by itself, whoever set it may be gone.
func TestATrialEndsByItself(t *testing.T) {
	m, clock := still(t, Config{Seed: 3})
	if s := limitOf(t, m); s.Key != "iogpu.wired_limit_mb" || s.Set != 0 || s.Lease != nil || s.Remembered != nil {
		t.Fatalf("an untouched Mac: %+v", s)
	}
	if err := helperOf(m).Set(t.Context(), 26000, 120*time.Second); err != nil {
		t.Fatal(err)
	}
	if gpu, _ := m.GPU(); *gpu.WorkingSet != 26000<<20 || *gpu.WiredLimit != 26000<<20 {
		t.Errorf("Metal shows %d of %d", *gpu.WorkingSet, *gpu.WiredLimit)
	}
	clock.Advance(100 * time.Second)
	if s := limitOf(t, m); s.Lease == nil || s.Lease.Left < 19*time.Second || s.Lease.Left > 20*time.Second || s.Lease.Previous != 0 {
		t.Errorf("after 100 s: %+v", s.Lease)
	}
	clock.Advance(22 * time.Second)
	s := limitOf(t, m)
	gpu, _ := m.GPU()
	if s.Set != 0 || s.Lease != nil || s.Remembered != nil || *gpu.WorkingSet != defaultGPULimit {
		t.Errorf("after the trial: %+v, Metal %d", s, *gpu.WorkingSet)
	}
	if audit := strings.Join(m.LimitAudit(), "\n"); !strings.Contains(audit, "26000 MiB on trial for 120 s") || !strings.Contains(audit, "not confirmed") {
		t.Errorf("audit:\n%s", audit)
	}
}

func TestAConfirmedLimitStays(t *testing.T) {
	m, clock := still(t, Config{Seed: 3})
	c := helperOf(m)
	if err := c.Set(t.Context(), 26000, 120*time.Second); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	if err := c.Confirm(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	if s := limitOf(t, m); s.Set != 26000 || s.Remembered == nil || *s.Remembered != 26000 || s.Lease != nil {
		t.Errorf("an hour later: %+v", s)
	}
	if err := c.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := limitOf(t, m); s.Set != 0 || s.Remembered != nil {
		t.Errorf("after the reset: %+v", s)
	}
}

// Time asleep counts for a trial.
func TestATrialEndsInSleep(t *testing.T) {
	m, clock := still(t, Config{Seed: 3})
	if err := helperOf(m).Set(t.Context(), 26000, 120*time.Second); err != nil {
		t.Fatal(err)
	}
	clock.Sleep(10 * time.Minute)
	clock.Advance(2 * time.Second)
	if s := limitOf(t, m); s.Set != 0 || s.Lease != nil {
		t.Errorf("awake again: %+v", s)
	}
}

// What root refuses on a Mac is refused here, in the same words.
func TestTheHelperRefuses(t *testing.T) {
	m, _ := still(t, Config{Seed: 3})
	c := helperOf(m)
	for _, test := range []struct {
		name string
		err  error
		code string
	}{
		{"more than is safe", c.Set(t.Context(), 29000, 120*time.Second), wired.CodeBounds},
		{"raising without a trial", c.Set(t.Context(), 26000, 0), wired.CodeNeedsLease},
		{"nothing to confirm", c.Confirm(t.Context(), 0), wired.CodeNoLease},
	} {
		coded, ok := errors.AsType[*wired.Error](test.err)
		if !ok || coded.Code() != test.code {
			t.Errorf("%s: %v, want the code %s", test.name, test.err, test.code)
		}
	}
	if s := limitOf(t, m); s.Set != 0 {
		t.Errorf("%+v is set after refusals", s)
	}
	if h, err := c.Version(t.Context()); err != nil || h.Protocol != wired.Protocol {
		t.Errorf("version %+v, %v", h, err)
	}
}

// The server keeps the limit it read when it started: its default context, and
// what it loads at once, follow only when it is started again.
func TestTheServerReadsTheLimitWhenItStarts(t *testing.T) {
	m, clock := still(t, Config{Seed: 3})
	load(t, m, clock, Model14B)
	before := m.Truth().Models[0].Bytes
	if err := helperOf(m).Set(t.Context(), 26000, 600*time.Second); err != nil {
		t.Fatal(err)
	}
	m.Unload(Model14B)
	until(t, clock, time.Minute, "it left", func() bool { return len(m.Truth().Models) == 0 })
	load(t, m, clock, Model14B)
	if got := m.Truth().Models[0].Bytes; got != before {
		t.Errorf("before its restart it loads %d, want %d as before", got, before)
	}
	job := ask(t, m, Model14B, 10, 1000)
	clock.Advance(2 * time.Second)
	processes, _ := m.Processes()
	pid := 0
	for _, p := range processes {
		if len(p.Args) > 1 && p.Args[1] == "serve" {
			pid = p.PID
		}
	}
	m.RestartServer()
	if r := job.Result(); !r.Finished || r.Err == nil {
		t.Errorf("what was in flight: %+v", r)
	}
	if p, err := m.Process(pid); err == nil {
		t.Errorf("the process of before still runs: %+v", p)
	}
	clock.Advance(3 * time.Second)
	if truth := m.Truth(); truth.ResidentBytes != 0 || len(truth.Models) != 0 {
		t.Fatalf("after the restart: %+v", truth.Models)
	}
	load(t, m, clock, Model14B)
	// 28,672 tokens more at 196,608 B each.
	if got, want := m.Truth().Models[0].Bytes, before+28672*196608; got != want {
		t.Errorf("after its restart it loads %d, want %d", got, want)
	}
}

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

func TestRun(t *testing.T) {
	s := newServer()
	s.decode = func(depth, ask int) float64 {
		if depth > 3000 {
			return 15
		}
		return 20
	}
	var progress []Progress
	r := good(t, s, fakeWatcher{}, short(), func(c *Config) { c.Progress = func(p Progress) { progress = append(progress, p) } })

	if r.Load == nil || r.Load.Seconds != 2 || *r.Load.Rate != 2e9 || r.Unobserved || r.Interrupted || r.Machine.Chip != "Apple M5" {
		t.Errorf("load %+v of %+v", r.Load, r)
	}
	if len(r.Tests) != 4 {
		t.Fatalf("%d tests, want three short and one deep", len(r.Tests))
	}
	for _, test := range r.Tests {
		want := 20.0
		if test.Kind == Deep {
			want = 15
		}
		if len(test.Runs) != 4 || !test.Runs[0].Dropped || test.Runs[1].Dropped || len(test.Void) != 0 {
			t.Errorf("%s: runs %+v", test.Kind, test.Runs)
		}
		if !near(test.Decode, want) || !near(test.Prefill, 400) || test.Decode.Runs != 3 || test.TTFT == nil || test.Session == nil {
			t.Errorf("%s: decode %+v, prefill %+v, TTFT %+v, session %+v", test.Kind, test.Decode, test.Prefill, test.TTFT, test.Session)
		}
		if test.Session.Median >= test.Decode.Median {
			t.Errorf("%s: session rate %v leaves out the prefill", test.Kind, test.Session.Median)
		}
	}
	deep := r.test(Deep)
	if n := *deep.Runs[1].PromptTokens; n < 4096-32 || n > 4096+32 {
		t.Errorf("deep prompts have %d tokens", n)
	}
	if deep.Drop == nil || *deep.Drop < 0.24 || *deep.Drop > 0.26 || deep.Steep {
		t.Errorf("drop %v, steep %v; want a quarter", deep.Drop, deep.Steep)
	}
	if r.Cached == nil || r.Cached.TTFT.Runs != 3 || r.Cached.TTFT.Median > 0.1*deep.TTFT.Median {
		t.Errorf("cached %+v beside %+v", r.Cached, deep.TTFT)
	}
	if r.Options.Context < 4096+32 || r.Options.Seed != 42 {
		t.Errorf("options %+v", r.Options)
	}

	// Every prompt is new from its first words on, but for the one that is to be cached.
	seen := map[string]int{}
	for _, p := range s.prompts {
		seen[p.System]++
		if p.Keep != stay {
			t.Errorf("a prompt keeps the model for %v", p.Keep)
		}
	}
	for system, n := range seen {
		if n > 1 && n != 4 || system == "" {
			t.Errorf("%q began %d prompts", system, n)
		}
	}
	last := 0.0
	for _, p := range progress {
		if p.Done < last || p.Done > 1 {
			t.Errorf("progress went from %v to %v (%+v)", last, p.Done, p)
		}
		last = p.Done
	}
	if last < 0.95 {
		t.Errorf("progress ended at %v", last)
	}
	if got := strings.Join(s.actions, ", "); got != "unload, unload" {
		t.Errorf("the server was asked to: %s; want the model dropped before and after", got)
	}
}

// What interferes voids the runs it touched, and names itself.
func TestInterference(t *testing.T) {
	busy := monitor.Resident{Resident: backend.Resident{Model: "other:7b"}, Activity: monitor.ActivityBusy}
	for _, row := range []struct {
		name   string
		want   ReasonKind
		server func(*fakeServer)
		change func(n int, u *monitor.Update)
	}{
		{"swapping", ReasonSwapping, nil, func(n int, u *monitor.Update) { u.Snapshot.Swap.Out = new(7e9 + uint64(n)*30e6) }},
		{"heat", ReasonThrottled, nil, func(n int, u *monitor.Update) {
			u.Snapshot.Throttle = &monitor.Throttle{Throttled: true, Cause: monitor.CauseHeat}
		}},
		{"another model at work", ReasonOtherModel, nil, func(n int, u *monitor.Update) {
			if n > 2 {
				u.Snapshot.Residents = []monitor.Resident{busy}
			}
		}},
		{"another model loaded", ReasonOtherModel, nil, func(n int, u *monitor.Update) {
			u.Events = []monitor.Event{{Kind: monitor.EventModelLoaded, Evidence: monitor.Evidence{Model: "other:7b"}}}
		}},
		{"two requests to the model", ReasonOtherRequest, nil, func(n int, u *monitor.Update) {
			u.Snapshot.Requests = []request.Request{{Model: "m", Phase: request.PhaseDecode}, {Model: "m:latest", Phase: request.PhasePrefill}}
		}},
		{"a request to another model", ReasonOtherModel, nil, func(n int, u *monitor.Update) {
			u.Snapshot.Requests = []request.Request{{Model: "other", Phase: request.PhaseDecode}}
		}},
		{"indexing", ReasonBackground, nil, func(n int, u *monitor.Update) {
			u.Snapshot.Background = []monitor.Background{{Name: "mds_stores", Cores: 0.8}}
		}},
		{"sleep", ReasonSlept, nil, func(n int, u *monitor.Update) {
			u.Events = []monitor.Event{{Kind: monitor.EventSlept, Evidence: monitor.Evidence{Seconds: new(600.0)}}}
		}},
		{"plugged in and out", ReasonPower, nil, func(n int, u *monitor.Update) { u.Snapshot.Power.OnBattery = new(n%2 == 1) }},
		{"waiting for somebody", ReasonQueued, func(s *fakeServer) { s.queue = func(int) time.Duration { return time.Second } }, nil},
		{"dropped by somebody", ReasonReloaded, func(s *fakeServer) {
			s.decode = func(int, int) float64 { s.context = 1; return 20 }
		}, nil},
		{"somebody's request ended last", ReasonOtherRequest, func(s *fakeServer) { s.stolen = true }, nil},
		{"an answer of three words", ReasonCutShort, func(s *fakeServer) { s.output = func(_, want int) int { return min(want, 3) } }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer()
			if row.server != nil {
				row.server(s)
			}
			plan := short()
			plan.Depths, plan.Runs = nil, 2
			r := good(t, s, fakeWatcher{change: row.change}, plan)
			for _, test := range r.Tests {
				if !strings.Contains(reasons(test.Void), string(row.want)) || test.Decode != nil {
					t.Errorf("%s: void %q, decode %+v; want %s", test.Kind, reasons(test.Void), test.Decode, row.want)
				}
				if n := len(test.Runs); n != 1+plan.Runs+1 {
					t.Errorf("%s: %d runs, want it given up after %d that do not count", test.Kind, n, plan.Runs+1)
				}
			}
		})
	}
}

// A moment of trouble costs the runs that it touched; they are made again.
func TestTroubleThatPasses(t *testing.T) {
	plan := short()
	plan.Depths = nil
	r := good(t, newServer(), fakeWatcher{change: func(n int, u *monitor.Update) {
		u.Snapshot.Throttle.Throttled = n >= 12 && n < 16
	}}, plan)
	voided := 0
	for _, test := range r.Tests {
		if len(test.Void) > 0 || !near(test.Decode, 20) || test.Decode.Runs != 3 {
			t.Errorf("%s: void %v, decode %+v", test.Kind, test.Void, test.Decode)
		}
		for _, run := range test.Runs {
			if len(run.Void) > 0 {
				voided++
			}
		}
	}
	if voided == 0 {
		t.Error("no run was voided")
	}
}

// The programs of the machine are read around each run.
func TestBusyProgram(t *testing.T) {
	plan := short()
	plan.Depths, plan.Runs = nil, 1
	for _, row := range []struct {
		name   string
		worker metal.Process
		want   string
	}{
		{"a compiler", metal.Process{PID: 5, Name: "cc1plus", CPU: new(1.0)}, "background"},
		{"a game", metal.Process{PID: 5, Name: "Game", GPU: new(1.0)}, "other_gpu_user"},
		{"a program of ours", metal.Process{PID: 99, Name: "plimsoll", CPU: new(1.0)}, ""},
		{"a child of the runner", metal.Process{PID: 5, Parent: 42, Name: "worker", CPU: new(1.0)}, ""},
		{"the runner's server", metal.Process{PID: 41, Name: "ollama", CPU: new(1.0)}, ""},
		{"one that began meanwhile, under an old number", metal.Process{PID: 5, Name: "new", CPU: new(1.0), Started: 1}, "background"},
		{"many that do little", metal.Process{PID: 0, Name: "many", CPU: new(1.0)}, "background_together"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var ticks atomic.Int64
			r := good(t, newServer(), fakeWatcher{change: func(n int, u *monitor.Update) {
				ticks.Store(int64(n))
				u.Snapshot.Residents = []monitor.Resident{{Resident: backend.Resident{Model: "m:latest"}, RunnerPID: new(42)}}
			}}, plan, func(c *Config) {
				c.Own = []int{99}
				c.Programs = func() ([]metal.Process, error) {
					p, now := row.worker, float64(ticks.Load())
					if p.CPU != nil {
						p.CPU = new(now)
					}
					if p.GPU != nil {
						p.GPU = new(now)
					}
					if p.Started > 0 {
						p.Started = uint64(now)
					}
					if p.Name == "many" {
						var all []metal.Process
						for n := range 5 {
							all = append(all, metal.Process{PID: 100 + n, Name: fmt.Sprint("many", n), CPU: new(now * 0.4)})
						}
						return all, nil
					}
					return []metal.Process{p, {PID: 42, Parent: 41, Name: "ollama", CPU: new(now)}}, nil
				}
			})
			if got := reasons(r.Tests[0].Void); got != row.want {
				t.Errorf("void %q, want %q", got, row.want)
			}
		})
	}
}

func TestDepthsThatCannotBe(t *testing.T) {
	show := func(m Model) []byte { // of a model with 1 MiB of cache per token
		text, _ := json.Marshal(map[string]any{"model_info": map[string]any{
			"general.architecture": "llama", "llama.block_count": 64, "llama.attention.head_count": 32, "llama.attention.head_count_kv": 32,
			"llama.attention.key_length": 128, "llama.attention.value_length": 128, "llama.embedding_length": 4096, "llama.context_length": 131072}})
		return text
	}
	for _, row := range []struct {
		name   string
		change func(*fakeServer)
		room   uint64
		want   ReasonKind
	}{
		{"not made for it", func(s *fakeServer) { s.model.Trained = new(8192) }, 100 << 30, SkipTrained},
		{"no room", func(s *fakeServer) { s.model.Show = show(s.model) }, 10 << 30, SkipMemory},
		{"room", func(s *fakeServer) { s.model.Show = show(s.model) }, 100 << 30, ""},
		{"nobody knows what it takes", nil, 100 << 30, SkipUnknownNeed},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer()
			if row.change != nil {
				row.change(s)
			}
			plan := short()
			plan.Depths, plan.Runs = []int{16384}, 1
			r := good(t, s, fakeWatcher{change: func(n int, u *monitor.Update) { u.Snapshot.Headroom.Bytes = row.room }}, plan)
			deep := r.test(Deep)
			switch {
			case row.want == "" && (deep.Skipped != nil || deep.Decode == nil):
				t.Errorf("%+v", deep)
			case row.want != "" && (deep.Skipped == nil || deep.Skipped.Kind != row.want || len(deep.Runs) > 0):
				t.Errorf("skipped %v, want %s", deep.Skipped, row.want)
			}
			if r.test(English).Decode == nil {
				t.Error("the rest was not measured")
			}
		})
	}
}

// Case 37: 15.75 tokens/s after 1K tokens, 0.37 after 50K: neither memory nor heat,
// the engine.
func TestSteepDrop(t *testing.T) {
	s := newServer()
	s.model.Trained = new(65536)
	s.decode = func(depth, ask int) float64 {
		if depth > 40000 {
			return 0.37
		}
		return 15.75
	}
	plan := short()
	plan.Depths, plan.Runs = []int{50000}, 1
	r := good(t, s, nil, plan)
	deep := r.test(Deep)
	if deep.Drop == nil || *deep.Drop < 0.976 || *deep.Drop > 0.978 || !deep.Steep {
		t.Errorf("drop %v, steep %v; want 97.7 %%, the engine's", deep.Drop, deep.Steep)
	}
	if !r.Unobserved {
		t.Error("nobody looked, and the result does not say so")
	}
	for _, row := range []struct {
		drop     float64
		expected *float64
		want     bool
	}{{0.3, new(0.31), false}, {0.6, new(0.31), false}, {0.7, new(0.31), true}, {0.7, new(0.67), false}, {0.7, nil, false}} {
		if steep(row.drop, row.expected) != row.want {
			t.Errorf("a drop of %v where %v is expected: %v", row.drop, row.expected, !row.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		name, model, want string
		change            func(*fakeServer)
		busy, anyway      bool
		lately            bool
	}{
		{"no such model", "none", CodeNoModel, nil, false, false, false},
		{"in the cloud", "m", CodeCloud, func(s *fakeServer) { s.model.Cloud = true }, false, false, false},
		{"embedding", "m", CodeEmbedding, func(s *fakeServer) { s.model.Embedding = true }, false, false, false},
		{"somebody waits for an answer", "m", CodeBusy, nil, true, false, false},
		{"somebody waits, and the person knows", "m", "", nil, true, true, false},
		{"somebody had an answer a moment ago", "m", "", nil, false, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer()
			if row.change != nil {
				row.change(s)
			}
			plan := short()
			plan.Depths, plan.Runs, plan.Anyway = nil, 1, row.anyway
			r, err := measure(t, s, fakeWatcher{change: func(n int, u *monitor.Update) {
				if row.busy && n < 12 && !row.anyway || row.busy && n == 0 || row.lately && n < 3 {
					u.Snapshot.Residents = []monitor.Resident{{Resident: backend.Resident{Model: "m"}, Activity: monitor.ActivityBusy}}
				}
			}}, plan, func(c *Config) { c.Model = row.model })
			if row.want == "" && err != nil || row.want != "" && (!IsKind(err, row.want) || r != nil) {
				t.Errorf("%v, want %q", err, row.want)
			}
			if row.want != "" && len(s.prompts) > 0 {
				t.Errorf("%d prompts were sent all the same", len(s.prompts))
			}
		})
	}
}

// Ctrl-C and a server that fails keep what is there.
func TestEndedEarly(t *testing.T) {
	plan := short()
	t.Run("by a person", func(t *testing.T) {
		s := newServer()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			n := 0
			r, err := Run(ctx, Config{Server: s, Clock: monitor.SystemClock(), Model: "m", Plan: plan, Watch: fakeWatcher{},
				Unique: func() string { n++; return time.Duration(n).String() },
				Progress: func(p Progress) {
					if p.Kind == English && p.Run == 3 {
						cancel()
					}
				}})
			if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted {
				t.Fatalf("%+v %v", r, err)
			}
			if r.test(Chinese).Decode == nil || r.test(English).Decode == nil || r.test(English).Decode.Runs != 2 || len(r.test(English).Void) > 0 {
				t.Errorf("kept %+v and %+v", r.test(Chinese).Decode, r.test(English).Decode)
			}
			if s.actions[len(s.actions)-1] != "unload" {
				t.Errorf("left the server with %v", s.actions)
			}
		})
	})
	t.Run("before anything", func(t *testing.T) {
		s := newServer()
		s.fail = func(ask int) error { return &Error{Kind: CodeCut} }
		if r, err := measure(t, s, fakeWatcher{}, plan); r != nil || !IsKind(err, CodeCut) {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("by the server", func(t *testing.T) {
		s := newServer()
		s.fail = func(ask int) error {
			if ask == 10 {
				return &Error{Kind: CodeCut, Model: "m"}
			}
			return nil
		}
		r, err := measure(t, s, fakeWatcher{}, plan)
		if !IsKind(err, CodeCut) || r == nil || r.Failure == "" || r.test(Chinese).Decode == nil {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("the agent goes away", func(t *testing.T) {
		r := good(t, newServer(), fakeWatcher{stop: 5}, plan)
		if !r.Unobserved || r.test(English).Decode == nil {
			t.Errorf("unobserved %v, %+v", r.Unobserved, r.test(English))
		}
	})
}

// A model that was pinned is loaded again at the end.
func TestPinnedModelComesBack(t *testing.T) {
	s := newServer()
	s.model.Pinned, s.model.Resident = true, new(4096)
	plan := short()
	plan.Depths, plan.Runs = nil, 1
	good(t, s, fakeWatcher{}, plan)
	if got := strings.Join(s.actions, ", "); got != "unload, unload, keep -1ns" {
		t.Errorf("the server was asked to: %s", got)
	}
}

func TestSustained(t *testing.T) {
	s := newServer()
	began := time.Time{}
	s.decode = func(int, int) float64 {
		if began.IsZero() {
			began = time.Now()
		}
		if time.Since(began) > 3*time.Minute { // it is hot by then
			return 10
		}
		return 20
	}
	plan := short()
	plan.Sustained, plan.SustainedOnly = 6*time.Minute, true
	r := good(t, s, fakeWatcher{change: func(n int, u *monitor.Update) {
		if n > 200 {
			u.Snapshot.Throttle = &monitor.Throttle{Throttled: true, Cause: monitor.CauseHeat}
			u.Snapshot.GPU = &metal.GPU{Temperature: new(101.0), Clock: new(900.0)}
		}
	}}, plan)
	m := r.Sustained.Minutes
	if len(r.Tests) != 0 || len(m) != 6 || r.Sustained.Seconds != 360 || len(r.Sustained.Void) != 0 {
		t.Fatalf("%+v", r.Sustained)
	}
	if *m[0].Decode < 19 || *m[0].Decode > 21 || *m[5].Decode < 9 || *m[5].Decode > 11 || *r.Sustained.Kept > 0.55 || *r.Sustained.Kept < 0.45 {
		t.Errorf("minutes %v … %v, kept %v", *m[0].Decode, *m[5].Decode, *r.Sustained.Kept)
	}
	if *m[0].Temperature != 60 || *m[5].Temperature != 101 || *m[5].Clock != 900 || *m[0].Throttled != 0 || *m[5].Throttled != 1 || m[5].Cause != "heat" {
		t.Errorf("first %+v, last %+v", m[0], m[5])
	}
	if m[5].Power != nil || *m[0].Power != 20 {
		t.Errorf("power %v and %v", *m[0].Power, m[5].Power)
	}
}

// Case 117: a laptop that cools by almost stopping, from 30 W to 1 W for two
// minutes: not idle and not finished.
func TestPausedByHeat(t *testing.T) {
	s := newServer()
	plan := short()
	plan.Sustained, plan.SustainedOnly = 5*time.Minute, true
	var began time.Time
	s.decode = func(int, int) float64 {
		if began.IsZero() {
			began = time.Now()
		}
		if at := time.Since(began); at > 90*time.Second && at < 3*time.Minute {
			return 0.1
		}
		return 20
	}
	r := good(t, s, fakeWatcher{change: func(n int, u *monitor.Update) {
		u.Snapshot.GPU.Power = new(30.0)
		if n > 130 && n < 200 {
			u.Snapshot.GPU.Power = new(1.0)
			u.Snapshot.Throttle = &monitor.Throttle{Throttled: true, Cause: monitor.CausePaused}
		}
	}}, plan)
	paused := 0
	for _, m := range r.Sustained.Minutes {
		if m.Cause == string(monitor.CausePaused) {
			paused++
			if m.Power == nil || *m.Power > 30 {
				t.Errorf("%+v", m)
			}
		}
	}
	if len(r.Sustained.Minutes) != 5 || paused == 0 || *r.Sustained.Kept < 0.9 {
		t.Errorf("paused in %d of %+v", paused, r.Sustained.Minutes)
	}
	// Without sustaining it, a pause voids the run it falls into.
	plan = short()
	plan.Depths, plan.Runs = nil, 1
	r = good(t, newServer(), fakeWatcher{change: func(n int, u *monitor.Update) {
		u.Snapshot.Throttle = &monitor.Throttle{Throttled: true, Cause: monitor.CausePaused}
	}}, plan)
	if v := r.test(English).Void; len(v) != 1 || v[0].Name != string(monitor.CausePaused) {
		t.Errorf("void %v", v)
	}
}

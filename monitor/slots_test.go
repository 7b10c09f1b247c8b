package monitor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// fakeChild is a llama-server that works on what a test gives it, on the bubble's
// time. It implements backend.SlotReader.
type fakeChild struct {
	mu    sync.Mutex
	work  []fakeWork
	slots int
	fails error
	asked []time.Time
	most  int // questions under way at once
	now   int
	port  int
}

// fakeWork is one request: its prompt is read in batches that block the server, its
// tokens come at a rate.
type fakeWork struct {
	slot, task   int
	from         time.Time
	prompt       int
	reads        time.Duration
	rate         float64
	output       int
	blocksAnswer bool
}

func (w fakeWork) decodes() time.Time { return w.from.Add(w.reads) }
func (w fakeWork) ends() time.Time {
	return w.decodes().Add(time.Duration(float64(w.output-1) / w.rate * float64(time.Second)))
}

func (c *fakeChild) set(change func(*fakeChild)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *fakeChild) Read(ctx context.Context) ([]request.Slot, error) {
	c.mu.Lock()
	c.asked = append(c.asked, time.Now())
	c.now++
	c.most = max(c.most, c.now)
	var wait time.Duration
	for _, w := range c.work {
		if left := time.Until(w.decodes()); w.blocksAnswer && !time.Now().Before(w.from) && left > 0 {
			wait = max(wait, left)
		}
	}
	err := c.fails
	c.mu.Unlock()
	defer c.set(func(c *fakeChild) { c.now-- })
	select {
	case <-time.After(wait + time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told(time.Now()), nil
}

// told are the slots at a moment. The caller holds mu.
func (c *fakeChild) told(now time.Time) []request.Slot {
	slots := make([]request.Slot, c.slots)
	for i := range slots {
		slots[i] = request.Slot{ID: i, Context: new(8192)}
	}
	for _, w := range c.work {
		if now.Before(w.from) {
			continue
		}
		s := &slots[w.slot]
		s.Task, s.Processing, s.Cached, s.Decoded = &w.task, now.Before(w.ends()), new(0), new(0)
		s.Read = new(int(float64(w.prompt) * min(1, now.Sub(w.from).Seconds()/w.reads.Seconds())))
		if since := now.Sub(w.decodes()); since >= 0 {
			s.Read, s.Decoded = &w.prompt, new(min(w.output, 1+int(since.Seconds()*w.rate)))
		}
	}
	return slots
}

func (c *fakeChild) Totals(context.Context) (request.Totals, error) {
	return request.Totals{}, backend.ErrNoSlots
}

func (c *fakeChild) Close() error { return nil }

func (c *fakeChild) askedSince(t time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.asked {
		if !at.Before(t) {
			n++
		}
	}
	return n
}

// serverWithChild is an Ollama with one model in a child of its own.
func serverWithChild(machine *fakeMachine) *fakeServer {
	machine.processes = []metal.Process{
		{PID: 900, Name: "ollama", Args: []string{"ollama", "serve"}, Started: 1},
		{PID: 910, Parent: 900, Name: "llama-server", Started: 2, Footprint: new(uint64(gib)), CPU: new(0.0),
			Args: []string{"llama-server", "--model", "/m/blobs/sha256-aa", "--port", "53443", "--host", "127.0.0.1", "-c", "16384", "-np", "2"}},
	}
	return newFakeServer(backend.Resident{Model: "qwen3:14b", Size: new(uint64(gib)), GPU: new(uint64(gib)), Weights: "/m/blobs/sha256-aa"})
}

// startWithChild runs a monitor whose server has a child.
func startWithChild(t *testing.T, machine *fakeMachine, server backend.Backend, child *fakeChild, log *slog.Logger) (*Monitor, *Mailbox) {
	t.Helper()
	m := New(Config{Local: machine, Backends: []backend.Backend{server}, Clock: SystemClock(), Log: log})
	m.child = func(port int) backend.SlotReader {
		child.set(func(c *fakeChild) { c.port = port })
		return child
	}
	box := m.Subscribe(Options{Lossless: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return m, box
}

func TestSlotsOfAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, child := newFakeMachine(), &fakeChild{slots: 2}
		server := serverWithChild(machine)
		_, box := startWithChild(t, machine, server, child, nil)
		time.Sleep(time.Minute)
		begin := time.Now()
		if n := child.askedSince(begin.Add(-30 * time.Second)); n < 14 || n > 16 || child.port != 53443 {
			t.Errorf("asked %d times in 30 s at port %d, want every 2 s", n, child.port)
		}
		child.set(func(c *fakeChild) {
			c.work = []fakeWork{{slot: 0, task: 5, from: time.Now(), prompt: 3000, reads: 6 * time.Second, rate: 20, output: 400}}
		})
		until(t, box, "a prompt is read", func(u Update) bool {
			return len(u.Snapshot.Requests) == 1 && u.Snapshot.Requests[0].Phase == request.PhasePrefill &&
				u.Snapshot.Residents[0].Activity == ActivityBusy
		})
		u := until(t, box, "it decodes for a while", func(u Update) bool {
			q := u.Snapshot.Requests
			return len(q) == 1 && q[0].Phase == request.PhaseDecode && q[0].Live != nil && *q[0].OutputTokens > 100
		})
		if q := u.Snapshot.Requests[0]; math.Abs(q.Live.Value-20) > 0.6 || *u.Snapshot.Interval != tickBusy.Seconds() || q.Model != "qwen3:14b" || q.Backend != "ollama" {
			t.Errorf("%+v %+v, ticks %v", q, q.Live, *u.Snapshot.Interval)
		}
		if n := child.askedSince(time.Now().Add(-4 * time.Second)); n < 7 || n > 9 {
			t.Errorf("asked %d times in 4 s of an answer, want twice a second", n)
		}
		u = until(t, box, "it ends", func(u Update) bool { return u.Snapshot.Requests[0].Phase == request.PhaseDone })
		q := u.Snapshot.Requests[0]
		if math.Abs(q.Decode.Value-20) > 0.6 || *q.OutputTokens != 400 || q.OutputApproximate || u.Snapshot.Residents[0].Activity != ActivityIdle ||
			q.TTFT == nil || math.Abs(q.TTFT.Value-6) > *q.TTFT.Spread {
			t.Errorf("%+v %+v %+v", q, q.Decode, q.TTFT)
		}
		if v := u.Snapshot.Speeds; len(v) != 1 || v[0].Runs != 1 || math.Abs(v[0].Decode.Value-20) > 0.6 {
			t.Errorf("what is usual: %+v", v)
		}
		if machine.lists != 1 {
			t.Errorf("the process list was read %d times, want once a set of models", machine.lists)
		}
		server.set(func(s *fakeServer) { delete(s.models, "qwen3:14b") })
		until(t, box, "nothing is in memory", func(u Update) bool { return len(u.Snapshot.Residents) == 0 })
		time.Sleep(time.Second)
		gone := time.Now()
		time.Sleep(time.Minute)
		if n := child.askedSince(gone); n != 0 || child.most != 1 {
			t.Errorf("asked %d times with nothing in memory; %d questions at once", n, child.most)
		}
	})
}

// TestKnownRatesOfAChild: what the snapshot says of answers whose rate is known.
func TestKnownRatesOfAChild(t *testing.T) {
	for _, slots := range []int{1, 4} {
		for _, rate := range []float64{0.03, 0.7, 4.7, 31, 300} {
			t.Run(fmt.Sprintf("%d slots at %g", slots, rate), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					machine, child := newFakeMachine(), &fakeChild{slots: slots}
					m, _ := startWithChild(t, machine, serverWithChild(machine), child, nil)
					time.Sleep(10 * time.Second)
					lasts := max(30*time.Second, time.Duration(12/rate*float64(time.Second)))
					for i := range slots {
						w := fakeWork{slot: i, task: i + 1, from: time.Now().Add(time.Duration(i) * 137 * time.Millisecond), prompt: 200,
							reads: 300 * time.Millisecond, rate: rate, output: int(lasts.Seconds() * rate)}
						child.set(func(c *fakeChild) { c.work = append(c.work, w) })
					}
					time.Sleep(lasts * 9 / 10)
					live := m.snapshot().Requests
					if len(live) != slots {
						t.Fatalf("%d requests, want %d", len(live), slots)
					}
					for _, q := range live {
						if q.Live == nil || math.Abs(q.Live.Value-rate) > 0.03*rate {
							t.Errorf("live: %+v", q.Live)
						}
					}
					time.Sleep(lasts)
					for _, q := range m.snapshot().Requests {
						if q.Phase != request.PhaseDone || q.Decode == nil || math.Abs(q.Decode.Value-rate) > 0.03*rate {
							t.Errorf("the whole answer: %+v %+v", q, q.Decode)
						}
					}
				})
			})
		}
	}
}

// TestChildThatReadsIsNotSilent: /slots does not answer for five seconds.
func TestChildThatReadsIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, child := newFakeMachine(), &fakeChild{slots: 1}
		_, box := startWithChild(t, machine, serverWithChild(machine), child, nil)
		time.Sleep(10 * time.Second)
		child.set(func(c *fakeChild) {
			c.work = []fakeWork{{task: 5, from: time.Now(), prompt: 1801, reads: 12 * time.Second, rate: 60, output: 600, blocksAnswer: true}}
		})
		began := time.Now()
		u := until(t, box, "the silence says that a prompt is read", func(u Update) bool { return len(u.Snapshot.Requests) == 1 })
		if q := u.Snapshot.Requests[0]; q.Phase != request.PhasePrefill || u.Snapshot.Taken.Sub(began) > 4*time.Second ||
			u.Snapshot.Backends[0].State != backend.Running || u.Snapshot.Residents[0].Activity != ActivityBusy {
			t.Errorf("after %v: %+v", u.Snapshot.Taken.Sub(began), q)
		}
		id := u.Snapshot.Requests[0].ID
		u = until(t, box, "it decodes", func(u Update) bool { return u.Snapshot.Requests[0].Phase == request.PhaseDecode })
		if u.Snapshot.Requests[0].ID != id || child.most != 1 {
			t.Errorf("it became another, or %d questions stood at once", child.most)
		}
	})
}

// TestWhoIsAChild: only a llama-server that an Ollama started is asked.
func TestWhoIsAChild(t *testing.T) {
	for name, change := range map[string]func(p []metal.Process){
		"an older runner": func(p []metal.Process) {
			p[1].Name = "ollama"
			p[1].Args = []string{"ollama", "runner", "--port", "53443"}
		},
		"somebody else's":  func(p []metal.Process) { p[1].Parent = 1 },
		"without a port":   func(p []metal.Process) { p[1].Args = p[1].Args[:3] },
		"no port":          func(p []metal.Process) { p[1].Args[4] = "-53443" },
		"a port too large": func(p []metal.Process) { p[1].Args[4] = "65536" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine, child := newFakeMachine(), &fakeChild{slots: 1}
				server := serverWithChild(machine)
				change(machine.processes)
				startWithChild(t, machine, server, child, nil)
				time.Sleep(20 * time.Second)
				if n := child.askedSince(time.Time{}); n != 0 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
	r := runners{servers: map[int]bool{1: true}}
	if port, ok := r.child(metal.Process{Parent: 1, Name: "llama-server", Args: []string{"llama-server", "--port=8123"}}); !ok || port != 8123 {
		t.Errorf("--port=8123 is %d", port)
	}
}

// TestNoSlotsNoNoise: a child that does not tell is asked once and nobody hears of it.
func TestNoSlotsNoNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, child := newFakeMachine(), &fakeChild{slots: 1, fails: backend.ErrNoSlots}
		var log bytes.Buffer
		m, _ := startWithChild(t, machine, serverWithChild(machine), child, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(time.Minute)
		if n := child.askedSince(time.Time{}); n != 1 || len(m.snapshot().Requests) != 0 {
			t.Errorf("asked %d times, %d requests", n, len(m.snapshot().Requests))
		}
		if bytes.Contains(log.Bytes(), []byte("slots")) {
			t.Errorf("the log says %s", log.String())
		}
	})
}

// TestChildThatLoads: /slots says 503 while the model comes into memory.
func TestChildThatLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, child := newFakeMachine(), &fakeChild{slots: 1, fails: backend.ErrLoading}
		_, box := startWithChild(t, machine, serverWithChild(machine), child, nil)
		until(t, box, "it loads", func(u Update) bool {
			return len(u.Snapshot.Requests) == 1 && u.Snapshot.Requests[0].Phase == request.PhaseLoading
		})
		child.set(func(c *fakeChild) { c.fails = nil })
		until(t, box, "nobody wanted it", func(u Update) bool { return len(u.Snapshot.Requests) == 0 })
		// It crashes, and answers nothing.
		child.set(func(c *fakeChild) { c.fails = fmt.Errorf("connection refused") })
		time.Sleep(10 * time.Second)
		if n := child.askedSince(time.Now().Add(-9 * time.Second)); n < 4 || n > 5 {
			t.Errorf("asked %d times in 9 s", n)
		}
	})
}

// TestMeterAndSlotsAreOne: the meter's report of a request that shows in the slots.
func TestMeterAndSlotsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, child := newFakeMachine(), &fakeChild{slots: 1}
		m, box := startWithChild(t, machine, serverWithChild(machine), child, nil)
		time.Sleep(10 * time.Second)
		at := time.Now()
		m.Observe(request.Request{ID: "m1", Model: "qwen3:14b", Endpoint: "/api/chat", Phase: request.PhasePrefill, Began: at, Changed: at})
		child.set(func(c *fakeChild) {
			c.work = []fakeWork{{task: 5, from: at, prompt: 800, reads: 2 * time.Second, rate: 30, output: 300}}
		})
		u := until(t, box, "both tell of it", func(u Update) bool {
			return len(u.Snapshot.Requests) == 1 && len(u.Snapshot.Requests[0].Sources) == 2
		})
		if u.Snapshot.Taken.Sub(at) > 2*time.Second {
			t.Errorf("the meter's word made nobody ask sooner: %v", u.Snapshot.Taken.Sub(at))
		}
		time.Sleep(12 * time.Second)
		done := request.Request{ID: "m1", Model: "qwen3:14b", Endpoint: "/api/chat", Phase: request.PhaseDone, Outcome: request.OutcomeFinished, Began: at,
			Changed: time.Now(), Ended: new(time.Now()), PromptTokens: new(800), OutputTokens: new(300),
			Decode: &request.Number{Value: 30.1, Source: request.SourceServer, At: time.Now()}, TTFT: &request.Number{Value: 2.04, Source: request.SourceMeter, At: at}}
		m.Observe(done)
		u = until(t, box, "it ends", func(u Update) bool { return u.Snapshot.Requests[0].Phase == request.PhaseDone })
		if q := u.Snapshot.Requests[0]; len(u.Snapshot.Requests) != 1 || q.Decode.Value != 30.1 || q.TTFT.Value != 2.04 || q.Live == nil || *q.ReadTokens != 800 {
			t.Errorf("%+v", u.Snapshot.Requests)
		}
	})
}

// TestPausedWithARequestOpen (case 117): the watts fall to next to nothing in the
// middle of an answer. The runner does nothing either; its request is still open.
func TestPausedWithARequestOpen(t *testing.T) {
	e := newEngine()
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var s *Snapshot
	for i := range 60 {
		watts := 30.0
		if i >= 30 {
			watts = 1
		}
		now := began.Add(time.Duration(i) * time.Second)
		s = &Snapshot{
			Taken: now, Awake: new(float64(i)), GPU: &metal.GPU{Utilisation: new(0.1), Power: &watts, Temperature: new(97.0)},
			Backends:  []backend.Status{{Name: "ollama", State: backend.Running}},
			Residents: []Resident{{Resident: backend.Resident{Backend: "ollama", Model: "a:latest", Size: new(uint64(gib)), GPU: new(uint64(gib))}}},
			Requests:  []request.Request{{ID: "1", Backend: "ollama", Model: "a", Phase: request.PhaseDecode, Began: began, Changed: began}},
		}
		if i < 30 {
			s.GPU.Utilisation = new(0.99)
		}
		e.complete(s)
		e.step(nil)
	}
	if s.Residents[0].Activity != ActivityBusy || s.Throttle == nil || s.Throttle.Cause != CausePaused {
		t.Errorf("%s, %+v", s.Residents[0].Activity, s.Throttle)
	}
}

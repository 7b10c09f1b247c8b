package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// limitMachine is a fakeMachine with a GPU whose Metal follows the limit that is
// set, after some asks where lag says so, and a Limiter that sets it. Its leases
// end by the bubble's clock.
type limitMachine struct {
	*fakeMachine
	mu         sync.Mutex
	byDefault  uint64
	set        wired.MiB
	lease      *wired.Lease
	until      time.Time
	remembered *wired.MiB
	refused    string
	stateErr   error
	helper     HelperState
	helperAsks int
	helperWait time.Duration
	confirms   int
	confirmErr error
	restarts   []string
	deaf       bool   // Metal does not follow
	source     string // who tells the limit
	maxBuffer  *uint64
	swapping   time.Time // 10 MB/s go out since then
}

func newLimitMachine() *limitMachine {
	return &limitMachine{fakeMachine: newFakeMachine(), byDefault: 21845 << 20, helper: HelperInstalled, source: "metal"}
}

func (l *limitMachine) change(f func(*limitMachine)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

func (l *limitMachine) GPU() (*metal.GPU, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
	g := &metal.GPU{WiredLimit: new(l.set.Bytes()), WorkingSet: new(l.byDefault), LimitSource: l.source, MaxBuffer: l.maxBuffer}
	if l.set > 0 && !l.deaf {
		g.WorkingSet = new(l.set.Bytes())
	}
	return g, nil
}

func (l *limitMachine) Swap() (*metal.Swap, error) {
	l.mu.Lock()
	began := l.swapping
	l.mu.Unlock()
	s, err := l.fakeMachine.Swap()
	if !began.IsZero() {
		s.Out = new(uint64(time.Since(began).Seconds() * 10e6))
	}
	return s, err
}

func (l *limitMachine) expire() {
	if l.lease != nil && !time.Now().Before(l.until) {
		l.set, l.lease = l.lease.Previous, nil
	}
}

func (l *limitMachine) State() (wired.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
	s := wired.State{Key: "iogpu.wired_limit_mb", Set: l.set, Remembered: l.remembered, Refused: l.refused}
	if l.lease != nil {
		lease := *l.lease
		lease.Left = time.Until(l.until)
		s.Lease = &lease
	}
	return s, l.stateErr
}

func (l *limitMachine) Helper(ctx context.Context) HelperState {
	l.mu.Lock()
	l.helperAsks++
	wait, state := l.helperWait, l.helper
	l.mu.Unlock()
	select {
	case <-time.After(wait):
		return state
	case <-ctx.Done():
		return HelperSilent
	}
}

func (l *limitMachine) Set(_ context.Context, limit wired.MiB, lease time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.until = &wired.Lease{Value: limit, Previous: l.set}, time.Now().Add(lease)
	l.set = limit
	return nil
}

func (l *limitMachine) Confirm(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirms++
	if l.confirmErr != nil {
		return l.confirmErr
	}
	l.expire()
	if l.lease == nil {
		return errors.New("nothing to confirm")
	}
	l.remembered, l.lease = new(l.lease.Value), nil
	return nil
}

func (l *limitMachine) Reset(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set, l.lease, l.remembered, l.refused = 0, nil, nil, ""
	return nil
}

func (l *limitMachine) Restart(_ context.Context, server string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restarts = append(l.restarts, server)
	return nil
}

func (l *limitMachine) RestartCommand(_ context.Context, server string) (string, error) {
	if server != "ollama" {
		return "", errors.New("not known")
	}
	return "brew services restart ollama", nil
}

// asked and confirmed count the calls.
func (l *limitMachine) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.helperAsks
}

func (l *limitMachine) confirmed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.confirms
}

// listed counts how often the processes were.
func (l *limitMachine) listed() (n int) {
	l.fakeMachine.set(func(f *fakeMachine) { n = f.lists })
	return n
}

// press sets memory pressure.
func (l *limitMachine) press(p metal.Pressure) {
	l.fakeMachine.set(func(f *fakeMachine) { f.memory.Pressure = p })
}

// limited runs an agent's monitor with that Limiter in a synctest bubble.
func limited(t *testing.T, l *limitMachine, servers ...backend.Backend) (*Monitor, *Mailbox) {
	t.Helper()
	return running(t, Config{Local: l, Backends: servers, Clock: SystemClock(), Limiter: l, ConfirmLimit: true})
}

func running(t *testing.T, c Config) (*Monitor, *Mailbox) {
	t.Helper()
	m := New(c)
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

// Case 48: 0 is the system's default and no limit of zero, whatever is divided.
func TestZeroIsTheDefault(t *testing.T) {
	var c struct {
		Set       uint64  `json:"iogpu.wired_limit_mb"`
		RAM       uint64  `json:"hw.memsize"`
		Effective uint64  `json:"recommendedMaxWorkingSetSize"`
		GiB       float64 `json:"expect_gib"`
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "cases", "048.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the folder of cases is not beside this repository")
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.byDefault, machine.set = c.Effective, wired.MiB(c.Set)
		machine.memory.Total = &c.RAM
		_, box := limited(t, machine)
		l := until(t, box, "there is a limit", func(u Update) bool { return u.Snapshot.Limit != nil }).Snapshot.Limit
		if l.Set != 0 || l.Effective == nil || *l.Effective != c.Effective || l.Default == nil || *l.Default != c.Effective || l.DefaultEstimated {
			t.Errorf("limit %+v, want Metal's %d as the default that was seen", l, c.Effective)
		}
		if got := float64(*l.Effective) / gib; got < c.GiB-0.005 || got > c.GiB+0.005 {
			t.Errorf("%.3f GiB, want %.2f", got, c.GiB)
		}
	})
}

// Case 42: Metal follows the setting in both directions, and so does the section;
// the default stays known as it was seen.
func TestTheSectionFollowsMetal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		const byDefault = 11_840_000_000
		machine.byDefault = byDefault
		_, box := limited(t, machine)
		for _, set := range []wired.MiB{0, 12000, 14000, 0, 12000} {
			machine.change(func(l *limitMachine) { l.set = set })
			want := uint64(byDefault)
			if set > 0 {
				want = set.Bytes()
			}
			until(t, box, "Metal's answer", func(u Update) bool {
				l := u.Snapshot.Limit
				return l != nil && l.Set == set.Bytes() && *l.Effective == want && *l.Default == byDefault && !l.DefaultEstimated
			})
		}
	})
}

// An agent that starts under an override has not seen the default: Metal's largest
// buffer tells it. These are the figures of a machine of 64 GB.
func TestTheDefaultUnderAnOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.byDefault, machine.set, machine.maxBuffer = 0, 57344, new(uint64(41747087360))
		_, box := limited(t, machine)
		l := until(t, box, "there is a limit", func(u Update) bool { return u.Snapshot.Limit != nil }).Snapshot.Limit
		if *l.Effective != 60129542144 || l.Default == nil || !near(*l.Default, 55662783148) || !l.DefaultEstimated {
			t.Errorf("default %v estimated %t, want 53084.2 MiB estimated", l.Default, l.DefaultEstimated)
		}
	})
}

// Where Metal does not answer, nobody says what is in force, and no raise is
// confirmed without a person.
func TestWithoutMetalNothingIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.source = "sysctl"
		m, box := limited(t, machine)
		if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
			t.Fatal(err)
		}
		until(t, box, "it is on trial", func(u Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Lease != nil })
		time.Sleep(wired.LeaseDefault / 2)
		u := until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
		if l := u.Snapshot.Limit; l.Effective != nil || l.Set != 0 || machine.confirmed() != 0 {
			t.Errorf("%+v, %d confirmed, want the limit back", l, machine.confirmed())
		}
	})
}

// A raised limit is confirmed without a person after Metal showed it and pressure
// was normal for a minute, and at no other time.
func TestARaisedLimitConfirmsItself(t *testing.T) {
	for _, test := range []struct {
		name  string
		alter func(*limitMachine)
		later map[time.Duration]func(*limitMachine)
		kept  bool
		after time.Duration // at least, since it was set
	}{
		{"all is well", nil, nil, true, trialCalm},
		{"Metal shows it late", func(l *limitMachine) { l.deaf = true },
			map[time.Duration]func(*limitMachine){20 * time.Second: func(l *limitMachine) { l.deaf = false }}, true, 20*time.Second + trialCalm},
		{"pressure rises for a moment", nil, map[time.Duration]func(*limitMachine){
			30 * time.Second: func(l *limitMachine) { l.press(metal.PressureWarning) },
			34 * time.Second: func(l *limitMachine) { l.press(metal.PressureNormal) }}, true, 34*time.Second + trialCalm},
		{"pressure stays above normal", func(l *limitMachine) { l.press(metal.PressureWarning) }, nil, false, 0},
		{"pressure rises in the end", nil, map[time.Duration]func(*limitMachine){
			55 * time.Second: func(l *limitMachine) { l.press(metal.PressureCritical) }}, false, 0},
		{"it swaps at normal pressure", func(l *limitMachine) { l.swapping = time.Now() }, nil, false, 0},
		{"pressure is not told", func(l *limitMachine) { l.press("") }, nil, false, 0},
		{"Metal never shows it", func(l *limitMachine) { l.deaf = true }, nil, false, 0},
		{"the helper refuses", func(l *limitMachine) { l.confirmErr = errors.New("no") }, nil, false, 0},
		{"somebody else sets another", nil, map[time.Duration]func(*limitMachine){
			10 * time.Second: func(l *limitMachine) { l.set = 24000 }}, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				machine := newLimitMachine()
				if test.alter != nil {
					test.alter(machine)
				}
				m, box := limited(t, machine)
				until(t, box, "there is a limit", func(u Update) bool { return u.Snapshot.Limit != nil })
				began := time.Now()
				if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
					t.Fatal(err)
				}
				for after, alter := range test.later {
					time.AfterFunc(after, func() { machine.change(alter) })
				}
				until(t, box, "it is on trial", func(u Update) bool { return u.Snapshot.Limit.Lease != nil })
				time.Sleep(wired.LeaseDefault / 4)
				u := until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
				took := u.Snapshot.Taken.Sub(began)
				l, e := u.Snapshot.Limit, event(u, EventLimit)
				if e == nil {
					t.Fatalf("no event; events %+v", u.Events)
				}
				if !test.kept {
					if l.Remembered != nil || l.Set != 0 || e.Evidence.State != LimitEnded {
						t.Errorf("after %v %+v, event %q, want the limit before", took, l, e.Evidence.State)
					}
					if test.name == "the helper refuses" && (machine.confirmed() < 3 || machine.confirmed() > 7) {
						t.Errorf("asked to confirm %d times in a minute, want one in ten seconds", machine.confirmed())
					}
					return
				}
				if l.Set != 26000<<20 || l.Remembered == nil || *l.Remembered != 26000<<20 || e.Evidence.State != LimitKept || *e.Evidence.Bytes != 26000<<20 {
					t.Errorf("after %v %+v, event %+v, want it kept", took, l, e.Evidence)
				}
				if took < test.after || took > test.after+5*time.Second {
					t.Errorf("kept after %v, want %v", took, test.after)
				}
				if machine.confirmed() != 1 {
					t.Errorf("confirmed %d times", machine.confirmed())
				}
			})
		})
	}
}

// Only an agent confirms: a look at the machine from a terminal does not.
func TestALookConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		m, box := running(t, Config{Local: machine, Clock: SystemClock(), Limiter: machine})
		if err := m.Do(t.Context(), Command{Kind: CommandSetLimit, Bytes: new(uint64(26000 << 20))}); err != nil {
			t.Fatal(err)
		}
		until(t, box, "it is on trial", func(u Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Lease != nil })
		time.Sleep(wired.LeaseDefault / 2)
		until(t, box, "the trial is over", func(u Update) bool { return u.Snapshot.Limit.Lease == nil })
		if machine.confirmed() != 0 {
			t.Error("it was confirmed")
		}
	})
}

// A minute in which the machine slept or nobody looked is no minute of normal
// pressure.
func TestATrialCountsOnlyWhatWasSeen(t *testing.T) {
	start := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	at := func(awake, wall float64) *Snapshot {
		return &Snapshot{Taken: start.Add(time.Duration(wall * 1e9)), Awake: &awake, Memory: &metal.Memory{Pressure: metal.PressureNormal},
			Limit: &Limit{Set: 26000 << 20, Effective: new(uint64(26000 << 20)), Lease: &LimitLease{Value: 26000 << 20}}}
	}
	for _, test := range []struct {
		name        string
		awake, wall float64 // the jump after ten seconds
		since       float64
	}{
		{"nothing", 1, 1, 0}, {"a slow tick", 10, 10, 0}, {"a gap", 45, 45, 55}, {"sleep", 1, 300, 11}, {"the clock set back", 1, -3600, 0},
	} {
		var tr trial
		for i := range 11 {
			tr.calm(at(float64(i), float64(i)), false)
		}
		if !tr.calm(at(10+test.awake, 10+test.wall), false) || tr.since != seconds(test.since) {
			t.Errorf("%s: well since %v, want %v s", test.name, tr.since, test.since)
		}
	}
}

// The helper is asked at the start, after a command and every few minutes, and a
// slow one delays no tick.
func TestTheHelperIsAskedBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.helperWait = 8 * time.Second
		m, box := limited(t, machine)
		u := until(t, box, "a tick", func(u Update) bool { return u.Snapshot.Limit != nil })
		if u.Snapshot.Limit.Helper != "" {
			t.Errorf("helper %q before it answered", u.Snapshot.Limit.Helper)
		}
		last := u.Snapshot.Taken
		until(t, box, "the helper answered", func(u Update) bool {
			if gap := u.Snapshot.Taken.Sub(last); gap > tickIdle {
				t.Errorf("a tick waited %v", gap)
			}
			last = u.Snapshot.Taken
			return u.Snapshot.Limit.Helper == HelperInstalled
		})
		time.Sleep(helperAge - 30*time.Second)
		if machine.asked() != 1 {
			t.Errorf("asked %d times", machine.asked())
		}
		time.Sleep(time.Minute)
		if machine.asked() != 2 {
			t.Errorf("asked %d times after %v, want twice", machine.asked(), helperAge)
		}
		machine.change(func(l *limitMachine) { l.helper = HelperMissing })
		if err := m.Do(t.Context(), Command{Kind: CommandResetLimit}); err != nil {
			t.Fatal(err)
		}
		until(t, box, "the helper is gone", func(u Update) bool { return u.Snapshot.Limit.Helper == HelperMissing })
	})
}

// A silent helper is silent after its time, and tells so.
func TestASilentHelper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.helperWait = time.Hour
		_, box := limited(t, machine)
		until(t, box, "it is silent", func(u Update) bool { return u.Snapshot.Limit != nil && u.Snapshot.Limit.Helper == HelperSilent })
	})
}

func TestNoAdjustableLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		machine.stateErr = wired.ErrNoKey
		_, box := limited(t, machine)
		u := until(t, box, "a tick", func(u Update) bool { return u.Snapshot.Memory != nil })
		if p := u.Snapshot.Problems[SectionLimit]; u.Snapshot.Limit != nil || p.Reason != ReasonUnsupported {
			t.Errorf("limit %+v, problem %+v", u.Snapshot.Limit, p)
		}
		if machine.asked() != 0 {
			t.Error("the helper was asked where there is nothing to set")
		}
	})
}

func TestLimitCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		m, _ := limited(t, machine, newFakeServer())
		for _, test := range []struct {
			name    string
			command Command
			want    error
		}{
			{"no value", Command{Kind: CommandSetLimit}, ErrBadCommand},
			{"nothing", Command{Kind: CommandSetLimit, Bytes: new(uint64(0))}, ErrBadCommand},
			{"not whole MiB", Command{Kind: CommandSetLimit, Bytes: new(uint64(26000<<20 + 1))}, ErrBadCommand},
			{"no server of that name", Command{Kind: CommandRestartServer, Backend: "lmstudio"}, ErrNoBackend},
		} {
			if err := m.Do(t.Context(), test.command); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.name, err, test.want)
			}
		}
		bare := New(Config{Local: machine, Clock: SystemClock()})
		if err := bare.Do(t.Context(), Command{Kind: CommandResetLimit}); !errors.Is(err, ErrNoLimit) {
			t.Errorf("without a limiter: %v", err)
		}
	})
}

// A server that works for somebody is not restarted, whoever tells of the request.
func TestRestartWaitsForRequests(t *testing.T) {
	idle := func() *Snapshot {
		return &Snapshot{Awake: new(0.0),
			Backends:  []backend.Status{{Name: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running}, {Name: "mini", Address: "http://192.168.1.13:1", State: backend.Running}},
			Residents: []Resident{{Resident: backend.Resident{Backend: "ollama", Model: "a"}, Activity: ActivityIdle}, {Resident: backend.Resident{Backend: "mini", Model: "b"}, Activity: ActivityBusy}},
			Requests:  []request.Request{{Backend: "ollama", Model: "a", Phase: request.PhaseDone}, {Backend: "mini", Phase: request.PhaseDecode}}}
	}
	for _, test := range []struct {
		name  string
		alter func(*Snapshot)
		to    string
		want  error
	}{
		{"idle", func(*Snapshot) {}, "ollama", nil},
		{"stuck", func(s *Snapshot) { s.Residents[0].Activity = ActivityStuck }, "ollama", nil},
		{"not running", func(s *Snapshot) { s.Backends[0].State = backend.NotRunning }, "ollama", nil},
		{"busy", func(s *Snapshot) { s.Residents[0].Activity = ActivityBusy }, "ollama", ErrInFlight},
		{"stopping", func(s *Snapshot) { s.Residents[0].Activity = ActivityStopping }, "ollama", ErrInFlight},
		{"reading a prompt", func(s *Snapshot) { s.Requests[0].Phase = request.PhasePrefill }, "ollama", ErrInFlight},
		{"waiting", func(s *Snapshot) { s.Requests[0].Phase = request.PhaseQueued }, "ollama", ErrInFlight},
		{"elsewhere", func(*Snapshot) {}, "mini", ErrBadCommand},
	} {
		machine := newLimitMachine()
		m := New(Config{Local: machine, Clock: stillClock{}, Limiter: machine})
		s := idle()
		test.alter(s)
		m.latest = Update{Snapshot: s}
		err := m.Do(t.Context(), Command{Kind: CommandRestartServer, Backend: test.to})
		if !errors.Is(err, test.want) || (len(machine.restarts) == 1) != (test.want == nil) {
			t.Errorf("%s: %v, restarted %q, want %v", test.name, err, machine.restarts, test.want)
		}
	}
}

// stillClock stands still.
type stillClock struct{}

func (stillClock) Now() time.Time                       { return time.Time{} }
func (stillClock) Awake() time.Duration                 { return 0 }
func (stillClock) After(time.Duration) <-chan time.Time { return nil }

// What is old is looked at again before a server is restarted.
func TestRestartLooksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, server := newLimitMachine(), newFakeServer(backend.Resident{Model: "a:latest", Weights: "/w"})
		machine.processes = []metal.Process{runnerOf(7, "/w", gib)}
		m, box := limited(t, machine, server)
		u := until(t, box, "its runner is known", func(u Update) bool {
			return len(u.Snapshot.Residents) == 1 && u.Snapshot.Residents[0].RunnerPID != nil
		})
		old := *u.Snapshot
		old.Awake = new(*old.Awake - 60)
		synctest.Wait()
		m.mu.Lock()
		m.latest = Update{Snapshot: &old}
		m.mu.Unlock()
		s, err := m.fresh(t.Context())
		if err != nil || s == &old {
			t.Errorf("%v, want a new snapshot", err)
		}
	})
}

// A server keeps the limit that it read when it started: each that ran before is
// stale after a change until its process is another, and no longer when the limit
// is back.
func TestServersThatReadAnotherLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, server := newLimitMachine(), newFakeServer()
		serve := func(pid int) metal.Process {
			return metal.Process{PID: pid, Started: uint64(pid), Name: "ollama", Args: []string{"ollama", "serve"}}
		}
		machine.processes = []metal.Process{serve(812)}
		_, box := limited(t, machine, server)
		stale := func(want int) {
			t.Helper()
			until(t, box, "the stale servers", func(u Update) bool { return u.Snapshot.Limit != nil && len(u.Snapshot.Limit.Stale) == want })
		}
		set := func(n wired.MiB) { machine.change(func(l *limitMachine) { l.set = n }) }
		until(t, box, "the server runs", func(u Update) bool { return len(u.Snapshot.Backends) == 1 })
		stale(0)
		lists := machine.listed()
		set(26000)
		stale(1)
		until(t, box, "how it is restarted by hand", func(u Update) bool {
			return u.Snapshot.Limit.Commands["ollama"] == "brew services restart ollama"
		})
		set(0) // as when a lease ends
		stale(0)
		set(26000)
		stale(1)
		if n := machine.listed() - lists; n > 3 {
			t.Errorf("the processes were listed %d times for three changes", n)
		}
		machine.fakeMachine.set(func(f *fakeMachine) { f.processes = []metal.Process{serve(990)} })
		stale(0)
		set(24000)
		stale(1)
		server.set(func(s *fakeServer) { s.state = backend.NotRunning })
		stale(0)
		server.set(func(s *fakeServer) { s.state = backend.Running })
		until(t, box, "it runs again", func(u Update) bool { return u.Snapshot.Backends[0].State == backend.Running })
		stale(0)
	})
}

// A server that answers through a tunnel has not read this machine's limit.
func TestAServerElsewhereIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newLimitMachine()
		_, box := limited(t, machine, newFakeServer())
		until(t, box, "the server runs", func(u Update) bool { return len(u.Snapshot.Backends) == 1 })
		machine.change(func(l *limitMachine) { l.set = 26000 })
		u := until(t, box, "the limit", func(u Update) bool { return u.Snapshot.Limit.Set > 0 })
		if len(u.Snapshot.Limit.Stale) != 0 {
			t.Errorf("stale %q", u.Snapshot.Limit.Stale)
		}
	})
}

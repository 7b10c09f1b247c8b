package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

// powered is a machine that tells where it takes its power from.
type powered struct {
	*fakeMachine
	battery bool
}

func (p *powered) Power() (*metal.Power, error) { return &metal.Power{OnBattery: &p.battery}, nil }

// The list of processes, the one read that takes milliseconds, is not searched
// for ever for a runner that cannot be found.
func TestRunnersAreNotSearchedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := newFakeMachine()
		machine.processes = []metal.Process{{PID: 9, Name: "Chrome", Footprint: new(uint64(gib))}}
		server := newFakeServer(backend.Resident{Model: "a:latest", Size: new(uint64(gib))})
		_, box := start(t, machine, server)
		until(t, box, "the model is listed", func(u Update) bool { return len(u.Snapshot.Residents) == 1 })
		begin := time.Now()
		until(t, box, "a minute passed", func(u Update) bool { return u.Snapshot.Taken.Sub(begin) > time.Minute })
		machine.set(func(m *fakeMachine) {
			if m.lists > searches {
				t.Errorf("the processes were listed %d times within a minute, want at most %d", m.lists, searches)
			}
		})
	})
}

// A machine at rest is looked at seldom, on battery more so, and closely while
// somebody looks or something happens.
func TestPaceFollowsWhatHappens(t *testing.T) {
	local, busy := []Resident{{Resident: backend.Resident{Model: "m"}}}, []Resident{{Activity: ActivityBusy}}
	for _, test := range []struct {
		what      string
		residents []Resident
		battery   bool
		watch     bool
		want      time.Duration
	}{
		{"nothing resident", nil, false, false, 4 * time.Second},
		{"a model at rest", local, false, false, 2 * time.Second},
		{"a cloud model", []Resident{{Resident: backend.Resident{Model: "m", Cloud: true}}}, false, false, 4 * time.Second},
		{"on battery", local, true, false, 6 * time.Second},
		{"on battery, looked at", local, true, true, time.Second},
		{"on battery, at work", busy, true, false, time.Second},
		{"looked at", nil, false, true, time.Second},
	} {
		m := New(Config{Local: newFakeMachine(), Clock: SystemClock()})
		m.Subscribe(Options{Watch: test.watch})
		s := &Snapshot{Residents: test.residents, Power: &metal.Power{OnBattery: &test.battery}}
		if got := m.pace(s); got != test.want {
			t.Errorf("%s: a tick after %v, want %v", test.what, got, test.want)
		}
	}
}

// On battery, while nobody looks, a server is asked less often too.
func TestServersAreAskedSeldomOnBattery(t *testing.T) {
	asked := func(battery, watch bool) (polls int) {
		synctest.Test(t, func(t *testing.T) {
			server := newFakeServer(backend.Resident{Model: "a:latest"})
			m := New(Config{Local: &powered{newFakeMachine(), battery}, Backends: []backend.Backend{server}, Clock: SystemClock()})
			box := m.Subscribe(Options{Lossless: true, Watch: watch})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			begin := time.Now()
			until(t, box, "a minute passed", func(u Update) bool { return u.Snapshot.Taken.Sub(begin) > time.Minute })
			cancel()
			<-done
			server.set(func(s *fakeServer) { polls = s.polls })
		})
		return polls
	}
	mains, battery, watched := asked(false, false), asked(true, false), asked(true, true)
	if mains < 28 || mains > 33 || watched < 28 || watched > 33 || battery < 11 || battery > 15 {
		t.Errorf("asked %d times a minute, on battery %d, on battery and watched %d; want about 30, 12 and 30", mains, battery, watched)
	}
}

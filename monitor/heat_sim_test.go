package monitor_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/sim"
)

// stepped is a simulated clock that tells when the monitor waits on it.
type stepped struct {
	*sim.Clock
	waits chan struct{}
}

func (c stepped) After(d time.Duration) <-chan time.Time {
	ch := c.Clock.After(d)
	c.waits <- struct{}{}
	return ch
}

// heated is a monitor on a simulated Mac whose clock a test steps, one tick of
// the monitor at a time.
type heated struct {
	t       *testing.T
	mac     *sim.Mac
	monitor *monitor.Monitor
	clock   stepped
	box     *monitor.Mailbox
	last    monitor.Update
	// raised and cleared count the notices of overheat.
	raised, cleared int
}

func heat(t *testing.T) *heated {
	t.Helper()
	clock := stepped{sim.NewClock(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), 0), make(chan struct{}, 100)}
	mac := sim.New(sim.Config{Clock: clock.Clock, Seed: 3})
	m := monitor.New(monitor.Config{Local: mac, Clock: clock, Simulated: true})
	box := m.Subscribe(monitor.Options{Lossless: true})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h := &heated{t: t, mac: mac, monitor: m, clock: clock, box: box}
	h.take()
	return h
}

// take waits for the next update.
func (h *heated) take() {
	h.t.Helper()
	deadline := time.After(time.Minute)
	for {
		if u, ok := h.box.Take(); ok {
			h.last = u
			for _, e := range u.Events {
				switch {
				case e.Alert == nil || e.Alert.Rule != "overheat":
				case e.Kind == monitor.EventAlertRaised:
					h.raised++
				case e.Kind == monitor.EventAlertCleared:
					h.cleared++
				}
			}
			return
		}
		select {
		case <-h.box.Ready():
		case <-deadline:
			h.t.Fatal("no tick")
		}
	}
}

// tick lets the planned time to the next tick pass, once the monitor waits for it.
func (h *heated) tick() {
	h.t.Helper()
	select {
	case <-h.clock.waits:
	case <-time.After(time.Minute):
		h.t.Fatal("the monitor does not wait for its next tick")
	}
	h.clock.Advance(time.Duration(*h.last.Snapshot.Interval * float64(time.Second)))
	h.take()
}

func (h *heated) throttled() bool {
	return h.last.Snapshot.Throttle != nil && h.last.Snapshot.Throttle.Throttled
}

// until ticks until it is so.
func (h *heated) until(most time.Duration, what string, so func() bool) time.Duration {
	h.t.Helper()
	began := h.clock.Awake()
	for !so() {
		if h.clock.Awake()-began > most {
			h.t.Fatalf("%s: not within %v; verdict %+v, truth %+v", what, most, h.last.Snapshot.Throttle, h.mac.Truth())
		}
		h.tick()
	}
	return h.clock.Awake() - began
}

// The course of a thin machine under a long answer: cool and busy, slowed by
// heat, cool again. The monitor sees what its sensors show and no more.
func TestThrottleOnTheSimulatedMac(t *testing.T) {
	h := heat(t)
	job, err := h.mac.Ask(sim.Model7B, 10, 200000)
	if err != nil {
		t.Fatal(err)
	}
	for !h.mac.Truth().Throttled {
		if h.throttled() || h.raised > 0 {
			t.Fatalf("called throttled at %v, where it is not: %+v", h.mac.Truth().Temperature, h.last.Snapshot.Throttle)
		}
		if h.clock.Awake() > 20*time.Minute {
			t.Fatal("the simulated Mac did not throttle")
		}
		h.tick()
	}
	seen := h.until(time.Minute, "the verdict after the truth", h.throttled)
	t.Logf("seen %v after it began, %.1f °C, evidence %+v", seen, h.mac.Truth().Temperature, h.last.Snapshot.Throttle.Evidence)
	for range 300 {
		if h.tick(); !h.throttled() {
			t.Fatalf("not throttled at %.1f °C", h.mac.Truth().Temperature)
		}
	}
	var alert *monitor.Alert
	for i := range h.last.Alerts {
		if h.last.Alerts[i].Rule == "overheat" {
			alert = &h.last.Alerts[i]
		}
	}
	if alert == nil {
		t.Fatalf("no alert; alerts %+v", h.last.Alerts)
	}
	e := alert.Evidence
	if e.Temperature == nil || *e.Temperature < 85 || *e.Clock > 0.75*1620 || *e.UsualClock < 1600 || *e.Power > 15 || *e.UsualPower < 17.5 {
		t.Errorf("evidence %+v, want degrees, and clock and watts now and before", e)
	}
	job.Cancel()
	h.until(10*time.Minute, "recovery", func() bool { return !h.mac.Truth().Throttled })
	if d := h.until(time.Minute, "the verdict's end", func() bool { return !h.throttled() }); d > 4*time.Second {
		t.Errorf("%v after recovery, want one tick", d)
	}
	h.tick()
	if h.raised != 1 || h.cleared != 1 {
		t.Errorf("raised %d and cleared %d times, want once each", h.raised, h.cleared)
	}
}

// Work with pauses keeps the machine cool: an hour of it is never called slowed.
func TestNoThrottleWhereItIsCool(t *testing.T) {
	h := heat(t)
	for range 20 {
		job, err := h.mac.Ask(sim.Model7B, 1500, 1500)
		if err != nil {
			t.Fatal(err)
		}
		h.until(10*time.Minute, "the answer", func() bool { return job.Result().Finished })
		if h.throttled() || h.raised > 0 {
			t.Fatalf("%+v at %.1f °C", h.last.Snapshot.Throttle, h.mac.Truth().Temperature)
		}
		for range 40 {
			h.tick()
		}
	}
	if h.mac.Truth().Throttled {
		t.Skip("the simulated Mac grew hot on it")
	}
}

// A person's temperature on the simulated Mac: one notice while it is above, set
// while the monitor runs, gone when nobody asks any more.
func TestAPersonsTemperatureOnTheSimulatedMac(t *testing.T) {
	h := heat(t)
	if _, err := h.mac.Ask(sim.Model7B, 10, 200000); err != nil {
		t.Fatal(err)
	}
	h.until(20*time.Minute, "75 °C", func() bool { return h.mac.Truth().Temperature > 75 })
	if h.raised > 0 || h.throttled() {
		t.Fatalf("raised %d times before anybody asked", h.raised)
	}
	h.monitor.SetHot(new(70.0))
	h.until(time.Minute, "the alert", func() bool { return h.raised == 1 })
	e := h.last.Alerts[0].Evidence
	if e.Cause != monitor.CauseThreshold || *e.TemperatureLimit != 70 || *e.Temperature < 70 {
		t.Errorf("evidence %+v, want 70 °C and more", e)
	}
	h.monitor.SetHot(nil)
	h.until(time.Minute, "its end", func() bool { return h.cleared == 1 })
}

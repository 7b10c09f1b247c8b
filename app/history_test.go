package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/sim"
	"plimsoll/monitor/store"
)

// keeping runs an agent with a history until stop.
func (w *world) keeping(history string) (socket string, errs *output, stop func()) {
	w.t.Helper()
	socket = filepath.Join(shortFolder(w.t), "agent.sock")
	errs = &output{}
	p := w.program(&output{}, errs)
	p.words = view.In("en")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	listening := make(chan struct{})
	go func() {
		ended <- p.runAgent(ctx, agentConfig{
			socket: socket, history: history, settings: &settingsFile{}, local: w.mac, clock: w.clock, simulated: true,
			server:    func(api.Settings) (backend.Backend, error) { return p.server(api.Settings{}) },
			listening: func(*agent) { close(listening) },
		})
	}()
	select {
	case <-listening:
	case err := <-ended:
		w.t.Fatalf("the agent did not start: %v", err)
	}
	return socket, errs, func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the agent ended with %v", err)
		}
	}
}

// What an agent saw is there for the next one, and today's swap-out goes on.
func TestHistoryOutlivesTheAgent(t *testing.T) {
	w := newWorld(t)
	history := filepath.Join(w.home, "state", "history.db")
	socket, errs, stop := w.keeping(history)
	w.load(sim.Model14B)
	w.mac.StartApp("Xcode", 50<<30) // the Mac swaps
	var written uint64
	w.await(socket, "swapping", func(u monitor.Update) bool {
		if u.Snapshot.Swap != nil && u.Snapshot.Swap.OutToday != nil {
			written = *u.Snapshot.Swap.OutToday
		}
		return written > 1e9
	})
	stop()
	if errs.String() == "" {
		t.Error("the agent's log is empty")
	}
	h, err := store.Read(history)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	samples, err := h.Samples(t.Context(), time.Unix(0, 0), w.clock.Now().Add(time.Hour))
	if err != nil || len(samples) == 0 || samples[len(samples)-1].SwapOut == nil {
		t.Errorf("%+v %v", samples, err)
	}
	moment, err := h.Before(t.Context(), w.clock.Now().Add(time.Hour))
	if err != nil || moment == nil || !moment.Snapshot.Simulated {
		t.Errorf("%+v %v", moment, err)
	}
	day, err := h.SwapDay(t.Context())
	if err != nil || day == nil || day.Bytes < written {
		t.Fatalf("%+v %v, want %d bytes at least", day, err, written)
	}
	socket, _, stop = w.keeping(history)
	defer stop()
	w.await(socket, "the day's sum", func(u monitor.Update) bool {
		s := u.Snapshot.Swap
		if s == nil || s.OutToday == nil {
			return false
		}
		if *s.OutToday < day.Bytes || !s.OutSince.Equal(day.Since) {
			t.Errorf("today %d since %v, want at least %d since %v", *s.OutToday, s.OutSince, day.Bytes, day.Since)
		}
		return true
	})
}

// A second agent, and one whose history it must not touch, run without one.
func TestAgentWithoutItsHistory(t *testing.T) {
	w := newWorld(t)
	history := filepath.Join(w.home, "history.db")
	_, _, stop := w.keeping(history)
	defer stop()
	_, errs, stop2 := w.keeping(history)
	stop2()
	has(t, "the second agent", errs.String(), "Another Plimsoll keeps the history")

	foreign := filepath.Join(w.home, "foreign.db")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	_, errs, stop3 := w.keeping(foreign)
	stop3()
	has(t, "an agent with a folder in place of the file", errs.String(), "is something else")
}

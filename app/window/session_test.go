package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// seen collects the pictures of a session.
type seen struct {
	mu  sync.Mutex
	all []picture
}

func (s *seen) show(p picture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p)
}

func (s *seen) last() picture {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[len(s.all)-1]
}

// follow runs a session in a bubble of its own time.
func follow(t *testing.T, a *fakeAgent, start func() error, play func(*seen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var s seen
		session := newSession(a, start, s.show)
		session.language = "en"
		done := make(chan struct{})
		go func() { defer close(done); session.run(ctx) }()
		synctest.Wait()
		play(&s)
		cancel()
		<-done
		synctest.Wait()
	})
}

func TestSessionReconnects(t *testing.T) {
	a := newFakeAgent()
	follow(t, a, nil, func(s *seen) {
		first := <-a.watches
		first <- calm()
		synctest.Wait()
		if p := s.last(); p.link != linkLive || p.view.Line.Text == "" || p.health.Version == "" {
			t.Fatalf("after an update the link is %v and the line %q", p.link, p.view.Line.Text)
		}
		if a.watched != 1 {
			t.Errorf("%d watches asked for the consumers, want 1", a.watched)
		}

		a.set(func() { a.err = api.ErrNoAgent })
		close(first)
		synctest.Wait()
		p := s.last()
		if p.link != linkLost || !errors.Is(p.err, api.ErrGone) || p.view.Line.Text == "" {
			t.Fatalf("the agent has gone: link %v, error %v, line %q", p.link, p.err, p.view.Line.Text)
		}
		time.Sleep(time.Minute) // of the bubble: tries go on, ever slower
		synctest.Wait()
		a.set(func() { a.err = nil })
		time.Sleep(retryMost)
		second := <-a.watches
		second <- swapping()
		synctest.Wait()
		if p := s.last(); p.link != linkLive || p.err != nil || len(p.view.Alerts) != 2 {
			t.Errorf("the agent is back: link %v, error %v, %d alerts", p.link, p.err, len(p.view.Alerts))
		}
	})
}

func TestSessionBacksOff(t *testing.T) {
	a := newFakeAgent()
	a.err = api.ErrNoAgent
	follow(t, a, nil, func(s *seen) {
		begin := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()
		tries := 0
		for _, p := range s.all {
			if p.err != nil {
				tries++
			}
		}
		// 0.25 + 0.5 + 1 + 2 + 4 s, then every 5 s; each counts once, and once
		// more whenever the picture is made anew.
		if tries > 40 || tries < 12 {
			t.Errorf("%d pictures of failures in %v", tries, time.Since(begin))
		}
		if p := s.last(); p.link != linkNew || !errors.Is(p.err, api.ErrNoAgent) {
			t.Errorf("without any update the link is %v, error %v", p.link, p.err)
		}
	})
}

func TestSessionStartsAnAgentOnce(t *testing.T) {
	a := newFakeAgent()
	a.err = api.ErrNoAgent
	starts := 0
	start := func() error {
		starts++
		a.set(func() { a.err = nil })
		return nil
	}
	follow(t, a, start, func(s *seen) {
		time.Sleep(retryFirst)
		watch := <-a.watches
		watch <- calm()
		synctest.Wait()
		a.set(func() { a.err = api.ErrNoAgent })
		close(watch)
		time.Sleep(time.Minute)
		if starts != 1 {
			t.Errorf("an agent was started %d times, want once: one that was ended stays ended", starts)
		}
	})
}

func TestSessionLeavesAnEndedAgentAlone(t *testing.T) {
	a := newFakeAgent()
	follow(t, a, func() error { t.Error("an agent was started that somebody had ended"); return nil }, func(s *seen) {
		watch := <-a.watches
		watch <- calm()
		synctest.Wait()
		a.set(func() { a.err = api.ErrNoAgent })
		close(watch)
		time.Sleep(time.Minute)
		if s.last().link != linkLost {
			t.Errorf("the link is %v", s.last().link)
		}
	})
}

func TestSessionTellsWhyNoAgentStarts(t *testing.T) {
	a := newFakeAgent()
	a.err = api.ErrNoAgent
	failure := api.Failure("no_agent_program", "looking", nil)
	follow(t, a, func() error { return failure }, func(s *seen) {
		if got := s.last().err; !errors.Is(got, failure) {
			t.Errorf("the picture tells %v, want %v", got, failure)
		}
	})
}

// A picture ages without updates: expiries come nearer, and figures get old.
func TestPictureAges(t *testing.T) {
	a := newFakeAgent()
	follow(t, a, nil, func(s *seen) {
		u := calm()
		snapshot := *u.Snapshot
		snapshot.Taken = time.Now()
		u.Snapshot = &snapshot
		watch := <-a.watches
		watch <- u
		synctest.Wait()
		if stale := s.last().view.Stale; stale != "" {
			t.Fatalf("a fresh picture says %q", stale)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.last().view.Stale == "" {
			t.Error("after a minute without an update the picture does not say so")
		}
	})
}

func TestEventsAddUp(t *testing.T) {
	s := newSession(newFakeAgent(), nil, func(picture) {})
	for i := range 100 {
		s.take(monitor.Update{Snapshot: calm().Snapshot, Events: []monitor.Event{{Time: noon.Add(time.Duration(i)), Kind: monitor.EventSlept}}})
	}
	if n := len(s.update.Events); n != eventsKept {
		t.Errorf("%d events are kept, want %d", n, eventsKept)
	}
	if last := s.update.Events[eventsKept-1].Time; !last.Equal(noon.Add(99)) {
		t.Errorf("the last event is of %v", last)
	}
	s.take(monitor.Update{})
	if s.update.Snapshot == nil {
		t.Error("an update without a snapshot took the last one away")
	}
}

func TestSimulatedTimeIsItsOwn(t *testing.T) {
	s := newSession(newFakeAgent(), nil, func(picture) {})
	s.take(demo(calm()))
	if !s.moment().Equal(noon) {
		t.Errorf("the simulated moment is %v, want the snapshot's %v", s.moment(), noon)
	}
}

// However many pictures come while Fyne's goroutine is busy, one call waits for
// it, and it shows the newest.
func TestHandoverKeepsOnePending(t *testing.T) {
	var queue []func()
	var shown []picture
	h := &handover{do: func(f func()) { queue = append(queue, f) }, show: func(p picture) { shown = append(shown, p) }}
	for range 100 {
		h.put(picture{})
	}
	words := view.In("zh")
	h.put(picture{words: words})
	if len(queue) != 1 {
		t.Fatalf("%d calls wait, want 1", len(queue))
	}
	queue[0]()
	if len(shown) != 1 || shown[0].words != words {
		t.Errorf("%d pictures were shown, not the newest alone", len(shown))
	}
	h.put(picture{})
	if len(queue) != 2 {
		t.Error("the next picture does not come")
	}
}

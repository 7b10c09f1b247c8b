package tray

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/app/view"
)

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "en")
		var watched []string
		start := time.Now()
		s.menu.config.Watch = func(open bool) {
			watched = append(watched, fmt.Sprint(time.Since(start), " ", open))
		}
		views, opened := make(chan view.View), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		wrapped := 0
		done := make(chan error)
		go func() {
			done <- s.menu.follow(ctx, sources{views: views, opened: opened}, func(f func()) { wrapped++; f() })
		}()
		views <- models("a")
		opened <- struct{}{}
		time.Sleep(10 * time.Second)
		opened <- struct{}{} // looks again: half a minute from here
		time.Sleep(50 * time.Second)
		close(views) // nothing new will come; the menu stays
		opened <- struct{}{}
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("follow: %v", err)
		}
		want := []string{"0s true", "40s false", "1m0s true", "1m1s false"}
		if !slices.Equal(watched, want) {
			t.Errorf("watched %q, want %q", watched, want)
		}
		s.tray.find(t, "a", "Unload")
		// One view, shown again at each of three openings.
		if want := 1 + 3 + len(early); wrapped != want {
			t.Errorf("the desktop was used %d times inside the wrapper, want %d", wrapped, want)
		}
		if s.tray.pictures != 1+len(early) {
			t.Errorf("the icon was set %d times: once, and again for what systray forgot", s.tray.pictures)
		}
	})
}

func TestFollowEndsWithTheDesktopAndWithQuit(t *testing.T) {
	lost := make(chan struct{})
	close(lost)
	s := newScene(t, "en")
	if err := s.menu.follow(t.Context(), sources{lost: lost}, func(f func()) { f() }); !errors.Is(err, ErrNoBus) {
		t.Errorf("a lost bus gives %v", err)
	}
	s.click("", "Quit")
	if err := s.menu.follow(t.Context(), sources{}, func(f func()) { f() }); err != nil {
		t.Errorf("quitting gives %v", err)
	}
	if s.quits != 1 {
		t.Errorf("Quit was called %d times", s.quits)
	}
}

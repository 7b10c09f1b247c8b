package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// agent is what the window needs of the agent's API; api.Client is one.
type agent interface {
	Health(context.Context) (api.Health, error)
	Watch(context.Context, monitor.Options, func(monitor.Update) error) error
	Do(context.Context, monitor.Command) error
	Plan(context.Context, monitor.PlanRequest) (monitor.Plan, error)
	Plans(context.Context) ([]monitor.Plan, error)
	Builds(context.Context) ([]monitor.Build, error)
	Settings(context.Context) (api.Settings, error)
	SetSettings(context.Context, api.Settings) error
}

// link is how the window stands to the agent.
type link int

const (
	linkNew  link = iota // not yet connected, nothing to show
	linkLive             // updates come
	linkLost             // there was a picture, now there is no agent
)

// picture is all that the window shows at one moment. It is not changed after it
// was handed over.
type picture struct {
	words    *view.Renderer
	link     link
	err      error // why there is no link
	view     view.View
	snapshot *monitor.Snapshot // that the view was made of
	curves   curves
	settings api.Settings
	health   api.Health
}

const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 5 * time.Second
	// refresh is how often a picture is made anew without an update, for what
	// depends on the time that passes: expiries and ages.
	refresh = 5 * time.Second
	// eventsKept is how many events the page may list.
	eventsKept = 32
)

// session keeps the window's picture up to date: it connects, connects again
// when the agent was started again, and renders every update away from Fyne's
// goroutine.
type session struct {
	agent agent
	// start runs an agent when none is there. nil: wait for one.
	start func() error
	// show takes a picture; called from any goroutine, one call at a time.
	show  func(picture)
	now   func() time.Time
	after func(time.Duration) <-chan time.Time
	// language is the system's, for settings that name none.
	language string

	mu      sync.Mutex
	update  monitor.Update
	seen    bool
	ring    ring
	picture picture
}

func newSession(a agent, start func() error, show func(picture)) *session {
	s := &session{agent: a, start: start, show: show, now: time.Now, after: time.After,
		language: view.SystemLanguage(os.Getenv)}
	s.picture.words = view.In(s.language)
	return s
}

// run keeps the link until ctx ends.
func (s *session) run(ctx context.Context) {
	go s.age(ctx)
	s.change(func() {})
	started := false
	for wait := retryFirst; ctx.Err() == nil; wait = min(2*wait, retryMost) {
		err := s.follow(ctx, func() { wait = retryFirst })
		if ctx.Err() != nil {
			return
		}
		// Once, and never after there was one: an agent that was ended on
		// purpose stays ended.
		if errors.Is(err, api.ErrNoAgent) && s.start != nil && !started && !s.known() {
			started = true
			if failed := s.start(); failed != nil {
				err = failed
			}
		}
		s.change(func() {
			s.picture.link, s.picture.err = linkLost, err
			if !s.seen {
				s.picture.link = linkNew
			}
		})
		select {
		case <-s.after(wait):
		case <-ctx.Done():
		}
	}
}

// known reports that there was an update.
func (s *session) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// follow shows updates until the link breaks. connected is called when the
// first one is there.
func (s *session) follow(ctx context.Context, connected func()) error {
	health, err := s.agent.Health(ctx)
	if err != nil {
		return err
	}
	settings, err := s.agent.Settings(ctx)
	if err != nil {
		return err
	}
	s.change(func() { s.picture.health = health; s.use(settings) })
	return s.agent.Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
		connected()
		s.change(func() { s.take(u) })
		return nil
	})
}

// take makes an update the current one. Its events join those of before.
func (s *session) take(u monitor.Update) {
	events := append(slices.Clone(s.update.Events), u.Events...)
	u.Events = events[max(0, len(events)-eventsKept):]
	if u.Snapshot == nil {
		u.Snapshot = s.update.Snapshot
	}
	s.update, s.seen = u, true
	s.ring.add(u.Snapshot)
	s.picture.link, s.picture.err, s.picture.snapshot = linkLive, nil, u.Snapshot
	s.picture.curves = s.ring.curves()
}

// use puts settings in force.
func (s *session) use(settings api.Settings) {
	tag := settings.Language
	if tag == "" {
		tag = s.language
	}
	if words := view.In(tag); words.Language() != s.picture.words.Language() {
		s.picture.words = words
	}
	s.picture.settings = settings
}

// change alters the picture's ground, renders, and hands the picture over.
func (s *session) change(alter func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	alter()
	if s.seen {
		s.picture.view = s.picture.words.Render(s.update, s.moment())
	}
	s.show(s.picture)
}

// moment is the time by which expiries and ages are counted. A simulated Mac
// has a clock of its own.
func (s *session) moment() time.Time {
	if snapshot := s.update.Snapshot; snapshot != nil && snapshot.Simulated {
		return snapshot.Taken
	}
	return s.now()
}

// age makes the picture anew from time to time.
func (s *session) age(ctx context.Context) {
	for {
		select {
		case <-s.after(refresh):
			s.change(func() {})
		case <-ctx.Done():
			return
		}
	}
}

// save stores settings and shows what they change.
func (s *session) save(ctx context.Context, settings api.Settings) error {
	if err := s.agent.SetSettings(ctx, settings); err != nil {
		return err
	}
	s.change(func() { s.use(settings) })
	return nil
}

// handover brings pictures to Fyne's goroutine: the newest only, and never more
// than one call at a time, however long that goroutine is busy (on macOS it
// stands still while a menu is open).
type handover struct {
	do   func(func()) // fyne.Do
	show func(picture)

	mu      sync.Mutex
	next    picture
	pending bool
}

func (h *handover) put(p picture) {
	h.mu.Lock()
	h.next = p
	due := !h.pending
	h.pending = true
	h.mu.Unlock()
	if due {
		h.do(h.take)
	}
}

func (h *handover) take() {
	h.mu.Lock()
	p := h.next
	h.pending = false
	h.mu.Unlock()
	h.show(p)
}

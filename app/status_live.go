package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"plimsoll/app/term"
	"plimsoll/monitor"
)

// redrawAfter is how often a live view is drawn though nothing was heard: what
// was last heard gets older.
const redrawAfter = 5 * time.Second

// watchStatus keeps one page on the terminal up to date, as wide as the terminal
// is at the moment, until ctx ends.
func (p *program) watchStatus(ctx context.Context, s source) error {
	screen := p.terminal(p.out) && p.getenv("TERM") != "dumb"
	l := &liveStatus{program: p, live: term.NewLive(p.out, screen)}
	defer l.live.End()
	var drawing sync.WaitGroup
	defer drawing.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if screen {
		drawing.Go(func() { l.redraw(ctx) })
	}
	return p.follow(ctx, s, monitor.Options{Watch: true},
		func(u monitor.Update) error { return l.show(u, "") },
		func() error { return l.show(monitor.Update{}, p.words.Text("cli.follow.gone")) })
}

// liveStatus is what the page shows.
type liveStatus struct {
	program *program

	mu     sync.Mutex
	live   *term.Live
	latest monitor.Update
	gone   string // why there is nothing newer, "" while there is
}

// show draws an update; one without a snapshot leaves the last one standing.
func (l *liveStatus) show(u monitor.Update, gone string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u.Snapshot != nil {
		l.latest = u
	}
	l.gone = gone
	return l.draw()
}

func (l *liveStatus) draw() error {
	if l.latest.Snapshot == nil {
		return nil
	}
	p := l.program
	v := p.words.Render(l.latest, p.now(l.latest))
	if l.gone != "" {
		v.Stale = l.gone
	}
	_, rows := p.size()
	return l.live.Show(p.page().Status(v), rows)
}

// redraw draws again when the terminal changes its size, and now and then.
func (l *liveStatus) redraw(ctx context.Context) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for {
		select {
		case <-ctx.Done():
			return
		case <-resized:
		case <-l.program.clock.After(redrawAfter):
		}
		l.mu.Lock()
		l.draw()
		l.mu.Unlock()
	}
}

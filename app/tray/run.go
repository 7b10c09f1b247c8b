//go:build !headless

package tray

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"fyne.io/systray"

	"plimsoll/app/view"
)

// started guards systray, which works once per process.
var started atomic.Bool

// Available tells that this build has a tray.
func Available() bool { return true }

// Run shows the tray until ctx ends or a person chooses Quit, which is after
// Config.Quit was called. It must be called from the main goroutine on macOS,
// and once per process. The error wraps ErrNoBus when there is no session bus
// (Linux) or the one there was went away.
func Run(ctx context.Context, c Config, views <-chan view.View) error {
	if !started.CompareAndSwap(false, true) {
		return errors.New("showing the tray: it was shown in this process before")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	defer quietLog(c.Log)()
	// A buffer keeps the news while nobody listens.
	systray.TrayOpenedCh = make(chan struct{}, 1)
	opened := make(chan struct{}, 1)
	desk, err := reach(ctx, c, opened)
	if err != nil {
		return err
	}
	defer desk.leave()

	var ended atomic.Bool
	result := make(chan error, 1)
	build := func() {
		var m *menu
		desk.pool(func() { m = newMenu(&surface{desk}, c, desk.template(), time.Now) })
		// This goroutine alone calls systray from here on, and it is the one that
		// ends it: on macOS a call made after the end would wait for ever.
		go func() {
			result <- m.follow(ctx, sources{views, either(ctx, systray.TrayOpenedCh, opened), desk.lost()}, desk.pool)
			ended.Store(true)
			systray.Quit()
		}()
	}
	systray.Run(build, func() {
		// macOS ends programs at logout; this is the last chance to tell.
		if !ended.Load() && c.Quit != nil {
			c.Quit()
		}
	})
	return <-result
}

// either forwards what comes from both channels. Opening a menu twice before
// anyone looked is one opening.
func either(ctx context.Context, a, b <-chan struct{}) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-a:
			case <-b:
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out
}

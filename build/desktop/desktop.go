// Command desktop shows Plimsoll's demo on a desktop of its own and takes
// pictures of it: for a person on a machine without a display, for README, and
// to check that window, tray icon, menu and notification really come up.
//
//	build/desktop [--pictures DIR] [--lang en,zh] [--text=false] [-- OPTIONS OF plimsoll demo]
//
// The desktop is an X server in memory (Xvfb), a message bus, a window manager,
// a panel with a tray and a notification daemon. All of it lives in a folder
// under the temporary one, which is its home too, and is gone at the end; nothing
// of the person's own desktop is touched. Whatever is waited for is waited for by
// its own sign, never by time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"plimsoll/app/view"
)

// patience is how long the pictures of one language may take.
const patience = 90 * time.Second

// errStopped is the cause when a person or a limit around this program ends it.
var errStopped = errors.New("stopped before all pictures were taken; what it had started is ended")

func main() {
	pictures := flag.String("pictures", "demo-pictures", "folder for the pictures")
	languages := flag.String("lang", "", "languages to show, separated by commas; when empty the one among the demo's options, else the person's")
	text := flag.Bool("text", true, "keep the terminal view as terminal.txt beside the pictures")
	flag.Parse()
	if *languages == "" {
		*languages = languageOf(flag.Args(), os.Getenv)
	}

	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second one ends this program at once
		stop(errStopped)
	}()
	err := show(ctx, *pictures, strings.Split(*languages, ","), flag.Args(), *text)
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errStopped):
		fmt.Fprintln(os.Stderr, "desktop:", errStopped)
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "desktop:", err)
		os.Exit(1)
	}
}

// languageOf is the language that the demo's own options name, else the one that
// the person has set: the desktop has an environment of its own, where it is lost.
func languageOf(options []string, getenv func(string) string) string {
	for i, option := range options {
		if value, ok := strings.CutPrefix(option, "--lang="); ok {
			return value
		}
		if option == "--lang" && i+1 < len(options) {
			return options[i+1]
		}
	}
	return view.In(view.SystemLanguage(getenv)).Language()
}

// show takes the pictures of one demo after the other, each on a new desktop: a
// window outlives its agent, and ends with its screen.
func show(ctx context.Context, folder string, languages, options []string, text bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder for the pictures: %w", err)
	}
	for _, language := range languages {
		d := &demo{language: language, options: options, folder: folder, text: text}
		if len(languages) > 1 && language != "en" {
			d.suffix = "-" + language
		}
		if err := d.showWithin(ctx, patience); err != nil {
			return err
		}
	}
	return nil
}

// showWithin is show with an end.
func (d *demo) showWithin(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := d.show(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the demo was not done after %s: %w", patience, err)
	}
	return err
}

// await calls a condition until it holds. When ctx ends or patience runs out it
// fails with the last reason why it does not hold; that a look was cut short is
// none, unless there is no other.
func await(ctx context.Context, what string, patience time.Duration, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var reason error
	for {
		err := holds()
		if err == nil {
			return nil
		}
		if reason == nil || ctx.Err() == nil {
			reason = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, reason)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

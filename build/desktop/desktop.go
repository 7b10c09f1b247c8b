// Command desktop shows Plimsoll's demo on a desktop of its own and takes
// pictures of it: for a person on a machine without a display, for README, and
// to check that window, tray icon, menu and notification really come up.
//
//	build/desktop [--pictures DIR] [--lang en,zh] [-- OPTIONS OF plimsoll demo]
//
// The desktop is an X server in memory (Xvfb), a message bus, a window manager,
// a panel with a tray and a notification daemon. All of it lives in a folder
// under the temporary one, which is its home too, and is gone at the end; nothing
// of the person's own desktop is touched. Whatever is waited for is waited for by
// its own sign, never by time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// patience is how long all of it may take.
const patience = 90 * time.Second

func main() {
	pictures := flag.String("pictures", "demo-pictures", "folder for the pictures")
	languages := flag.String("lang", "", "languages to show, separated by commas; the system's when empty")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not done after %s", patience))
	defer cancel()
	if err := show(ctx, *pictures, strings.Split(*languages, ","), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "desktop:", err)
		stop()
		os.Exit(1)
	}
}

// show takes the pictures of one demo after the other, each on a new desktop: a
// window outlives its agent, and ends with its screen.
func show(ctx context.Context, folder string, languages, options []string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder for the pictures: %w", err)
	}
	for _, language := range languages {
		d := &demo{language: language, options: options, folder: folder}
		if len(languages) > 1 && language != "en" {
			d.suffix = "-" + language
		}
		if err := d.show(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await calls a condition until it holds. It fails with the last reason why it
// does not hold when ctx ends or patience runs out.
func await(ctx context.Context, what string, patience time.Duration, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

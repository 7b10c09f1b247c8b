package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"

	"fyne.io/fyne/v2"

	"plimsoll"
	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

// options are the command line.
type options struct {
	socket string
	page   string
	still  still
}

func main() {
	words := view.In(view.SystemLanguage(os.Getenv))
	opts, err := parse(os.Args[1:], words, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	run := open
	if opts.still.file != "" {
		run = shoot
	}
	if err := run(opts); err != nil && !errors.Is(err, errShown) {
		fmt.Fprintln(os.Stderr, words.Error(err))
		os.Exit(1)
	}
}

// parse reads the command line. What is wrong with it is already told on out.
func parse(args []string, words *view.Renderer, out io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("plimsoll-window", flag.ContinueOnError)
	set.SetOutput(out)
	text := func(id string) string { return words.Text("window.flag." + id) }
	set.StringVar(&o.socket, "socket", "", text("socket"))
	set.StringVar(&o.page, "page", pageOverview, text("page"))
	set.StringVar(&o.still.file, "picture", "", text("picture"))
	set.StringVar(&o.still.updates, "update", "", text("update"))
	set.StringVar(&o.still.language, "lang", "", text("lang"))
	set.BoolVar(&o.still.dark, "dark", false, text("dark"))
	set.BoolVar(&o.still.whole, "whole", false, text("whole"))
	set.Float64Var(&o.still.scale, "scale", 2, text("scale"))
	set.Usage = func() {
		fmt.Fprintln(out, words.Text("window.usage"))
		set.PrintDefaults()
	}
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if o.page == "overview" {
		o.page = pageOverview
	}
	if set.NArg() > 0 || !slices.Contains(pages, o.page) {
		set.Usage()
		return o, errors.New("bad arguments")
	}
	return o, nil
}

// agentSocket is the socket of the agent to show, and whether a missing agent
// may be started: not where somebody named a socket, as that agent is his.
func agentSocket(named string) (path string, startable bool, err error) {
	if named != "" {
		path, err = api.CheckPath(named)
		return path, false, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // SocketPath says what to do
	}
	path, err = api.SocketPath(runtime.GOOS, home, os.Getenv)
	return path, true, err
}

// open shows the window until it is closed.
func open(opts options) (err error) {
	path, startable, err := agentSocket(opts.socket)
	if err != nil {
		return err
	}
	requests := make(chan string, 1)
	mine, err := claim(path, opts.page, func(page string) {
		select {
		case requests <- page:
		default: // one is waiting already
		}
	})
	if err != nil {
		return err
	}
	defer mine.Close()
	screen, err := newScreen(plimsoll.ID + ".window")
	if err != nil {
		return err
	}
	screen.Settings().SetTheme(appearance{})
	screen.SetIcon(windowIcon())
	client := api.Dial(path)
	hand := &handover{do: fyne.Do}
	start := startAgent
	if !startable {
		start = nil
	}
	session := newSession(client, start, hand.put)
	w := newWindow(screen.NewWindow(plimsoll.Name), client, session.save)
	w.SetMaster()
	// While it ends, Fyne writes its empty preferences and reads them half
	// written; that it complains of it is no news to anybody.
	w.SetOnClosed(func() { log.SetOutput(io.Discard) })
	w.show(opts.page)
	hand.show = w.apply
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := false
	defer func() {
		if started {
			return
		}
		if cause := recover(); cause != nil { // how Fyne says that it reaches no display
			err = api.Failure("no_display", fmt.Sprint(cause), nil)
		}
	}()
	screen.Lifecycle().SetOnStarted(func() {
		started = true
		go session.run(ctx)
		go answer(ctx, requests, w)
	})
	w.ShowAndRun()
	return nil
}

// answer brings the window forward when another start asks for it.
func answer(ctx context.Context, requests <-chan string, w *window) {
	for {
		select {
		case page := <-requests:
			fyne.Do(func() {
				w.show(page)
				w.Show()
				w.RequestFocus()
			})
		case <-ctx.Done():
			return
		}
	}
}

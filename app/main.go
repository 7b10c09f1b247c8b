// Package main is plimsoll: the agent in the menu bar, and the commands that
// show the same facts in a terminal. Every file is named after its command or
// after the wiring in it; what things are called and how they look is decided in
// package view.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/term"

	"plimsoll/app/limit"
	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/monitor"
)

func main() {
	asked, stop := signal.NotifyContext(context.Background(), endings()...)
	// A second Ctrl-C ends what does not end by itself: the first is told only when
	// the second would count.
	ctx, cancel := context.WithCancelCause(context.Background())
	context.AfterFunc(asked, func() {
		stop()
		cancel(context.Cause(asked))
	})
	home, _ := os.UserHomeDir() // without one, what needs it says so
	p := &program{
		in: os.Stdin, out: os.Stdout, errs: os.Stderr,
		getenv: os.Getenv, home: home, goos: runtime.GOOS, euid: os.Geteuid(),
		terminal: isTerminal, size: terminalSize,
		machine: metal.New, clock: monitor.SystemClock(),
	}
	if p.goos == "darwin" {
		p.limits = func(c limit.Config) localLimit { return limit.New(c) }
	}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// endings are the signals that end the program in good order. One that nohup or
// a service manager has turned off stays off.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// program is one run: what surrounds it, and what the global flags said.
type program struct {
	in        io.Reader
	out, errs io.Writer
	getenv    func(string) string
	home      string // "" when unknown
	goos      string
	euid      int
	// terminal says whether a stream is one, size how many columns and rows
	// standard output has (0 when it has none).
	terminal func(stream any) bool
	size     func() (columns, rows int)
	machine  func() (metal.Reader, error)
	clock    monitor.Clock
	// limits makes what changes the GPU's limit; nil where the system has none.
	limits func(limit.Config) localLimit

	words *view.Renderer

	socketFlag, languageFlag, serverFlag, logFlag string
	verbose                                       bool
}

// run carries out one command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	p.words = view.In(p.language(args))
	root := p.rootCommand()
	root.SetArgs(args)
	return p.finish(root.ExecuteContext(ctx))
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

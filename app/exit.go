package main

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/app/view"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// The exit codes, as plimsoll --help lists them.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitNoAgent = 3
	exitNoModel = 4
	exitAlert   = 5
	exitNoLimit = 6
)

// failure is an error whose sentence is a message of ours. A failure without an
// id has been told already, and only its code counts.
type failure struct {
	code  int
	id    string
	args  view.Args
	cause error
	// hint is the command whose help explains a usage error.
	hint string
}

func (f *failure) Error() string { return fmt.Sprintf("%s %v", f.id, f.args) }
func (f *failure) Unwrap() error { return f.cause }

func usage(id string, args view.Args) *failure {
	return &failure{code: exitUsage, id: id, args: args, hint: "plimsoll --help"}
}

func failed(id string, args view.Args) *failure {
	return &failure{code: exitFailed, id: id, args: args}
}

// told ends a command with a code when all has been said.
func told(code int) error {
	if code == exitOK {
		return nil
	}
	return &failure{code: code}
}

// finish tells a person what went wrong, if anything, and returns the exit code.
func (p *program) finish(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	f, ours := errors.AsType[*failure](err)
	switch {
	case ours && f.id == "":
		return code
	case ours:
		p.complain(p.words.Text(f.id, f.args))
	default:
		p.complain(p.words.Error(err))
	}
	if code == exitUsage {
		p.say(p.errs, "cli.usage.see", view.Args{"Command": f.hint})
	}
	return code
}

func exitCode(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	switch {
	case errors.Is(err, api.ErrNoAgent):
		return exitNoAgent
	case errors.Is(err, monitor.ErrNoModel):
		return exitNoModel
	case errors.Is(err, monitor.ErrNoLimit), errors.Is(err, wired.ErrNoKey):
		return exitNoLimit
	}
	return exitFailed
}

// complain writes one sentence to standard error, after the program's name as
// every command-line tool does.
func (p *program) complain(sentence string) { fmt.Fprintf(p.errs, "plimsoll: %s\n", sentence) }

// say writes one message and a line end.
func (p *program) say(to interface{ Write([]byte) (int, error) }, id string, args ...view.Args) {
	fmt.Fprintln(to, p.words.Text(id, args...))
}

// ended reports whether err only says that the person ended the command.
func ended(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
}

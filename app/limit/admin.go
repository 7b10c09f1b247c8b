package limit

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// prompt asks for an administrator and hands a script on to be run as root. The
// script, its argument and the sentence that the person reads are its arguments and
// never become part of it.
//
//go:embed admin.applescript
var prompt string

// The statuses with which the scripts end, beside 0.
var statuses = map[int]error{
	66: ErrUnsafe, 67: ErrChanged, 68: ErrChanged, 69: ErrUnsafe, 70: ErrLaunchd, 72: ErrKept,
}

// asRoot runs one of the scripts as root: directly where this process is root's,
// else by the hand of an administrator, for whom sentence says what it is for.
func (l *Limiter) asRoot(ctx context.Context, script, argument, sentence string) error {
	if l.euid == 0 {
		return l.direct(ctx, script, argument)
	}
	if l.getenv("SSH_CONNECTION") != "" {
		return ErrNoSession // macOS would ask on the machine's own screen, or nowhere
	}
	if !l.asking.TryLock() {
		return ErrAsking
	}
	defer l.asking.Unlock()
	// After "--" nothing is an option.
	out, err := run(ctx, nil, l.programs.osascript, "-e", prompt, "--", script, argument, sentence)
	if err == nil {
		return nil
	}
	return prompted(ctx, out, err)
}

func (l *Limiter) direct(ctx context.Context, script, argument string) error {
	out, err := run(ctx, clean, l.programs.sh, "-c", script, "plimsoll", argument)
	exit, ended := errors.AsType[*exec.ExitError](err)
	if !ended {
		return err
	}
	return scriptFailed(exit.ExitCode(), out)
}

// clean is the environment of what runs as root; nil is this process's.
var clean = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}

// run starts a program and returns all that it prints.
func run(ctx context.Context, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second // what it started may keep its output open
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return strings.TrimSpace(said.String()), err
}

// ending is the number with which AppleScript ends the text of an error: that of the
// error, or the status of the command.
var ending = regexp.MustCompile(`\((-?[0-9]{1,6})\)\s*$`)

// Numbers of AppleScript's errors: userCanceledErr and errAENoUserInteraction
// (MacErrors.h), and of Authorization Services (Authorization.h) the negative ones
// from −60000 on.
const (
	osCancelled     = -128
	osNoInteraction = -1713
	authDenied      = -60005
	authCancelled   = -60006
	authNoDialog    = -60007
)

// prompted is what became of a question that did not end well.
func prompted(ctx context.Context, out string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking for an administrator: %w", ctx.Err())
	}
	number := 0
	if found := ending.FindStringSubmatch(out); found != nil {
		number, _ = strconv.Atoi(found[1]) // its digits are few
		out = strings.TrimSpace(strings.TrimSuffix(out, found[0]))
	}
	switch number {
	case osCancelled, authCancelled:
		return ErrCancelled
	case osNoInteraction, authNoDialog:
		return ErrNoSession
	case authDenied:
		return ErrDenied
	case 0:
		return fmt.Errorf("asking for an administrator: %w: %s", err, out)
	}
	return scriptFailed(number, out)
}

// scriptFailed is what a script that ended with a status says, in its last line.
func scriptFailed(status int, out string) error {
	lines := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' || r == '\r' })
	last := ""
	if len(lines) > 0 {
		_, last, _ = strings.Cut(lines[len(lines)-1], "plimsoll: ")
		if last == "" {
			last = lines[len(lines)-1]
		}
	}
	if known, ok := statuses[status]; ok {
		return detailed(known, last)
	}
	return fmt.Errorf("changing the system as root: status %d: %s", status, last)
}

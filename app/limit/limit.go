// Package limit changes the GPU's wired limit on this machine, for the agent and
// for the commands: through the helper (metal/helper) where it is installed, else
// by asking for an administrator at each change. It installs the helper and removes
// it, and restarts model servers, which read the limit only when they start.
//
// # What root is asked to do
//
// Three shell scripts are all that this package ever has run as root: install.sh,
// remove.sh and set.sh, embedded in the program. macOS asks the person
// (admin.applescript, run by /usr/bin/osascript), or the person says sudo, in which
// case /bin/sh runs the same script directly. A script gets one argument, quoted by
// AppleScript itself ("quoted form of") or passed as it is by exec; nothing else of a
// run comes into it. The argument is checked by the script that gets it.
//
// The hash of the helper is part of install.sh, and so is launchd's property list:
// both are put into its text when the program is built and starts, from constants of
// the build (-ldflags -X for the hash, see build/lib.sh), so that the text is the
// same in every run of one build. As an argument the hash would be worth nothing:
// who can choose the file could choose the hash with it.
//
// The script copies the helper to a folder that is root's alone and checks that copy.
// What happens to the original afterwards, or while it is read, changes nothing.
//
// # What that does not protect from
//
// Plimsoll runs with the rights of its user, and so does all else that the user
// starts. A program of an attacker that already runs as that user can show the same
// prompt with another script behind it, or change Plimsoll itself before the person
// clicks; macOS does not show what the password is for, beyond our sentence. Whoever
// is asked for a password without having asked for anything should not give it. Once
// the helper is installed, such a program gains what the user has: a limit inside the
// bounds of package wired, on trial until it is confirmed.
package limit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// Config is what a Limiter is made of.
type Config struct {
	// Local tells which process serves at a port, and which have ended.
	Local metal.Reader
	// Address is the URL of a model server by the name of its backend, "" for none.
	Address func(backend string) string
	// Sentence is what the person reads whom macOS asks for a password: the message
	// of that id in the person's language.
	Sentence func(id string) string
	Getenv   func(string) string
	// Self is the path of this program; the helper is looked for from there.
	Self string
}

// Limiter changes the limit of this machine. It is a monitor.Limiter, and may be
// used by several goroutines.
type Limiter struct {
	local    metal.Reader
	address  func(string) string
	sentence func(string) string
	getenv   func(string) string
	self     string
	goos     string
	euid     int

	reader   wired.Reader
	client   wired.Client
	programs programs
	places   places
	xattr    func(path, name string) (string, error)
	end      func(pid int, started uint64) error
	pause    func(context.Context, time.Duration) error
	proc     string // where Linux tells of processes

	asking sync.Mutex // one question to the person at a time
}

// programs are those that are started, by their whole paths: no search path decides
// what runs.
type programs struct{ osascript, sh, launchctl, open, lsof, systemctl string }

var theirs = programs{
	osascript: "/usr/bin/osascript", sh: "/bin/sh", launchctl: "/bin/launchctl",
	open: "/usr/bin/open", lsof: "/usr/sbin/lsof", systemctl: "/usr/bin/systemctl",
}

// New makes the Limiter of this machine. It does nothing yet.
func New(c Config) *Limiter {
	return &Limiter{
		local: c.Local, address: c.Address, sentence: c.Sentence, getenv: c.Getenv, self: c.Self,
		goos: runtime.GOOS, euid: os.Geteuid(),
		reader: system{}, client: wired.Client{Dial: dial}, programs: theirs, places: onMac,
		xattr: xattr, end: metal.EndProcess, pause: pause, proc: "/proc",
	}
}

// State reads what is set, remembered and on trial.
func (l *Limiter) State() (wired.State, error) { return wired.ReadState(l.reader) }

// Helper says how the helper stands. Where one is installed this starts it.
func (l *Limiter) Helper(ctx context.Context) monitor.HelperState {
	state, _, _ := l.ask(ctx)
	return state
}

// ask says how the helper stands and what it says of itself. Without a program at
// its place there is none, whatever else is there: an installation that was cut
// short is told by the socket that is not there.
func (l *Limiter) ask(ctx context.Context) (monitor.HelperState, wired.Helper, error) {
	if !l.places.installed() {
		return monitor.HelperMissing, wired.Helper{}, nil
	}
	helper, err := l.client.Version(ctx)
	switch {
	case err == nil:
		return monitor.HelperInstalled, helper, nil
	case codeOf(err) == wired.CodeProtocol:
		return monitor.HelperOutdated, helper, err
	case codeOf(err) == wired.CodeNotPermitted: // another user installed it
		return monitor.HelperInstalled, helper, err
	}
	return monitor.HelperSilent, helper, err
}

// Set sets the limit. The helper gives a raised one back after the lease, unless it
// is confirmed. Without the helper an administrator is asked, and what is set then
// stays until the next start of the system. A helper of another version is replaced
// first, which asks once.
func (l *Limiter) Set(ctx context.Context, limit wired.MiB, lease time.Duration) error {
	if err := l.check(limit); err != nil {
		return err
	}
	return l.through(ctx, func() error { return l.client.Set(ctx, limit, lease) }, func() error { return l.once(ctx, limit) })
}

// Reset goes back to the system's default, and the helper forgets what it remembers.
// Where the helper does not answer, or is of another version and cannot be replaced
// from here, an administrator is asked all the same: this is what a person does whose
// Mac stalls.
func (l *Limiter) Reset(ctx context.Context) error {
	err := l.through(ctx, func() error { return l.client.Reset(ctx) }, func() error { return l.once(ctx, 0) })
	switch codeOf(err) {
	case wired.CodeSilent, codeOf(ErrNoHelper), codeOf(ErrPlace): // nobody was asked yet
		if ctx.Err() == nil {
			return l.once(ctx, 0)
		}
	}
	return err
}

// Confirm ends the trial of a raised limit, of any for 0: it stays. Only the helper
// has trials.
func (l *Limiter) Confirm(ctx context.Context, limit wired.MiB) error {
	return l.through(ctx, func() error { return l.client.Confirm(ctx, limit) }, func() error { return ErrNoTrial })
}

// through has the helper do it, or else another.
func (l *Limiter) through(ctx context.Context, helper, other func() error) error {
	switch state, _, err := l.ask(ctx); state {
	case monitor.HelperMissing:
		return other()
	case monitor.HelperOutdated:
		if err := l.Install(ctx); err != nil {
			return err
		}
	case monitor.HelperSilent:
		return err
	}
	return helper()
}

// check refuses what the helper would refuse, before a person is asked for it.
func (l *Limiter) check(limit wired.MiB) error {
	m, err := l.local.Machine()
	if err != nil {
		return fmt.Errorf("reading how much memory this machine has: %w", err)
	}
	if m.RAMBytes == nil {
		return errors.New("this machine does not say how much memory it has")
	}
	return wired.BoundsOf(*m.RAMBytes).Check(limit)
}

// once sets the limit as an administrator, without the helper.
func (l *Limiter) once(ctx context.Context, limit wired.MiB) error {
	command, err := l.ByHand(limit)
	if err != nil {
		return err
	}
	return l.asRoot(ctx, setScript, strings.TrimPrefix(command, "sudo sysctl "), l.sentence("limit.prompt.set"))
}

// ByHand is the command that sets a limit by hand. It fails with wired.ErrNoKey
// where the system has no adjustable limit.
func (l *Limiter) ByHand(limit wired.MiB) (string, error) {
	state, err := l.State()
	if err != nil {
		return "", err
	}
	for _, key := range wired.Keys {
		if key.Name == state.Key {
			return key.Command(limit), nil
		}
	}
	return "", wired.ErrNoKey
}

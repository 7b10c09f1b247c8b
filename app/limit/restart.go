package limit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/metal"
)

// Why a server was not restarted. Detail is the command that does it by hand, where
// there is one.
var (
	// ErrElsewhere: the server does not run on this machine, or nobody listens there.
	ErrElsewhere error = &failure{code: "restart_elsewhere", detail: "the server is not one of this machine"}
	// ErrByHand: nobody keeps the server running who could start it again.
	ErrByHand error = &failure{code: "restart_by_hand", detail: "it was started by hand"}
	// ErrNotBack: it ended, or was asked to, and the new one does not answer.
	ErrNotBack error = &failure{code: "restart_not_back", detail: "it did not come back"}
)

// What may take how long: a server lets models go before it ends.
const (
	endPatience   = 10 * time.Second
	startPatience = 20 * time.Second
	look          = 200 * time.Millisecond
)

// server is the process that serves at an address, and who keeps it running.
type server struct {
	process metal.Process
	port    int
	keeper  keeper
}

// Restart ends the model server of a backend politely and has it started again by
// whoever keeps it: its application, launchd or systemd. Nothing is killed, and no
// process gets a signal that does not hold the server's port or belong to its
// application. Fails with ErrByHand where nobody would start it again; then nothing
// has happened.
func (l *Limiter) Restart(ctx context.Context, backend string) error {
	s, err := l.find(ctx, backend)
	if err != nil {
		return err
	}
	switch s.keeper.kind {
	case byApp:
		err = l.restartApp(ctx, s)
	case byLaunchd:
		err = l.restartJob(ctx, s)
	case bySystemd, byUserUnits:
		err = l.restartUnit(ctx, s)
	default:
		return detailed(ErrByHand, s.command())
	}
	if err != nil {
		return err
	}
	if l.wait(ctx, startPatience, func() bool {
		p, err := l.listener(ctx, s.port)
		return err == nil && !same(p, &s.process)
	}) != nil {
		return detailed(ErrNotBack, s.command())
	}
	return nil
}

// RestartCommand is what a person types to restart the model server of a backend.
func (l *Limiter) RestartCommand(ctx context.Context, backend string) (string, error) {
	s, err := l.find(ctx, backend)
	if err != nil {
		return "", err
	}
	return s.command(), nil
}

// find finds the server of a backend by its port.
func (l *Limiter) find(ctx context.Context, backend string) (*server, error) {
	port, err := portOf(l.address(backend))
	if err != nil {
		return nil, err
	}
	p, err := l.listener(ctx, port)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, strings.ToLower(p.Name)) {
		return nil, detailed(ErrElsewhere, fmt.Sprintf("%s (%d) listens at port %d", p.Name, p.PID, port))
	}
	s := &server{process: *p, port: port}
	if l.goos == "darwin" {
		s.keeper = l.onMac(ctx, p)
	} else {
		s.keeper = l.onLinux(p)
	}
	return s, nil
}

// known are the names of model servers' programs. Whoever else holds the port, a
// tunnel or a virtual machine, is not ended for what it carries.
var known = []string{"ollama", "llama-server"}

// portOf is the port of a server on this machine.
func portOf(address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return 0, ErrElsewhere
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()) {
		return 0, detailed(ErrElsewhere, host)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0, detailed(ErrElsewhere, address)
	}
	return port, nil
}

// listener is the process that listens at a port: as the reader of this machine tells,
// or lsof where that cannot. Only processes of this user are found.
func (l *Limiter) listener(ctx context.Context, port int) (*metal.Process, error) {
	if ports, ok := l.local.(interface {
		Listener(port int) (*metal.Process, error)
	}); ok {
		return ports.Listener(port)
	}
	out, _ := run(ctx, nil, l.programs.lsof, "-nP", "-a", "-iTCP:"+strconv.Itoa(port), "-sTCP:LISTEN", "-t")
	for word := range strings.FieldsSeq(out) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
			return l.local.Process(pid)
		}
	}
	return nil, fmt.Errorf("looking for who listens at port %d: %w", port, metal.ErrNoProcess)
}

// restartApp quits an application, waits until it and its server are gone, and
// opens it again, hidden. An Ollama that is asked to end lets its server go first; one that
// leaves it behind has it asked as well.
func (l *Limiter) restartApp(ctx context.Context, s *server) error {
	app := s.keeper.app
	if err := l.end(app.PID, app.Started); err != nil && !errors.Is(err, metal.ErrNoProcess) {
		return err
	}
	if err := l.ended(ctx, app); err != nil {
		return detailed(ErrNotBack, s.command())
	}
	if err := l.end(s.process.PID, s.process.Started); err != nil && !errors.Is(err, metal.ErrNoProcess) {
		return err
	}
	if err := l.ended(ctx, &s.process); err != nil {
		return detailed(ErrNotBack, s.command())
	}
	if out, err := run(ctx, nil, l.programs.open, "-g", "-j", "-a", s.keeper.name); err != nil {
		return fmt.Errorf("opening %s: %w: %s", s.keeper.name, err, out)
	}
	return nil
}

// restartJob asks the process to end. launchd starts it again where the job says so,
// as Homebrew's do, and is asked to where it does not.
func (l *Limiter) restartJob(ctx context.Context, s *server) error {
	if err := l.end(s.process.PID, s.process.Started); err != nil && !errors.Is(err, metal.ErrNoProcess) {
		return err
	}
	if err := l.ended(ctx, &s.process); err != nil {
		return detailed(ErrNotBack, s.command())
	}
	for _, domain := range []string{"gui", "user"} {
		if _, err := run(ctx, nil, l.programs.launchctl, "kickstart", fmt.Sprintf("%s/%d/%s", domain, os.Getuid(), s.keeper.name)); err == nil {
			break
		}
	}
	return nil // whether it is back is seen at its port
}

// restartUnit has systemd do it. It asks nobody for a password here.
func (l *Limiter) restartUnit(ctx context.Context, s *server) error {
	args := []string{"--no-ask-password", "restart", s.keeper.name}
	if s.keeper.kind == byUserUnits {
		args = append([]string{"--user"}, args...)
	}
	if _, err := run(ctx, nil, l.programs.systemctl, args...); err != nil {
		return detailed(ErrByHand, s.command())
	}
	return nil
}

// ended waits until a process is gone.
func (l *Limiter) ended(ctx context.Context, p *metal.Process) error {
	return l.wait(ctx, endPatience, func() bool {
		now, err := l.local.Process(p.PID)
		return errors.Is(err, metal.ErrNoProcess) || err == nil && !same(now, p)
	})
}

func same(a, b *metal.Process) bool { return a.PID == b.PID && a.Started == b.Started }

// wait looks until something holds, at most so long.
func (l *Limiter) wait(ctx context.Context, most time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !holds() {
		if err := l.pause(ctx, look); err != nil {
			return err
		}
	}
	return nil
}

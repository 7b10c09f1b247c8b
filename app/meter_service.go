package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
)

// service is how a system runs the meter for one user: it starts with the user's
// session, and again whenever it ends.
type service struct {
	manager string // "launchd" or "systemd"
	path    string // of the file that describes it
	text    string
	// start and stop are the commands that put the file in force and out of it.
	// Those marked loose may fail: what they undo may not be there.
	start, stop []step
	folder      string // that must exist, "" for none
}

// step is one command of the system's service manager.
type step struct {
	loose bool
	words []string
	// tries is how often it may fail before it has failed, half a second apart:
	// launchd is not done with what it was told to end when it says so.
	tries int
}

// betweenTries is the time between two tries of a step.
const betweenTries = 500 * time.Millisecond

// serviceLog is where launchd puts what the meter says.
const serviceLog = "Library/Logs/Plimsoll/meter.log"

// meterService describes the service that runs a command line.
func (p *program) meterService(args []string) (*service, error) {
	if p.home == "" {
		return nil, failed("meter.service.no_home", nil)
	}
	if p.goos == "darwin" {
		return launchdService(p.home, os.Getuid(), args), nil
	}
	config := p.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(p.home, ".config")
	}
	return systemdService(config, args), nil
}

// meterInstallCommand makes the meter a service of this user.
func (p *program) meterInstallCommand() *cobra.Command {
	var f meterFlags
	cmd := p.command("meter_install", "install", "", func(cmd *cobra.Command, _ []string) error { return p.installMeter(cmd, f) })
	p.meterFlags(cmd, &f)
	cmd.Args = takes()
	return cmd
}

func (p *program) installMeter(cmd *cobra.Command, f meterFlags) error {
	address, upstream, err := p.checkMeter(cmd, f)
	if err != nil {
		return err
	}
	self, err := ownProgram()
	if err != nil {
		return err
	}
	args := []string{self, "meter", "--listen", address, "--upstream", upstream.String(),
		"--max-context", fmt.Sprint(f.context), "--max-queue", fmt.Sprint(f.queue), "--over", f.over}
	if f.public {
		args = append(args, "--public")
	}
	if f.pace > 0 {
		args = append(args, "--pace", f.pace.String())
	}
	if p.socketFlag != "" {
		socket, _, err := p.socket()
		if err != nil {
			return err
		}
		args = append(args, "--socket", socket)
	}
	s, err := p.meterService(args)
	if err != nil {
		return err
	}
	if err := p.putService(cmd.Context(), s, address); err != nil {
		return err
	}
	p.say(p.out, "meter.service.installed", view.Args{"File": s.path, "Manager": s.manager, "Address": "http://" + address, "Server": upstream.Redacted()})
	return nil
}

// ownProgram is the path under which a service finds this program again.
func ownProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	// Where macOS runs a program from a download, and where go run puts one, it is
	// gone at the next start.
	if strings.Contains(self, "/AppTranslocation/") || strings.Contains(self, "/go-build") && strings.Contains(self, "/exe/") {
		return "", failed("meter.service.moved", view.Args{"File": self})
	}
	return self, nil
}

// putService writes the file, starts the service and waits until the meter is
// there. What does not start does not stay.
func (p *program) putService(ctx context.Context, s *service, address string) error {
	before, err := os.ReadFile(s.path)
	had := err == nil
	if !had && askMeter(ctx, address) == nil {
		return failed("meter.running", view.Args{"Address": address})
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("making the service's folder: %w", err)
	}
	if s.folder != "" {
		if err := os.MkdirAll(s.folder, 0o755); err != nil {
			return fmt.Errorf("making the folder of the service's log: %w", err)
		}
	}
	if err := os.WriteFile(s.path, []byte(s.text), 0o600); err != nil { // the address may hold a password
		return fmt.Errorf("writing the service: %w", err)
	}
	err = s.run(ctx, s.start)
	if err == nil {
		err = p.awaitMeter(ctx, address)
	}
	if err == nil {
		return nil
	}
	clean := context.WithoutCancel(ctx)
	s.run(clean, s.stop) //nolint:errcheck // the first error is told
	if !had {
		os.Remove(s.path) //nolint:errcheck // as above
		return err
	}
	os.WriteFile(s.path, before, 0o600) //nolint:errcheck // as above
	s.run(clean, s.start)               //nolint:errcheck // as above
	return err
}

// serviceStart is how long a service may take to answer.
const serviceStart = 15 * time.Second

func (p *program) awaitMeter(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, serviceStart)
	defer cancel()
	for askMeter(ctx, address) != nil {
		select {
		case <-ctx.Done():
			return failed("meter.service.silent", view.Args{"Address": address, "Process": p.holder(address)})
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// run carries out commands, up to the first that fails.
func (s *service) run(ctx context.Context, steps []step) error {
	for _, step := range steps {
		said, err := exec.CommandContext(ctx, step.words[0], step.words[1:]...).CombinedOutput()
		for tries := 1; err != nil && tries < step.tries && ctx.Err() == nil; tries++ {
			time.Sleep(betweenTries)
			said, err = exec.CommandContext(ctx, step.words[0], step.words[1:]...).CombinedOutput()
		}
		if err != nil && !step.loose {
			return failed("meter.service.refused", view.Args{"Command": strings.Join(step.words, " "), "Reason": strings.TrimSpace(err.Error() + ": " + firstLine(said))})
		}
	}
	return nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// meterUninstallCommand undoes it.
func (p *program) meterUninstallCommand() *cobra.Command {
	cmd := p.command("meter_uninstall", "uninstall", "", func(cmd *cobra.Command, _ []string) error {
		s, err := p.meterService(nil)
		if err != nil {
			return err
		}
		if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
			p.say(p.out, "meter.service.none")
			return nil
		}
		if err := s.run(cmd.Context(), s.stop); err != nil {
			return err
		}
		if err := os.Remove(s.path); err != nil {
			return fmt.Errorf("removing the service: %w", err)
		}
		p.say(p.out, "meter.service.removed", view.Args{"File": s.path})
		return nil
	})
	cmd.Args = takes()
	return cmd
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// installCommand puts the helper in place, with one question for a password.
func (p *program) installCommand() *cobra.Command {
	cmd := p.command("limit_install", "install", "", func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		l, err := p.thisLimit(ctx)
		if err != nil {
			return err
		}
		p.announce()
		if err := l.Install(ctx); err != nil {
			return err
		}
		_, helper, _ := l.Version(ctx)
		p.say(p.out, "limit.installed", view.Args{"Version": helper.Version, "User": p.personOf()})
		return nil
	})
	cmd.Args = takes()
	return cmd
}

// uninstallCommand removes the helper and all that it wrote.
func (p *program) uninstallCommand() *cobra.Command {
	cmd := p.command("limit_uninstall", "uninstall", "", func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		l, err := p.thisLimit(ctx)
		if err != nil {
			return err
		}
		p.announce()
		if err := l.Uninstall(ctx); err != nil {
			return err
		}
		p.say(p.out, "limit.uninstalled")
		return nil
	})
	cmd.Args = takes()
	return cmd
}

// announce says that a question will be there, which may come up behind a terminal.
func (p *program) announce() {
	if p.euid != 0 {
		p.say(p.errs, "limit.asks")
	}
}

// personOf is the user for whom the helper was installed: behind sudo, the one who
// said it.
func (p *program) personOf() string {
	if uid := p.getenv("SUDO_UID"); uid != "" && p.euid == 0 {
		return uid
	}
	return strconv.Itoa(p.euid)
}

// errSimulated says that the agent's machine is a simulated one.
var errSimulated = errors.New("a simulated Mac")

// thisLimit is the limit of this machine, whose helper can be installed. An agent that
// was named must be one of it: a simulated Mac has its helper from the start.
func (p *program) thisLimit(ctx context.Context) (localLimit, error) {
	if path, named, err := p.socket(); err != nil {
		return nil, err
	} else if named {
		health, err := api.Dial(path).Health(ctx)
		if err != nil {
			return nil, err
		}
		if health.Simulated {
			return nil, &failure{code: exitFailed, id: "limit.simulated", cause: errSimulated}
		}
	}
	local, err := p.machine()
	if err != nil {
		return nil, err
	}
	l := p.thisMachine(local, p.storedSettings)
	if l == nil {
		return nil, &failure{code: exitNoLimit, id: "limit.none"}
	}
	if _, err := l.State(); errors.Is(err, wired.ErrNoKey) {
		return nil, &failure{code: exitNoLimit, id: "limit.none"}
	} else if err != nil {
		return nil, err
	}
	return l, nil
}

// limitStatusCommand tells how the helper stands, where its files are and what does
// the same by hand.
func (p *program) limitStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := p.command("limit_status", "status", "", func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		l, err := p.thisLimit(ctx)
		if errors.Is(err, errSimulated) {
			return p.printSimulated(ctx, asJSON)
		}
		if err != nil {
			return err
		}
		status, err := statusOf(ctx, l)
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(p.out).Encode(status)
		}
		p.printHelper(status)
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, p.words.Text("cli.limit.json"))
	cmd.Args = takes()
	return cmd
}

// printSimulated is how the helper of a simulated Mac stands. It has no files and
// nobody installs it, so those are left out.
func (p *program) printSimulated(ctx context.Context, asJSON bool) error {
	_, update, end, err := p.limitSource(ctx)
	if err != nil {
		return err
	}
	defer end()
	if l := update.Snapshot.Limit; asJSON {
		return json.NewEncoder(p.out).Encode(helperStatus{Helper: l.Helper, Own: wired.Protocol, Key: l.Key, Simulated: true})
	}
	fmt.Fprintln(p.out, p.words.Render(update, p.now(update)).Limit.Helper)
	p.say(p.out, "limit.simulated")
	return nil
}

// helperStatus is how the helper of this machine stands.
type helperStatus struct {
	Helper monitor.HelperState `json:"helper"`
	// Version and Protocol are what it says of itself. Absent when it says nothing.
	Version  string `json:"version,omitzero"`
	Protocol int    `json:"protocol,omitzero"`
	// Own is the protocol of this program.
	Own int `json:"own_protocol"`
	// Reason is why it cannot be used.
	Reason string `json:"reason,omitzero"`
	// Key is the system's name for the limit.
	Key string `json:"key"`
	// Simulated is the demo's: the fields below are absent then.
	Simulated bool `json:"simulated,omitzero"`
	// Install and Hand are what a person types: to install the helper over ssh, and to
	// go back to the system's default.
	Install string `json:"install_command,omitzero"`
	Hand    string `json:"reset_command,omitzero"`
	// Files are the places of all that an installation has.
	Files []string `json:"files,omitzero"`
}

func statusOf(ctx context.Context, l localLimit) (helperStatus, error) {
	state, err := l.State()
	if err != nil {
		return helperStatus{}, err
	}
	hand, err := l.ByHand(0)
	if err != nil {
		return helperStatus{}, err
	}
	s := helperStatus{
		Own: wired.Protocol, Key: state.Key, Install: l.Command("install"), Hand: hand,
		Files: []string{wired.Program, wired.Job, wired.Home, wired.Socket},
	}
	found, helper, err := l.Version(ctx)
	s.Helper, s.Version, s.Protocol = found, helper.Version, helper.Protocol
	if err != nil {
		s.Reason = err.Error()
	}
	return s, nil
}

func (p *program) printHelper(s helperStatus) {
	args := view.Args{"Version": s.Version, "Protocol": s.Protocol, "Own": s.Own, "Reason": s.Reason}
	rows := [][]string{
		{"limit.status.helper", p.words.Text("limit.status."+string(s.Helper), args)},
		{"limit.status.key", s.Key},
		{"limit.status.hand", s.Hand},
	}
	if s.Helper != monitor.HelperMissing {
		for _, file := range s.Files {
			rows = append(rows, []string{"limit.status.files", file})
		}
	}
	last := ""
	for i, row := range rows {
		label := row[0]
		rows[i][0] = ""
		if label != last {
			rows[i][0] = p.words.Text(label)
		}
		last = label
	}
	page := p.page()
	page.Width, page.Colour = 0, false
	fmt.Fprint(p.out, page.Table(rows))
	switch {
	case s.Helper == monitor.HelperMissing:
		p.say(p.out, "limit.status.install", view.Args{"Command": "plimsoll limit install"})
	case s.Helper != monitor.HelperInstalled:
		p.say(p.out, "limit.status.renew", view.Args{"Command": "plimsoll limit install"})
	case s.Reason != "":
		p.say(p.out, "limit.status.not_you", view.Args{"Command": "plimsoll limit install"})
	}
	if s.Helper != monitor.HelperInstalled || s.Reason != "" {
		p.say(p.out, "limit.status.over_ssh", view.Args{"Command": s.Install})
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/limit"
	"plimsoll/app/view"
	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// limitCommand tells how the GPU's limit stands; its commands change it. Through an
// agent they work on the agent's machine, the simulated one included.
func (p *program) limitCommand() *cobra.Command {
	cmd := p.getLimitCommand("limit", "limit", groupAct)
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := p.noSuchCommand(cmd, args)
		if f, ok := errors.AsType[*failure](err); ok {
			f.hint = cmd.CommandPath() + " --help"
		}
		return err
	}
	cmd.AddCommand(
		p.getLimitCommand("limit_get", "get", ""), p.setLimitCommand(), p.confirmLimitCommand(), p.resetLimitCommand(),
		p.installCommand(), p.uninstallCommand(), p.limitStatusCommand(),
	)
	return cmd
}

// getLimitCommand is what "limit" and "limit get" are.
func (p *program) getLimitCommand(id, use, group string) *cobra.Command {
	var asJSON bool
	cmd := p.command(id, use, group, func(cmd *cobra.Command, _ []string) error {
		_, update, end, err := p.limitSource(cmd.Context())
		if err != nil {
			return err
		}
		defer end()
		if asJSON {
			return json.NewEncoder(p.out).Encode(update.Snapshot.Limit)
		}
		return p.printLimit(update)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, p.words.Text("cli.limit.json"))
	cmd.Args = takes()
	return cmd
}

// limitSource is where the limit is told and changed, with an update that knows how
// it stands. The caller calls end when done.
func (p *program) limitSource(ctx context.Context) (source, monitor.Update, func(), error) {
	s, end, err := p.source(ctx)
	if err != nil {
		return nil, monitor.Update{}, nil, err
	}
	update, err := p.awaitLimit(ctx, s, func(u monitor.Update) bool {
		return u.Snapshot.Limit == nil || u.Snapshot.Limit.Helper != ""
	})
	if err == nil && update.Snapshot.Limit == nil {
		err = noLimit(update)
	}
	if err != nil {
		end()
		return nil, update, nil, err
	}
	return s, update, end, nil
}

// noLimit is why a snapshot has no limit: most often because the system has none.
func noLimit(u monitor.Update) error {
	problem, told := u.Snapshot.Problems[monitor.SectionLimit]
	if told && problem.Reason == monitor.ReasonFailed {
		return errors.New(problem.Detail)
	}
	return &failure{code: exitNoLimit, id: "limit.none"}
}

// limitPatience is how long is waited for what a change has brought about: a tick of
// the monitor, and a few until Metal tells the same.
const limitPatience = 10 * time.Second

// awaitLimit watches until an update is as wanted, and returns it. What is not there
// in time is not waited for: the newest update is returned then.
func (p *program) awaitLimit(ctx context.Context, s source, wanted func(monitor.Update) bool) (monitor.Update, error) {
	var update monitor.Update
	limited, cancel := context.WithTimeout(ctx, limitPatience)
	defer cancel()
	err := s.Watch(limited, monitor.Options{}, func(u monitor.Update) error {
		if !answered(s, u) {
			return nil
		}
		update = u
		if wanted(u) {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return update, nil
	case ctx.Err() == nil && limited.Err() != nil && update.Snapshot != nil:
		return update, nil
	}
	return update, err
}

// printLimit is how the limit stands, and what is worth setting.
func (p *program) printLimit(u monitor.Update) error {
	l := p.words.Render(u, p.now(u)).Limit
	p.printLimitRow(u, l)
	if refused := u.Snapshot.Limit.Refused; refused != "" {
		p.say(p.out, "limit.refused."+refused)
	}
	fmt.Fprintf(p.out, "\n%s\n", p.words.Text("limit.heading.choices"))
	rows := [][]string{}
	for _, c := range l.Choices {
		mark, command := " ", fmt.Sprintf("plimsoll limit set %d", c.Bytes>>20)
		if c.Chosen {
			mark = "›"
		}
		switch {
		case c.Bytes == 0:
			command = "plimsoll limit reset"
		case c.Forbidden:
			command = ""
		}
		rows = append(rows, []string{mark, c.Label, c.Detail, command})
	}
	page := p.page()
	page.Width, page.Colour = 0, false
	fmt.Fprint(p.out, page.Table(rows))
	if l.Nothing != "" {
		fmt.Fprintln(p.out, l.Nothing)
	}
	return nil
}

// printLimitRow is the limit in force, what is known of it, and which servers do not
// see it yet.
func (p *program) printLimitRow(u monitor.Update, l *view.Limit) {
	fmt.Fprintf(p.out, "%s  %s\n", l.Row.Label, l.Row.Text)
	for line := range strings.Lines(l.Row.Detail) {
		fmt.Fprintf(p.out, "  %s\n", strings.TrimSpace(line))
	}
	p.printRestarts(l)
}

// printRestarts names the servers that must be restarted, and how.
func (p *program) printRestarts(l *view.Limit) {
	for _, r := range l.Restarts {
		fmt.Fprintln(p.out, r.Why)
		if r.Command != "" {
			p.say(p.out, "limit.by_hand", view.Args{"Command": r.Command})
		}
	}
}

// localLimit is package limit's Limiter, or what a test has in its place.
type localLimit interface {
	monitor.Limiter
	Install(context.Context) error
	Uninstall(context.Context) error
	Version(context.Context) (monitor.HelperState, wired.Helper, error)
	ByHand(wired.MiB) (string, error)
	Command(verb string) string
}

// thisMachine makes what changes the limit of this machine, nil where the system has
// none to change. Settings are asked for at each use: they may change.
func (p *program) thisMachine(local metal.Reader, settings func() api.Settings) localLimit {
	if p.limits == nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	return p.limits(limit.Config{
		Local: local, Getenv: p.getenv, Self: self,
		Address: func(name string) string {
			first, err := p.server(settings())
			if err != nil {
				return ""
			}
			for _, server := range p.servers(first) {
				if server.Name() == name {
					return server.Address()
				}
			}
			return ""
		},
		Sentence: func(id string) string { return p.wordsIn(settings()).Text(id) },
	})
}

// wordsIn are the words in the language that settings ask for, unless a flag has
// named one.
func (p *program) wordsIn(settings api.Settings) *view.Renderer {
	if p.languageFlag == "" && settings.Language != "" {
		return view.In(settings.Language)
	}
	return p.words
}

package main

import (
	"github.com/spf13/cobra"

	"plimsoll/app/view"
)

// serveCommand is the agent without a tray, for a machine that nobody sits at.
func (p *program) serveCommand() *cobra.Command {
	cmd := p.command("serve", "serve", groupRun, func(cmd *cobra.Command, _ []string) error {
		c, err := p.agentConfig()
		if err != nil {
			return err
		}
		c.listening = func(*agent) { p.say(p.errs, "cli.serve.listening", view.Args{"Socket": c.socket}) }
		return p.runAgent(cmd.Context(), c)
	})
	cmd.Args = takes()
	return cmd
}

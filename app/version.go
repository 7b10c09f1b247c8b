package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"plimsoll"
)

// versionCommand prints what --version prints.
func (p *program) versionCommand() *cobra.Command {
	cmd := p.command("version", "version", groupRun, func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(p.out, p.versionLine())
		return err
	})
	cmd.Args = takes()
	return cmd
}

func (p *program) versionLine() string {
	return fmt.Sprintf("%s %s (%s/%s, %s)", plimsoll.Name, plimsoll.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

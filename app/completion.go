package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// completionCommand prints the script that completes plimsoll in a shell.
func (p *program) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := p.command("completion", "completion bash|zsh|fish", groupRun, func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			if err := p.bashNeeds(); err != nil {
				return err
			}
			return root.GenBashCompletionV2(p.out, true)
		case "zsh":
			return root.GenZshCompletion(p.out)
		case "fish":
			return root.GenFishCompletion(p.out, true)
		}
		return misused(cmd, "cli.usage.shell", view.Args{"Value": args[0]})
	})
	cmd.Args = takes("bash|zsh|fish")
	cmd.ValidArgsFunction = cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// bashNeeds begins the script for bash with a look for the package that it calls:
// without it every press of Tab would print that a function was not found.
func (p *program) bashNeeds() error {
	_, err := fmt.Fprintf(p.out, `if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1 && ! declare -F _init_completion >/dev/null 2>&1; then
    printf '%%s\n' '%s' >&2
fi

`, strings.ReplaceAll(p.words.Text("cli.completion.needs"), "'", `'\''`))
	return err
}

// completionPatience is how long a shell may wait for names.
const completionPatience = time.Second

// agentsResidents hands out the models that a running agent knows as resident.
func (p *program) agentsResidents(ctx context.Context, socket string, each func(monitor.Resident)) {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	api.Dial(socket).Watch(ctx, monitor.Options{}, func(u monitor.Update) error {
		if u.Snapshot == nil {
			return nil
		}
		for _, r := range u.Snapshot.Residents {
			each(r)
		}
		return errEnough
	})
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/app/term"
	"plimsoll/app/view"
)

// help prints what a command is, how it is used and an example of each use.
// Cobra's own templates would do, if they were not English.
func (p *program) help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	fmt.Fprintln(out, cmd.Long)
	p.helpSection(out, "cli.help.usage", "  "+p.usageLine(cmd)+"\n")
	p.helpSection(out, "cli.help.examples", indented(cmd.Example))
	for _, group := range cmd.Groups() {
		p.helpSection(out, "cli.group."+group.ID, p.commandList(cmd, group.ID))
	}
	if cmd.HasParent() {
		p.helpSection(out, "cli.help.commands", p.commandList(cmd, ""))
	}
	p.helpSection(out, "cli.help.flags", p.flagList(cmd.LocalNonPersistentFlags()))
	if cmd.HasParent() {
		p.helpSection(out, "cli.help.global", p.flagList(cmd.InheritedFlags()))
		return
	}
	p.helpSection(out, "cli.help.global", p.flagList(cmd.PersistentFlags()))
	p.helpSection(out, "cli.help.exit", indented(p.words.Text("cli.help.exit_codes")))
	p.helpSection(out, "cli.help.environment", indented(p.words.Text("cli.help.variables")))
	p.say(out, "cli.help.more")
}

func (p *program) helpSection(out io.Writer, heading, body string) {
	if body != "" {
		fmt.Fprintf(out, "\n%s\n%s", p.words.Text(heading), body)
	}
}

func (p *program) usageLine(cmd *cobra.Command) string {
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		return line + " " + p.words.Text("cli.help.any_command") + " " + p.words.Text("cli.help.any_flags")
	}
	return line + " " + p.words.Text("cli.help.any_flags")
}

func (p *program) commandList(cmd *cobra.Command, group string) string {
	var b strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.GroupID == group && sub.IsAvailableCommand() {
			fmt.Fprintf(&b, "  %-11s %s\n", sub.Name(), sub.Short)
		}
	}
	return b.String()
}

func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}

// flagColumn is where the meaning of a flag begins.
const flagColumn = 24

func (p *program) flagList(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		place, meaning := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Value.Type() != "bool" {
			name += " " + place
		}
		if !trivial(f.DefValue) {
			meaning += p.words.Text("cli.help.default", view.Args{"Value": strings.Replace(f.DefValue, "m0s", "m", 1)})
		}
		gap := strings.Repeat(" ", max(flagColumn-term.Width(name), 2))
		b.WriteString("  " + name + gap + strings.ReplaceAll(meaning, "\n", "\n"+strings.Repeat(" ", flagColumn+2)) + "\n")
	})
	return b.String()
}

// trivial are the defaults that go without saying.
func trivial(value string) bool {
	return value == "" || value == "false" || value == "0" || value == "0s"
}

// helpCommand is plimsoll help COMMAND.
func (p *program) helpCommand() *cobra.Command {
	cmd := p.command("help", "help [COMMAND]", groupRun, func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return p.noSuchCommand(cmd.Root(), args)
		}
		found.Help()
		return nil
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, sub := range cmd.Root().Commands() {
			if len(args) == 0 && sub.IsAvailableCommand() {
				names = append(names, sub.Name()+"\t"+sub.Short)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

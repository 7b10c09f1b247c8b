package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/app/view"
)

// flagError says in the person's language what pflag says in English.
func (p *program) flagError(cmd *cobra.Command, err error) error {
	f := usage("cli.usage.flag_syntax", view.Args{"Flag": err.Error()})
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		f = usage("cli.usage.flag_unknown", view.Args{"Flag": dashed(unknown.GetSpecifiedName())})
	} else if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f = usage("cli.usage.flag_bare", view.Args{"Flag": dashed(bare.GetSpecifiedName())})
	} else if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f = usage("cli.usage.flag_value", view.Args{"Flag": "--" + bad.GetFlag().Name, "Value": bad.GetValue(),
			"Kind": p.words.Text("cli.kind." + bad.GetFlag().Value.Type())})
	} else if bad, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		f = usage("cli.usage.flag_syntax", view.Args{"Flag": bad.GetSpecifiedFlag()})
	}
	f.hint = cmd.CommandPath() + " --help"
	return f
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// takes makes a check that a command has got the arguments named, which are all
// required, and no others.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var f *failure
		switch {
		case len(args) < len(names):
			f = usage("cli.usage.missing", view.Args{"Name": names[len(args)]})
		case len(args) > len(names):
			f = usage("cli.usage.extra", view.Args{"Value": args[len(names)]})
		default:
			return nil
		}
		f.hint = cmd.CommandPath() + " --help"
		return f
	}
}

// misused is a usage error of one command.
func misused(cmd *cobra.Command, id string, args view.Args) error {
	f := usage(id, args)
	f.hint = cmd.CommandPath() + " --help"
	return f
}

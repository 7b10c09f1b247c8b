package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/language"

	"plimsoll"
	"plimsoll/app/tray"
	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

func init() { cobra.EnableCommandSorting = false } // help has an order of its own

// The groups of commands, in the order help shows them.
const (
	groupSee    = "see"
	groupAct    = "act"
	groupRecord = "record"
	groupRun    = "run"
)

// rootCommand is plimsoll without a command: the agent. Every text of the tree,
// headings and usage errors included, is a message of the area cli.
func (p *program) rootCommand() *cobra.Command {
	root := p.command("root", "plimsoll", "", p.runRoot)
	root.Args = p.noSuchCommand
	root.Version = plimsoll.Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.errs)
	root.SetHelpFunc(p.help)
	root.SetFlagErrorFunc(p.flagError)
	root.SetVersionTemplate(p.versionLine() + "\n")

	global := root.PersistentFlags()
	global.StringVar(&p.socketFlag, "socket", "", p.words.Text("cli.flag.socket"))
	global.StringVar(&p.languageFlag, "lang", "", p.words.Text("cli.flag.lang"))
	global.StringVar(&p.serverFlag, "server", "", p.words.Text("cli.flag.server"))
	global.StringVar(&p.logFlag, "log", "", p.words.Text("cli.flag.log"))
	global.BoolVar(&p.verbose, "verbose", false, p.words.Text("cli.flag.verbose"))
	global.BoolP("help", "h", false, p.words.Text("cli.flag.help"))
	root.Flags().Bool("version", false, p.words.Text("cli.flag.version"))
	root.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions([]string{"en", "zh"}, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return p.checkGlobals() }

	for _, group := range []string{groupSee, groupAct, groupRecord, groupRun} {
		root.AddGroup(&cobra.Group{ID: group, Title: p.words.Text("cli.group." + group)})
	}
	root.AddCommand(
		p.statusCommand(), p.modelsCommand(), p.fitCommand(), p.benchCommand(), p.doctorCommand(), p.adviseCommand(), p.windowCommand(),
		p.unloadCommand(), p.keepCommand(), p.limitCommand(),
		p.recordCommand(), p.replayCommand(),
		p.serveCommand(), p.meterCommand(), p.demoCommand(), p.completionCommand(), p.versionCommand(),
	)
	root.SetHelpCommand(p.helpCommand())
	return root
}

// command makes a command whose texts are the messages cli.ID.short, .long and
// .example. group is "" for the root.
func (p *program) command(id, use, group string, run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, GroupID: group, RunE: run, DisableFlagsInUseLine: true,
		Short:   p.words.Text("cli." + id + ".short"),
		Long:    p.words.Text("cli." + id + ".long"),
		Example: p.words.Text("cli." + id + ".example"),
	}
}

// runRoot is the agent with a tray where a tray can be, else without. Started a
// second time it shows what runs already.
func (p *program) runRoot(cmd *cobra.Command, _ []string) error {
	c, err := p.agentConfig()
	if err != nil {
		return err
	}
	c.tray = tray.Available()
	if !c.tray {
		p.say(p.errs, "cli.root.no_tray")
	}
	if p.terminal(p.errs) {
		c.listening = func(*agent) { p.say(p.errs, "cli.serve.listening", view.Args{"Socket": c.socket}) }
	}
	err = p.runAgent(cmd.Context(), c)
	if errors.Is(err, api.ErrAgentRunning) {
		return p.secondStart(cmd.Context(), c.socket)
	}
	return err
}

// secondStart tells a person at a terminal that an agent runs. From a desktop,
// where nobody would see that, it asks that agent for its window.
func (p *program) secondStart(ctx context.Context, socket string) error {
	if p.terminal(p.out) || p.terminal(p.errs) {
		p.say(p.out, "cli.root.second", view.Args{"Socket": socket})
		return nil
	}
	return p.askForWindow(ctx, socket)
}

// askForWindow waits a moment for an agent that has just begun to start.
func (p *program) askForWindow(ctx context.Context, socket string) error {
	client := api.Dial(socket)
	for tries := 0; ; tries++ {
		err := client.OpenWindow(ctx, "")
		if !errors.Is(err, api.ErrNoAgent) || tries == 10 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.clock.After(reconnectAfter):
		}
	}
}

// noSuchCommand refuses arguments of the root: they are commands that do not exist.
func (p *program) noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usage("cli.usage.command_near", view.Args{"Name": args[0], "Near": strings.Join(near, ", ")})
	}
	return usage("cli.usage.command", view.Args{"Name": args[0]})
}

// checkGlobals refuses global flags that no command could work with.
func (p *program) checkGlobals() error {
	if p.languageFlag == "" {
		return nil
	}
	tag, err := language.Parse(p.languageFlag)
	if base, _ := tag.Base(); err == nil && (base.String() == "en" || base.String() == "zh") {
		return nil
	}
	return usage("cli.usage.lang", view.Args{"Value": p.languageFlag})
}

// language is the one that this run speaks: the flag's, else the settings', else
// the system's. It is needed before the flags are parsed, as they have texts too.
func (p *program) language(args []string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--lang="); ok {
			return value
		}
		if arg == "--lang" && i+1 < len(args) {
			return args[i+1]
		}
		if arg == "--" {
			break
		}
	}
	if stored := p.storedSettings().Language; stored != "" {
		return stored
	}
	return view.SystemLanguage(p.getenv)
}

// socket is the path of the agent's socket, and whether the person named it.
func (p *program) socket() (path string, named bool, err error) {
	if p.socketFlag != "" {
		path, err = api.CheckPath(p.socketFlag)
		return path, true, err
	}
	path, err = api.SocketPath(p.goos, p.home, p.getenv)
	return path, false, err
}

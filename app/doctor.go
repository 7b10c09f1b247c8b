package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/metal"
)

// Exit codes of doctor, where they mean something else than with other commands.
// Its help lists them.
const (
	exitDiffers  = 1 // a fact differs from what a tool says
	exitUnusable = 3 // --decode: the recording cannot be used
	exitNoChip   = 4 // --chip: the table does not have it
)

// doctorFlags are what the command line of doctor says.
type doctorFlags struct {
	json, noTools         bool
	capture, replay       string
	decode, chip          string
	gpuCores, ramGiB      int
	hasDecode, hasChip    bool
	hasCapture, hasReplay bool
	hasGPUCores, hasRAM   bool
}

// doctorCommand says what this machine tells, and whether it is true.
func (p *program) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor [FILE]", GroupID: groupSee, DisableFlagsInUseLine: true,
		Short: p.words.Text("doctor.short"), Long: p.words.Text("doctor.long"), Example: p.words.Text("doctor.example"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runDoctor(cmd, &f, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, p.words.Text("doctor.flag.json"))
	flags.BoolVar(&f.noTools, "no-tools", false, p.words.Text("doctor.flag.no_tools"))
	flags.StringVar(&f.capture, "capture", "", p.words.Text("doctor.flag.capture"))
	flags.StringVar(&f.replay, "replay", "", p.words.Text("doctor.flag.replay"))
	flags.StringVar(&f.decode, "decode", "", p.words.Text("doctor.flag.decode"))
	flags.StringVar(&f.chip, "chip", "", p.words.Text("doctor.flag.chip"))
	flags.IntVar(&f.gpuCores, "gpu-cores", 0, p.words.Text("doctor.flag.gpu_cores"))
	flags.IntVar(&f.ramGiB, "ram", 0, p.words.Text("doctor.flag.ram"))
	cmd.RegisterFlagCompletionFunc("decode", cobra.FixedCompletions(decodeSources(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("chip", cobra.NoFileCompletions)
	for _, name := range []string{"capture", "replay"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if cmd.Flags().Changed("decode") && len(args) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) }
	return cmd
}

// check refuses flags that do not go together.
func (f *doctorFlags) check(cmd *cobra.Command, args []string) error {
	changed := cmd.Flags().Changed
	var modes []string
	for _, name := range []string{"capture", "replay", "decode", "chip"} {
		if changed(name) {
			modes = append(modes, "--"+name)
		}
	}
	f.hasCapture, f.hasReplay, f.hasDecode, f.hasChip = changed("capture"), changed("replay"), changed("decode"), changed("chip")
	switch {
	case len(modes) > 1:
		return misused(cmd, "doctor.usage.together", view.Args{"Flags": strings.Join(modes, ", ")})
	case (changed("gpu-cores") || changed("ram")) && !f.hasChip:
		return misused(cmd, "doctor.usage.chip_only", nil)
	case changed("gpu-cores") && (f.gpuCores < 1 || f.gpuCores > 1<<12):
		return misused(cmd, "doctor.usage.gpu_cores", view.Args{"Value": f.gpuCores})
	case changed("ram") && (f.ramGiB < 1 || f.ramGiB > 1<<14):
		return misused(cmd, "doctor.usage.ram", view.Args{"Value": f.ramGiB})
	case f.hasDecode && len(args) > 1:
		return misused(cmd, "cli.usage.extra", view.Args{"Value": args[1]})
	case f.hasDecode && !slices.Contains(decodeSources(), f.decode):
		return misused(cmd, "doctor.usage.source", view.Args{"Value": f.decode, "Sources": strings.Join(decodeSources(), ", ")})
	case !f.hasDecode && len(args) > 0:
		return misused(cmd, "cli.usage.extra", view.Args{"Value": args[0]})
	case f.hasCapture && f.capture == "", f.hasReplay && f.replay == "":
		return misused(cmd, "doctor.usage.folder", nil)
	}
	f.hasGPUCores, f.hasRAM = changed("gpu-cores"), changed("ram")
	return nil
}

func (p *program) runDoctor(cmd *cobra.Command, f *doctorFlags, args []string) error {
	ctx := cmd.Context()
	switch {
	case f.hasDecode:
		return p.decodeRecording(f.decode, args)
	case f.hasChip:
		return p.chipFacts(f)
	case f.hasReplay:
		return p.replayMachine(f)
	case f.hasCapture:
		if err := checkFolder(f.capture); err != nil {
			return err
		}
	}
	d := &doctor{program: p, run: runTool, root: os.Geteuid() == 0, wait: p.letPass}
	return d.examine(ctx, f)
}

// letPass waits, unless the person ends the command.
func (p *program) letPass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// doctor examines a machine.
type doctor struct {
	*program
	run  func(ctx context.Context, t tool) printed
	root bool
	wait func(context.Context, time.Duration) error
}

// The readings: some in quick succession, for what asking costs, and one after
// another second, in which the tools run, for the rates of the GPU.
const (
	quickReadings = 3
	quickApart    = 60 * time.Millisecond
	longApart     = time.Second
)

// examine reads the machine, runs the tools meanwhile, and tells what came of it.
func (d *doctor) examine(ctx context.Context, f *doctorFlags) error {
	machine, err := d.machine()
	if err != nil {
		return err
	}
	var outputs []printed
	others := d.lookAround(ctx)
	between := []func() error{}
	for range quickReadings - 1 {
		between = append(between, func() error { return d.wait(ctx, quickApart) })
	}
	between = append(between, func() error {
		tools := make(chan []printed, 1)
		go func() {
			if f.noTools {
				tools <- nil
				return
			}
			tools <- d.runTools(ctx)
		}()
		err := d.wait(ctx, longApart)
		outputs = <-tools
		return errors.Join(err, ctx.Err())
	})
	recording, err := metal.Capture(machine, between...)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if recording.System != d.goos {
		outputs = nil // the tools tell of this machine, and what was read is another
	}
	e := d.judge(recording, outputs)
	around := <-others
	e.Servers, e.Agent = around.servers, around.agent
	if f.hasCapture {
		if err := d.writeCapture(f.capture, recording, outputs); err != nil {
			return err
		}
	}
	return d.tell(e, f)
}

// tell prints an examination; the exit code says whether something differs.
func (p *program) tell(e *examination, f *doctorFlags) error {
	var err error
	if f.json {
		err = e.writeJSON(p.out)
	} else {
		err = p.printExamination(e)
	}
	if err == nil && f.hasCapture {
		to := p.out
		if f.json {
			to = p.errs
		}
		p.say(to, "doctor.capture.done", view.Args{"Folder": f.capture})
	}
	if err == nil && e.Differing > 0 {
		return told(exitDiffers)
	}
	return err
}

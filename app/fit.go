package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// fitFlags are what a command line says of a plan. Zero is not given.
type fitFlags struct {
	context, parallel int
	kv, flash         string
	all               bool
	show, gguf, draft string
	weights           uint64
	draftWeights      uint64
	machine           string
	limit             uint64 // MiB
	json              bool
}

// fitCommand plans a model: what it takes, whether it fits, how fast it can be.
func (p *program) fitCommand() *cobra.Command {
	var f fitFlags
	cmd := p.command("fit", "fit [MODEL]", groupSee, func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args); err != nil {
			return err
		}
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		return p.fit(cmd.Context(), f, name)
	})
	flags, text := cmd.Flags(), func(id string) string { return p.words.Text("fit.flag." + id) }
	flags.IntVar(&f.context, "context", 0, text("context"))
	flags.StringVar(&f.kv, "kv", "", text("kv"))
	flags.IntVar(&f.parallel, "parallel", 0, text("parallel"))
	flags.StringVar(&f.flash, "flash", "", text("flash"))
	flags.BoolVar(&f.all, "all", false, text("all"))
	flags.StringVar(&f.show, "show", "", text("show"))
	flags.Uint64Var(&f.weights, "weights", 0, text("weights"))
	flags.StringVar(&f.gguf, "gguf", "", text("gguf"))
	flags.StringVar(&f.draft, "draft", "", text("draft"))
	flags.Uint64Var(&f.draftWeights, "draft-weights", 0, text("draft_weights"))
	flags.StringVar(&f.machine, "machine", "", text("machine"))
	flags.Uint64Var(&f.limit, "limit", 0, text("limit"))
	flags.BoolVar(&f.json, "json", false, text("json"))
	cmd.Args = func(cmd *cobra.Command, args []string) error { return takes()(cmd, args[min(len(args), 1):]) }
	return cmd
}

// most of what a person may ask for: beyond every server's.
const (
	mostContext  = 1 << 30
	mostParallel = 1 << 10
	mostLimit    = 1 << 30 // MiB: a PiB
	mostWeights  = 1 << 60 // bytes
)

// check refuses what makes no plan.
func (f *fitFlags) check(cmd *cobra.Command, args []string) error {
	sources := 0
	for _, given := range []bool{len(args) > 0, f.all, f.show != "", f.gguf != ""} {
		if given {
			sources++
		}
	}
	flags := cmd.Flags()
	bad := func(flag, value, id string) error {
		return misused(cmd, "fit.usage."+id, view.Args{"Flag": "--" + flag, "Value": value})
	}
	switch {
	case sources == 0:
		return misused(cmd, "fit.usage.what", nil)
	case sources > 1:
		return misused(cmd, "fit.usage.one", nil)
	case flags.Changed("context") && (f.context < 1 || f.context > mostContext):
		return bad("context", flags.Lookup("context").Value.String(), "tokens")
	case flags.Changed("parallel") && (f.parallel < 1 || f.parallel > mostParallel):
		return bad("parallel", flags.Lookup("parallel").Value.String(), "slots")
	case f.kv != "" && !fit.CacheType(f.kv).Known():
		return bad("kv", f.kv, "kv")
	case !slices.Contains([]string{"", "on", "off"}, f.flash):
		return bad("flash", f.flash, "flash")
	case flags.Changed("limit") && (f.limit == 0 || f.limit > mostLimit):
		return bad("limit", flags.Lookup("limit").Value.String(), "limit")
	case flags.Changed("weights") && (f.weights == 0 || f.weights > mostWeights):
		return bad("weights", flags.Lookup("weights").Value.String(), "bytes")
	case flags.Changed("draft-weights") && (f.draftWeights == 0 || f.draftWeights > mostWeights):
		return bad("draft-weights", flags.Lookup("draft-weights").Value.String(), "bytes")
	case f.draftWeights > 0 && f.draft == "":
		return misused(cmd, "fit.usage.draft", nil)
	}
	if f.machine != "" {
		if _, err := describedPlace(*f); err != nil {
			return bad("machine", f.machine, "machine")
		}
	}
	return nil
}

// fit makes the plans that were asked for.
func (p *program) fit(ctx context.Context, f fitFlags, name string) error {
	draft, err := f.draftModel(p.in)
	if err != nil {
		return err
	}
	if f.show == "" && f.gguf == "" {
		return p.fitInstalled(ctx, f, name, draft)
	}
	m, err := f.fileModel(p.in)
	if err != nil {
		return err
	}
	place, err := p.fitPlace(ctx, f)
	if err != nil {
		return err
	}
	plan := place.Plan(monitor.Subject{Name: f.show + f.gguf, Model: m, Options: f.options(draft)})
	if f.json {
		return json.NewEncoder(p.out).Encode(plan)
	}
	return p.printPlan(plan)
}

// options are how the model is to run.
func (f *fitFlags) options(draft *fit.Model) fit.Options {
	return fit.Options{Context: f.context, Slots: f.parallel, Cache: fit.CacheType(f.kv), Flash: fit.Flash(f.flash), Draft: draft}
}

// fileModel reads the model that --show or --gguf names.
func (f *fitFlags) fileModel(in io.Reader) (fit.Model, error) {
	name := f.show + f.gguf
	m, err := readModel(name, in)
	if err != nil {
		return m, failed("fit.file", view.Args{"File": name, "Detail": err.Error()})
	}
	if f.weights > 0 {
		m.Weights, m.WeightsRough = &f.weights, false
	}
	return m, nil
}

// draftModel reads the model that --draft names, if it does.
func (f *fitFlags) draftModel(in io.Reader) (*fit.Model, error) {
	if f.draft == "" {
		return nil, nil
	}
	m, err := readModel(f.draft, in)
	if err != nil {
		return nil, failed("fit.file", view.Args{"File": f.draft, "Detail": err.Error()})
	}
	if f.draftWeights > 0 {
		m.Weights, m.WeightsRough = &f.draftWeights, false
	}
	return &m, nil
}

// mostFile is the longest description that is read; a GGUF file's header has its
// own bound.
const mostFile = 64 << 20

// readModel reads what is known of a model from a file, "-" being standard input:
// a GGUF file, or a reply of /api/show.
func readModel(name string, in io.Reader) (fit.Model, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fit.Model{}, err
		}
		defer file.Close()
		in = file
	}
	head := make([]byte, 4)
	n, err := io.ReadFull(in, head)
	if err != nil && n == 0 {
		return fit.Model{}, err
	}
	whole := io.MultiReader(strings.NewReader(string(head[:n])), in)
	if string(head) == "GGUF" {
		return fit.ReadGGUF(whole)
	}
	data, err := io.ReadAll(io.LimitReader(whole, mostFile+1))
	if err != nil {
		return fit.Model{}, err
	}
	return fit.Read(data)
}

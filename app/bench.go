package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor/bench"
)

// benchFlags are what a command line says of a benchmark.
type benchFlags struct {
	plan      bench.Plan
	depths    string
	sustained time.Duration
	compare   bool
	list      bool
	show      int64
	force     bool
	json      bool
	save      string
}

// The most that may be asked for: beyond what anybody waits for.
const (
	mostRuns      = 100
	mostTokens    = 8192
	mostDepth     = 1 << 20
	mostSustained = 24 * time.Hour
)

// benchCommand measures a model, and holds results against each other.
func (p *program) benchCommand() *cobra.Command {
	f := benchFlags{plan: bench.Usual()}
	cmd := p.command("bench", "bench MODEL", groupSee, func(cmd *cobra.Command, args []string) error {
		switch {
		case f.list:
			return p.benchList(cmd.Context(), f)
		case f.compare:
			return p.benchCompare(cmd.Context(), f, args[0], args[1])
		case f.show > 0:
			return p.benchShow(cmd.Context(), f)
		}
		return p.benchMeasure(cmd.Context(), f, args[0])
	})
	flags, text := cmd.Flags(), func(id string) string { return p.words.Text("bench.flag." + id) }
	flags.IntVar(&f.plan.Runs, "runs", f.plan.Runs, text("runs"))
	flags.IntVar(&f.plan.Output, "tokens", f.plan.Output, text("tokens"))
	flags.StringVar(&f.depths, "depths", "4096,16384", text("depths"))
	flags.IntVar(&f.plan.Seed, "seed", f.plan.Seed, text("seed"))
	flags.DurationVar(&f.sustained, "sustained", 0, text("sustained"))
	flags.Lookup("sustained").NoOptDefVal = "15m"
	flags.BoolVar(&f.compare, "compare", false, text("compare"))
	flags.BoolVar(&f.list, "list", false, text("list"))
	flags.Int64Var(&f.show, "show", 0, text("show"))
	flags.BoolVar(&f.force, "force", false, text("force"))
	flags.StringVar(&f.save, "save", "", text("save"))
	flags.BoolVar(&f.json, "json", false, text("json"))
	cmd.Args = func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) }
	return cmd
}

// check refuses what cannot be measured.
func (f *benchFlags) check(cmd *cobra.Command, args []string) error {
	bad := func(flag, id string) error {
		return misused(cmd, "bench.usage."+id, view.Args{"Flag": "--" + flag, "Value": cmd.Flags().Lookup(flag).Value.String()})
	}
	depths, ok := readDepths(f.depths)
	flags := cmd.Flags()
	switch {
	case f.plan.Runs < 1 || f.plan.Runs > mostRuns:
		return bad("runs", "runs")
	case f.plan.Output < 16 || f.plan.Output > mostTokens:
		return bad("tokens", "tokens")
	case !ok:
		return bad("depths", "depths")
	case flags.Changed("sustained") && (f.sustained < time.Minute || f.sustained > mostSustained):
		return bad("sustained", "sustained")
	case flags.Changed("show") && f.show < 1:
		return bad("show", "show")
	case f.save != "" && !strings.HasSuffix(f.save, ".json") && !strings.HasSuffix(f.save, ".md"):
		return bad("save", "save")
	}
	f.plan.Depths, f.plan.Sustained, f.plan.SustainedOnly, f.plan.Anyway = depths, f.sustained, f.sustained > 0, f.force
	switch {
	case f.list, f.show > 0:
		return takes()(cmd, args)
	case f.compare:
		return takes("A", "B")(cmd, args)
	}
	return takes("MODEL")(cmd, args)
}

// readDepths reads "4096,16384"; "none" is no depth.
func readDepths(text string) (depths []int, ok bool) {
	if text == "none" {
		return nil, true
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 512 || n > mostDepth || len(depths) == 8 {
			return nil, false
		}
		depths = append(depths, n)
	}
	return depths, true
}

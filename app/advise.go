package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// adviseFlags are the attributes of a task as a command line has them. Zero, and
// a price below zero, is not given.
type adviseFlags struct {
	task                                monitor.Task
	context, output                     int
	maxContext, maxOutput, maxQueue     int
	maxTTFT, minDecode                  float64
	priceIn, priceOut, priceKWh, perDay float64
	json                                bool
}

// adviseCommand says where a task belongs: here or in the cloud.
func (p *program) adviseCommand() *cobra.Command {
	var f adviseFlags
	cmd := p.command("advise", "advise", groupSee, func(cmd *cobra.Command, _ []string) error {
		task, err := f.asked(cmd)
		if err != nil {
			return err
		}
		return p.advise(cmd.Context(), task, f.json)
	})
	cmd.Args = takes()
	flags, text := cmd.Flags(), func(id string) string { return p.words.Text("advise.flag." + id) }
	flags.BoolVar(&f.task.Private, "private", false, text("private"))
	flags.BoolVar(&f.task.Interactive, "interactive", false, text("interactive"))
	flags.BoolVar(&f.task.Demanding, "demanding", false, text("demanding"))
	flags.StringVar(&f.task.Model, "model", "", text("model"))
	flags.IntVar(&f.context, "context", 0, text("context"))
	flags.IntVar(&f.output, "output", 0, text("output"))
	flags.IntVar(&f.maxContext, "max-context", monitor.BoundaryContext, text("max_context"))
	flags.IntVar(&f.maxOutput, "max-output", monitor.BoundaryOutput, text("max_output"))
	flags.IntVar(&f.maxQueue, "max-queue", monitor.BoundaryQueue, text("max_queue"))
	flags.Float64Var(&f.maxTTFT, "max-ttft", fit.Usable.TTFT, text("max_ttft"))
	flags.Float64Var(&f.minDecode, "min-decode", fit.Usable.Decode, text("min_decode"))
	flags.Float64Var(&f.priceIn, "price-in", -1, text("price_in"))
	flags.Float64Var(&f.priceOut, "price-out", -1, text("price_out"))
	flags.Float64Var(&f.priceKWh, "price-kwh", -1, text("price_kwh"))
	flags.Float64Var(&f.perDay, "requests-per-day", 0, text("per_day"))
	flags.BoolVar(&f.json, "json", false, p.words.Text("advise.json"))
	for _, price := range []string{"price-in", "price-out", "price-kwh"} {
		flags.Lookup(price).DefValue = "" // not given
	}
	return cmd
}

// asked makes the task of the flags. A number below zero, or a price without what
// it needs, is a mistake that is said.
func (f *adviseFlags) asked(cmd *cobra.Command) (monitor.Task, error) {
	task, changed := f.task, cmd.Flags().Changed
	for _, n := range []struct {
		flag  string
		value float64
	}{
		{"context", float64(f.context)}, {"output", float64(f.output)}, {"max-context", float64(f.maxContext)}, {"max-output", float64(f.maxOutput)},
		{"max-queue", float64(f.maxQueue)}, {"max-ttft", f.maxTTFT}, {"min-decode", f.minDecode},
		{"price-in", f.priceIn}, {"price-out", f.priceOut}, {"price-kwh", f.priceKWh}, {"requests-per-day", f.perDay},
	} {
		if changed(n.flag) && !(n.value >= 0) {
			return task, misused(cmd, "cli.usage.negative", view.Args{"Flag": "--" + n.flag})
		}
	}
	if changed("context") {
		task.Context = &f.context
	}
	if changed("output") {
		task.Output = &f.output
	}
	task.Boundary = monitor.Boundary{Context: &f.maxContext, Output: &f.maxOutput, Queue: &f.maxQueue, TTFT: &f.maxTTFT, Decode: &f.minDecode}
	price := func(flag string, value *float64) *float64 {
		if changed(flag) {
			return value
		}
		return nil
	}
	prices := monitor.Prices{In: price("price-in", &f.priceIn), Out: price("price-out", &f.priceOut), KWh: price("price-kwh", &f.priceKWh)}
	if prices == (monitor.Prices{}) {
		return task, nil
	}
	if f.perDay <= 0 || prices.In != nil && task.Context == nil || prices.Out != nil && task.Output == nil || (prices.In == nil) != (prices.Out == nil) {
		return task, misused(cmd, "cli.usage.prices", nil)
	}
	prices.RequestsPerDay, task.Prices = &f.perDay, &prices
	return task, nil
}

// advise asks the agent, or this process' own readings where none runs.
func (p *program) advise(ctx context.Context, task monitor.Task, asJSON bool) error {
	s, end, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer end()
	update, err := firstAnswered(ctx, s)
	if err != nil {
		return err
	}
	advice := update.Advise(task)
	if asJSON {
		return json.NewEncoder(p.out).Encode(advice)
	}
	p.sayAdvice(advice)
	return nil
}

// sayAdvice writes the choice alone on the first line, for scripts, then why.
func (p *program) sayAdvice(a monitor.Advice) {
	fmt.Fprintln(p.out, a.Choice)
	for _, v := range a.Vetoes {
		args := view.Args{"Have": amount(v.Have), "Bound": amount(v.Bound)}
		p.say(p.out, "advise.veto."+string(v.Reason), args)
	}
	if len(a.Vetoes) == 0 {
		p.say(p.out, "advise.none")
	}
	if a.Seconds != nil || a.Decode != nil || a.TTFT != nil {
		p.say(p.out, "advise.expect", view.Args{"Model": a.Model, "TTFT": amount(a.TTFT), "Decode": amount(a.Decode), "Seconds": amount(a.Seconds)})
	}
	if c := a.Cost; c != nil {
		p.say(p.out, "advise.cost", view.Args{"Cloud": amount(c.Cloud), "Local": amount(c.Local), "Hours": amount(c.LocalHours)})
	}
}

// amount is a number with the digits that say something, "" when it is absent.
func amount(f *float64) string {
	switch {
	case f == nil:
		return ""
	case *f >= 100 || *f == float64(int(*f)):
		return strconv.FormatFloat(*f, 'f', 0, 64)
	case *f >= 10:
		return strconv.FormatFloat(*f, 'f', 1, 64)
	}
	return strconv.FormatFloat(*f, 'f', 2, 64)
}

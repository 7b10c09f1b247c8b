package main

import (
	"fmt"
	"strings"

	"plimsoll/app/term"
	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// printPlan writes one plan: the verdict first, then the parts, what to know of
// them, and the sums.
func (p *program) printPlan(plan monitor.Plan) error {
	page, v := p.page(), p.words.Plan(plan)
	if !p.terminal(p.out) {
		page.Width = 1 << 12 // a file or a program has no margin
	}
	var b strings.Builder
	if v.Title != "" {
		fmt.Fprintf(&b, "%s\n", term.Clean(v.Title))
	}
	b.WriteString(page.Facts("", append([]view.Row{v.Verdict}, v.Rows...)...))
	notes := v.Notes
	switch plan.Verdict.Reason {
	case fit.ReasonNoWeights:
		notes = append(notes, p.words.Text("fit.hint.no_weights"))
	case fit.ReasonNoLimit:
		notes = append(notes, p.words.Text("fit.hint.no_limit"))
	}
	for at, note := range notes {
		if at == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + term.Clean(note) + "\n")
	}
	b.WriteString(page.Facts(v.SumsTitle, v.Sums...))
	_, err := p.out.Write([]byte(b.String()))
	return err
}

// printPlans writes one line for each plan.
func (p *program) printPlans(plans []monitor.Plan) error {
	heading := []string{"model", "total", "context", "longest", "speed", "verdict"}
	for at, name := range heading {
		heading[at] = p.words.Text("fit.list." + name)
	}
	rows := [][]string{heading}
	for _, plan := range plans {
		row := []string{plan.Model, "", p.words.Count(plan.Context), "", "", p.words.FitVerdict(&plan.Verdict)}
		if plan.Total != nil {
			row[1] = "~" + p.words.Size(*plan.Total)
		}
		if plan.LargestContext != nil {
			row[3] = p.words.Count(*plan.LargestContext)
		}
		if len(plan.Rates) > 0 && plan.Rates[0].Centre != nil {
			row[4] = fmt.Sprintf("~%.3g", *plan.Rates[0].Centre)
		}
		if plan.Verdict.Reason == fit.ReasonCloud {
			row[2] = ""
		}
		rows = append(rows, row)
	}
	page := p.page()
	if !p.terminal(p.out) {
		page.Width = 0
	}
	_, err := p.out.Write([]byte(page.Table(rows)))
	return err
}

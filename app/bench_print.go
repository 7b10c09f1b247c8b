package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"plimsoll/app/view"
	"plimsoll/monitor/bench"
)

// benchPrint prints a result, or writes it to the file that was asked for.
func (p *program) benchPrint(f benchFlags, r *bench.Result) error {
	if f.save != "" {
		if err := p.saveResult(f.save, r); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(p.out).Encode(r)
	}
	fmt.Fprintln(p.out, strings.Join(p.facts(r), "\n"))
	for _, table := range p.tables(r) {
		fmt.Fprint(p.out, "\n"+p.table(table))
	}
	for _, note := range p.notes(r) {
		fmt.Fprintln(p.out, note)
	}
	return nil
}

// table lays out rows; a file or another program has no margin.
func (p *program) table(rows [][]string) string {
	page := p.page()
	if !p.terminal(p.out) {
		page.Width = 1 << 12
	}
	return page.Table(rows)
}

// saveResult writes a result as JSON or Markdown, by the name of the file.
func (p *program) saveResult(name string, r *bench.Result) error {
	text := []byte(p.markdown(r))
	if strings.HasSuffix(name, ".json") {
		var err error
		if text, err = json.MarshalIndent(r, "", "  "); err != nil {
			return err
		}
		text = append(text, '\n')
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return failed("bench.unwritable", view.Args{"File": name, "Reason": reason(err)})
	}
	p.say(p.errs, "bench.saved", view.Args{"File": name})
	return nil
}

// tables are the figures, the first row of each its headings.
func (p *program) tables(r *bench.Result) [][][]string {
	var all [][][]string
	head := func(ids ...string) []string {
		var row []string
		for _, id := range ids {
			row = append(row, p.words.Text("bench.head."+id))
		}
		return row
	}
	if len(r.Tests) > 0 {
		rows := [][]string{head("what", "decode", "prefill", "ttft", "session")}
		for _, t := range r.Tests {
			rows = append(rows, []string{p.kind(t.Kind, t.Depth), spreadText(t.Decode), spreadText(t.Prefill), spreadText(t.TTFT), spreadText(t.Session)})
		}
		all = append(all, rows)
	}
	if s := r.Sustained; s != nil {
		rows := [][]string{head("minute", "decode", "temperature", "clock", "watts", "slowed")}
		for _, m := range s.Minutes {
			rows = append(rows, []string{fmt.Sprint(m.Minute), optionalFigure(m.Decode), optionalFigure(m.Temperature), optionalFigure(m.Clock),
				optionalFigure(m.Power), p.slowed(m)})
		}
		all = append(all, rows)
	}
	return all
}

func (p *program) slowed(m bench.Minute) string {
	if m.Throttled == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100**m.Throttled)
}

func optionalFigure(v *float64) string {
	if v == nil {
		return "–"
	}
	return figure(*v)
}

// notes are what the figures do not say: what is void or was left out, and why.
func (p *program) notes(r *bench.Result) []string {
	var notes []string
	say := func(id string, args view.Args) { notes = append(notes, p.words.Text(id, args)) }
	for _, t := range r.Tests {
		args := view.Args{"What": p.kind(t.Kind, t.Depth)}
		switch {
		case t.Skipped != nil:
			args["Reason"] = p.reasonText(*t.Skipped)
			say("bench.skipped", args)
		case len(t.Void) > 0:
			args["Reason"] = p.reasons(t.Void)
			say("bench.void", args)
		case t.Drop != nil:
			args["Drop"], args["Expected"] = percent(-*t.Drop), ""
			if t.Expected != nil {
				args["Expected"] = percent(-*t.Expected)
			}
			say("bench.drop", args)
			if t.Steep {
				say("bench.steep", args)
			}
		}
	}
	if s := r.Sustained; s != nil {
		if s.Kept != nil {
			say("bench.sustained_kept", view.Args{"Share": fmt.Sprintf("%.0f %%", 100**s.Kept)})
		}
		if len(s.Void) > 0 {
			say("bench.sustained_void", view.Args{"Reason": p.reasons(s.Void)})
		}
	}
	if r.Interrupted || r.Failure != "" {
		say("bench.incomplete", nil)
	}
	return notes
}

// markdown is a result as a section of a document.
func (p *program) markdown(r *bench.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", p.words.Text("bench.title", view.Args{"Model": r.Model.Name, "Time": r.Taken.Format("2006-01-02 15:04")}))
	for _, line := range p.facts(r) {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if r.Model.Digest != "" {
		fmt.Fprintf(&b, "- %s\n", p.words.Text("bench.digest", view.Args{"Digest": r.Model.Digest}))
	}
	for _, table := range p.tables(r) {
		b.WriteString("\n")
		for i, row := range table {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
			}
		}
	}
	if notes := p.notes(r); len(notes) > 0 {
		b.WriteString("\n")
		for _, note := range notes {
			fmt.Fprintf(&b, "- %s\n", note)
		}
	}
	return b.String()
}

// benchShow prints a result of the history.
func (p *program) benchShow(ctx context.Context, f benchFlags) error {
	h, err := p.readHistory()
	if err != nil {
		return err
	}
	defer h.Close()
	b, err := h.Benchmark(ctx, f.show)
	if err != nil {
		return err
	}
	if b == nil {
		return failed("bench.no_result", view.Args{"Name": fmt.Sprint(f.show)})
	}
	r, err := decodeResult(*b)
	if err != nil {
		return err
	}
	return p.benchPrint(f, r)
}

// listedMost is how many results a list shows.
const listedMost = 50

// benchList lists the results of the history, newest first.
func (p *program) benchList(ctx context.Context, f benchFlags) error {
	h, err := p.readHistory()
	if err != nil {
		return err
	}
	defer h.Close()
	kept, err := h.Benchmarks(ctx, "", listedMost)
	if err != nil {
		return err
	}
	results := []*bench.Result{}
	rows := [][]string{{p.words.Text("bench.head.number"), p.words.Text("bench.head.model"), p.words.Text("bench.head.taken"), p.words.Text("bench.head.server"), p.words.Text("bench.head.decode")}}
	for _, b := range kept {
		r, err := decodeResult(b)
		if err != nil {
			return err
		}
		results = append(results, r)
		rows = append(rows, []string{fmt.Sprint(b.ID), b.Model, b.Taken.Local().Format("2006-01-02 15:04"), b.Engine + " " + b.Version, spreadText(ofEnglish(r))})
	}
	switch {
	case f.json:
		return json.NewEncoder(p.out).Encode(results)
	case len(results) == 0:
		p.say(p.out, "bench.none")
		return nil
	}
	_, err = p.out.Write([]byte(p.table(rows)))
	return err
}

// ofEnglish is the decode rate of English prose, the figure that stands for the rest.
func ofEnglish(r *bench.Result) *bench.Spread {
	for _, t := range r.Tests {
		if t.Kind == bench.English {
			return t.Decode
		}
	}
	return nil
}

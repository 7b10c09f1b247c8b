package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/term"
	"plimsoll/app/view"
	"plimsoll/monitor"
)

// replayCommand runs a recording through history, rules and diagnosis again.
func (p *program) replayCommand() *cobra.Command {
	var asJSON, fields bool
	var speed, hot float64
	cmd := p.command("replay", "replay FILE", groupRecord, func(cmd *cobra.Command, args []string) error {
		if fields {
			return p.printFields()
		}
		if !(speed >= 0) || speed > 0 && (speed < 1e-3 || speed > 1e6) {
			return misused(cmd, "cli.usage.speed", view.Args{"Value": speed})
		}
		var limit *float64
		if cmd.Flags().Changed("hot") {
			if !plausibleHot(hot) {
				return misused(cmd, "cli.usage.hot", view.Args{"Value": hot, "Least": monitor.HotLeast, "Most": monitor.HotMost})
			}
			limit = &hot
		}
		in := p.in
		if args[0] != "-" {
			file, err := os.Open(args[0])
			if err != nil {
				return failed("cli.replay.unreadable", view.Args{"File": args[0], "Reason": reason(err)})
			}
			defer file.Close()
			in = file
		}
		out := bufio.NewWriter(p.out)
		r := &replay{program: p, out: out, speed: speed, hot: limit, unknown: map[string]bool{}}
		r.show = r.tell
		if asJSON {
			lines := json.NewEncoder(out)
			r.show = func(u monitor.Update) error { return lines.Encode(u) }
		}
		err := r.run(cmd.Context(), in)
		if err == nil && !asJSON {
			r.summary()
		}
		if flushing := out.Flush(); err == nil {
			err = flushing
		}
		if ended(cmd.Context(), err) {
			return nil
		}
		return err
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if fields {
			return takes()(cmd, args)
		}
		return takes("FILE")(cmd, args)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, p.words.Text("cli.replay.json"))
	cmd.Flags().Float64Var(&speed, "speed", 0, p.words.Text("cli.replay.speed"))
	cmd.Flags().Float64Var(&hot, "hot", 0, p.words.Text("cli.replay.hot"))
	cmd.Flags().BoolVar(&fields, "fields", false, p.words.Text("cli.replay.fields"))
	return cmd
}

// replay is one run of a recording.
type replay struct {
	program *program
	out     *bufio.Writer
	show    func(monitor.Update) error
	speed   float64  // times real time; 0 does not wait
	hot     *float64 // in °C, the temperature that is an alert; nil: none is
	unknown map[string]bool

	account
}

// run plays in from its first line to its end or its first mistake.
func (r *replay) run(ctx context.Context, in io.Reader) error {
	player := monitor.NewPlayer()
	player.SetHot(r.hot)
	lines := bufio.NewReaderSize(in, 1<<16)
	var before time.Time
	for number := 1; ; number++ {
		text, err := readLine(lines)
		if errors.Is(err, errLongLine) {
			return failed("cli.replay.endless", view.Args{"Line": number, "Limit": r.program.words.Size(longestLine)})
		}
		if len(text) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return failed("cli.replay.broken", view.Args{"Line": number, "Reason": reason(err)})
		}
		update, unknown, bad := parseLine(text, number == 1)
		if bad != nil {
			return failed(bad.id, view.Args{"Line": number, "Column": bad.column, "Reason": bad.reason})
		}
		r.warn(number, unknown)
		if update == nil {
			continue
		}
		played := player.Step(*update)
		if s := played.Snapshot; s != nil {
			if err := r.wait(ctx, before, s.Taken); err != nil {
				return err
			}
			before = s.Taken
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.show(played); err != nil {
			return err
		}
	}
}

// longestLine is the most a line may have, a thousand times what an update of a
// busy machine takes.
const longestLine = 16 << 20

var errLongLine = errors.New("a line without an end")

// readLine reads up to and including the next line end.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(text)+len(part) > longestLine {
			return nil, errLongLine
		}
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// wait lets the time between two snapshots pass, at the speed asked for. What
// was printed so far is seen meanwhile.
func (r *replay) wait(ctx context.Context, before, now time.Time) error {
	if r.speed == 0 || before.IsZero() || !now.After(before) {
		return nil
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.program.clock.After(time.Duration(float64(now.Sub(before)) / r.speed)):
		return nil
	}
}

// warn names a field that this version does not know, once: a misspelt one would
// otherwise pass for one that is absent.
func (r *replay) warn(line int, field string) {
	if field == "" || r.unknown[field] {
		return
	}
	r.unknown[field] = true
	r.program.say(r.program.errs, "cli.replay.unknown_field", view.Args{"Line": line, "Field": field})
}

// printFields is the table of what a Snapshot may hold, then a line of each.
func (p *program) printFields() error {
	heading := func(name string) string { return p.words.Text("cli.replay.fields." + name) }
	rows := [][]string{{heading("name"), heading("unit"), heading("meaning")}}
	for _, f := range p.words.Fields() {
		rows = append(rows, []string{f.Name, f.Unit, f.Meaning})
	}
	page := term.Page{Words: p.words, Colour: p.page().Colour}
	fmt.Fprint(p.out, page.Table(rows))
	p.say(p.out, "cli.replay.example_line")
	_, err := fmt.Fprintln(p.out, view.Example())
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// recordCommand writes every update to a file, one a line.
func (p *program) recordCommand() *cobra.Command {
	var force bool
	var limit time.Duration
	cmd := p.command("record", "record FILE", groupRecord, func(cmd *cobra.Command, args []string) error {
		if limit < 0 {
			return misused(cmd, "cli.usage.for", view.Args{"Value": limit.String()})
		}
		ctx := cmd.Context()
		s, end, err := p.source(ctx)
		if err != nil {
			return err
		}
		defer end()
		r := &recorder{program: p, out: p.out, started: p.clock.Awake()}
		if args[0] != "-" {
			file, err := createRecording(args[0], force)
			if err != nil {
				return err
			}
			defer file.Close()
			r.out = file
		}
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		err = p.follow(ctx, s, monitor.Options{Lossless: true}, r.write, r.gap)
		r.finish(args[0])
		if ended(ctx, err) {
			return nil
		}
		return err
	})
	cmd.Args = takes("FILE")
	cmd.Flags().BoolVar(&force, "force", false, p.words.Text("cli.record.force"))
	cmd.Flags().DurationVar(&limit, "for", 0, p.words.Text("cli.record.for"))
	return cmd
}

// createRecording makes the file. A recording tells which programs run, so it is
// the person's alone.
func createRecording(path string, force bool) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeDevice == 0 {
		return nil, failed("cli.record.not_a_file", view.Args{"File": path}) // opening a pipe would wait for its reader
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, failed("cli.record.exists", view.Args{"File": path})
	case err != nil:
		return nil, failed("cli.record.unwritable", view.Args{"File": path, "Reason": reason(err)})
	}
	return file, nil
}

// reason is the system's part of an error on a file, whose name is said already.
func reason(err error) string {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err.Error()
	}
	return err.Error()
}

// recorder writes updates and shows how far it is.
type recorder struct {
	program *program
	out     io.Writer
	started time.Duration
	lines   int
	bytes   int
	shown   bool
}

// write is one write per line: what was recorded before a power cut is whole.
func (r *recorder) write(u monitor.Update) error {
	line, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encoding an update: %w", err)
	}
	n, err := r.out.Write(append(line, '\n'))
	r.bytes += n
	if err != nil {
		return failed("cli.record.broken", view.Args{"Lines": r.lines, "Reason": reason(err)})
	}
	r.lines++
	r.progress()
	return nil
}

// gap notes that updates are missing while no agent ran. How many is not known.
func (r *recorder) gap() error {
	if r.shown {
		fmt.Fprintln(r.program.errs)
		r.shown = false
	}
	r.program.say(r.program.errs, "cli.follow.gone")
	return r.write(monitor.Update{Events: []monitor.Event{{Time: r.program.clock.Now(), Kind: monitor.EventGap}}})
}

func (r *recorder) counts() view.Args {
	took := (r.program.clock.Awake() - r.started).Round(time.Second)
	return view.Args{"Count": r.lines, "Time": r.program.words.Duration(took), "Size": r.program.words.Size(uint64(r.bytes))}
}

// progress is one line that is written over.
func (r *recorder) progress() {
	if r.program.terminal(r.program.errs) {
		fmt.Fprint(r.program.errs, "\r\x1b[K"+r.program.words.Text("cli.record.progress", r.counts()))
		r.shown = true
	}
}

func (r *recorder) finish(file string) {
	if r.shown {
		fmt.Fprint(r.program.errs, "\r\x1b[K")
	}
	args := r.counts()
	args["File"] = file
	r.program.say(r.program.errs, "cli.record.done", args)
}

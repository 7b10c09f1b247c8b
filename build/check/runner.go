package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tailLines is how much of a failed check's output is shown.
const tailLines = 40

// errSkip is what a check returns, wrapped in the reason, that cannot run here.
var errSkip = errors.New("skipped")

// runner runs checks in lanes and reports them.
type runner struct {
	out   io.Writer
	logs  string // folder for the output of each check
	lanes int
	every time.Duration // how often to tell what still runs
}

// outcome is how one check ended.
type outcome struct {
	check
	err  error
	took time.Duration
	log  string
}

// run runs the checks and tells whether all of them passed.
func (r *runner) run(ctx context.Context, checks []check) bool {
	began := time.Now()
	if err := os.MkdirAll(r.logs, 0o755); err != nil {
		fmt.Fprintln(r.out, err)
		return false
	}
	waiting := slices.Clone(checks)
	running := map[string]time.Time{}
	results := make(chan outcome)
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	var done []outcome
	for len(waiting)+len(running) > 0 {
		for len(running) < r.lanes {
			i := slices.IndexFunc(waiting, func(c check) bool { return ready(c, waiting, running) })
			if i < 0 {
				break
			}
			c := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			running[c.name] = time.Now()
			go func() { results <- r.one(ctx, c) }()
		}
		if len(running) == 0 { // a row waits for itself
			fmt.Fprintf(r.out, "%s cannot begin: checks wait for each other\n", waiting[0].name)
			return false
		}
		select {
		case o := <-results:
			delete(running, o.name)
			done = append(done, o)
			r.report(o)
		case now := <-ticker.C:
			fmt.Fprintf(r.out, "   …  %s\n", still(running, now))
		}
	}
	return r.summary(done, time.Since(began))
}

// ready tells whether all that a check waits for is done.
func ready(c check, waiting []check, running map[string]time.Time) bool {
	for _, name := range c.after {
		if _, runs := running[name]; runs || slices.ContainsFunc(waiting, func(w check) bool { return w.name == name }) {
			return false
		}
	}
	return true
}

// still tells what runs, and for how long.
func still(running map[string]time.Time, now time.Time) string {
	var parts []string
	for name, began := range running {
		parts = append(parts, fmt.Sprintf("%s %.0f s", name, now.Sub(began).Seconds()))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// one runs a check into its log.
func (r *runner) one(ctx context.Context, c check) outcome {
	o := outcome{check: c, log: filepath.Join(r.logs, c.name+".log")}
	if c.only != "" && c.only != runtime.GOOS {
		o.err = fmt.Errorf("%w: only on %s", errSkip, c.only)
		return o
	}
	log, err := os.Create(o.log)
	if err != nil {
		o.err = err
		return o
	}
	defer log.Close()
	limit := c.limit
	if limit == 0 {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	began := time.Now()
	o.err = c.run(&job{ctx: ctx, out: log})
	o.took = time.Since(began)
	if cause := context.Cause(ctx); o.err != nil && cause != nil {
		o.err = fmt.Errorf("%w (%w)", o.err, cause)
	}
	if o.err != nil {
		fmt.Fprintln(log, o.err)
	}
	return o
}

// report prints one result.
func (r *runner) report(o outcome) {
	switch {
	case o.err == nil:
		fmt.Fprintf(r.out, "ok    %-14s %6.1f s\n", o.name, o.took.Seconds())
	case errors.Is(o.err, errSkip):
		fmt.Fprintf(r.out, "skip  %-14s %v\n", o.name, o.err)
	default:
		fmt.Fprintf(r.out, "FAIL  %-14s %6.1f s   %s\n", o.name, o.took.Seconds(), o.log)
		if text, err := os.ReadFile(o.log); err == nil {
			fmt.Fprintf(r.out, "%s\n", indent(tail(string(text), tailLines)))
		}
	}
}

// summary prints the last lines.
func (r *runner) summary(done []outcome, took time.Duration) bool {
	var failed, skipped []string
	for _, o := range done {
		switch {
		case errors.Is(o.err, errSkip):
			skipped = append(skipped, o.name)
		case o.err != nil:
			failed = append(failed, o.name)
		}
	}
	fmt.Fprintf(r.out, "\n%.0f s\n", took.Seconds())
	if len(skipped) > 0 {
		fmt.Fprintf(r.out, "skipped: %s\n", strings.Join(skipped, " "))
	}
	if len(failed) > 0 {
		fmt.Fprintf(r.out, "failed: %s\n", strings.Join(failed, " "))
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", len(done)-len(failed)-len(skipped), len(failed))
	return len(failed) == 0
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func indent(text string) string {
	return "      | " + strings.ReplaceAll(text, "\n", "\n      | ")
}

// job is one running check: a place for its output and commands that end with it.
type job struct {
	ctx context.Context
	out io.Writer
}

// do runs commands in a row, with the same additions to the environment, until
// one fails.
func (j *job) do(env []string, commands ...[]string) error {
	for _, argv := range commands {
		if err := j.command(env, argv, j.out); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command and returns exactly what it printed.
func (j *job) output(env []string, argv ...string) (string, error) {
	var text bytes.Buffer
	err := j.command(env, argv, &text)
	return text.String(), err
}

func (j *job) command(env, argv []string, out io.Writer) error {
	fmt.Fprintf(j.out, "$ %s\n", strings.Join(slices.Concat(env, argv), " "))
	cmd := exec.CommandContext(j.ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, j.out
	// A group of its own, ended as a whole: go test starts programs that start programs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv[:min(len(argv), 3)], " "), err)
	}
	return nil
}

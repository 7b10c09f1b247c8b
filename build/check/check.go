// Command check runs the project's checks: all of them, or those named.
//
//	build/test [--all] [NAME…]
//	build/test --list
//
// Each check says its result and its time in one line; of one that failed the
// end of its output is shown, and all of it is kept in bin/checks/NAME.log.
// Nothing is skipped without being named in the last lines. The status is 0 when
// every check passed, 1 when one failed, 2 when the command line is wrong.
//
// The script build/test installs what the checks need and runs this.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// check is one row of the table.
type check struct {
	name  string
	what  string
	needs []string      // package groups of build/lib.sh, beside "build"
	after []string      // checks to wait for, when they run too
	long  bool          // only with --all, or by name
	only  string        // the system it can run on; "" is any
	limit time.Duration // 0 is ten minutes
	run   func(*job) error
}

func main() {
	all := flag.Bool("all", false, "run the long checks too")
	list := flag.Bool("list", false, "list the checks and end")
	needs := flag.Bool("needs", false, "print the groups of packages that the checks need and end")
	lanes := flag.Int("lanes", 2, "how many checks run at a time")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, "build/test [--all] [--lanes N] [NAME…]   run all checks, or those named\nbuild/test --list                        list them\n")
	}
	flag.Parse()

	if *list {
		printList(os.Stdout, table)
		return
	}
	chosen, err := choose(table, *all, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if *needs {
		fmt.Println(strings.Join(groups(chosen), " "))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{out: os.Stdout, logs: "bin/checks", lanes: *lanes, every: 30 * time.Second}
	if !r.run(ctx, chosen) {
		stop()
		os.Exit(1)
	}
}

// choose takes the checks that are named and what they wait for, or all but the
// long ones.
func choose(table []check, all bool, names []string) ([]check, error) {
	wanted := map[string]bool{}
	for names := slices.Clone(names); len(names) > 0; names = names[1:] {
		i := slices.IndexFunc(table, func(c check) bool { return c.name == names[0] })
		if i < 0 {
			return nil, fmt.Errorf("there is no check %q; build/test --list names them", names[0])
		}
		if !wanted[names[0]] {
			wanted[names[0]] = true
			names = append(names, table[i].after...)
		}
	}
	return slices.DeleteFunc(slices.Clone(table), func(c check) bool {
		if len(wanted) > 0 {
			return !wanted[c.name]
		}
		return c.long && !all
	}), nil
}

// groups are the package groups that the checks need, each once.
func groups(checks []check) []string {
	found := []string{"build"}
	for _, c := range checks {
		if c.only != "" && c.only != runtime.GOOS {
			continue
		}
		for _, group := range c.needs {
			if !slices.Contains(found, group) {
				found = append(found, group)
			}
		}
	}
	return found
}

func printList(w io.Writer, table []check) {
	for _, c := range table {
		mark := ""
		if c.long {
			mark = " (with --all)"
		}
		fmt.Fprintf(w, "%-14s %s%s\n", c.name, c.what, mark)
	}
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// run runs checks and returns what was printed.
func run(t *testing.T, lanes int, checks ...check) (string, bool) {
	t.Helper()
	var out strings.Builder
	r := &runner{out: &out, logs: t.TempDir(), lanes: lanes, every: time.Hour}
	ok := r.run(t.Context(), checks)
	return out.String(), ok
}

func pass(*job) error { return nil }

func TestSummary(t *testing.T) {
	out, ok := run(t, 2,
		check{name: "good", run: pass},
		check{name: "bad", run: func(j *job) error {
			for i := range 100 {
				fmt.Fprintf(j.out, "line %d\n", i)
			}
			return errors.New("it broke")
		}},
		check{name: "elsewhere", only: "plan9", run: pass},
	)
	if ok {
		t.Error("a failed check passed")
	}
	for _, want := range []string{"ok    good", "FAIL  bad", "| line 99", "| it broke", "skip  elsewhere", "failed: bad\n", "skipped: elsewhere\n", "1 passed, 1 failed\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "line 10\n") {
		t.Errorf("more than the end of the output is shown:\n%s", out)
	}
}

func TestAfterAndLanes(t *testing.T) {
	var built atomic.Bool
	var most, now atomic.Int32
	count := func(*job) error {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		return nil
	}
	out, ok := run(t, 1,
		check{name: "use", after: []string{"build", "absent"}, run: func(*job) error {
			if !built.Load() {
				return errors.New("began before what it waits for")
			}
			return nil
		}},
		check{name: "a", run: count}, check{name: "b", run: count},
		check{name: "build", run: func(*job) error { built.Store(true); return nil }},
	)
	if !ok || most.Load() != 1 {
		t.Errorf("ok %v, %d checks at a time in one lane:\n%s", ok, most.Load(), out)
	}
}

func TestChecksThatWaitForEachOther(t *testing.T) {
	if out, ok := run(t, 2, check{name: "a", after: []string{"b"}, run: pass}, check{name: "b", after: []string{"a"}, run: pass}); ok {
		t.Errorf("checks that wait for each other passed:\n%s", out)
	}
}

func TestLimitEndsTheCommand(t *testing.T) {
	out, ok := run(t, 1, check{name: "slow", limit: 50 * time.Millisecond, run: func(j *job) error {
		return j.do(nil, []string{"sh", "-c", "sleep 60 & wait"})
	}})
	if ok || !strings.Contains(out, "not done after 50ms") {
		t.Errorf("a check over its limit gave:\n%s", out)
	}
}

func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, c := range table {
		if c.what == "" || c.run == nil || names[c.name] {
			t.Errorf("check %q: no text, nothing to run, or twice there", c.name)
		}
		names[c.name] = true
	}
	for _, c := range table {
		for _, name := range c.after {
			if !names[name] {
				t.Errorf("check %s waits for %q, which is not there", c.name, name)
			}
		}
	}
}

// TestAloneExist: a test that was renamed would run under the race detector again.
func TestAloneExist(t *testing.T) {
	var tests strings.Builder
	for _, folder := range []string{"metal", "monitor", "monitor/request", "monitor/backend", "monitor/meter", "monitor/bench", "app", "app/view", "app/limit"} {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	for _, name := range alone {
		if !strings.Contains(tests.String(), "func "+name+"(t ") {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestChoose(t *testing.T) {
	three := []check{{name: "a"}, {name: "b", long: true, after: []string{"c"}}, {name: "c"}}
	for _, row := range []struct {
		all   bool
		names []string
		want  string
	}{{want: "a c"}, {all: true, want: "a b c"}, {names: []string{"b"}, want: "b c"}} {
		chosen, err := choose(three, row.all, row.names)
		var got []string
		for _, c := range chosen {
			got = append(got, c.name)
		}
		if err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("all %v, names %q: %q, %v; want %q", row.all, row.names, got, err, row.want)
		}
	}
	if _, err := choose(three, false, []string{"nothing"}); err == nil {
		t.Error("a check that is not there was chosen")
	}
}

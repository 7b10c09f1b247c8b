package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	good := report{{"processor", 0.2, 0.2, "%"}, {"children", 0, 0, ""}}
	bad := append(good, result{"memory", 35.1, 35, "MiB"})
	if !good.good() || bad.good() {
		t.Error("a value at its bound is good, one above it is not")
	}
	var out strings.Builder
	bad.print(&out)
	if strings.Count(out.String(), "TOO MUCH") != 1 || !strings.Contains(out.String(), "35.100 MiB") {
		t.Errorf("printed:\n%s", out.String())
	}
}

// TestProcess measures a process whose cost is known: this one, which has just
// worked for a while and has one child.
func TestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are measured on Linux only")
	}
	ctx, cancel := context.WithCancel(t.Context())
	child := exec.CommandContext(ctx, "sleep", "60")
	before, err := childCount(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() //nolint:errcheck // it is killed
	defer cancel()
	if after, err := childCount(os.Getpid()); err != nil || after != before+1 {
		t.Errorf("%d children, %v; want %d", after, err, before+1)
	}
	first, err := processor(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	work := first
	for work-first < 20*time.Millisecond { // of this process's own time, on a machine however busy
		if work, err = processor(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if rss, err := resident(os.Getpid()); err != nil || rss < 1 || rss > 4096 {
		t.Errorf("this process has %g MiB resident, %v", rss, err)
	}
	if _, err := processor(1<<22 + 1); err == nil {
		t.Error("a process that is not there has a processor time")
	}
}

func TestStatLine(t *testing.T) {
	if line := "42 (a) 7 (b) S 17 42 42 0"; !parentIs(line, 17) || parentIs(line, 7) {
		t.Errorf("the parent in %q is 17", line)
	}
}

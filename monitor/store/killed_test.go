package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"plimsoll/monitor"
)

// TestMain makes the test binary an agent that records without end, when asked to.
func TestMain(m *testing.M) {
	if path := os.Getenv("PLIMSOLL_TEST_RECORD"); path != "" {
		recordForEver(path)
	}
	os.Exit(m.Run())
}

// recordForEver prints a line after each write.
func recordForEver(path string) {
	r, err := Record(path, quiet())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	w := &writer{recorder: r}
	for n := 0; ; n++ {
		u := snapshot(time.Duration(n)*time.Minute, nil)
		u.Events = []monitor.Event{{Time: u.Snapshot.Taken, Kind: monitor.EventModelLoaded, Evidence: monitor.Evidence{Count: &n}}}
		w.batch.add(u)
		w.life = 1
		if err := w.write(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// An agent that is killed at any moment leaves a file that is whole, and all that
// it said was written is in it.
func TestKilled(t *testing.T) {
	path := file(t)
	for round := range 5 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "PLIMSOLL_TEST_RECORD="+path)
		child.Stderr = os.Stderr
		lines, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		said := -1
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			if _, err := fmt.Sscan(scan.Text(), &said); err != nil {
				t.Fatal(err)
			}
			if said == 5+7*round {
				child.Process.Kill()
				break
			}
		}
		child.Wait() //nolint:errcheck // it was killed
		r := recording(t, path, quiet())
		events, err := r.History().Events(t.Context(), noon, noon.AddDate(0, 0, 1), 0)
		if err != nil || len(events) == 0 || *events[len(events)-1].Evidence.Count < said {
			t.Errorf("round %d: %d events, %v; want all up to %d", round, len(events), err, said)
		}
		if _, err := os.Stat(path + ".bad"); err == nil {
			t.Error("the file was taken for damaged")
		}
		r.Close()
	}
}

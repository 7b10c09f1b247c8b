package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"plimsoll/build/ollama/server"
	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/bench"
)

// agreePlan is long enough for a tiny model's rates to say something: its answers
// take a fifth of a second.
var agreePlan = bench.Plan{Runs: 3, Output: 512, Seed: 1}

// agree measures a model on a real Ollama twice, which must come to no difference,
// and once beside a second client, which must void every figure. A machine that has
// other things to do voids the first two as well: then it says nothing, and fails.
func agree(ctx context.Context) (report, error) {
	folder, err := os.MkdirTemp("", "plimsoll-agree-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	ollama, err := server.Start(ctx, folder)
	if errors.Is(err, server.ErrNotBuilt) {
		fmt.Fprintf(os.Stderr, "skipped: %v\n", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer ollama.Stop() //nolint:errcheck // the folder goes in any case
	ask, err := bench.NewOllama(ollama.URL, monitor.SystemClock(), false)
	if err != nil {
		return nil, err
	}
	local, err := metal.New()
	if err != nil {
		return nil, err
	}
	watched, err := backend.NewOllama(ollama.URL)
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	looking := monitor.New(monitor.Config{Local: local, Backends: []backend.Backend{watched}, Clock: monitor.SystemClock()})
	go looking.Run(watching)
	programs, err := metal.New() // a Reader is for one goroutine
	if err != nil {
		return nil, err
	}
	c := bench.Config{
		Server: ask, Clock: monitor.SystemClock(), Model: "tiny", Plan: agreePlan, Unique: rand.Text,
		Watch: looking, Programs: programs.Processes, Own: []int{os.Getpid(), ollama.Pid()},
	}
	var results []*bench.Result
	for range 2 {
		r, err := bench.Run(ctx, c)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	differ, rows := 0.0, 0
	for _, row := range bench.Compare(results[0], results[1], false).Rows {
		rows++
		fmt.Printf("%-14s %5d  %-28s %9.4g [%.4g, %.4g]  %9.4g [%.4g, %.4g]  %s\n", row.Kind, row.Depth, row.Metric,
			row.A.Median, row.A.Low, row.A.High, row.B.Median, row.B.Low, row.B.High, row.Verdict)
		if row.Verdict != bench.NoDifference {
			differ++
		}
	}
	c.Plan.Runs, c.Plan.Depths = 1, nil
	disturbed, err := besides(ctx, ollama.URL, c)
	if err != nil {
		return nil, err
	}
	valid := 0.0
	for _, t := range disturbed.Tests {
		fmt.Printf("%-14s beside a second client: void %v\n", t.Kind, t.Void)
		if t.Decode != nil {
			valid++
		}
	}
	for i, r := range results {
		for _, t := range r.Tests {
			if len(t.Void) > 0 {
				fmt.Printf("%-14s of run %d: void %v\n", t.Kind, i+1, t.Void)
			}
		}
	}
	return report{
		// A machine that voids more than two thirds says nothing of agreement.
		{"figures that this machine voided", float64(4*3 - rows), 8, "of 12"},
		{"figures that two runs differ in", differ, 0, fmt.Sprintf("of %d", rows)},
		{"valid beside a second client", valid, 0, fmt.Sprintf("of %d", len(disturbed.Tests))},
	}, nil
}

// besides runs a benchmark while another client asks the same model.
func besides(ctx context.Context, url string, c bench.Config) (*bench.Result, error) {
	var over atomic.Bool
	var client sync.WaitGroup
	client.Go(func() {
		for !over.Load() && ctx.Err() == nil { // its last request ends too: a server that loses it while it loads does not end
			body := `{"model":"tiny","prompt":"hello","stream":false,"options":{"num_predict":1000}}`
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/generate", strings.NewReader(body))
			if err != nil {
				return
			}
			if reply, err := http.DefaultClient.Do(req); err == nil {
				io.Copy(io.Discard, reply.Body) //nolint:errcheck // what it says does not matter
				reply.Body.Close()
			}
		}
	})
	r, err := bench.Run(ctx, c)
	over.Store(true)
	client.Wait()
	return r, err
}

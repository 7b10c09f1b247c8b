package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/build/ollama/server"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
)

// The bounds for a server that stands still.
const (
	mostSilence = 4 // seconds until an update says so, and from its going on until one says that
	// mostGap is seconds between two updates: the usual tick of two, and half of
	// it again for a machine that is busy.
	mostGap = 3
)

const (
	hungRounds = 5
	// hold is how long a server is left standing after that was said.
	hold = 5 * time.Second
	// A server is asked every two seconds. The first round stops it soon after an
	// answer, which is the worst moment, and each next one phase later.
	polls = 2 * time.Second
	soon  = 50 * time.Millisecond
	phase = 400 * time.Millisecond
	// seeing is how long an update that must come may take.
	seeing = 30 * time.Second
)

// hung stops a real Ollama that holds two models, as kill -STOP does, and
// measures how soon an agent's updates say so, whether they keep coming, and how
// soon they say that it is back.
func hung(ctx context.Context) (report, error) {
	folder, err := os.MkdirTemp("", "plimsoll-hung-")
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
	defer ollama.Stop() //nolint:errcheck // it is killed then
	for _, model := range []string{"tiny", "stop"} {
		if err := load(ctx, ollama.URL, model); err != nil {
			return nil, err
		}
	}
	var log bytes.Buffer
	socket := filepath.Join(folder, "agent.sock")
	agent := exec.Command(agentProgram, "serve", "--socket", socket, "--lang", "en")
	agent.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_RUNTIME_DIR=" + folder, "LANG=C", "OLLAMA_HOST=" + ollama.URL}
	agent.Stdout, agent.Stderr = &log, &log
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := agent.Start(); err != nil {
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	watch := follower{updates: make(chan arrival, 1024)}
	ended := make(chan error, 1)
	go func() { ended <- watch.from(ctx, socket) }()
	defer func() {
		cancel()
		<-ended
		_ = syscall.Kill(-agent.Process.Pid, syscall.SIGTERM)
		_ = agent.Wait()
	}()
	result, err := watch.rounds(ctx, ollama)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log.String())
	}
	return result, nil
}

// load makes a model resident, as a person's own program would.
func load(ctx context.Context, url, model string) error {
	body := `{"model":"` + model + `","prompt":"hello","stream":false,"keep_alive":"1h","options":{"num_predict":3}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/generate", strings.NewReader(body))
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy, whatever the environment says
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("loading %s: %w", model, err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		return fmt.Errorf("loading %s: %s: %s", model, answer.Status, text)
	}
	return nil
}

// arrival is an update and when it came.
type arrival struct {
	at     time.Time
	update monitor.Update
}

// follower reads an agent's updates.
type follower struct {
	updates chan arrival
	last    time.Time // the newest arrival that was read
}

// from follows the agent at a socket until ctx ends. It waits for its start.
func (f *follower) from(ctx context.Context, socket string) error {
	defer close(f.updates)
	client := api.Dial(socket)
	for {
		err := client.Watch(ctx, monitor.Options{Lossless: true}, func(u monitor.Update) error {
			select {
			case f.updates <- arrival{time.Now(), u}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if !errors.Is(err, api.ErrNoAgent) {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// until reads updates until one is as wanted. It tells when that came and the
// longest time between two updates on the way.
func (f *follower) until(ctx context.Context, what string, wanted func(arrival) bool) (at time.Time, gap time.Duration, err error) {
	limit := time.NewTimer(seeing)
	defer limit.Stop()
	for {
		select {
		case a, ok := <-f.updates:
			if !ok {
				return at, gap, fmt.Errorf("the agent's updates ended before %s", what)
			}
			if !f.last.IsZero() {
				gap = max(gap, a.at.Sub(f.last))
			}
			f.last = a.at
			if a.update.Snapshot != nil && wanted(a) {
				return a.at, gap, nil
			}
		case <-limit.C:
			return at, gap, fmt.Errorf("no update said within %v that %s", seeing, what)
		case <-ctx.Done():
			return at, gap, ctx.Err()
		}
	}
}

// rounds stops the server and lets it go on, several times.
func (f *follower) rounds(ctx context.Context, ollama *server.Server) (report, error) {
	if _, _, err := f.until(ctx, "both models are resident", func(a arrival) bool {
		return state(a) == backend.Running && len(a.update.Snapshot.Residents) == 2
	}); err != nil {
		return nil, err
	}
	var told, back, gaps []time.Duration
	for round := range hungRounds {
		calm := f.last.Add(hold)
		var answered time.Time
		if _, _, err := f.until(ctx, "the server answers all the time", func(a arrival) bool {
			if status := a.update.Snapshot.Backends[0]; status.Answered != nil {
				answered = *status.Answered
			}
			return a.at.After(calm) && answered.After(calm)
		}); err != nil {
			return nil, err
		}
		later := soon + time.Duration(round)*phase
		if err := sleep(ctx, time.Until(answered.Add(polls+later))); err != nil {
			return nil, err
		}
		one, err := f.round(ctx, ollama, later)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "round %d: not_answering after %.2f s, running again after %.2f s, longest gap %.2f s\n",
			round+1, one.told.Seconds(), one.back.Seconds(), one.gap.Seconds())
		told, back, gaps = append(told, one.told), append(back, one.back), append(gaps, one.gap)
	}
	return report{
		{"until not_answering, median", median(told), mostSilence, "s"},
		{"until not_answering, worst", slices.Max(told).Seconds(), mostSilence, "s"},
		{"until running again, median", median(back), mostSilence, "s"},
		{"until running again, worst", slices.Max(back).Seconds(), mostSilence, "s"},
		{"longest gap of updates, median", median(gaps), mostGap, "s"},
		{"longest gap of updates, worst", slices.Max(gaps).Seconds(), mostGap, "s"},
	}, nil
}

// pause is what one stop of the server came to.
type pause struct{ told, back, gap time.Duration }

// round stops the server and, so long after the update that ends the hold, lets
// it go on.
func (f *follower) round(ctx context.Context, ollama *server.Server, later time.Duration) (p pause, err error) {
	from := time.Now()
	if err := ollama.Pause(); err != nil {
		return p, err
	}
	defer ollama.Resume() //nolint:errcheck // it goes on already in the good case
	at, gap, err := f.until(ctx, "the server does not answer", func(a arrival) bool { return state(a) == backend.NotAnswering })
	if err != nil {
		return p, err
	}
	p.told, p.gap = at.Sub(from), gap
	// Memory is read in each of the updates that come meanwhile, and the models
	// of a server that says nothing are still in memory.
	_, gap, err = f.until(ctx, "memory goes on ticking", func(a arrival) bool {
		return a.at.Sub(at) > hold && a.update.Snapshot.Memory != nil && a.update.Snapshot.Taken.After(at) && len(a.update.Snapshot.Residents) == 2
	})
	if err != nil {
		return p, err
	}
	p.gap = max(p.gap, gap)
	if err := sleep(ctx, later); err != nil {
		return p, err
	}
	from = time.Now()
	if err := ollama.Resume(); err != nil {
		return p, err
	}
	at, gap, err = f.until(ctx, "the server answers again", func(a arrival) bool { return state(a) == backend.Running })
	p.back, p.gap = at.Sub(from), max(p.gap, gap)
	return p, err
}

// state is the only server's, "" while there is none.
func state(a arrival) backend.State {
	if len(a.update.Snapshot.Backends) != 1 {
		return ""
	}
	return a.update.Snapshot.Backends[0].State
}

// median is in seconds; the greater of the two in the middle.
func median(all []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Seconds()
}

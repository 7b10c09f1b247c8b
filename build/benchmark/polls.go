package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"plimsoll/build/ollama/server"
	"plimsoll/metal"
)

const (
	mostPolling = 0.5 // per cent of a core of the server's own time
	pollCount   = 1000
	// How often the agent asks: for resident models every two seconds, for slots
	// twice a second while a request is in flight.
	psRate, slotsRate = 0.5, 2.0
	// stillPairs are answers with and without polling, in turn.
	stillPairs = 12
	// standIn is this program as a server of its own.
	standIn = "stand-in-server"
)

// measurePolls measures what the agent's questions cost the servers that answer
// them: a stand-in with replies of the usual size, a real Ollama, and a
// llama-server where PLIMSOLL_LLAMA_SERVER names one.
func measurePolls(ctx context.Context) (report, error) {
	fake, address, err := startStandIn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = fake.Process.Kill(); _ = fake.Wait() }()
	var result report
	add := func(what string, pid int, url string, rate float64) error {
		row, err := polled(ctx, what, pid, url, rate)
		if err == nil {
			result = append(result, row)
		}
		return err
	}
	if err := errors.Join(
		add("stand-in, /slots", fake.Process.Pid, "http://"+address+"/slots", slotsRate),
		add("stand-in, /api/ps", fake.Process.Pid, "http://"+address+"/api/ps", psRate)); err != nil {
		return nil, err
	}
	if err := pollOllama(ctx, add); err != nil {
		return nil, err
	}
	if named := os.Getenv("PLIMSOLL_LLAMA_SERVER"); named != "" {
		pid, base, err := serverAt(named)
		if err == nil {
			err = add("llama-server, /slots", pid, base+"/slots", slotsRate)
		}
		if err != nil {
			return nil, fmt.Errorf("the llama-server at %s: %w", named, err)
		}
	} else {
		fmt.Fprintln(os.Stderr, "no llama-server: PLIMSOLL_LLAMA_SERVER names none")
	}
	return result, nil
}

// polled asks a server many times and tells how much of a core its answers take at
// the agent's rate.
func polled(ctx context.Context, what string, pid int, url string, rate float64) (result, error) {
	web := &http.Transport{DisableCompression: true}
	defer web.CloseIdleConnections()
	if err := get(ctx, web, url); err != nil {
		return result{}, err
	}
	before, err := processor(pid)
	if err != nil {
		return result{}, err
	}
	for range pollCount {
		if err := get(ctx, web, url); err != nil {
			return result{}, err
		}
	}
	after, err := processor(pid)
	if err != nil {
		return result{}, err
	}
	each := (after - before) / pollCount
	fmt.Fprintf(os.Stderr, "%s: %v of the server's time for each of %d polls\n", what, each.Round(time.Microsecond), pollCount)
	return result{what + ", share of a core", 100 * each.Seconds() * rate, mostPolling, "%"}, nil
}

func get(ctx context.Context, web *http.Transport, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := web.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s, %w", url, answer.Status, err)
	}
	return nil
}

// pollOllama asks a real server with two models in memory, and tells, without a
// bound, what asking does to the pace of an answer.
func pollOllama(ctx context.Context, add func(string, int, string, float64) error) error {
	folder, err := os.MkdirTemp("", "plimsoll-polls-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	ollama, err := server.Start(ctx, folder)
	if errors.Is(err, server.ErrNotBuilt) {
		fmt.Fprintf(os.Stderr, "skipped: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer ollama.Stop() //nolint:errcheck // it is killed then
	for _, model := range []string{"tiny", "slow"} {
		if err := load(ctx, ollama.URL, model); err != nil {
			return err
		}
	}
	if err := add("Ollama, /api/ps", ollama.Pid(), ollama.URL+"/api/ps", psRate); err != nil {
		return err
	}
	return paceWhilePolled(ctx, ollama.URL)
}

// paceWhilePolled holds answers while the server is polled against answers while it
// is not, in turn. It is told and has no bound: on a shared machine the noise is
// larger than what it looks for.
func paceWhilePolled(ctx context.Context, url string) error {
	var ratios []float64
	for i := range stillPairs {
		rates := map[bool]float64{}
		for _, polls := range []bool{i%2 == 0, i%2 != 0} {
			rate, err := decodeRate(ctx, url, polls)
			if err != nil {
				return err
			}
			rates[polls] = rate
		}
		ratios = append(ratios, rates[true]/rates[false])
	}
	fmt.Fprintf(os.Stderr, "%d pairs of answers, polled at %g/s and not: decode rate %s of the unpolled one\n", stillPairs, slotsRate, spread(ratios))
	return nil
}

// decodeRate is the server's own figure for one answer.
func decodeRate(ctx context.Context, url string, polls bool) (float64, error) {
	ctx, stop := context.WithCancel(ctx)
	polled := make(chan error, 1)
	go func() {
		web := &http.Transport{}
		defer web.CloseIdleConnections()
		for polls && ctx.Err() == nil {
			if err := get(ctx, web, url+"/api/ps"); err != nil && ctx.Err() == nil {
				polled <- err
				return
			}
			sleep(ctx, time.Duration(float64(time.Second)/slotsRate)) //nolint:errcheck // the loop sees the end
		}
		polled <- nil
	}()
	rate, err := answered(ctx, url)
	stop()
	return rate, errors.Join(err, <-polled)
}

func answered(ctx context.Context, url string) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/generate", strings.NewReader(`{"model":"slow","prompt":"hello","stream":false}`))
	if err != nil {
		return 0, err
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var last struct {
		Count int           `json:"eval_count"`
		Took  time.Duration `json:"eval_duration"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&last); err != nil || last.Took == 0 {
		return 0, fmt.Errorf("reading an answer's statistics: %v, %+v", err, last)
	}
	return float64(last.Count) / last.Took.Seconds(), nil
}

// startStandIn starts this program as a server.
func startStandIn(ctx context.Context) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, standIn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("starting the stand-in: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("reading where the stand-in listens: %w", err), cmd.Process.Kill())
	}
	return cmd, strings.TrimSpace(line), nil
}

// standInServer answers as a server with two models and two slots does, whose
// replies carry a prompt of 8 KiB each. It prints its address and never ends.
func standInServer() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	model := map[string]any{"name": "qwen3:14b", "model": "qwen3:14b", "size": 9_300_000_000, "digest": strings.Repeat("5", 64),
		"details":    map[string]any{"format": "gguf", "family": "qwen3", "parameter_size": "14.8B", "quantization_level": "Q4_K_M"},
		"expires_at": time.Now(), "size_vram": 9_300_000_000, "context_length": 8192}
	slot := map[string]any{"id": 0, "id_task": 7, "n_ctx": 8192, "is_processing": true, "prompt": strings.Repeat("word ", 1640),
		"params":          map[string]any{"temperature": 0.8, "top_k": 40, "samplers": []string{"top_k", "top_p", "min_p", "temperature"}},
		"n_prompt_tokens": 1801, "n_prompt_tokens_processed": 1801, "n_prompt_tokens_cache": 0,
		"next_token": []any{map[string]any{"has_next_token": true, "n_remain": -1, "n_decoded": 136}}}
	http.HandleFunc("/slots", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode([]any{slot, slot}) })
	http.HandleFunc("/api/ps", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"models": []any{model, model}})
	})
	return http.Serve(l, nil)
}

// serverAt is the process behind an address of this machine.
func serverAt(address string) (pid int, base string, err error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return 0, "", err
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0, "", fmt.Errorf("%q has no port", address)
	}
	machine, err := metal.New()
	if err != nil {
		return 0, "", err
	}
	ports, ok := machine.(interface {
		Listener(port int) (*metal.Process, error)
	})
	if !ok {
		return 0, "", errors.New("this system does not tell who listens")
	}
	p, err := ports.Listener(port)
	if err != nil {
		return 0, "", err
	}
	return p.PID, strings.TrimSuffix(u.String(), "/"), nil
}

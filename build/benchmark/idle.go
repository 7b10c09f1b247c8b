package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/monitor/api"
)

// The bounds of an agent that nobody looks at.
const (
	mostProcessor = 0.2 // per cent of one core
	mostMemory    = 35  // MiB resident
)

// The stretch that is measured, after the start: what is read once is read then.
const (
	settle  = 10 * time.Second
	measure = 60 * time.Second
)

// agentProgram is where build/bench puts the agent.
const agentProgram = "bin/plimsoll"

// idle starts an agent on a message bus of its own, on which a tray takes its
// icon, beside a model server that holds no model, and measures the agent alone.
func idle(ctx context.Context) (report, error) {
	folder, err := os.MkdirTemp("", "plimsoll-idle-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	tray, err := newTray()
	if err != nil {
		return nil, err
	}
	defer tray.close()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a model server: %w", err)
	}
	defer server.Close()
	go http.Serve(server, emptyServer()) //nolint:errcheck // ends with its listener

	var log bytes.Buffer
	socket := filepath.Join(folder, "agent.sock")
	agent := exec.Command(agentProgram, "--socket", socket, "--lang", "en")
	agent.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_RUNTIME_DIR=" + folder, "LANG=C",
		"DBUS_SESSION_BUS_ADDRESS=" + tray.address, "OLLAMA_HOST=" + server.Addr().String()}
	agent.Stdout, agent.Stderr = &log, &log
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := agent.Start(); err != nil {
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	began := time.Now()
	defer func() {
		_ = syscall.Kill(-agent.Process.Pid, syscall.SIGTERM)
		_ = agent.Wait()
	}()
	if err := tray.await(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log.String())
	}
	fmt.Fprintf(os.Stderr, "The agent shows its icon; measuring from second %.0f to %.0f.\n", settle.Seconds(), (settle + measure).Seconds())
	return follow(ctx, agent.Process.Pid, began, socket)
}

// follow measures one process that has started at a moment.
func follow(ctx context.Context, pid int, began time.Time, socket string) (report, error) {
	if err := sleep(ctx, time.Until(began.Add(settle))); err != nil {
		return nil, err
	}
	before, err := processor(pid)
	if err != nil {
		return nil, err
	}
	from := time.Now()
	children, memory := 0, 0.0
	for time.Since(from) < measure {
		if err := sleep(ctx, time.Second/4); err != nil {
			return nil, err
		}
		n, err := childCount(pid)
		if err != nil {
			return nil, err
		}
		rss, err := resident(pid)
		if err != nil {
			return nil, err
		}
		children, memory = max(children, n), max(memory, rss)
	}
	after, err := processor(pid)
	if err != nil {
		return nil, err
	}
	took := time.Since(from)
	health, err := api.Dial(socket).Health(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the agent at the end: %w", err)
	}
	if !health.Tray {
		return nil, errors.New("the agent has no tray any more: it was not the agent with a tray that was measured")
	}
	return report{
		{"processor, of one core", 100 * (after - before).Seconds() / took.Seconds(), mostProcessor, "%"},
		{"memory (VmRSS), most seen", memory, mostMemory, "MiB"},
		{"child processes, most seen", float64(children), 0, ""},
	}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// emptyServer answers as Ollama 0.17.4 with no model on disk or in memory does.
func emptyServer() http.Handler {
	answers := map[string]string{
		"/":            "Ollama is running",
		"/api/version": `{"version":"0.17.4"}`,
		"/api/ps":      `{"models":[]}`,
		"/api/tags":    `{"models":[]}`,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
		}
		fmt.Fprint(w, text)
	})
}

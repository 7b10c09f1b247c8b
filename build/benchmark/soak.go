package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// The bounds of an agent that has run for long. What is kept on purpose, ten
// minutes of history, is full long before the growth is counted.
const (
	mostGrowth = 8 // MiB resident, from warm to the end
	mostFiles  = 4 // open files, from warm to the end
)

// The course of a soak. At this speed the simulated Mac lives six and a half
// hours in it: models come and go, swap fills, alerts rise and clear.
const (
	soakWarm  = time.Minute
	soakTime  = 8 * time.Minute
	soakSpeed = "50"
)

// soak lets the demo run fast, with a tray, while clients come and go, and looks
// for what grows.
func soak(ctx context.Context) (report, error) {
	folder, err := os.MkdirTemp("", "plimsoll-soak-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	tray, err := newTray()
	if err != nil {
		return nil, err
	}
	defer tray.close()
	var log bytes.Buffer
	socket := filepath.Join(folder, "agent.sock")
	program, err := filepath.Abs(agentProgram)
	if err != nil {
		return nil, err
	}
	agent := exec.Command(program, "--socket", socket, "--lang", "en", "demo", "--speed", soakSpeed, "--for", (2 * soakTime).String())
	agent.Dir = folder
	agent.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_RUNTIME_DIR=" + folder, "LANG=C",
		"DBUS_SESSION_BUS_ADDRESS=" + tray.address}
	agent.Stdout, agent.Stderr = &log, &log
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := agent.Start(); err != nil {
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	defer func() {
		_ = syscall.Kill(-agent.Process.Pid, syscall.SIGTERM)
		_ = agent.Wait()
	}()
	if err := awaitAgent(ctx, socket); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log.String())
	}
	fmt.Fprintf(os.Stderr, "The demo runs at %s times its speed for %s, looked at again and again.\n", soakSpeed, soakWarm+soakTime)
	seen, err := visit(ctx, socket, soakWarm)
	if err != nil {
		return nil, err
	}
	files, memory, err := holds(agent.Process.Pid)
	if err != nil {
		return nil, err
	}
	more, err := visit(ctx, socket, soakTime)
	if err != nil {
		return nil, err
	}
	filesAfter, memoryAfter, err := holds(agent.Process.Pid)
	if err != nil {
		return nil, err
	}
	if seen.models+more.models == 0 || seen.alerts+more.alerts == 0 {
		return nil, errors.New("the demo had neither models nor alerts: there was nothing to look at")
	}
	fmt.Printf("%d looks, %d with a model, %d with an alert; %.1f MiB resident when warm, %.1f at the end\n",
		seen.looks+more.looks, seen.models+more.models, seen.alerts+more.alerts, memory, memoryAfter)
	return report{
		{"memory (VmRSS), growth", memoryAfter - memory, mostGrowth, "MiB"},
		{"open files, growth", float64(filesAfter - files), mostFiles, ""},
	}, nil
}

func awaitAgent(ctx context.Context, socket string) error {
	for tries := 0; ; tries++ {
		if _, err := api.Dial(socket).Health(ctx); err == nil {
			return nil
		} else if tries == 100 {
			return fmt.Errorf("waiting for the agent: %w", err)
		}
		if err := sleep(ctx, time.Second/10); err != nil {
			return err
		}
	}
}

// visits counts what clients have seen.
type visits struct{ looks, models, alerts int }

// visit connects again and again for a while; each client takes a few updates
// with everything in them and leaves.
func visit(ctx context.Context, socket string, d time.Duration) (visits, error) {
	var v visits
	enough := errors.New("enough")
	for end := time.Now().Add(d); time.Now().Before(end); {
		taken := 0
		err := api.Dial(socket).Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
			v.looks++
			if u.Snapshot != nil && len(u.Snapshot.Residents) > 0 {
				v.models++
			}
			if len(u.Alerts) > 0 {
				v.alerts++
			}
			if taken++; taken == 3 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			return v, fmt.Errorf("watching the agent: %w", err)
		}
		if err := sleep(ctx, time.Second/20); err != nil {
			return v, err
		}
	}
	return v, nil
}

// holds tells a process's open files and resident memory.
func holds(pid int) (files int, memory float64, err error) {
	if files, err = openFiles(pid); err != nil {
		return 0, 0, err
	}
	memory, err = resident(pid)
	return files, memory, err
}

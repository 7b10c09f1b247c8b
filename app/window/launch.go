package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"plimsoll/monitor/api"
)

// agentName is the agent's program.
const agentName = "plimsoll"

// findAgent looks for the agent's program: beside this one; in the bundle that
// holds the window's bundle, Plimsoll.app/Contents/{Helpers/Plimsoll Window.app/
// Contents/MacOS/plimsoll-window, MacOS/plimsoll}; in PATH.
func findAgent(self string, look func(name string) (string, error)) (string, error) {
	folder := filepath.Dir(self)
	for _, path := range []string{
		filepath.Join(folder, agentName),
		filepath.Join(folder, "..", "..", "..", "..", "MacOS", agentName),
	} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := look(agentName)
	if err != nil {
		return "", api.Failure("no_agent_program", "looking for the agent's program", err)
	}
	return path, nil
}

// startAgent runs the agent. It gets a session of its own, so that it outlives
// the window, and no terminal.
func startAgent() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path, err := findAgent(self, exec.LookPath)
	if err != nil {
		return err
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the agent: %w", err)
	}
	go cmd.Wait() // no zombie if it ends before the window does
	return nil
}

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// endless is a line without an end, as /dev/zero is.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestReplayOfALineWithoutAnEnd(t *testing.T) {
	w := newWorld(t)
	code, out, errs := w.runWith(func(p *program) { p.in = endless{} }, "replay", "-")
	if code != exitFailed || out != "" {
		t.Errorf("exit code %d, %q", code, out)
	}
	has(t, "standard error", errs, "line 1 is longer than")
}

func TestReplayReadsLinesLongerThanItsBuffer(t *testing.T) {
	w := newWorld(t)
	long := `{"snapshot":{"machine":{"chip":"` + strings.Repeat("M", 1<<18) + `"}}}` + "\n"
	code, out, errs := w.runWith(func(p *program) { p.in = io.MultiReader(strings.NewReader(long), strings.NewReader(long)) }, "replay", "-", "--json")
	if code != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("exit code %d, %d lines, %s", code, strings.Count(out, "\n"), errs)
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{
		{"replay", "--speed", "NaN", "-"}, {"replay", "--speed", "-1", "-"}, {"replay", "--speed", "1e-300", "-"}, {"replay", "--speed", "+Inf", "-"},
		{"replay", "--hot", "NaN", "-"}, {"replay", "--hot", "0", "-"}, {"replay", "--hot", "121", "-"}, {"replay", "--hot", "+Inf", "-"},
		{"record", "--for", "-1s", "-"},
	} {
		if code, _, errs := w.run(args...); code != exitUsage || errs == "" {
			t.Errorf("%q: exit code %d, %q", args, code, errs)
		}
	}
}

// A password in an address shows nowhere, also where the address makes no sense.
func TestAddressesLoseTheirPasswords(t *testing.T) {
	w := newWorld(t)
	for _, address := range []string{"http://bob:s3cr3t@127.0.0.1:99999", "http://bob:s3cr3t@", "bob:s3cr3t@host:port", "http://bob:s3/cr3t@host:1:2"} {
		w.env["OLLAMA_HOST"] = address
		for _, args := range [][]string{{"status"}, {"status", "--json"}, {"models"}, {"--server", address, "status"}} {
			_, out, errs := w.run(args...)
			if strings.Contains(out+errs, "cr3t") {
				t.Errorf("%s, %q: the password shows in\n%s%s", address, args, out, errs)
			}
		}
	}
}

// Opening a pipe waits for its other end, and no signal ends that.
func TestPipesAreNotOpened(t *testing.T) {
	w := newWorld(t)
	pipe := filepath.Join(w.home, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := w.run("record", "--force", "--for", "1s", pipe); code != exitFailed {
		t.Errorf("record: exit code %d, %s", code, errs)
	}
	settings := filepath.Join(w.home, ".config", "plimsoll")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(pipe, filepath.Join(settings, "settings.json")); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := w.run("status"); code != 0 {
		t.Errorf("status: exit code %d, %s%s", code, out, errs)
	}
}

func TestWithoutAHomeSettingsAreKeptInMemory(t *testing.T) {
	w := newWorld(t)
	var out, errs output
	p := w.program(&out, &errs)
	p.home, p.socketFlag = "", filepath.Join(w.home, "agent.sock")
	p.run(t.Context(), []string{"version"}) // gives the program its words
	p.socketFlag = filepath.Join(w.home, "agent.sock")
	c, err := p.agentConfig()
	if err != nil {
		t.Fatal(err)
	}
	has(t, "standard error", errs.String(), "HOME is not set")
	s := c.settings.get()
	s.Quiet = true
	if err := c.settings.set(s); err != nil || !c.settings.get().Quiet {
		t.Errorf("setting: %v, then %+v", err, c.settings.get())
	}
}

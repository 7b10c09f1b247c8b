package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMeterThatCannotStart(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	_, port, _ := net.SplitHostPort(taken)
	w.env["OLLAMA_HOST"] = "127.0.0.1:" + port
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--listen", taken, "--upstream", "127.0.0.1:9"}, exitFailed, taken + " is taken"},
		{[]string{"--listen", "0.0.0.0:0"}, exitUsage, "add --public"},
		{[]string{"--listen", ":11435"}, exitUsage, "add --public"},
		{[]string{"--listen", "my-mac.local:11435"}, exitUsage, "add --public"},
		{[]string{"--listen", "127.0.0.1:many"}, exitUsage, "--listen takes an address"},
		{[]string{"--upstream", "http://["}, exitUsage, "--upstream takes an address"},
		{[]string{"--over", "ignore"}, exitUsage, "--over takes tag or refuse, not ignore"},
		{[]string{"--max-queue", "-1"}, exitUsage, "from 0 on, not -1"},
		{[]string{"--pace", "1h"}, exitUsage, "up to 10m"},
		{[]string{"statsu"}, exitUsage, "Did you mean status?"},
	} {
		code, out, errs := w.run(append([]string{"meter"}, c.args...)...)
		if code != c.code || out != "" {
			t.Errorf("%q: exit code %d and %q", c.args, code, out)
		}
		has(t, strings.Join(c.args, " "), errs, c.says)
	}
	l.Close()
	for args, says := range map[string]string{
		"--upstream " + taken:          "leads back to the meter itself",
		"--upstream localhost:" + port: "leads back to the meter itself",
		"":                             "OLLAMA_HOST leads to the meter itself",
	} {
		code, _, errs := w.run(append([]string{"meter", "--listen", taken}, strings.Fields(args)...)...)
		if code != exitFailed {
			t.Errorf("%q: exit code %d", args, code)
		}
		has(t, args, errs, says)
	}
}

// fakeManager is a service manager that starts a meter when it is told to, at the
// address that the unit names, and writes down what it was told.
func fakeManager(t *testing.T, w *world, manager string) (calls func() string) {
	t.Helper()
	bin := filepath.Join(w.home, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(w.home, "calls")
	script := "#!/bin/sh\necho \"$0 $*\" | sed 's|.*/bin/||' >>" + log + "\n[ -e " + w.home + "/broken ] && { echo Failed to connect to bus >&2; exit 1; }\nexit 0\n"
	if err := os.WriteFile(filepath.Join(bin, manager), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return func() string { return readFile(t, log) }
}

func TestMeterAsAService(t *testing.T) {
	for _, system := range []struct{ goos, manager, file string }{
		{"linux", "systemctl", ".config/systemd/user/plimsoll-meter.service"},
		{"darwin", "launchctl", "Library/LaunchAgents/dev.plimsoll.meter.plist"},
	} {
		t.Run(system.goos, func(t *testing.T) {
			w := newWorld(t)
			calls := fakeManager(t, w, system.manager)
			run := func(args ...string) (int, string, string) {
				return w.runWith(func(p *program) { p.goos = system.goos }, append([]string{"meter"}, args...)...)
			}
			file := filepath.Join(w.home, system.file)
			code, out, _ := run("uninstall")
			if code != 0 || !strings.Contains(out, "nothing to remove") {
				t.Errorf("uninstall of nothing: %d %s", code, out)
			}
			// The manager of the test starts nothing: a meter that runs stands for what
			// it would start.
			server := (&wordServer{words: 1}).start(t)
			stand := func() (*child, string) {
				return w.meterAt(t, filepath.Join(w.home, "other.sock"), server, "--listen", "127.0.0.1:0")
			}
			meter, address := stand()
			if code, _, errs := run("install", "--listen", address, "--upstream", server); code != exitFailed {
				t.Errorf("beside a meter that runs: %d %s", code, errs)
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("an older one"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, errs := run("install", "--listen", address, "--upstream", server, "--pace", "30s", "--over", "refuse")
			if code != 0 {
				t.Fatalf("install: %d %s%s", code, out, errs)
			}
			has(t, "install", out, address, server, file)
			text := readFile(t, file)
			text = strings.NewReplacer(os.Args[0], "/opt/plimsoll", w.home, "/home/me", address, "ADDRESS", server, "SERVER").Replace(text)
			golden(t, "meter."+system.goos+".txt", text+"\n"+strings.NewReplacer(w.home, "/home/me", fmt.Sprintf("gui/%d", os.Getuid()), "gui/UID").Replace(calls()))
			code, out, _ = run("status")
			if code != 0 {
				t.Errorf("status: %d", code)
			}
			has(t, "status", out, file, address+" → http://"+server, "answers through the meter")
			code, out, _ = run("status", "--json")
			var standing meterStanding
			if err := json.Unmarshal([]byte(out), &standing); code != 0 || err != nil || standing.Service != file || standing.Server != 200 || standing.Meter == nil {
				t.Errorf("status --json: %d %v %s", code, err, out)
			}
			meter.Process.Kill()
			meter.end(t)
			if code, out, _ = run("status"); code != exitFailed || !strings.Contains(out, "none answers at "+address) {
				t.Errorf("status without a meter: %d %s", code, out)
			}
			if code, out, _ = run("uninstall"); code != 0 {
				t.Errorf("uninstall: %d %s", code, out)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("the file is still there")
			}
			if system.goos != "linux" {
				return
			}
			os.WriteFile(filepath.Join(w.home, "broken"), nil, 0o600)
			if code, _, errs := run("install", "--listen", address, "--upstream", server); code != exitFailed || !strings.Contains(errs, "Failed to connect to bus") {
				t.Errorf("with a manager that refuses: %d %s", code, errs)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("what was refused stays")
			}
		})
	}
}

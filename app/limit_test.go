package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/app/limit"
	"plimsoll/metal"
	"plimsoll/metal/wired"
	"plimsoll/monitor"
	"plimsoll/monitor/api"
)

// ownLimit is the simulated Mac's limit as if this machine were that Mac.
type ownLimit struct {
	*demoLimit
	calls []string
	state monitor.HelperState
	err   error
}

func (o *ownLimit) Install(context.Context) error {
	o.calls = append(o.calls, "install")
	return o.err
}

func (o *ownLimit) Uninstall(context.Context) error {
	o.calls = append(o.calls, "uninstall")
	return o.err
}

func (o *ownLimit) Version(context.Context) (monitor.HelperState, wired.Helper, error) {
	if o.state == monitor.HelperMissing {
		return o.state, wired.Helper{}, nil
	}
	return o.state, wired.Helper{Protocol: wired.Protocol, Version: "1.2.3"}, o.err
}

func (o *ownLimit) Helper(context.Context) monitor.HelperState { return o.state }

func (o *ownLimit) ByHand(l wired.MiB) (string, error) { return wired.Keys[0].Command(l), nil }
func (o *ownLimit) Command(verb string) string         { return "sudo /x/plimsoll limit " + verb }

// calm is a Mac on which hardly anything is open, so that the GPU may have more.
func calm(t *testing.T) *world {
	w := newWorld(t)
	for _, app := range []string{"Google Chrome", "Xcode", "Slack", "Mail", "Music"} {
		w.mac.QuitApp(app)
	}
	return w
}

// limits runs a test over an agent and without one, on a Mac with little in memory.
func limits(t *testing.T, test func(t *testing.T, w *world, run func(args ...string) (int, string, string))) {
	t.Run("agent", func(t *testing.T) {
		w := calm(t)
		socket, _ := w.agent()
		test(t, w, func(args ...string) (int, string, string) {
			return w.run(append([]string{"--socket", socket}, args...)...)
		})
	})
	t.Run("alone", func(t *testing.T) {
		w := calm(t)
		own := &ownLimit{demoLimit: newDemoLimit(w.mac), state: monitor.HelperInstalled}
		test(t, w, func(args ...string) (int, string, string) {
			code, out, errs := w.runWith(own.put, args...)
			return code, out, strings.ReplaceAll(errs, "No agent is running: reading this machine and the model server directly.\n", "")
		})
	})
}

func (o *ownLimit) put(p *program) {
	p.limits = func(limit.Config) localLimit { return o }
}

func TestLimit(t *testing.T) {
	limits(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		code, out, errs := run("limit")
		if code != 0 || errs != "" {
			t.Errorf("exit code %d, %s", code, errs)
		}
		has(t, "limit", out, "GPU limit  21.3 GiB, system default", "\nWorth setting here\n›  System default", "26.0 GiB, recommended", "plimsoll limit set 26624\n")
		code, out, errs = run("limit", "set", "recommended", "--lease", "10m")
		if code != 0 || errs != "" {
			t.Errorf("set: exit code %d, %s", code, errs)
		}
		has(t, "set", out, "Set the GPU limit to 26.0 GiB", "21.3 GiB", "+4.7 GiB", "For macOS and other programs", "4,096 tokens  32,768 tokens",
			"sudo sysctl iogpu.wired_limit_mb=26624", "on trial for 10 min", "GPU limit  26.0 GiB set · on trial, ", "In force, as Metal says: 26.00 GiB",
			"Ollama started before this limit was in force and does not see it yet.\nBy hand: ", "plimsoll limit confirm\n")
		var l monitor.Limit
		_, out, _ = run("limit", "get", "--json")
		if err := json.Unmarshal([]byte(out), &l); err != nil || strings.Count(out, "\n") != 1 {
			t.Fatalf("%v in %s", err, out)
		}
		if l.Set != 26<<30 || l.Effective == nil || *l.Effective != l.Set || l.Lease == nil || l.Lease.Previous != 0 || l.Remembered != nil || l.Helper != monitor.HelperInstalled {
			t.Errorf("after setting: %s", out)
		}
		code, out, errs = run("limit", "confirm")
		if code != 0 || errs != "" || out != "The GPU limit 26.0 GiB is kept. It is also set again after a restart of the Mac.\n" {
			t.Errorf("confirm: exit code %d, %q, %s", code, out, errs)
		}
		if code, _, errs = run("limit", "confirm"); code != exitFailed {
			t.Errorf("confirming again: exit code %d, %s", code, errs)
		}
		has(t, "confirming again", errs, "No limit is on trial")
		code, out, errs = run("limit", "reset")
		if code != 0 || errs != "" {
			t.Errorf("reset: exit code %d, %s", code, errs)
		}
		has(t, "reset", out, "Go back to the system's default", "GPU limit  21.3 GiB, system default\n")
		if state, err := w.mac.LimitState(); err != nil || state.Set != 0 || state.Remembered != nil || state.Lease != nil {
			t.Errorf("after the reset: %+v, %v", state, err)
		}
		if code, out, _ = run("limit", "reset"); code != 0 || strings.Contains(out, "Go back") {
			t.Errorf("resetting again: exit code %d, %s", code, out)
		}
	})
}

func TestLimitThatIsNotSet(t *testing.T) {
	limits(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		for amount, says := range map[string]string{
			"31GiB": "can be from 16.0 GiB to 28.0 GiB (16384 to 28672 MiB)", "24": "16384 to 28672 MiB", "99%": "16384 to 28672 MiB", "28673": "16384 to 28672 MiB",
		} {
			code, out, errs := run("limit", "set", amount)
			if code != exitFailed {
				t.Errorf("%s: exit code %d, %s", amount, code, errs)
			}
			has(t, amount, out, says)
			has(t, amount, errs, "cannot be set now")
		}
		w.mac.StartApp("Xcode", 14<<30)
		eventually(t, "the memory in use", func() bool {
			code, out, _ := run("limit", "set", "27GiB")
			return code == exitFailed && strings.Contains(out, "Not now: programs other than models use")
		})
		if state, err := w.mac.LimitState(); err != nil || state.Set != 0 {
			t.Errorf("the limit is %+v, %v", state, err)
		}
	})
}

// Nor where the trial is over before the agent may keep it.
func TestBriefTrial(t *testing.T) {
	w := calm(t)
	socket, _ := w.agent()
	_, out, _ := w.run("--socket", socket, "limit", "set", "24GiB", "--lease", "1m")
	has(t, "set", out, "It is on trial for 1 min, too short to be kept by itself")
	_, out, _ = w.run("--socket", socket, "limit", "set", "24.5GiB", "--lease", "61s")
	has(t, "set", out, "it is kept after a minute")
}

// Nobody but the person keeps the limit where no agent runs, and the words say so.
func TestTrialWithoutAnAgent(t *testing.T) {
	w := calm(t)
	own := &ownLimit{demoLimit: newDemoLimit(w.mac), state: monitor.HelperInstalled}
	code, out, _ := w.runWith(own.put, "limit", "set", "24GiB", "--lease", "5m")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	has(t, "set", out, "It is on trial for 5 min. No agent runs that would keep it by itself")
	if state, err := w.mac.LimitState(); err != nil || state.Lease == nil || state.Lease.Left > 5*time.Minute || state.Lease.Left < 3*time.Minute {
		t.Errorf("the trial is %+v, %v", state.Lease, err)
	}
}

func TestLimitWithoutTheHelper(t *testing.T) {
	w := calm(t)
	own := &ownLimit{demoLimit: newDemoLimit(w.mac), state: monitor.HelperMissing}
	code, out, errs := w.runWith(own.put, "limit", "set", "24GiB")
	if code != 0 {
		t.Errorf("exit code %d, %s", code, errs)
	}
	has(t, "set", errs, "macOS asks for an administrator's password now.\n")
	has(t, "set", out, "The helper is not installed. An administrator's password is asked for")
}

// Over ssh the question would come up on a screen that nobody may be at.
func TestLimitWithoutTheHelperOverSSH(t *testing.T) {
	w := calm(t)
	w.env["SSH_CONNECTION"] = "10.0.0.1 5000 10.0.0.2 22"
	own := &ownLimit{demoLimit: newDemoLimit(w.mac), state: monitor.HelperMissing}
	code, out, errs := w.runWith(own.put, "limit", "set", "24GiB")
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	has(t, "set", out, "sudo sysctl iogpu.wired_limit_mb=24576\n")
	has(t, "set", errs, "macOS cannot ask for a password here", "sudo plimsoll limit install")
	if state, err := w.mac.LimitState(); err != nil || state.Set != 0 {
		t.Errorf("the limit is %+v, %v", state, err)
	}
	root := func(p *program) { own.put(p); p.euid = 0 }
	if code, _, errs := w.runWith(root, "limit", "set", "24GiB"); code != 0 || strings.Contains(errs, "password") {
		t.Errorf("with sudo: exit code %d, %s", code, errs)
	}
}

func TestSystemWithoutALimit(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"limit"}, {"limit", "get", "--json"}, {"limit", "set", "24GiB"}, {"limit", "confirm"}, {"limit", "reset"},
		{"limit", "install"}, {"limit", "uninstall"}, {"limit", "status"}} {
		code, out, errs := w.run(args...)
		if code != exitNoLimit || out != "" {
			t.Errorf("%q: exit code %d and %q, want %d", args, code, out, exitNoLimit)
		}
		has(t, strings.Join(args, " "), errs, "This system has no adjustable GPU limit.")
	}
}

func TestInstallAndStatusOfTheHelper(t *testing.T) {
	w := newWorld(t)
	own := &ownLimit{demoLimit: newDemoLimit(w.mac), state: monitor.HelperInstalled}
	code, out, errs := w.runWith(own.put, "limit", "install")
	if code != 0 || !strings.Contains(out, "The helper 1.2.3 is installed and answers.") {
		t.Errorf("install: exit code %d, %s%s", code, out, errs)
	}
	code, out, _ = w.runWith(own.put, "limit", "status")
	has(t, "status", out, "installed, version 1.2.3, protocol 1\n", "iogpu.wired_limit_mb\n", "sudo sysctl iogpu.wired_limit_mb=0\n", wired.Program+"\n", wired.Home+"\n")
	if code != 0 || strings.Contains(out, "install\n") {
		t.Errorf("status: exit code %d, %s", code, out)
	}
	_, out, _ = w.runWith(own.put, "limit", "status", "--json")
	var status helperStatus
	if err := json.Unmarshal([]byte(out), &status); err != nil || status.Helper != "installed" || status.Own != wired.Protocol || len(status.Files) != 4 {
		t.Errorf("status --json: %v, %s", err, out)
	}
	if code, out, _ = w.runWith(own.put, "limit", "uninstall"); code != 0 || fmt.Sprint(own.calls) != "[install uninstall]" {
		t.Errorf("uninstall: exit code %d, %s, called %q", code, out, own.calls)
	}
	for state, says := range map[monitor.HelperState]string{
		monitor.HelperMissing: "Install it with: plimsoll limit install\nOver ssh: sudo /x/plimsoll limit install\n",
		monitor.HelperSilent:  "Put the right one in its place with: plimsoll limit install\nOver ssh: sudo",
	} {
		own.state, own.err = state, limit.ErrLaunchd
		_, out, _ = w.runWith(own.put, "limit", "status")
		has(t, string(state), out, says)
	}
	for err, says := range map[error]string{
		limit.ErrPlace: "Move Plimsoll to Applications first", limit.ErrCancelled: "Nothing was changed", limit.ErrNoSession: "sudo plimsoll limit install",
		limit.ErrChanged: "not the one that belongs to it", limit.ErrUnsafe: "Let an administrator look", limit.ErrNoHelper: "built without its helper",
	} {
		own.err = err
		code, _, errs := w.runWith(own.put, "limit", "install")
		if code != exitFailed {
			t.Errorf("%v: exit code %d", err, code)
		}
		has(t, err.Error(), errs, says)
	}
}

func TestHelperOfTheSimulatedMac(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	for _, verb := range []string{"install", "uninstall"} {
		if code, _, errs := w.run("--socket", socket, "limit", verb); code != exitFailed || !strings.Contains(errs, "simulated Mac") {
			t.Errorf("%s: exit code %d, %s", verb, code, errs)
		}
	}
	code, out, _ := w.run("--socket", socket, "limit", "status")
	if code != 0 {
		t.Errorf("status: exit code %d", code)
	}
	has(t, "status", out, "The helper is installed", "simulated Mac")
	code, out, _ = w.run("--socket", socket, "limit", "status", "--json")
	if want := `{"helper":"installed","own_protocol":1,"key":"iogpu.wired_limit_mb","simulated":true}` + "\n"; code != 0 || out != want {
		t.Errorf("status --json: exit code %d, %s", code, out)
	}
}

func TestLimitAmount(t *testing.T) {
	p := newWorld(t).program(&output{}, &output{})
	u := monitor.Update{Snapshot: &monitor.Snapshot{Machine: &metal.Machine{RAMBytes: new(uint64(32 << 30))}}}
	for text, want := range map[string]wired.MiB{
		"26624": 26624, "26624MiB": 26624, "26 GiB": 26624, "26gib": 26624, "26g": 26624, "25.5GiB": 26112, "26GB": 24795, "27000mb": 25749,
		"75%": 24576, "66.6%": 21823, "default": 0, "Default": 0, "0": 0, " 24576 ": 24576,
	} {
		if got, err := p.limitAmount(text, u); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0GiB", "00", "-0", "-1", "-5GiB", "abc", "NaN", "Inf", "1e300", "0.5", "0%", "100%", "-3%", "%", "GiB", "26TiB", "26GiBs", "0x10"} {
		if got, err := p.limitAmount(text, u); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	if _, err := p.limitAmount("75%", monitor.Update{Snapshot: &monitor.Snapshot{}}); err == nil {
		t.Error("a part of a memory that is not known was taken")
	}
}

// The administrator's question is in the language of the settings.
func TestQuestionsSpeakTheLanguageOfTheSettings(t *testing.T) {
	w := newWorld(t)
	p := w.program(&output{}, &output{})
	var config limit.Config
	p.limits = func(c limit.Config) localLimit { config = c; return nil }
	p.words = p.wordsIn(api.Settings{Language: "en"})
	settings := api.Settings{Language: "zh"}
	p.thisMachine(w.mac, func() api.Settings { return settings })
	if got := config.Sentence("limit.prompt.install"); !strings.Contains(got, "辅助程序") {
		t.Errorf("in Chinese it says %q", got)
	}
	settings.Language = ""
	if got := config.Sentence("limit.prompt.install"); !strings.Contains(got, "helper") {
		t.Errorf("without a setting it says %q", got)
	}
	if got := config.Address("ollama"); got != "http://"+w.env["OLLAMA_HOST"] {
		t.Errorf("the server is at %q", got)
	}
	if got := config.Address("other"); got != "" {
		t.Errorf("another server is at %q", got)
	}
}

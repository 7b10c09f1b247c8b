package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

var commands = []string{"status", "models", "fit", "doctor", "window", "unload", "keep",
	"limit", "limit get", "limit set", "limit confirm", "limit reset", "limit install", "limit uninstall", "limit status",
	"record", "replay", "serve", "meter", "meter install", "meter uninstall", "meter status", "demo", "completion", "version", "help"}

func TestHelp(t *testing.T) {
	w := newWorld(t)
	for _, language := range []string{"en", "zh"} {
		code, all, errs := w.run("--lang", language, "--help")
		if code != 0 || errs != "" {
			t.Errorf("--help: exit code %d, %s", code, errs)
		}
		for _, name := range commands {
			words := strings.Fields(name)
			code, out, errs := w.run(append([]string{"--lang", language, "help"}, words...)...)
			if code != 0 || errs != "" {
				t.Errorf("help %s: exit code %d, %s", name, code, errs)
			}
			all += "\n===== " + name + "\n" + out
			if _, flag, _ := w.run(append(append([]string{"--lang=" + language}, words...), "-h")...); flag != out {
				t.Errorf("%s -h and help %s differ:\n%s\n%s", name, name, flag, out)
			}
		}
		golden(t, "help."+language+".txt", all)
	}
}

// TestNoCommandIsLeftInEnglish finds texts that a library wrote: in the Chinese
// help every sentence has a Chinese character.
func TestNoCommandIsLeftInEnglish(t *testing.T) {
	w := newWorld(t)
	english := regexp.MustCompile(`[a-z]+ [a-z]+ [a-z]+`)
	chinese := regexp.MustCompile(`\p{Han}`)
	for _, name := range append([]string{"--help"}, commands...) {
		_, out, _ := w.run(append(append([]string{"--lang", "zh"}, strings.Fields(name)...), "-h")...)
		for line := range strings.Lines(out) {
			if english.MatchString(line) && !chinese.MatchString(line) && !strings.Contains(line, "plimsoll") {
				t.Errorf("plimsoll %s --help in Chinese says %q", name, line)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		args []string
		says string // in English
		see  string
	}{
		{[]string{"frobnicate"}, "there is no command frobnicate", "plimsoll --help"},
		{[]string{"statsu"}, "Did you mean status?", "plimsoll --help"},
		{[]string{"help", "nothing"}, "there is no command nothing", "plimsoll --help"},
		{[]string{"--frob"}, "there is no flag --frob", "plimsoll --help"},
		{[]string{"status", "-x"}, "there is no flag -x", "plimsoll status --help"},
		{[]string{"status", "now"}, "now is one argument too many", "plimsoll status --help"},
		{[]string{"status", "--check", "--watch"}, "--check looks once", "plimsoll status --help"},
		{[]string{"status", "--json=maybe"}, "--json takes true or false, not maybe", "plimsoll status --help"},
		{[]string{"unload"}, "name the MODEL", "plimsoll unload --help"},
		{[]string{"unload", "a", "b"}, "b is one argument too many", "plimsoll unload --help"},
		{[]string{"unload", "a", "--all"}, "--all takes no MODEL (a)", "plimsoll unload --help"},
		{[]string{"unload", "a", "--timeout"}, "--timeout needs a value", "plimsoll unload --help"},
		{[]string{"unload", "a", "--timeout", "soon"}, "--timeout takes a time such as 90s, 5m or 1h, not soon", "plimsoll unload --help"},
		{[]string{"keep", "a"}, "DURATION is missing", "plimsoll keep --help"},
		{[]string{"keep", "a", "0"}, "0 is no time to keep a model", "plimsoll keep --help"},
		{[]string{"keep", "a", "later"}, "later is no time to keep a model", "plimsoll keep --help"},
		{[]string{"limit", "sett"}, "Did you mean get, set?", "plimsoll limit --help"},
		{[]string{"limit", "set"}, "AMOUNT is missing", "plimsoll limit set --help"},
		{[]string{"limit", "set", "26", "GiB"}, "GiB is one argument too many", "plimsoll limit set --help"},
		{[]string{"limit", "set", "26GiB", "--lease", "5s"}, "--lease takes a time from 30s to 10m, not 5s", "plimsoll limit set --help"},
		{[]string{"limit", "confirm", "now"}, "now is one argument too many", "plimsoll limit confirm --help"},
		{[]string{"record"}, "FILE is missing", "plimsoll record --help"},
		{[]string{"replay"}, "FILE is missing", "plimsoll replay --help"},
		{[]string{"replay", "-", "--speed", "-1"}, "--speed takes a number above 0, not -1", "plimsoll replay --help"},
		{[]string{"replay", "-", "--hot", "39"}, "--hot takes a temperature from 40 to 120 °C, not 39", "plimsoll replay --help"},
		{[]string{"replay", "-", "--hot", "warm"}, "--hot takes a number, not warm", "plimsoll replay --help"},
		{[]string{"replay", "-", "--speed", "fast"}, "--speed takes a number, not fast", "plimsoll replay --help"},
		{[]string{"window", "--page", "nowhere"}, "--page takes planner, limit or settings, not nowhere", "plimsoll window --help"},
		{[]string{"completion"}, "bash|zsh|fish is missing", "plimsoll completion --help"},
		{[]string{"completion", "tcsh"}, "not for tcsh", "plimsoll completion --help"},
		{[]string{"--lang", "de", "status"}, "--lang takes en or zh, not de", "plimsoll --help"},
		{[]string{"--server", "http://[", "status"}, "--server takes an address", "plimsoll --help"},
	} {
		code, out, errs := w.run(c.args...)
		if code != exitUsage || out != "" {
			t.Errorf("plimsoll %q: exit code %d and %q, want %d and nothing", c.args, code, out, exitUsage)
		}
		has(t, strings.Join(c.args, " "), errs, "plimsoll: ", c.says, "\nSee: "+c.see+"\n")
		code, _, errs = w.run(append([]string{"--lang", "zh"}, c.args...)...)
		if code != exitUsage || !regexp.MustCompile(`\p{Han}`).MatchString(errs) {
			t.Errorf("plimsoll %q in Chinese: exit code %d, %s", c.args, code, errs)
		}
	}
}

func TestLanguageIsTheFlagsThenTheSettingsThenTheSystems(t *testing.T) {
	w := newWorld(t)
	speaks := func(want string, args ...string) {
		t.Helper()
		_, out, _ := w.run(append(args, "version", "--help")...)
		if want := view.In(want).Text("cli.version.long"); !strings.HasPrefix(out, want) {
			t.Errorf("%q: help is %q, want %q", args, out, want)
		}
	}
	speaks("en")
	w.env["LANG"] = "zh_CN.UTF-8"
	speaks("zh")
	file := &settingsFile{path: w.home + "/.config/plimsoll/settings.json"}
	s := file.get()
	s.Language = "en"
	if err := file.set(s); err != nil {
		t.Fatal(err)
	}
	speaks("en")
	speaks("zh", "--lang", "zh")
	speaks("zh", "--lang=zh-CN")
}

func TestVersion(t *testing.T) {
	w := newWorld(t)
	_, command, _ := w.run("version")
	_, flag, _ := w.run("--version")
	if command != flag || !regexp.MustCompile(`^Plimsoll \d+\.\d+\.\d+ \(\w+/\w+, go1\.\S+\)\n$`).MatchString(command) {
		t.Errorf("version says %q, --version %q", command, flag)
	}
}

// TestBashCompletionNamesItsPackage sources the script in a shell that has loaded
// nothing else.
func TestBashCompletionNamesItsPackage(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	w := newWorld(t)
	for language, says := range map[string]string{"en": "needs the package bash-completion", "zh": "需要软件包 bash-completion"} {
		_, script, _ := w.run("--lang", language, "completion", "bash")
		source := func(before string) string {
			cmd := exec.Command(bash, "--norc", "--noprofile")
			cmd.Stdin = strings.NewReader(before + script)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v", language, err)
			}
			return string(out)
		}
		if out := source(""); strings.Count(out, "\n") != 1 || !strings.Contains(out, says) {
			t.Errorf("%s, without the package: %q", language, out)
		}
		if out := source("_get_comp_words_by_ref() { :; }\n"); out != "" {
			t.Errorf("%s, with the package: %q", language, out)
		}
	}
}

func TestCompletion(t *testing.T) {
	w := newWorld(t)
	for shell, part := range map[string]string{"bash": "__start_plimsoll", "zsh": "#compdef plimsoll", "fish": "complete -c plimsoll"} {
		if code, out, _ := w.run("completion", shell); code != 0 || !strings.Contains(out, part) {
			t.Errorf("completion %s: exit code %d, %.200s", shell, code, out)
		}
	}
	w.load("qwen2.5:7b")
	socket, _ := w.agent()
	w.await(socket, "the model", func(u monitor.Update) bool { return len(u.Snapshot.Residents) == 1 })
	_, out, _ := w.run("__complete", "--socket", socket, "unload", "")
	has(t, "completion of unload", out, "qwen2.5:7b\n")
	_, out, _ = w.run("__complete", "--socket", socket, "keep", "qwen2.5:7b", "")
	has(t, "completion of keep", out, "1h\n", "forever\n")
	_, out, _ = w.run("__complete", "st")
	has(t, "completion of commands", out, "status\tShow memory")
}

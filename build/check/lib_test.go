package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a machine as the scripts see it: a folder with every program there
// is, each a line of shell that also notes its call in the file "calls".
type machine struct {
	t   *testing.T
	bin string
}

// newMachine has a good Go, no package manager, and what every Unix has.
func newMachine(t *testing.T, system string) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, tool := range []string{"bash", "sh", "dirname", "cat", "sleep", "mktemp", "rm", "tail", "env"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("this machine has no %s", tool)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	m.has("uname", "echo "+system)
	m.has("id", "echo 1000")
	m.has("go", "echo go1.26.0")
	return m
}

// has gives the machine a program.
func (m machine) has(name, script string) {
	m.t.Helper()
	text := "#!/bin/sh\necho " + name + " \"$@\" >>" + filepath.Join(m.bin, "calls") + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// run runs lines after build/lib.sh and returns what was said and the status.
func (m machine) run(lines string) (string, int) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(m.bin, "bash"), "-c", ". ../lib.sh\n"+lines)
	cmd.Env = []string{"PATH=" + m.bin, "TMPDIR=" + m.t.TempDir()}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// calls are the calls of a program, without its name.
func (m machine) calls(name string) []string {
	text, _ := os.ReadFile(filepath.Join(m.bin, "calls"))
	var found []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			found = append(found, rest)
		}
	}
	return found
}

// installed answers as dpkg-query does when all but some packages are there.
func installed(but ...string) string {
	return `for p; do :; done; case $p in ` + strings.Join(but, "|") + `) exit 1 ;; *) echo installed ;; esac`
}

func TestGoIsCheckedFirst(t *testing.T) {
	for version, want := range map[string]int{"go1.26.0": 0, "go1.26rc1": 0, "go1.30.2": 0, "devel go1.27-abc": 0, "go1.25.9": 2, "go1.9": 2} {
		m := newMachine(t, "Linux")
		m.has("go", "echo '"+version+"'")
		out, status := m.run("need_tools")
		if status != want || want == 2 && out != "Plimsoll needs Go 1.26 or newer: found "+version+"; see https://go.dev/dl\n" {
			t.Errorf("%s: status %d, said %q; want status %d and one line", version, status, out, want)
		}
	}
	m := newMachine(t, "Linux")
	if err := os.Remove(filepath.Join(m.bin, "go")); err != nil {
		t.Fatal(err)
	}
	if out, status := m.run("need_tools"); status != 2 || out != "Plimsoll needs Go 1.26 or newer: found none; see https://go.dev/dl\n" {
		t.Errorf("without Go: status %d, said %q", status, out)
	}
}

func TestMacWithoutCommandLineTools(t *testing.T) {
	m := newMachine(t, "Darwin")
	m.has("xcode-select", "exit 2")
	if out, status := m.run("need_tools"); status != 2 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "xcode-select --install") {
		t.Errorf("status %d, said %q; want one line that says what to run", status, out)
	}
	m.has("xcode-select", "echo /Library/Developer/CommandLineTools")
	if out, status := m.run("need_tools; need_packages build"); status != 0 || out != "" {
		t.Errorf("with the tools: status %d, said %q", status, out)
	}
}

func TestPackagesWithoutRootOrSudo(t *testing.T) {
	m := newMachine(t, "Linux")
	m.has("dpkg-query", installed("libxi-dev", "xvfb"))
	m.has("apt-get", "exit 1")
	out, status := m.run("need_packages build display")
	want := "  sudo apt-get update && sudo apt-get install -y --no-install-recommends libxi-dev xvfb\n"
	if status != 2 || !strings.HasSuffix(out, want) || len(m.calls("apt-get")) > 0 {
		t.Errorf("status %d, said %q; want 2 and %q", status, out, want)
	}
	m.has("sudo", "exit 1") // asks for a password
	if again, status := m.run("need_packages build display"); status != 2 || again != out {
		t.Errorf("with a sudo that asks: status %d, said %q", status, again)
	}
}

func TestPackagesAreInstalled(t *testing.T) {
	for _, as := range []string{"root", "sudo"} {
		m := newMachine(t, "Linux")
		m.has("dpkg-query", installed("libxi-dev"))
		// The lists are empty until they are fetched.
		m.has("apt-get", `case "$*" in *install*) [ -e `+m.bin+`/lists ] ;; update) : >`+m.bin+`/lists ;; esac`)
		if as == "root" {
			m.has("id", "echo 0")
		} else {
			m.has("sudo", `shift; exec "$@"`)
		}
		out, status := m.run("need_packages build")
		calls := strings.Join(m.calls("apt-get"), "\n")
		if status != 0 || strings.Count(calls, "libxi-dev") != 2 || !strings.Contains(calls, "\nupdate\n") {
			t.Errorf("%s: status %d, said %q, called apt-get with:\n%s", as, status, out, calls)
		}
	}
}

func TestPackagesThatAreThere(t *testing.T) {
	m := newMachine(t, "Linux")
	m.has("dpkg-query", installed("nothing"))
	m.has("apt-get", "exit 1")
	if out, status := m.run("need_packages build display ollama checks"); status != 0 || out != "" || len(m.calls("apt-get")) > 0 {
		t.Errorf("status %d, said %q, called apt-get %d times", status, out, len(m.calls("apt-get")))
	}
}

func TestOtherLinux(t *testing.T) {
	m := newMachine(t, "Linux")
	m.has("gcc", "")
	if out, status := m.run("need_packages build"); status != 2 || !strings.Contains(out, "needs pkg-config") || !strings.Contains(out, "libxi-dev") {
		t.Errorf("status %d, said %q; want what is missing and the packages", status, out)
	}
	m.has("pkg-config", "")
	if out, status := m.run("need_packages build"); status != 0 || out != "" {
		t.Errorf("with the tools: status %d, said %q", status, out)
	}
}

func TestUnknownGroup(t *testing.T) {
	m := newMachine(t, "Linux")
	m.has("dpkg-query", installed("nothing"))
	if out, status := m.run("need_packages typo"); status == 0 {
		t.Errorf("a group that is not there passed: %q", out)
	}
}

func TestStep(t *testing.T) {
	m := newMachine(t, "Linux")
	if out, status := m.run(`step "a thing" sh -c 'echo hidden'`); status != 0 || out != "" {
		t.Errorf("a quick one: status %d, said %q", status, out)
	}
	if out, status := m.run(`step "a thing" sh -c 'echo shown; exit 3'; echo not reached`); status != 3 || out != "shown\nfailed: a thing\n" {
		t.Errorf("a failing one: status %d, said %q", status, out)
	}
}

// TestGroupsExist checks that lib.sh knows every group that a check needs.
func TestGroupsExist(t *testing.T) {
	m := newMachine(t, "Linux")
	for _, group := range groups(table) {
		if out, status := m.run("packages_of " + group); status != 0 || strings.TrimSpace(out) == "" {
			t.Errorf("group %s: status %d, %q", group, status, out)
		}
	}
}

// TestAgentIsBuiltForTheHelper: the helper is built and signed, and only then its
// hash is taken and put into the agent.
func TestAgentIsBuiltForTheHelper(t *testing.T) {
	m := newMachine(t, "Darwin")
	m.has("sed", "echo 1.2.3")
	m.has("codesign", "")
	m.has("shasum", "echo 'abc123  bin/plimsoll-helper'")
	if out, status := m.run("build_programs"); status != 0 {
		t.Fatalf("status %d, said %q", status, out)
	}
	text, err := os.ReadFile(filepath.Join(m.bin, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	for _, call := range []string{
		"go build -trimpath -buildvcs=false -ldflags -s -w -X main.version=1.2.3 -o bin/plimsoll-helper ./metal/helper\n",
		"codesign --force --sign - --identifier dev.plimsoll.helper bin/plimsoll-helper\n",
		"shasum -a 256 bin/plimsoll-helper\n",
		"go build -ldflags -X plimsoll/app/limit.helperSHA256=abc123 -o bin/plimsoll ./app\n",
	} {
		_, after, found := strings.Cut(rest, call)
		if !found {
			t.Fatalf("no %q, or not in this order, in\n%s", call, text)
		}
		rest = after
	}
	m.has("shasum", "exit 1")
	if out, status := m.run("build_programs"); status == 0 || len(m.calls("shasum")) != 2 || strings.Count(strings.Join(m.calls("go"), "\n"), "-o bin/plimsoll ./app") != 1 {
		t.Errorf("without the hash: status %d, said %q", status, out)
	}
}

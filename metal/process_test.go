package metal

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestScopeApp(t *testing.T) {
	for cgroup, want := range map[string]string{
		`/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.mozilla.firefox-12345.scope`: "org.mozilla.firefox",
		`/app.slice/app-org.kde.konsole-2f3c1e.scope`:                                                       "org.kde.konsole",
		`/app.slice/app-flatpak-com.google.Chrome-777.scope`:                                                "com.google.Chrome",
		`/app.slice/app-gnome-google\x2dchrome-12345.scope`:                                                 "google-chrome",
		`/app.slice/app-gnome\x2dkeyring\x2dpkcs11@autostart.service`:                                       "gnome-keyring-pkcs11",
		`/app.slice/app-org.kde.dolphin@0a1b.service`:                                                       "org.kde.dolphin",
		`/app.slice/app-code.service`:                                                                       "code",
		`/app.slice/app-firefox.scope`:                                                                      "firefox",
		`/app.slice/app-gnome-code-1.scope/inner`:                                                           "code",
		`/app.slice/app-f\xc3\xbcr-1.scope`:                                                                 "für",
		`/app.slice/app-\x2-1.scope`:                                                                        `\x2`,
		`/app.slice/app-\xff-1.scope`:                                                                       "\uFFFD",
		`/system.slice/ollama.service`:                                                                      "",
		`/app.slice`:                                                                                        "",
		`/app.slice/app-.scope`:                                                                             "",
		`/`:                                                                                                 "",
		``:                                                                                                  "",
		`relative`:                                                                                          "",
	} {
		if got := scopeApp(cgroup); got != want {
			t.Errorf("%s belongs to %q, want %q", cgroup, got, want)
		}
	}
}

func TestBundleApp(t *testing.T) {
	for executable, want := range map[string]string{
		"/Applications/Ollama.app/Contents/Resources/ollama": "Ollama",
		"/Applications/Google Chrome.app/Contents/Frameworks/G.framework/Helpers/Google Chrome Helper.app/Contents/MacOS/Google Chrome Helper": "Google Chrome",
		"/usr/local/bin/ollama": "",
		"/tmp/.app/x":           "",
		"":                      "",
	} {
		if got := bundleApp(executable); got != want {
			t.Errorf("%s belongs to %q, want %q", executable, got, want)
		}
	}
}

// child starts a process that waits for a signal.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "METAL_TEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the child said %q: %v", line, err)
	}
	return cmd
}

func TestEndProcess(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t)
	pid := cmd.Process.Pid
	p, err := r.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	if p.Started == 0 || p.Parent != os.Getpid() {
		t.Fatalf("the child is told as %s", show(p))
	}
	// Another process had this number: nothing happens.
	for _, started := range []uint64{0, 1, p.Started - 1, p.Started + 1} {
		if err := EndProcess(pid, started); !errors.Is(err, ErrNoProcess) {
			t.Errorf("ending with start time %d: %v, want ErrNoProcess", started, err)
		}
	}
	if again, err := r.Process(pid); err != nil || again.Started != p.Started {
		t.Fatalf("the child did not survive wrong start times: %v", err)
	}
	if err := EndProcess(pid, p.Started); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the child ended by %v, want SIGTERM", err)
	}
	if err := EndProcess(pid, p.Started); !errors.Is(err, ErrNoProcess) {
		t.Errorf("ending it again: %v, want ErrNoProcess", err)
	}
	if p, err := r.Process(pid); p != nil || !errors.Is(err, ErrNoProcess) {
		t.Errorf("reading it again: %s, %v, want ErrNoProcess", show(p), err)
	}
}

func TestEndProcessRefusesGroupsAndInit(t *testing.T) {
	for _, pid := range []int{-1, 0, 1, -os.Getpid()} {
		if err := EndProcess(pid, 5); !errors.Is(err, ErrNoProcess) {
			t.Errorf("ending %d: %v, want ErrNoProcess", pid, err)
		}
	}
}

package limit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatBecomesOfTheQuestion(t *testing.T) {
	for said, want := range map[string]error{
		"0:213: execution error: User canceled. (-128)":                                                                       ErrCancelled,
		"0:213: execution error: The operation couldn’t be completed. (-60006)":                                               ErrCancelled,
		"execution error: The authorization was denied since no user interaction was possible. (-60007)":                      ErrNoSession,
		"0:213: execution error: No user interaction allowed. (-1713)":                                                        ErrNoSession,
		"0:213: execution error: The administrator user name or password was incorrect. (-60005)":                             ErrDenied,
		"0:213: execution error: plimsoll: /Library/LaunchDaemons is not a folder of root's alone (66)":                       ErrUnsafe,
		"0:213: execution error: plimsoll: /x is not the helper of this Plimsoll (68)":                                        ErrChanged,
		"0:213: execution error: a\rplimsoll: launchd does not take the helper: Bootstrap failed: 5: Input/output error (70)": ErrLaunchd,
		"0:213: 执行错误：用户已取消。 (-128)":                                                                                           ErrCancelled,
	} {
		s := newStand(t, "iogpu.wired_limit_mb")
		s.has("osascript", "cat >&2 <<'END'\n"+said+"\nEND\nexit 1")
		err := s.Set(t.Context(), 24576, 0)
		if codeOf(err) != codeOf(want) {
			t.Errorf("%q is %v, want %v", said, err, want)
		}
		if text := err.Error(); strings.Contains(text, "execution error") || strings.Contains(text, "plimsoll:") {
			t.Errorf("%q is told as %q", said, text)
		}
	}
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "echo 'it sang (9)'; exit 3")
	if err := s.Set(t.Context(), 24576, 0); err == nil || !strings.Contains(err.Error(), "it sang") {
		t.Errorf("an unknown failure: %v", err)
	}
	os.Remove(s.programs.osascript)
	if err := s.Set(t.Context(), 24576, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without osascript: %v", err)
	}
}

func TestOverSSHNobodyIsAsked(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	s.has("osascript", "")
	s.env["SSH_CONNECTION"] = "10.0.0.1 5000 10.0.0.2 22"
	if err := s.Set(t.Context(), 24576, 0); !errors.Is(err, ErrNoSession) || s.args("osascript") != "" {
		t.Errorf("got %v", err)
	}
}

func TestOneQuestionAtATime(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	check(t, os.WriteFile(filepath.Join(s.dir, "osascript"), []byte("#!/bin/sh\n: >"+s.dir+"/asking\nread -r x <"+s.dir+"/answer\n"), 0o755))
	check(t, mkfifo(filepath.Join(s.dir, "answer")))
	first := make(chan error, 1)
	go func() { first <- s.Set(t.Context(), 24576, 0) }()
	answer, err := os.OpenFile(filepath.Join(s.dir, "answer"), os.O_WRONLY, 0) // waits for the reader
	check(t, err)
	if err := s.Reset(t.Context()); !errors.Is(err, ErrAsking) {
		t.Errorf("a second question: %v", err)
	}
	io.WriteString(answer, "yes\n")
	answer.Close()
	check(t, <-first)
}

func TestQuestionThatNobodyAnswersEnds(t *testing.T) {
	s := newStand(t, "iogpu.wired_limit_mb")
	check(t, mkfifo(filepath.Join(s.dir, "answer")))
	check(t, os.WriteFile(filepath.Join(s.dir, "osascript"), []byte("#!/bin/sh\nread -r x <"+s.dir+"/answer\n"), 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Set(ctx, 24576, 0) }()
	answer, err := os.OpenFile(filepath.Join(s.dir, "answer"), os.O_WRONLY, 0)
	check(t, err)
	defer answer.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRootAsksNobody(t *testing.T) {
	built(t, someHash)
	s := newStand(t, "iogpu.wired_limit_mb")
	s.bundle("helper")
	s.euid = 0
	s.has("osascript", "")
	s.has("sh", ": >"+s.places.program)
	s.pause = func(context.Context, time.Duration) error { s.installs(); return nil }
	for _, uid := range []string{"", "0", "x", "-1", "1;2"} {
		s.env["SUDO_UID"] = uid
		if err := s.Install(t.Context()); !errors.Is(err, ErrNoUser) {
			t.Errorf("for user %q: %v", uid, err)
		}
	}
	s.env["SUDO_UID"], s.env["SSH_CONNECTION"] = "502", "10.0.0.1 5000 10.0.0.2 22"
	t.Setenv("BASH_ENV", "/tmp/evil")
	check(t, s.Install(t.Context()))
	args := s.args("sh")
	if !strings.HasPrefix(args, "-c\n# shellcheck shell=sh\n# Installs") || !strings.Contains(args, "\nplimsoll\n502:/") || s.args("osascript") != "" {
		t.Errorf("ran\n%s", args)
	}
	env, err := os.ReadFile(filepath.Join(s.dir, "sh.env"))
	check(t, err)
	if strings.Contains(string(env), "evil") || strings.Contains(string(env), "HOME=") {
		t.Errorf("the script runs in the environment of the person:\n%s", env)
	}
	s.has("sh", "echo 'plimsoll: /x is not a folder of root'\\''s alone' >&2; exit 66")
	if err := s.Install(t.Context()); !errors.Is(err, ErrUnsafe) || err.Error() != "/x is not a folder of root's alone" {
		t.Errorf("a script that refuses: %v", err)
	}
}

func TestScriptsAreFixed(t *testing.T) {
	a, err := installScript(someHash)
	check(t, err)
	for _, left := range []string{"@SHA256@", "@PLIST@"} {
		if strings.Contains(a, left) {
			t.Errorf("%s is left in the script", left)
		}
	}
	if list, err := os.ReadFile("../../build/darwin/dev.plimsoll.helper.plist"); err != nil || string(list) != jobList {
		t.Errorf("launchd's list here is not the one in build/darwin: %v", err)
	}
	if strings.Contains(jobList, "'") {
		t.Error("launchd's list has a quote, which would end its quotes in the script")
	}
	if !slices.Equal(strings.Split(a, "\n")[:8], strings.Split(installText, "\n")[:8]) {
		t.Error("the script is not install.sh")
	}
	if n := strings.Count(prompt, "quoted form of"); n != 2 || strings.Contains(prompt, "item 2 of argv &") {
		t.Errorf("the prompt quotes %d arguments:\n%s", n, prompt)
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

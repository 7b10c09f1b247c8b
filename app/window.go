package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

// windowCommand opens the window from a terminal. The window program is started
// here and not by the agent, as it needs this terminal's display.
func (p *program) windowCommand() *cobra.Command {
	var page string
	cmd := p.command("window", "window", groupSee, func(cmd *cobra.Command, _ []string) error {
		if page != "" && !slices.Contains(windowPages, page) {
			return misused(cmd, "cli.usage.page", view.Args{"Value": page})
		}
		socket, _, err := p.socket()
		if err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(p.errs, nil))
		return newWindows(p.getenv, socket, log).open(page)
	})
	cmd.Flags().StringVar(&page, "page", "", p.words.Text("cli.window.page"))
	cmd.RegisterFlagCompletionFunc("page", cobra.FixedCompletions(windowPages, cobra.ShellCompDirectiveNoFileComp))
	cmd.Args = takes()
	return cmd
}

// windowPages are the pages that the window may be opened on; "" is the overview.
var windowPages = []string{"planner", "limit", "settings"}

// windows starts the window program, a process of its own that outlives neither
// more nor less than its window.
type windows struct {
	getenv func(string) string
	socket string
	log    *slog.Logger

	mu   sync.Mutex // one start at a time
	last *started   // the process that shows the window, nil before the first
}

// started is a window program that stayed.
type started struct {
	process *os.Process
	ended   chan struct{}
}

func newWindows(getenv func(string) string, socket string, log *slog.Logger) *windows {
	return &windows{getenv: getenv, socket: socket, log: log}
}

// settling is how long a started window is looked at: one that cannot open (no
// display, a broken installation) ends within it, and the click gets an answer.
const settling = 800 * time.Millisecond

// open shows the window on a page. While a window is open already, the program
// hands the page over to it and ends at once, with success.
func (w *windows) open(page string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	program, err := windowProgram(w.getenv, self)
	if err != nil {
		return err
	}
	args := []string{"--socket", w.socket}
	if page != "" {
		args = append(args, "--page", page)
	}
	cmd := exec.Command(program, args...)
	said := newSaying()
	cmd.Stderr = said.file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C at the agent leaves the window alone
	if err := cmd.Start(); err != nil {
		said.end()
		return api.Failure("window_failed", "starting "+program, err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); err = cmd.Wait() }()
	select {
	case <-ended:
		words := said.end()
		if err != nil {
			return w.failure(program, words, err)
		}
	case <-time.After(settling):
		w.last = &started{cmd.Process, ended}
		go func() { <-ended; os.Stderr.WriteString(said.end()) }()
		w.log.Debug("window open", "pid", cmd.Process.Pid)
	}
	return nil
}

// failure is why the window program ended at once, for the one who asked for it:
// that there is no display, else its own last line, else how it ended.
func (w *windows) failure(program, words string, err error) error {
	lines := strings.Split(strings.TrimSpace(words), "\n")
	if len(lines) > 1 { // more than a sentence: for whoever looks for the mistake
		os.Stderr.WriteString(words)
	}
	last := strings.TrimSpace(lines[len(lines)-1])
	if runtime.GOOS == "linux" && w.getenv("DISPLAY") == "" && w.getenv("WAYLAND_DISPLAY") == "" {
		return api.Failure("no_display", "neither DISPLAY nor WAYLAND_DISPLAY is set", nil)
	}
	if last != "" {
		return api.Failure("window_failed", last, nil)
	}
	return api.Failure("window_failed", filepath.Base(program)+" ended at once", err)
}

// close ends the window that was opened here, if it is still open: a demo's
// window has nothing to show when the demo is over.
func (w *windows) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return
	}
	select {
	case <-w.last.ended:
		return
	default:
	}
	w.last.process.Signal(syscall.SIGTERM)
	select {
	case <-w.last.ended:
	case <-time.After(settling):
		w.last.process.Kill()
	}
}

// windowProgram finds the window program: where PLIMSOLL_WINDOW says, beside this
// one, or in the bundle that this one is the agent of.
func windowProgram(getenv func(string) string, self string) (string, error) {
	if named := getenv("PLIMSOLL_WINDOW"); named != "" {
		return named, nil
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	folder := filepath.Dir(self)
	for _, place := range []string{
		filepath.Join(folder, "plimsoll-window"),
		filepath.Join(folder, "..", "Helpers", "Plimsoll Window.app", "Contents", "MacOS", "plimsoll-window"),
	} {
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return place, nil
		}
	}
	return "", api.Failure("no_window", fmt.Sprintf("plimsoll-window is not in %s: install it there, or name it in PLIMSOLL_WINDOW", folder), nil)
}

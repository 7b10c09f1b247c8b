package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/api"
	"plimsoll/monitor/backend"
)

// TestErrorsEndWithWhatToDo: each failure a person can meet has a sentence that
// says more than the error, in both languages.
func TestErrorsEndWithWhatToDo(t *testing.T) {
	for name, err := range map[string]error{
		"no_model":      fmt.Errorf("unload x: %w", monitor.ErrNoModel),
		"cloud":         monitor.ErrCloud,
		"no_backend":    monitor.ErrNoBackend,
		"fixed_model":   fmt.Errorf("unloading x: %w", backend.ErrFixed),
		"bad_command":   monitor.ErrBadCommand,
		"no_agent":      fmt.Errorf("status: %w", api.ErrNoAgent),
		"agent_gone":    api.ErrGone,
		"agent_running": api.ErrAgentRunning,
		"no_window":     api.Failure("no_window", "no window program", nil),
		"timeout":       fmt.Errorf("unload x: %w", context.DeadlineExceeded),
		"cancelled":     context.Canceled,
		"permission":    &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission},
		"refused":       &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"no_file":       &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist},
		"other":         errors.New("the disk sang"),
		"unheard_of":    api.Failure("unheard_of", "something new", nil),
		"failed":        api.Failure("failed", "", &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}),
	} {
		code := errorCode(err)
		if code != name && name != "failed" {
			t.Errorf("%v is %q, want %q", err, code, name)
		}
		for _, language := range []string{"en", "zh"} {
			r := In(language)
			got, end := r.Error(err), "."
			if language == "zh" {
				end = "。"
			}
			if got == "" || strings.HasPrefix(got, "error.") || !strings.HasSuffix(got, end) || strings.Count(got, end)+strings.Count(got, "：") == 0 {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if got := In("en").Error(errors.New("the disk sang")); !strings.Contains(got, "the disk sang") {
		t.Errorf("an unknown error is not shown: %q", got)
	}
	if got := In("en").Error(nil); got != "" {
		t.Errorf("no error says %q", got)
	}
	if got := In("en").Error(api.Failure("failed", "", fs.ErrPermission)); !strings.HasPrefix(got, "Not permitted") {
		t.Errorf("a failure that is a permission says %q", got)
	}
}

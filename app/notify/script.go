package notify

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"plimsoll/app/view"
)

// script shows notices through macOS's osascript. It starts a process for each
// notice, has no button and cannot take a notice back.
type script struct {
	path string
	rest Notifier // for when it fails
}

// Texts are arguments of the script and never become part of it.
var scriptLines = []string{
	"on run argv",
	"display notification (item 2 of argv) with title (item 1 of argv)",
	"end run",
}

func (s script) Show(n view.Notice) error {
	if n.Withdraw {
		return nil
	}
	var args []string
	for _, line := range scriptLines {
		args = append(args, "-e", line)
	}
	// After "--" a title that begins with a dash is no option.
	args = append(args, "--", clean(n.Title), clean(n.Text))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, s.path, args...).CombinedOutput(); err != nil {
		s.rest.Show(n)
		return fmt.Errorf("showing a notice with osascript: %w: %s", err, out)
	}
	return nil
}

func (script) Close() error { return nil }

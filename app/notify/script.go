package notify

import (
	"context"
	_ "embed"
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

// program is the script. Texts are its arguments and never become part of it.
//
//go:embed notice.applescript
var program string

func (s script) Show(n view.Notice) error {
	if n.Withdraw {
		return nil
	}
	// After "--" a title that begins with a dash is no option.
	args := []string{"-e", program, "--", clean(n.Title), clean(n.Text)}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, s.path, args...).CombinedOutput(); err != nil {
		s.rest.Show(n)
		return fmt.Errorf("showing a notice with osascript: %w: %s", err, out)
	}
	return nil
}

func (script) Close() error { return nil }

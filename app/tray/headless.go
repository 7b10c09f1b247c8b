//go:build headless

package tray

import (
	"context"
	"errors"

	"plimsoll/app/view"
)

// Available tells that this build has no tray.
func Available() bool { return false }

// Run reports that this build has no tray.
func Run(context.Context, Config, <-chan view.View) error {
	return errors.New("showing the tray: this is the headless build, which has none")
}

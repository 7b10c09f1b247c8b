//go:build !darwin

package limit

import (
	"context"
	"net"
	"time"

	"plimsoll/metal/wired"
)

// system is one without an adjustable limit.
type system struct{}

func (system) Sysctl(string) (uint64, error)      { return 0, wired.ErrNoKey }
func (system) BootSession() (string, error)       { return "", wired.ErrNoKey }
func (system) Continuous() (time.Duration, error) { return 0, wired.ErrNoKey }
func (system) Files() wired.Files                 { return wired.Folder{Path: wired.Home} }

func dial(context.Context) (net.Conn, error) { return nil, wired.ErrNoKey }

// xattr is an extended attribute of a file: only macOS has the one that is asked for.
func xattr(string, string) (string, error) { return "", wired.ErrNoKey }

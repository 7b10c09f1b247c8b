package metal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// EndProcess asks a process to end (SIGTERM), but only if it is the one that
// started then: a pid may have gone to somebody else since it was read. It fails
// with ErrNoProcess when that process is gone, with ErrNotPermitted when it
// belongs to another user.
func EndProcess(pid int, started uint64) error {
	if pid <= 1 || started == 0 {
		// kill(2) takes 0 and negative numbers for groups, and 1 is the system.
		return fmt.Errorf("ending process %d: %w", pid, ErrNoProcess)
	}
	// On Linux p is a pidfd: what is checked is what gets the signal. macOS has no
	// such thing; there the pid would have to be given away between two lines.
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("ending process %d: %w", pid, ErrNoProcess)
	}
	defer p.Release()
	now, err := processStarted(pid)
	if err != nil {
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	if now != started {
		return fmt.Errorf("ending process %d: another process has its number now: %w", pid, ErrNoProcess)
	}
	err = p.Signal(syscall.SIGTERM)
	switch {
	case errors.Is(err, os.ErrProcessDone), errors.Is(err, syscall.ESRCH):
		return fmt.Errorf("ending process %d: %w", pid, ErrNoProcess)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("ending process %d: %w", pid, ErrNotPermitted)
	case err != nil:
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	return nil
}

// bundleApp is the application that an executable on macOS belongs to: the name
// of the outermost .app bundle in its path, "" when there is none. Helpers lie in
// bundles inside the bundle, so they share the name of the whole.
func bundleApp(executable string) string {
	for dir := range strings.SplitSeq(executable, "/") {
		if name, ok := strings.CutSuffix(dir, ".app"); ok && name != "" {
			return name
		}
	}
	return ""
}

// scopeApp is the application that a systemd unit in a cgroup path was started
// for: the desktops put each into one of its own, named
//
//	app[-<launcher>]-<ApplicationID>-<RANDOM>.scope
//	app[-<launcher>]-<ApplicationID>[@<RANDOM>].service
//
// (https://systemd.io/DESKTOP_ENVIRONMENTS/), and escape a dash in the ID as
// \x2d, so that dashes separate. "" when there is none.
func scopeApp(cgroup string) string {
	for cgroup != "" && cgroup != "/" && cgroup != "." {
		if app := unitApp(path.Base(cgroup)); app != "" {
			return app
		}
		cgroup = path.Dir(cgroup)
	}
	return ""
}

func unitApp(unit string) string {
	rest, ok := strings.CutPrefix(unit, "app-")
	if !ok {
		return ""
	}
	if s, ok := strings.CutSuffix(rest, ".scope"); ok {
		rest = s
		if i := strings.LastIndexByte(s, '-'); i > 0 {
			rest = s[:i]
		}
	} else if s, ok := strings.CutSuffix(rest, ".service"); ok {
		rest, _, _ = strings.Cut(s, "@")
	} else {
		return ""
	}
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		rest = rest[i+1:]
	}
	return unescapeUnit(rest)
}

// unescapeUnit undoes systemd's \xNN (systemd.unit(5), string escaping).
func unescapeUnit(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			high, low := hexDigit(s[i+2]), hexDigit(s[i+3])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func hexDigit(c byte) int {
	return strings.IndexByte("0123456789abcdef", c)
}

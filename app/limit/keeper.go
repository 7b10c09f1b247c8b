package limit

import (
	"context"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"plimsoll/metal"
)

// keeper is who starts a server again.
type keeper struct {
	kind keeping
	name string         // of the application, the job or the unit
	app  *metal.Process // the application's own process
}

// keeping is a way in which a server is kept running.
type keeping string

const (
	byHand      keeping = ""
	byApp       keeping = "app"          // an application of the desktop (macOS)
	byLaunchd   keeping = "launchd"      // a job of the user's, Homebrew's among them
	bySystemd   keeping = "systemd"      // a unit of the system
	byUserUnits keeping = "systemd-user" // a unit of the user's own
)

// command does by hand what Restart does.
func (s *server) command() string {
	switch k := s.keeper; k.kind {
	case byApp:
		return fmt.Sprintf("osascript -e 'quit app \"%s\"' && sleep 3 && open -a %s", k.name, quoted(k.name))
	case byLaunchd:
		if formula, ok := strings.CutPrefix(k.name, "homebrew.mxcl."); ok {
			return "brew services restart " + quoted(formula)
		}
		return "launchctl kickstart -k gui/" + strconv.Itoa(os.Getuid()) + "/" + quoted(k.name)
	case bySystemd:
		return "sudo systemctl restart " + quoted(k.name)
	case byUserUnits:
		return "systemctl --user restart " + quoted(k.name)
	}
	return fmt.Sprintf("kill %d && %s serve", s.process.PID, quoted(s.process.Name))
}

// onMac is who keeps a process running on a Mac: the application that it is in, or
// the job of launchd that it or its parent is.
func (l *Limiter) onMac(ctx context.Context, p *metal.Process) keeper {
	parent, err := l.local.Process(p.Parent)
	if err != nil {
		parent = nil
	}
	if p.App != p.Name && parent != nil && parent.App == p.App {
		return keeper{byApp, p.App, parent}
	}
	out, err := run(ctx, nil, l.programs.launchctl, "list")
	if err != nil {
		return keeper{}
	}
	if label := jobOf(out, p.PID); label != "" {
		return keeper{kind: byLaunchd, name: label}
	}
	return keeper{}
}

// jobOf finds the label of a process in what launchctl list prints: pid, last status
// and label, separated by tabs, "-" for a job that does not run.
func jobOf(list string, pid int) string {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == strconv.Itoa(pid) && !strings.HasPrefix(fields[2], "application.") {
			return fields[2]
		}
	}
	return ""
}

// onLinux is the unit of systemd that a process belongs to, by its control group:
//
//	0::/system.slice/ollama.service
//	0::/user.slice/user-1000.slice/user@1000.service/app.slice/ollama.service
//	1:name=systemd:/system.slice/ollama.service
//
// A session or scope is nobody who would start it again.
func (l *Limiter) onLinux(p *metal.Process) keeper {
	text, err := os.ReadFile(path.Join(l.proc, strconv.Itoa(p.PID), "cgroup"))
	if err != nil {
		return keeper{}
	}
	return unitOf(string(text))
}

func unitOf(cgroups string) keeper {
	for line := range strings.Lines(cgroups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[1] != "" && fields[1] != "name=systemd" {
			continue
		}
		group := fields[2]
		unit := path.Base(group)
		switch {
		case !strings.HasSuffix(unit, ".service") || strings.HasPrefix(unit, "user@"):
		case strings.Contains(group, "/user@"):
			return keeper{kind: byUserUnits, name: unit}
		default:
			return keeper{kind: bySystemd, name: unit}
		}
	}
	return keeper{}
}

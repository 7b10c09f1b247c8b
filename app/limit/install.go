package limit

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/metal/wired"
	"plimsoll/monitor"
)

// The scripts that root runs; see the package comment.
var (
	//go:embed install.sh
	installText string
	//go:embed remove.sh
	removeScript string
	//go:embed set.sh
	setScript string
)

// jobList is launchd's property list of the helper.
//
//go:embed dev.plimsoll.helper.plist
var jobList string

// helperSHA256 is the hash of the helper that was built for this program, in
// hexadecimal. The build sets it (build/lib.sh); "" in a program that was built
// without one.
var helperSHA256 string

// installScript is install.sh with the hash of a helper and launchd's list in it:
// a constant of the build. It fails with ErrNoHelper without a hash.
func installScript(hash string) (string, error) {
	if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", ErrNoHelper
	}
	return fill(installText, hash, jobList), nil
}

// fill puts a hash and a property list into their places.
func fill(script, hash, list string) string {
	return strings.NewReplacer("@SHA256@", hash, "@PLIST@", strings.TrimSpace(list)).Replace(script)
}

// places are where the helper and what belongs to it stand.
type places struct{ program, job, home, socket string }

var onMac = places{program: wired.Program, job: wired.Job, home: wired.Home, socket: wired.Socket}

// installed tells whether there is anything of a helper.
func (p places) installed() bool {
	for _, path := range []string{p.program, p.job} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// settling is how long a helper that was just installed may take to answer.
const settling = 15 * time.Second

// Install installs the helper of this build, or puts it in the place of another,
// and waits for its first answer. An administrator is asked.
func (l *Limiter) Install(ctx context.Context) error {
	if _, err := l.State(); err != nil {
		return err
	}
	script, err := installScript(helperSHA256)
	if err != nil {
		return err
	}
	helper, err := l.bundled()
	if err != nil {
		return err
	}
	user, err := l.user()
	if err != nil {
		return err
	}
	if err := l.asRoot(ctx, script, user+":"+helper, l.sentence("limit.prompt.install")); err != nil {
		return err
	}
	return l.answers(ctx)
}

// answers waits until the helper of this protocol answers.
func (l *Limiter) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for {
		state, _, err := l.ask(ctx)
		if state == monitor.HelperInstalled {
			return err
		}
		if l.pause(ctx, 200*time.Millisecond) != nil {
			return &failure{code: wired.CodeSilent, detail: "the helper is installed", cause: err}
		}
	}
}

// Uninstall takes the limit back to the system's default and removes the helper with
// all that belongs to it. An administrator is asked.
func (l *Limiter) Uninstall(ctx context.Context) error {
	if _, err := l.State(); err != nil {
		return err
	}
	return l.asRoot(ctx, removeScript, "", l.sentence("limit.prompt.uninstall"))
}

// user is who may use the helper: the one who runs this, behind sudo the one who
// said it.
func (l *Limiter) user() (string, error) {
	if l.euid != 0 {
		return strconv.Itoa(l.euid), nil
	}
	if uid := l.getenv("SUDO_UID"); uid != "" && uid != "0" && strings.Trim(uid, "0123456789") == "" {
		return uid, nil
	}
	return "", ErrNoUser
}

// bundled is the path of the helper that came with this program: in the bundle, or
// beside a program that was built by hand. It fails with ErrPlace where macOS runs
// the application from a place of its own or keeps it in quarantine.
func (l *Limiter) bundled() (string, error) {
	self, err := filepath.EvalSymlinks(l.self)
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	folder := filepath.Dir(self)
	for _, place := range []string{filepath.Join(folder, "..", "Helpers", helperName), filepath.Join(folder, helperName)} {
		helper, err := filepath.EvalSymlinks(place)
		if err != nil {
			continue
		}
		return helper, l.settled(helper)
	}
	return "", detailed(ErrNoHelper, "there is no "+helperName+" beside "+self)
}

// helperName is the helper's in the bundle and in bin.
const helperName = "plimsoll-helper"

// translocated is in each path at which macOS shows an application that was
// downloaded and not moved, read-only and under a name by chance.
const translocated = "/AppTranslocation/"

// settled fails with ErrPlace when the file, or the bundle that it is in, is somewhere
// for now: translocated, or in quarantine. Of a bundle only its folder is looked at:
// it is what a person opens and macOS notes that on.
func (l *Limiter) settled(file string) error {
	if strings.Contains(file, translocated) {
		return detailed(ErrPlace, file)
	}
	whole := file
	if before, _, found := strings.Cut(file, ".app/"); found {
		whole = before + ".app"
	}
	if value, err := l.xattr(whole, "com.apple.quarantine"); err == nil && quarantined(value) {
		return detailed(ErrPlace, whole+" is in quarantine")
	}
	return nil
}

// userApproved is the flag that macOS sets in the attribute when a person has opened
// the application and agreed to it. The attribute itself stays for ever
// (https://jwwalker.com/pages/quarantine.md.html: 0083 when downloaded, 01c3 when
// moved and opened).
const userApproved = 0x0040

// quarantined tells what the attribute com.apple.quarantine means: its first field
// is flags in hexadecimal. What cannot be read counts as quarantine.
func quarantined(value string) bool {
	flags, _, _ := strings.Cut(value, ";")
	n, err := strconv.ParseUint(flags, 16, 32)
	return err != nil || n&userApproved == 0
}

// Version is what the installed helper says of itself, with how it stands. The error
// is why it cannot be used, of a helper that is not missing.
func (l *Limiter) Version(ctx context.Context) (monitor.HelperState, wired.Helper, error) {
	return l.ask(ctx)
}

// Command is what a person types to install the helper where no question can be
// shown: over ssh.
func (l *Limiter) Command(verb string) string {
	return "sudo " + quoted(l.self) + " limit " + verb
}

// quoted makes a path one word for a shell.
func quoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// pause waits, or fails when ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

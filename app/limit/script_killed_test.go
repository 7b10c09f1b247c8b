package limit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// cuts are a script that is killed after each of its lines, where a command ends.
// Comments, empty lines and constants are passed over.
func cuts(script string) map[int]string {
	lines := strings.Split(script, "\n")
	found := map[int]string{}
	for i, line := range lines {
		if constant := regexp.MustCompile(`^[a-z]+=[^$]*$`); line == "" || line[0] == '#' || constant.MatchString(line) {
			continue
		}
		text := strings.Join(lines[:i+1], "\n") + "\nkill -9 $$\n" + strings.Join(lines[i+1:], "\n")
		check := exec.Command("/bin/sh", "-n")
		check.Stdin = strings.NewReader(text)
		if check.Run() == nil {
			found[i+1] = text
		}
	}
	return found
}

// TestInstallThatIsKilled ends the installation after each line: there is the old
// file or the new one, whole, at each place, and the next installation ends well.
func TestInstallThatIsKilled(t *testing.T) {
	sum := sha256.Sum256([]byte(newHelper))
	var killed atomic.Int32
	for line, script := range cuts(installText) {
		for _, before := range []string{"nothing", "an old one"} {
			t.Run(fmt.Sprintf("after line %d over %s", line, before), func(t *testing.T) {
				t.Parallel()
				d := newDisk(t)
				was := map[string]string{program: "", job: "", users: ""}
				if before != "nothing" {
					d.old(oldList)
					was = map[string]string{program: oldHelper, job: oldList + "\n", users: "501\n"}
				}
				becomes := map[string]string{program: newHelper, job: newList + "\n", users: was[users] + "1000\n"}
				switch status, out := d.run(fill(script, hex.EncodeToString(sum[:]), newList), "1000:"+d.helper); status {
				case -1:
					killed.Add(1)
				case 0:
				default:
					t.Fatalf("status %d: %s", status, out)
				}
				for path, old := range was {
					if got := d.text(path); got != old && got != becomes[path] {
						t.Errorf("%s holds %q", path, got)
					}
				}
				if d.text(job) != "" && d.text(program) == "" {
					t.Error("launchd has a list without a program")
				}
				if info, err := os.Lstat(d.at(program)); err == nil && (info.Mode() != 0o755 || ownerOf(info) != "0:0") {
					t.Errorf("the program is %v of %s", info.Mode(), ownerOf(info))
				}
				if status, out := d.install(); status != 0 {
					t.Errorf("installing again: status %d: %s", status, out)
				}
				d.installed(becomes[users])
			})
		}
	}
	t.Cleanup(func() {
		if n := killed.Load(); n < 50 && !t.Skipped() && os.Geteuid() == 0 {
			t.Errorf("only %d installations were killed", n)
		}
	})
}

func TestRemoveThatIsKilled(t *testing.T) {
	killed := 0
	for line, script := range cuts(removeScript) {
		d := whole(t)
		if status, _ := d.run(script, ""); status == -1 {
			killed++
		}
		if d.text(job) != "" && d.text(program) == "" {
			t.Errorf("killed after line %d: launchd has a list without a program", line)
		}
		if status, out := d.run(removeScript, ""); status != 0 {
			t.Errorf("killed after line %d, removing again: status %d: %s", line, status, out)
		}
		if left := d.left(); len(left) > 0 || d.text("bin/iogpu.wired_limit_mb") != "0\n" {
			t.Errorf("killed after line %d and removed again: left %q", line, left)
		}
	}
	if killed < 12 {
		t.Errorf("only %d removals were killed", killed)
	}
}

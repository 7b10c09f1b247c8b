//go:build !headless

package tray

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/metal/objc"
)

func TestReopeningOpensTheWindow(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("gcc is not installed")
		}
		t.Skip("gcc is not installed; it builds the runtime for this test")
	}
	path := filepath.Join(t.TempDir(), "libfake.so")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-pthread", "-Wl,-Bsymbolic", "-o", path, "../../metal/objc/testdata/fake.c").CombinedOutput(); err != nil {
		t.Fatalf("building the runtime: %v\n%s", err, out)
	}
	r, err := objc.Open(objc.Paths{ObjC: path, System: path})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	if err := onReopen(r, delegateClass, func() { opened++ }); err != nil {
		t.Fatal(err)
	}
	delegate := r.Send(r.Class(delegateClass), "new")
	defer r.Release(delegate)
	for _, visible := range []objc.ID{0, 1, 0xabcd00} { // above a BOOL's low byte is anything
		if r.SendBool(delegate, "applicationShouldHandleReopen:hasVisibleWindows:", delegate, visible) {
			t.Error("the delegate leaves the event to AppKit")
		}
	}
	if opened != 3 {
		t.Errorf("three events opened the window %d times", opened)
	}
	if err := onReopen(r, delegateClass, func() { t.Error("a delegate's own answer was replaced") }); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a delegate that answers already: %v", err)
	}
	r.SendBool(delegate, "applicationShouldHandleReopen:hasVisibleWindows:", delegate, 0)
	if err := onReopen(r, "NoSuchDelegate", nil); err == nil || !strings.Contains(err.Error(), "NoSuchDelegate") {
		t.Errorf("a delegate that is not there: %v", err)
	}
	var wrong func() int32
	l, err := objc.Load(path)
	if err == nil {
		err = l.Func(&wrong, "fake_bad_calls")
	}
	if err != nil || wrong() != 0 {
		t.Errorf("the runtime saw %d wrong calls, %v", wrong(), err)
	}
}

// The class is systray's own affair: a new version may name it otherwise or
// answer the event itself, and no Mac is at hand to notice.
func TestSystrayHasTheDelegate(t *testing.T) {
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", "fyne.io/systray").Output()
	if err != nil {
		t.Skipf("asking go where systray is: %v", err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "systray_darwin.m"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	if !strings.Contains(text, "@implementation "+delegateClass+"\n") || !strings.Contains(text, "setDelegate:owner") {
		t.Errorf("systray's delegate is not %s any more", delegateClass)
	}
	if strings.Contains(text, "applicationShouldHandleReopen") {
		t.Error("systray answers the event itself now")
	}
}

package objc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

var libraryPath = ""

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "objc")
	if err != nil {
		panic(err)
	}
	code := func() int {
		defer os.RemoveAll(folder)
		if _, err := exec.LookPath("gcc"); err == nil {
			out := filepath.Join(folder, "libfake.so")
			text, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wno-unused", "-pthread", "-o", out, "testdata/fake.c").CombinedOutput()
			if err != nil {
				os.Stderr.Write(text)
				return 1
			}
			libraryPath = out
		}
		return m.Run()
	}()
	os.Exit(code)
}

// fake is the runtime in C and the book it keeps.
type fake struct {
	*Runtime
	live, badCalls, depth func() int32
	bad                   func() string
	call                  func(object ID, name string, arg uintptr)
	invoke                func(b Block, x, y uintptr) uintptr
}

func open(t *testing.T) *fake {
	t.Helper()
	if libraryPath == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("gcc is not installed")
		}
		t.Skip("gcc is not installed; it builds the runtime for this test")
	}
	r, err := Open(Paths{ObjC: libraryPath, System: libraryPath, Frameworks: []string{libraryPath}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{Runtime: r}
	l, err := Load(libraryPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		l.Func(&f.live, "fake_live"), l.Func(&f.badCalls, "fake_bad_calls"), l.Func(&f.depth, "fake_depth"),
		l.Func(&f.bad, "fake_bad"), l.Func(&f.call, "fake_call"), l.Func(&f.invoke, "fake_invoke"),
	); err != nil {
		t.Fatal(err)
	}
	before, wrong := f.live(), f.badCalls()
	t.Cleanup(func() {
		if n := f.badCalls() - wrong; n != 0 {
			t.Errorf("%d wrong calls, the first: %s", n, f.bad())
		}
		if n := f.live() - before; n != 0 {
			t.Errorf("%d objects were left", n)
		}
	})
	return f
}

func TestStringsAndPools(t *testing.T) {
	f := open(t)
	const text = "余量 14 GiB — “free”"
	f.Pool(func() {
		f.Pool(func() {
			if f.depth() != 2 {
				t.Errorf("pool depth %d inside two", f.depth())
			}
			if got := f.Text(f.String(text)); got != text {
				t.Errorf("got %q back", got)
			}
		})
	})
	f.Pool(func() {
		if f.depth() != 1 {
			t.Errorf("pool depth %d: one was not popped", f.depth())
		}
	})
	func() {
		defer func() { recover() }()
		f.Pool(func() { f.String("left by a panic"); panic("x") })
	}()
	if f.Text(0) != "" || f.Send(0, "anything") != 0 || f.SendFloat(0, "anything") != 0 {
		t.Error("a message to nil did something")
	}
}

func TestResultsOfEveryKind(t *testing.T) {
	f := open(t)
	f.Pool(func() {
		info := f.Send(f.Class("NSProcessInfo"), "processInfo")
		if got := f.Send(info, "thermalState"); got != 2 {
			t.Errorf("thermalState %d", got)
		}
		if got := f.SendFloat(info, "systemUptime"); got != 1234.5 {
			t.Errorf("systemUptime %v", got)
		}
		if f.SendBool(info, "isLowPowerModeEnabled") {
			t.Error("a BOOL was read from more than its low byte")
		}
	})
}

func TestOwnedObjectsAreReleased(t *testing.T) {
	f := open(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				f.Pool(func() {
					owned := f.Send(f.Class("NSObject"), "new")
					f.Send(f.Class("NSArray"), "arrayWithObject:", owned)
					f.Release(owned)
				})
			}
		})
	}
	group.Wait()
}

var classes int

func TestNewClass(t *testing.T) {
	f := open(t)
	var got []uintptr
	classes++ // a class stays for the life of the process
	name := fmt.Sprint("PlimsollTestDelegate", classes)
	class, err := f.NewClass(name, "NSObject", []string{"UNUserNotificationCenterDelegate", "Unknown"},
		Method{"take:", "v@:@", func(self ID, name SEL, arg uintptr) {
			got = append(got, uintptr(self), uintptr(name), arg)
		}})
	if err != nil {
		t.Fatal(err)
	}
	if f.Class(name) != class {
		t.Error("the class is not registered")
	}
	object := f.Send(class, "new")
	defer f.Release(object)
	f.call(object, "take:", 42)
	if len(got) != 3 || got[0] != uintptr(object) || SEL(got[1]) != f.Selector("take:") || got[2] != 42 {
		t.Errorf("the method got %v", got)
	}
	for _, c := range []struct{ name, super, want string }{
		{name, "NSObject", "taken"}, {"Other", "NSNothing", "no class NSNothing"},
	} {
		if _, err := f.NewClass(c.name, c.super, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewClass(%s, %s): %v", c.name, c.super, err)
		}
	}
}

func TestAddMethod(t *testing.T) {
	f := open(t)
	class := f.Class("SystrayAppDelegate")
	method := func(answer uintptr) Method {
		return Method{"answer:", "B@:@", func(ID, SEL, uintptr) uintptr { return answer }}
	}
	if !f.AddMethod(class, method(7)) || f.AddMethod(class, method(8)) {
		t.Error("a method is added once")
	}
	object := f.Send(class, "new")
	defer f.Release(object)
	if got := f.Send(object, "answer:", 0); got != 7 {
		t.Errorf("the method answers %d, want 7: the second replaced it", got)
	}
}

func TestBlocks(t *testing.T) {
	f := open(t)
	var self Block
	b := f.NewBlock(func(block Block, x, y uintptr) uintptr { self = block; return x*100 + y }, "Q@?QQ")
	if got := f.invoke(b, 4, 2); got != 402 || self != b {
		t.Errorf("C called the block and got %d", got)
	}
	if got := Call(b, 7, 5); got != 705 {
		t.Errorf("calling the block from here gives %d", got)
	}
	if Call(0, 1) != 0 {
		t.Error("calling nil did something")
	}
	l := at[literal](uintptr(b))
	if got := unsafe.String(at[byte](at[descriptor](l.descriptor).signature), 6); got != "Q@?QQ\x00" {
		t.Errorf("signature %q", got)
	}
}

func TestMissingPiecesAreErrors(t *testing.T) {
	open(t)
	for _, c := range []struct {
		paths Paths
		want  string
	}{
		{Paths{ObjC: "/nonexistent/libobjc"}, "loading /nonexistent/libobjc"},
		{Paths{ObjC: libraryPath, System: libraryPath, Frameworks: []string{"/nonexistent/UN"}}, "loading /nonexistent/UN"},
	} {
		if _, err := Open(c.paths); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%v): %v", c.paths, err)
		}
	}
	l, _ := Load(libraryPath)
	if _, err := l.Symbol("no_such_symbol"); err == nil || !strings.Contains(err.Error(), "no_such_symbol") {
		t.Errorf("a missing symbol: %v", err)
	}
	var f func()
	if err := l.Func(&f, "no_such_function"); err == nil || f != nil {
		t.Errorf("a missing function: %v", err)
	}
}

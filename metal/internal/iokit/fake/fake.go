// Package fake is a Mac's system libraries, built from C by the test, so that the
// bindings of package iokit run on Linux.
//
//	mac := fake.New(t)
//	system, err := iokit.Open(mac.Paths)
//	mac.SetTemperature("Tg0G", 71.5)
//	mac.AddValue("Energy Model", "", "GPU Energy", 12_000_000)
//
// New gives a Mac of its own to each test: a quiet Mac mini with M4, see machine.go
// for its values and all that can be changed. The libraries are strict. They assert
// the layouts of structs, check every argument, and count what is open: a call that
// macOS would not take, or take only by luck, fails the test that made it. Close
// the System's handles (Release, SMC.Close, Report.Close) and then call Left to
// check that nothing is left open.
//
// Each library is a file of its own, and has only the symbols that macOS has there.
// They are compiled once per process, for the processor that the test runs on.
package fake

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"plimsoll/metal/internal/iokit"
)

//go:embed testdata
var source embed.FS

// libraries are the files and what each is made of. All but the first need it.
var libraries = []struct {
	name    string
	sources []string
}{
	{"core.so", []string{"core.c", "machine.c"}},
	{"libSystem.so", []string{"system.c"}},
	{"CoreFoundation.so", []string{"corefoundation.c"}},
	{"IOKit.so", []string{"iokit.c", "hid.c"}},
	{"libIOReport.so", []string{"ioreport.c"}},
	{"libobjc.so", []string{"objc.c"}},
	{"Foundation.so", []string{"foundation.c"}},
	{"Metal.so", []string{"metal.c"}},
}

var compiled = sync.OnceValues(compile)

// compile makes the libraries' files.
func compile() (map[string][]byte, error) {
	gcc, err := compiler()
	if err != nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "fake")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, source); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, l := range libraries {
		args := []string{"-std=gnu11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", l.name}
		for _, name := range l.sources {
			args = append(args, "testdata/"+name)
		}
		if l.name == "core.so" {
			// The others find it beside themselves, each copy its own.
			args = append(args, "-Wl,-soname,$ORIGIN/core.so", "-pthread")
		} else {
			args = append(args, "core.so", "-Wl,-rpath-link,.")
		}
		c := exec.Command(gcc, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the fake %s: %w\n%s", l.name, err, out)
		}
		if files[l.name], err = os.ReadFile(filepath.Join(dir, l.name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// compiler is the C compiler for the processor that runs this, also where another
// one stands in for it.
func compiler() (string, error) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if out, err := exec.Command("gcc", "-dumpmachine").Output(); err == nil && strings.HasPrefix(string(out), machine+"-") {
		return exec.LookPath("gcc")
	}
	return exec.LookPath(machine + "-linux-gnu-gcc")
}

// Mac is a fake Mac. Its methods may be called while others read it.
type Mac struct {
	Paths iokit.Paths
	core
	t testing.TB
}

// core are the functions of the fake by which tests change and read it.
type core struct {
	bad         func() int32
	firstBad    func() string
	forgive     func()
	count       func(name string) int64
	calls       func(function string) int64
	fail        func(function string, code int32, after int64)
	setInt      func(name string, n int64)
	setText     func(name, text string)
	number      func(n int64) uintptr
	real        func(n float64) uintptr
	yes         func(n int32) uintptr
	data        func(b []byte, n int64) uintptr
	text        func(text string) uintptr
	list        func() uintptr
	dictionary  func() uintptr
	add         func(to uintptr, key string, item uintptr)
	entry       func(class, ancestors, name string, parent int32) int32
	removeEntry func(entry int32)
	property    func(entry int32, key string, value uintptr)
	smc         func(key, kind string, b []byte, n int32)
	sensor      func(name string, celsius float64, told, page, usage int32)
	channel     func(group, subgroup, name, unit string, format int32) int32
	value       func(channel int32, add, set int64)
	state       func(channel int32, name string, add int64)
	key         func(name string, state uint64)
	process     func(pid int32, path string, footprint, user, system uint64)
}

// Option changes the libraries of a Mac.
type Option func(files map[string][]byte) error

// Without takes symbols away, as an older macOS would.
func Without(symbols ...string) Option {
	return func(files map[string][]byte) error {
		for _, symbol := range symbols {
			old, found := []byte("\x00"+symbol+"\x00"), false
			other := bytes.Clone(old)
			other[len(other)-2] = '~'
			for name, file := range files {
				if bytes.Contains(file, old) {
					files[name], found = bytes.ReplaceAll(file, old, other), true
				}
			}
			if !found {
				return fmt.Errorf("no fake library has %s", symbol)
			}
		}
		return nil
	}
}

// New loads a fake Mac. Calls that a Mac would not take fail the test at its end.
// Without a C compiler the test is skipped, and says so.
func New(t testing.TB, options ...Option) *Mac {
	t.Helper()
	built, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	if built == nil {
		t.Skipf("the bindings are tried against libraries built from C, and there is no gcc for linux/%s", runtime.GOARCH)
	}
	files := map[string][]byte{}
	for name, file := range built {
		files[name] = file
	}
	for _, o := range options {
		if err := o(files); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, file := range files {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &Mac{t: t, Paths: iokit.Paths{
		System:         filepath.Join(dir, "libSystem.so"),
		CoreFoundation: filepath.Join(dir, "CoreFoundation.so"),
		IOKit:          filepath.Join(dir, "IOKit.so"),
		IOReport:       filepath.Join(dir, "libIOReport.so"),
		ObjC:           filepath.Join(dir, "libobjc.so"),
		Foundation:     filepath.Join(dir, "Foundation.so"),
		Metal:          filepath.Join(dir, "Metal.so"),
	}}
	m.bind(filepath.Join(dir, "core.so"))
	m.quiet()
	t.Cleanup(func() {
		if n, first := m.Bad(); n != 0 {
			t.Errorf("%d calls that macOS would not take, the first: %s", n, first)
		}
	})
	return m
}

func (m *Mac) bind(path string) {
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		m.t.Fatal(err)
	}
	for name, to := range map[string]any{
		"fake_bad": &m.bad, "fake_first_bad": &m.firstBad, "fake_forgive": &m.forgive,
		"fake_count": &m.count, "fake_calls": &m.calls, "fake_fail": &m.fail,
		"fake_set_int": &m.setInt, "fake_set_text": &m.setText,
		"fake_value_number": &m.number, "fake_value_real": &m.real, "fake_value_yes": &m.yes,
		"fake_value_bytes": &m.data, "fake_value_text": &m.text, "fake_value_list": &m.list,
		"fake_value_map": &m.dictionary, "fake_value_add": &m.add,
		"fake_entry": &m.entry, "fake_remove_entry": &m.removeEntry, "fake_property": &m.property,
		"fake_set_smc": &m.smc, "fake_set_sensor": &m.sensor,
		"fake_channel": &m.channel, "fake_channel_value": &m.value, "fake_channel_state": &m.state,
		"fake_set_key": &m.key, "fake_set_process": &m.process,
	} {
		purego.RegisterLibFunc(to, lib, name)
	}
}

// Build loads a fake Mac and tells the path of its libSystem.
func Build(t testing.TB) string {
	t.Helper()
	return New(t).Paths.System
}

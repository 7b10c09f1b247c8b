package iokit_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/metal/internal/iokit"
	"plimsoll/metal/internal/iokit/fake"
)

// TestTwisted: a machine that wants something else than the real one notices the
// bindings, as the real one would notice wrong bindings.
func TestTwisted(t *testing.T) {
	for _, twist := range []struct {
		name   string
		value  int64
		read   func(s *iokit.System) error
		caught func(m *fake.Mac, err error) bool
	}{
		{"twist.leak", 1, func(s *iokit.System) error { _, err := s.Accelerators(); return err },
			func(m *fake.Mac, err error) bool {
				return err == nil && len(m.Leftovers()) == 1 && m.Open("objects") > 0
			}},
		{"twist.leak", 1, func(s *iokit.System) error { _, err := s.Device(); return err },
			func(m *fake.Mac, err error) bool { return err == nil && m.Open("objects") > 0 }},
		{"twist.selector", 3, readSMC, refused("IOConnectCallStructMethod: selector")},
		{"twist.width", 76, readSMC, refused("IOConnectCallStructMethod: size")},
		{"twist.width", 84, readSMC, refused("IOConnectCallStructMethod: size")},
	} {
		m := fake.New(t)
		m.SetInt(twist.name, twist.value)
		s, err := iokit.Open(m.Paths)
		if err != nil {
			t.Fatal(err)
		}
		err = twist.read(s)
		s.Release()
		if !twist.caught(m, err) {
			_, first := m.Bad()
			t.Errorf("%s %d is not caught: %v, %q, %v", twist.name, twist.value, err, first, m.Leftovers())
		}
		m.Forgive()
	}
}

func refused(reason string) func(*fake.Mac, error) bool {
	return func(m *fake.Mac, err error) bool {
		n, first := m.Bad()
		return err != nil && n > 0 && first == reason && m.Leftovers() == nil
	}
}

// mutation is a mistake in the bindings; its old text stands once in the file.
type mutation struct{ what, file, old, new string }

var mutations = []mutation{
	{"an iterator is not released", "registry.go", "defer w.releaseEntry(iterator)\n", "\n"},
	{"an entry is not released", "registry.go", "!taken {\n", "!taken && false {\n"},
	{"an entry is released twice", "registry.go", "!taken {\n", "!taken || taken {\n"},
	{"a dictionary that was taken is released", "registry.go", "	w.each(iterator, visit)\n	return nil\n}\n\n// childrenOf", "	w.release(dictionary)\n	w.each(iterator, visit)\n	return nil\n}\n\n// childrenOf"},
	{"a property is not released", "accelerator.go", "			w.release(ref)\n", ""},
	{"what a Get returns is released", "cf.go", "return r.call(r.cf.get, ref, key)\n", "v := r.call(r.cf.get, ref, key)\n	r.release(v)\n	return v\n"},
	{"numbers are read as 32 bits", "cf.go", "numberSInt64  = 4 ", "numberSInt64  = 3 "},
	{"more than the low byte of a Boolean counts", "cf.go", "|| byte(r.call(r.cf.getCString, ref, r.address, longestString, utf8)) == 0", "|| r.call(r.cf.getCString, ref, r.address, longestString, utf8) == 0"},
	{"the selector is wrong", "smc.go", "smcSelector = 2\n", "smcSelector = 3\n"},
	{"a read is a write", "smc.go", "smcRead       = 5\n", "smcRead       = 6\n"},
	{"the size is wrong", "smc.go", "const size = unsafe.Sizeof(smcParam{})\n", "const size = unsafe.Sizeof(smcParam{}) - 4\n"},
	{"a read does not tell the size", "smc.go", "smcParam{key: code, info: info, command: smcRead}", "smcParam{key: code, command: smcRead}"},
	{"the task is an address", "smc.go", "task := *at[uint32](uintptr(io.taskSelf))", "task := uint32(io.taskSelf)"},
	{"a connection is not closed", "smc.go", "		c.io.close(c.connection)\n", ""},
	{"the field is wrong", "hid.go", "hidTemperature << 16", "hidTemperature << 8"},
	{"the usage is wrong", "hid.go", "hidPage, hidUsage = 0xff00, 5", "hidPage, hidUsage = 0xff08, 2"},
	{"an event is not released", "hid.go", "		r.release(event)\n", ""},
	{"a sample is not released", "report.go", "	defer r.release(before)\n", ""},
	{"a difference is not released", "report.go", "	defer r.release(delta)\n", ""},
	{"the subscribed channels are not released", "report.go", "	r.release(p.channels)\n", ""},
	{"a format is another", "report.go", "formatSimple, formatState = 1, 2", "formatSimple, formatState = 2, 1"},
	{"what a Get returns is released", "power.go", "	if source == \"\" {\n", "	r.release(r.call(p.providing, info))\n	if source == \"\" {\n"},
	{"a token is not given back", "notify.go", "	for key, token := range n.tokens {\n		n.cancel(token)\n", "	for key := range n.tokens {\n"},
	{"there is no pool", "metal.go", "	var d *Device\n	r.Pool(func() {", "	var d *Device\n	func(do func()) { do() }(func() {"},
	{"a device is not released", "metal.go", "		defer r.Release(device)\n", ""},
	{"a device that is not owned is released", "metal.go", "device = r.Send(r.Send(all, \"objectAtIndex:\", 0), \"retain\")", "device = r.Send(all, \"objectAtIndex:\", 0)"},
	{"the flavor is wrong", "libproc.go", "rusageInfoV4 = 4\n", "rusageInfoV4 = 3\n"},
	{"each read takes a reference to the host", "mach.go", "if m.host == 0 {\n", "if true {\n"},
}

// layouts are mistakes in the layouts of structs, which are not even to build.
var layouts = []mutation{
	{"the struct is wider", "smc.go", "	index   uint32\n", "	index   uint64\n"},
	{"the struct is narrower", "smc.go", "smcPayload = 32\n", "smcPayload = 28\n"},
	{"a field stands elsewhere", "smc.go", "	status  uint8\n	command uint8\n", "	command uint8\n	status  uint8\n"},
	{"the buffer is too small", "libproc.go", "[2 + 35]uint64", "[2 + 34]uint64"},
	{"more words are asked for", "mach.go", "vmStatisticsWords = 38\n", "vmStatisticsWords = 40\n"},
}

// TestMutations: each of the mistakes fails the tests, or the build if it is one of
// layout.
func TestMutations(t *testing.T) {
	long := os.Getenv("PLIMSOLL_LONG") != ""
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for i, mutation := range append(layouts, mutations...) {
		path := filepath.Join(dir, mutation.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), mutation.old); n != 1 {
			t.Errorf("%s: %q stands %d times in %s", mutation.what, mutation.old, n, mutation.file)
			continue
		}
		if !long {
			continue
		}
		t.Run(mutation.what, func(t *testing.T) {
			out := runMutated(t, path, strings.Replace(string(text), mutation.old, mutation.new, 1))
			t.Log(firstLine(out))
			if built := !strings.Contains(out, "[build failed]"); built == (i < len(layouts)) {
				t.Errorf("it builds: %v\n%s", built, out)
			}
		})
	}
	if !long {
		t.Skip("PLIMSOLL_LONG=1 builds and runs each of them")
	}
}

// runMutated runs this package's tests with a file replaced. They have to fail.
func runMutated(t *testing.T, path, text string) string {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {path: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: []byte(text), overlay: table} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := goTest(t, []string{"CGO_ENABLED=0"}, "-vet=off", "-failfast", "-overlay", overlay)
	if err == nil {
		t.Error("nothing noticed it")
	}
	return out
}

// goTest runs the quick tests of this package once more.
func goTest(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", append(append([]string{"test", "-count=1", "-timeout=2m"}, args...), ".")...)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PLIMSOLL_LONG=") }), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// firstLine is the first that tells what failed.
func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.Contains(line, ".go:") {
			return line
		}
	}
	return strings.TrimSpace(out)
}

// TestARM64 runs the tests on the processor of Apple Silicon, which passes
// arguments in other registers, where an emulator of it is installed.
func TestARM64(t *testing.T) {
	if os.Getenv("PLIMSOLL_LONG") == "" {
		t.Skip("PLIMSOLL_LONG=1 runs the tests as arm64 too")
	}
	const emulator, compiler = "qemu-aarch64-static", "aarch64-linux-gnu-gcc"
	for _, tool := range []string{emulator, compiler} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (qemu-user-static, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross): %v", tool, err)
		}
	}
	out, err := goTest(t, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"}, "-exec", emulator+" -L /usr/aarch64-linux-gnu")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

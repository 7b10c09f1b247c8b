// Package fake builds a library that answers like macOS's libSystem, so that the
// bindings of package iokit run in tests on Linux.
package fake

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed testdata/system.c
var source []byte

// PID is the one process that the library knows.
const PID = 4242

// Build compiles the library with gcc, with definitions as "-DNAME", and tells its
// path. Without gcc the test is skipped, and says so.
func Build(t testing.TB, definitions ...string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("the bindings are tried against a library built from C, and there is no gcc: %v", err)
	}
	dir := t.TempDir()
	code, lib := filepath.Join(dir, "system.c"), filepath.Join(dir, "libSystem.so")
	if err := os.WriteFile(code, source, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-std=c11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", lib, code}, definitions...)
	if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("building the fake libSystem: %v\n%s", err, out)
	}
	return lib
}

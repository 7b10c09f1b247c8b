package server

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Versions that tests run against, the newest that the Go module proxy serves
// first. The last needs no stand-in headers and has no context_length in /api/ps.
var Versions = []string{"v0.17.4", "v0.6.5"}

// ErrNotBuilt: there is no server program of that version on this machine.
var ErrNotBuilt = errors.New("no Ollama program; build it with: go run ./build/ollama")

// Folder is where build/ollama puts a version:
// ${PLIMSOLL_CACHE:-${XDG_CACHE_HOME:-~/.cache}/plimsoll}/ollama/VERSION.
func Folder(version string) (string, error) {
	cache := os.Getenv("PLIMSOLL_CACHE")
	if cache == "" {
		base := os.Getenv("XDG_CACHE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", err
			}
			base = filepath.Join(home, ".cache")
		}
		cache = filepath.Join(base, "plimsoll")
	}
	return filepath.Join(cache, "ollama", version), nil
}

// Find tells the path of a built server program. PLIMSOLL_OLLAMA names one that
// is taken for the newest of Versions instead.
func Find(version string) (path string, ok bool) {
	path = os.Getenv("PLIMSOLL_OLLAMA")
	if path == "" || version != Versions[0] {
		folder, err := Folder(version)
		if err != nil {
			return "", false
		}
		path = filepath.Join(folder, "ollama")
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Require is for tests that need a server: without a program it skips, saying
// how to get one, and fails where that must not pass unnoticed: in CI (CI=true)
// or with PLIMSOLL_REQUIRE_OLLAMA=1.
func Require(tb testing.TB, version string) {
	tb.Helper()
	if _, ok := Find(version); ok {
		return
	}
	if os.Getenv("CI") == "true" || os.Getenv("PLIMSOLL_REQUIRE_OLLAMA") == "1" {
		tb.Fatalf("Ollama %s: %v --version %s", version, ErrNotBuilt, version)
	}
	tb.Skipf("Ollama %s: %v --version %s", version, ErrNotBuilt, version)
}

// Run is Require and StartVersion for a test: the server ends with it. Its log
// is shown when the test fails.
func Run(tb testing.TB, version string, env ...string) *Server {
	tb.Helper()
	Require(tb, version)
	s, err := StartVersion(tb.Context(), tb.TempDir(), version, env...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Error(err)
		}
		if log, err := os.ReadFile(filepath.Join(s.Dir, "serve.log")); err == nil && tb.Failed() {
			tb.Logf("the server's log ends:\n%s", log[max(0, len(log)-4000):])
		}
	})
	return s
}

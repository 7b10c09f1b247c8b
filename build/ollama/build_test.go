package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fakeGo puts a go command on the PATH that says what the real one says, checks
// what it is given, and is counted by the lines of a file.
func fakeGo(t *testing.T, script string) (runs func() int) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "runs")
	script = "#!/bin/sh\necho run >> " + log + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	saved := needs
	needs = nil
	t.Cleanup(func() { needs = saved })
	return func() int {
		data, _ := os.ReadFile(log)
		return strings.Count(string(data), "run\n")
	}
}

func TestSeveralAtOnceBuildOnce(t *testing.T) {
	runs := fakeGo(t, `
[ "$1 $2 $4" = "install -v github.com/ollama/ollama@v9.9.9" ] || { echo "unexpected: $*" >&2; exit 1; }
case $3 in *"version.Version=9.9.9") ;; *) echo "no version in $3" >&2; exit 1 ;; esac
[ -f "${CPLUS_INCLUDE_PATH%%:*}/miniaudio/miniaudio.h" ] || { echo "no stand-in header" >&2; exit 1; }
echo "go: downloading x v1" >&2
echo github.com/ollama/ollama/api >&2
printf '#!/bin/sh\n' > "$GOBIN/ollama" && chmod +x "$GOBIN/ollama"
`)
	dir := filepath.Join(t.TempDir(), "cache", "v9.9.9")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			path, err := build(t.Context(), dir, "v9.9.9")
			if err != nil || path != filepath.Join(dir, "ollama") {
				t.Errorf("%q, %v", path, err)
			}
		})
	}
	all.Wait()
	if _, err := build(t.Context(), dir, "v9.9.9"); err != nil {
		t.Error(err)
	}
	if n := runs(); n != 1 {
		t.Errorf("it was built %d times", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "building-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBuildThatFailsLeavesNothing(t *testing.T) {
	fakeGo(t, `
echo github.com/ollama/ollama/llama >&2
echo "llama.cpp:1:10: fatal error: nlohmann/json_fwd.hpp: No such file" >&2
exit 1
`)
	dir := t.TempDir()
	_, err := build(t.Context(), dir, "v9.9.9")
	if err == nil || !strings.Contains(err.Error(), "json_fwd.hpp: No such file") || strings.Contains(err.Error(), "ollama/llama\n") {
		t.Errorf("%v, want what the compiler said and no more", err)
	}
	if built(filepath.Join(dir, "ollama")) {
		t.Error("there is a program all the same")
	}
	if exitCode(err) != 1 {
		t.Errorf("exit code %d", exitCode(err))
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	fakeGo(t, "exec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := build(ctx, t.TempDir(), "v9.9.9"); err == nil {
		t.Error("it went on")
	}
}

func TestMissingPackagesAreNamed(t *testing.T) {
	saved, savedRoot := needs, root
	t.Cleanup(func() { needs, root = saved, savedRoot })
	needs = []struct{ file, pkg string }{{"/", "present"}, {"/no/such/header.hpp", "nlohmann-json3-dev"}, {"/no/such/other.h", "libstb-dev"}}
	root = func() bool { return false }
	dir := t.TempDir() // an apt-get, and a sudo that would ask
	for name, script := range map[string]string{"apt-get": "exit 0", "sudo": "exit 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	err := needHeaders(t.Context())
	var missing *missingError
	if !errors.As(err, &missing) || exitCode(err) != 2 ||
		!strings.HasSuffix(err.Error(), "sudo apt-get update && sudo apt-get install -y --no-install-recommends nlohmann-json3-dev libstb-dev") {
		t.Errorf("%v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := needHeaders(t.Context()); exitCode(err) != 2 || !strings.Contains(err.Error(), "no Debian system") {
		t.Errorf("%v", err)
	}
}

func TestProgressIsCounted(t *testing.T) {
	var packages atomic.Int64
	trouble := gather(strings.NewReader("go: downloading a v1\na/b\nc\n# a/b\nx.c:1: warning: odd\n"), &packages)
	if packages.Load() != 2 || trouble != "# a/b\nx.c:1: warning: odd" {
		t.Errorf("%d packages, %q", packages.Load(), trouble)
	}
}

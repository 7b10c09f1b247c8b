package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"plimsoll/build/ollama/server"
)

// shim is the include folder that stands in for what the module zip lacks.
//
//go:embed shim
var shim embed.FS

// build makes sure that a version's program is in a folder, the default one when
// dir is empty, and returns its path. Of several that run at once, one builds.
func build(ctx context.Context, dir, version string) (string, error) {
	var err error
	if dir == "" {
		dir, err = server.Folder(version)
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("finding a folder: %w", err)
	}
	path := filepath.Join(dir, "ollama")
	if built(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if free, err := lock.TryLock(); err == nil && !free {
		say("another one is building %s; waiting for it", version)
	}
	if _, err := lock.TryLockContext(ctx, time.Second/2); err != nil {
		return "", fmt.Errorf("waiting for another build: %w", err)
	}
	defer lock.Unlock() //nolint:errcheck // the process ends anyway
	if built(path) {
		return path, nil
	}
	if err := needHeaders(ctx); err != nil {
		return "", err
	}
	if err := compile(ctx, dir, version); err != nil {
		return "", fmt.Errorf("building Ollama %s: %w", version, err)
	}
	return path, nil
}

func built(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// compile installs the program under a name of its own and moves it into place,
// so that a build that was cut short leaves none.
func compile(ctx context.Context, dir, version string) error {
	include := filepath.Join(dir, "include")
	if err := unpack(include); err != nil {
		return err
	}
	bin, err := os.MkdirTemp(dir, "building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	cmd := exec.CommandContext(ctx, "go", "install", "-v",
		"-ldflags=-s -w -X github.com/ollama/ollama/version.Version="+strings.TrimPrefix(version, "v"),
		"github.com/ollama/ollama@"+version)
	cmd.Dir = dir // outside any module
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=1",
		"CGO_CFLAGS=-O2", "CGO_CXXFLAGS=-O2",
		// Not -I in CGO_CXXFLAGS: those are part of the build cache's key, and the
		// folder's name would make every cache but this one useless.
		"CPLUS_INCLUDE_PATH="+join(include, os.Getenv("CPLUS_INCLUDE_PATH")))
	if err := watched(cmd, version); err != nil {
		return err
	}
	return os.Rename(filepath.Join(bin, "ollama"), filepath.Join(dir, "ollama"))
}

func join(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + string(os.PathListSeparator) + rest
}

// unpack writes the stand-in headers into a folder.
func unpack(include string) error {
	headers, err := fs.Sub(shim, "shim")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(include); err != nil {
		return err
	}
	return os.CopyFS(include, headers)
}

// watched runs the go command, says now and then how far it is, and shows what it
// wrote when it fails.
func watched(cmd *exec.Cmd, version string) error {
	output, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	say("building Ollama %s from the Go module proxy: 4 to 8 minutes on two cores", version)
	if err := cmd.Start(); err != nil {
		return err
	}
	var packages atomic.Int64
	done := make(chan struct{})
	defer close(done)
	go func() {
		for tick := time.NewTicker(20 * time.Second); ; {
			select {
			case <-tick.C:
				say("  %3.0f s, %d packages begun", time.Since(began).Seconds(), packages.Load())
			case <-done:
				tick.Stop()
				return
			}
		}
	}()
	trouble := gather(output, &packages)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, trouble)
	}
	say("built in %.0f s", time.Since(began).Seconds())
	return nil
}

// gather reads what go install -v writes: a line for each package that it begins,
// and whatever the compilers say. It returns the end of the latter.
func gather(from io.Reader, packages *atomic.Int64) string {
	var trouble []string
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
		case !strings.ContainsAny(line, " :#"):
			packages.Add(1)
		default:
			trouble = append(trouble, line)
		}
	}
	io.Copy(io.Discard, from) //nolint:errcheck // a line too long for the scanner
	return strings.Join(trouble[max(0, len(trouble)-40):], "\n")
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// exitCode is 2 when a person has to install something first.
func exitCode(err error) int {
	var missing *missingError
	if errors.As(err, &missing) {
		return 2
	}
	return 1
}

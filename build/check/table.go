package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// windowTags is the one flag set of build/lib.sh for all that contains Fyne on Linux.
const windowTags = "gles,x11"

// noCgo is the environment of most builds: nothing but the real window needs cgo.
var noCgo = []string{"CGO_ENABLED=0"}

// alone are the long tests in which one goroutine does all the work, or a shell or
// a real model server does: the race detector makes them slow and finds nothing.
// Check tests runs them.
var alone = []string{
	"TestDecodeCutAnywhere", "TestDecodeHostile", // metal
	"TestMemoryIsBounded",                                                        // monitor/request
	"TestRenderIsTotal",                                                          // app/view
	"TestInstallThatIsKilled", "TestRemoveThatIsKilled", "TestNothingIsFollowed", // app/limit
	// A real server is asked by the same code as the stand-ins are, and takes most of
	// the time itself.
	"TestFitAgainstRealOllama", "TestTrayWithRealOllama", "TestRealServer", "TestRealTotals", "TestRealStop", "TestRealOllama", "TestRealSecondClientVoids",
	"TestPairsOfCausesOfSlownessInTheSimulator", // monitor, whose single causes run
}

// table lists the checks, those that take longest first: the lanes stay full.
var table = []check{
	{
		name:  "ollama",
		what:  "a real model server is there, built from its module when it is not",
		needs: []string{"ollama"}, limit: 25 * time.Minute,
		run: func(j *job) error { return j.do(nil, []string{"go", "run", "./build/ollama"}) },
	},
	{
		name: "programs", what: "both programs build, the window with cgo", limit: 20 * time.Minute,
		run: func(j *job) error {
			return j.do(nil,
				[]string{"env", "CGO_ENABLED=0", "go", "build", "-o", "bin/plimsoll", "./app"},
				[]string{"env", "CGO_ENABLED=1", "go", "build", "-tags", windowTags, "-o", "bin/plimsoll-window", "./app/window"})
		},
	},
	{
		name: "format", what: "gofmt has nothing to change",
		run: func(j *job) error {
			files, err := j.output(nil, "gofmt", "-l", "app", "assets", "build", "metal", "monitor", "plimsoll.go", "plimsoll_test.go", "imports_test.go")
			if err == nil && files != "" {
				err = fmt.Errorf("gofmt would change:\n%s", files)
			}
			return err
		},
	},
	{
		name: "scripts", what: "shellcheck of every script", needs: []string{"checks"},
		run: func(j *job) error {
			scripts, err := shellScripts(".")
			if err != nil {
				return err
			}
			return j.do(nil, append([]string{"shellcheck", "-x", "-P", "."}, scripts...))
		},
	},
	{
		name: "modules", what: "go.mod is tidy and no module differs from go.sum",
		run: func(j *job) error {
			return j.do(nil, []string{"go", "mod", "tidy", "-diff"}, []string{"go", "mod", "verify"})
		},
	},
	{
		name: "vet", what: "go vet for Linux, with and without a tray, and of the window", after: []string{"programs"},
		run: func(j *job) error {
			return j.do(noCgo,
				[]string{"go", "vet", "./..."},
				[]string{"go", "vet", "-tags=headless", "./app", "./app/tray"},
				[]string{"env", "CGO_ENABLED=1", "go", "vet", "-tags=" + windowTags, "./app/window/..."})
		},
	},
	{
		name: "race", what: "the tests of all but window, build tools and what one goroutine does alone under the race detector", limit: 15 * time.Minute,
		needs: []string{"checks"}, after: []string{"ollama"},
		run: func(j *job) error {
			packages, err := withoutWindow(j)
			if err != nil {
				return err
			}
			packages = slices.DeleteFunc(packages, func(p string) bool { return strings.HasPrefix(p, "plimsoll/build/") })
			return j.do([]string{"CGO_ENABLED=1"}, append([]string{"go", "test", "-race", "-vet=off", "-skip", "^(" + strings.Join(alone, "|") + ")$"}, packages...))
		},
	},
	{
		name: "tests", what: "every test, the real model server included", after: []string{"ollama"}, limit: 15 * time.Minute,
		needs: []string{"checks"},
		run: func(j *job) error {
			return j.do(append(noCgo, "PLIMSOLL_REQUIRE_OLLAMA=1"), []string{"go", "test", "-vet=off", "./..."})
		},
	},
	{
		name: "darwin-vet", what: "go vet for macOS, arm64 and amd64, of all but tray and window",
		run: func(j *job) error {
			packages, err := withoutWindow(j)
			if err != nil {
				return err
			}
			vet := append([]string{"go", "vet", "-tags=headless"}, packages...)
			return errors.Join(
				j.do(append(noCgo, "GOOS=darwin", "GOARCH=arm64"), vet),
				j.do(append(noCgo, "GOOS=darwin", "GOARCH=amd64"), vet))
		},
	},
	{
		name: "darwin-types", what: "both programs type-check for macOS, Fyne and tray included",
		run: func(j *job) error { return j.do(nil, []string{"go", "run", "./build/darwincheck"}) },
	},
	{
		name: "cross", what: "the agent without a tray links for macOS and Linux, the helper for macOS, arm64 and amd64",
		run: func(j *job) error {
			for _, system := range []string{"darwin", "linux"} {
				for _, arch := range []string{"arm64", "amd64"} {
					err := j.do(append(noCgo, "GOOS="+system, "GOARCH="+arch),
						[]string{"go", "build", "-tags=headless", "-ldflags=-s -w", "-o", fmt.Sprintf("bin/headless/plimsoll-%s-%s", system, arch), "./app"})
					if err != nil {
						return err
					}
				}
			}
			for _, arch := range []string{"arm64", "amd64"} {
				err := j.do(append(noCgo, "GOOS=darwin", "GOARCH="+arch), []string{"go", "build", "-ldflags=-s -w", "-o", "bin/headless/plimsoll-helper-darwin-" + arch, "./metal/helper"})
				if err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "staticcheck", what: "staticcheck for Linux and macOS", after: []string{"programs"},
		run: func(j *job) error {
			packages, err := withoutWindow(j)
			if err != nil {
				return err
			}
			return errors.Join(tools(j), staticcheck(j, packages))
		},
	},
	{
		name: "workflow", what: "actionlint of the GitHub workflow",
		run: func(j *job) error {
			return errors.Join(tools(j), j.do(nil, []string{"bin/tools/actionlint", ".github/workflows/ci.yml"}))
		},
	},
	{
		name: "desktop", what: "the demo on a desktop of its own: window, tray menu and notification are there to be photographed",
		needs: []string{"display"}, after: []string{"programs"}, only: "linux",
		run: func(j *job) error {
			return j.do(nil, []string{"go", "run", "./build/desktop", "--pictures", "bin/checks/pictures", "--lang", "en,zh"})
		},
	},
	{
		name: "window", what: "the window program on a display of its own: clicks, pictures, a clean log",
		needs: []string{"display"}, after: []string{"programs"}, only: "linux",
		run: func(j *job) error {
			return j.do(append(noCgo, "PLIMSOLL_REAL_WINDOW=1"), []string{"go", "test", "-run", "Real", "./app/window"})
		},
	},
	{
		name: "bindings", what: "the bindings to macOS: 100,000 reads, planted mistakes, and as arm64 code", long: true, only: "linux",
		needs: []string{"arm64"}, limit: 20 * time.Minute,
		run: func(j *job) error {
			return j.do(append(noCgo, "PLIMSOLL_LONG=1"), []string{"go", "test", "-count=1", "-timeout=15m", "./metal/internal/iokit"})
		},
	},
	{
		name: "hung", what: "how soon a model server that stands still is noticed", long: true, only: "linux",
		after: []string{"programs", "ollama"}, needs: []string{"checks"},
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "hung"}) },
	},
	{
		name: "idle", what: "what the agent costs when nothing happens, over a minute", long: true, only: "linux",
		after: []string{"programs"}, needs: []string{"checks"},
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "idle"}) },
	},
	{
		name: "fit", what: "the planner's caches against what engines logged, was published or follows by hand", long: true,
		after: []string{"programs"}, needs: []string{"checks"},
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "fit"}) },
	},
	{
		name: "meter", what: "what the meter adds to answers, at 20,000 chunks a second", long: true, only: "linux",
		after: []string{"programs"}, needs: []string{"checks"}, limit: 20 * time.Minute,
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "meter"}) },
	},
	{
		name: "pairs", what: "every pair of causes of slowness on the simulated Mac: the diagnosis names both", long: true,
		run: func(j *job) error {
			return j.do(append(noCgo, "PLIMSOLL_LONG=1"), []string{"go", "test", "-count=1", "-run", "Pairs", "./monitor"})
		},
	},
	{
		name: "streams", what: "100,000 streams of random shape through the meter: none changed, none lost", long: true, limit: 30 * time.Minute,
		run: func(j *job) error {
			return j.do(append(noCgo, "PLIMSOLL_LONG=1"), []string{"go", "test", "-count=1", "-timeout=25m", "-run", "Random", "./monitor/meter"})
		},
	},
	{
		name: "polls", what: "what the agent's questions cost the model servers", long: true, only: "linux",
		after: []string{"programs", "ollama"}, needs: []string{"checks"},
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "polls"}) },
	},
	{
		name: "agree", what: "two benchmarks of one model on a real server agree, and a second client voids one", long: true, only: "linux",
		after: []string{"programs", "ollama"}, needs: []string{"checks"}, limit: 20 * time.Minute,
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "agree"}) },
	},
	{
		name: "soak", what: "what grows in an agent over hours of the demo's life", long: true, only: "linux",
		after: []string{"programs"}, needs: []string{"checks"}, limit: 15 * time.Minute,
		run: func(j *job) error { return j.do(nil, []string{"build/bench", "soak"}) },
	},
	{
		name: "old-ollama", what: "the oldest model server that is supported, v0.6.5, for real", long: true,
		needs: []string{"ollama"}, after: []string{"ollama"}, limit: 25 * time.Minute,
		run: func(j *job) error {
			return errors.Join(
				j.do(nil, []string{"go", "run", "./build/ollama", "--version", "v0.6.5"}),
				j.do(append(noCgo, "PLIMSOLL_REQUIRE_OLLAMA=1", "PLIMSOLL_OLLAMA_ALL=1"), []string{"go", "test", "./monitor/backend", "./build/ollama/server"}))
		},
	},
	{
		name: "fuzz", what: "every fuzz target for a minute", long: true, limit: 2 * time.Hour,
		run: func(j *job) error { return j.do(nil, []string{"build/fuzz", "60s"}) },
	},
}

// withoutWindow lists the packages that contain no Fyne.
func withoutWindow(j *job) ([]string, error) {
	text, err := j.output(noCgo, "go", "list", "./...")
	packages := slices.DeleteFunc(strings.Fields(text), func(p string) bool {
		return p == "plimsoll/app/window" || strings.HasPrefix(p, "plimsoll/app/window/")
	})
	return packages, err
}

// tools builds the programs of build/tools, which takes a moment when they are there.
func tools(j *job) error {
	bin, err := filepath.Abs("bin/tools")
	if err != nil {
		return err
	}
	return j.do([]string{"GOBIN=" + bin}, []string{"go", "-C", "build/tools", "install", "tool"})
}

// staticcheck looks at the code as Linux and as macOS take it and merges what it
// finds: what one of them alone uses is not unused.
func staticcheck(j *job, withoutWindow []string) error {
	targets := []struct {
		env  []string
		args []string
	}{
		{nil, []string{"-tags=" + windowTags, "./..."}},
		{append(noCgo, "GOOS=darwin", "GOARCH=arm64"), append([]string{"-tags=headless"}, withoutWindow...)},
	}
	merge := []string{"bin/tools/staticcheck", "-merge"}
	for i, t := range targets {
		found, err := j.output(t.env, append([]string{"bin/tools/staticcheck", "-f=binary"}, t.args...)...)
		if err != nil {
			return err
		}
		file := fmt.Sprintf("bin/checks/staticcheck-%d", i)
		if err := os.WriteFile(file, []byte(found), 0o600); err != nil {
			return err
		}
		merge = append(merge, file)
	}
	return j.do(nil, merge)
}

// shellScripts finds the scripts of the project by their first line.
func shellScripts(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata", "demo-pictures"}, d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		start := make([]byte, 32)
		n, _ := file.Read(start)
		line, _, _ := strings.Cut(string(start[:n]), "\n")
		if strings.HasSuffix(path, ".sh") || strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "sh") {
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

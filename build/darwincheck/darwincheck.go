// Command darwincheck type-checks both programs for macOS, on any system.
//
//	go run ./build/darwincheck [-test=false] [-arch arm64,amd64] [-tags LIST] [PACKAGE…]
//
// A Mac build of the tray and the window needs cgo and Apple's headers, which
// only a Mac has. The Go code around them does not: go list tells which files a
// Mac build takes (with cgo on, and no C compiler run), and go/types checks
// them, cgo files included, with every name behind "C." taken on trust. So a
// call that would not compile on a Mac is found here, with file and line, while
// a wrong C name is not. That is one reason why the project has no cgo file.
//
// Function bodies are checked in this module only: dependencies are known to
// compile, and their cgo files convert C values in ways that cannot be judged
// without C.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// programs are what a Mac build is made of.
var programs = []string{"./app", "./app/window"}

func main() {
	arches := flag.String("arch", "arm64,amd64", "architectures, separated by commas")
	tags := flag.String("tags", "", "build tags, as for go build")
	tests := flag.Bool("test", true, "check the tests too")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = programs
	}

	var wait sync.WaitGroup
	var failed sync.Map
	for arch := range strings.SplitSeq(*arches, ",") {
		wait.Go(func() {
			began := time.Now()
			result, err := check(target{Arch: arch, Tags: *tags, Tests: *tests}, packages...)
			if err != nil {
				fmt.Fprintf(os.Stderr, "darwin/%s: %v\n", arch, err)
				failed.Store(arch, true)
				return
			}
			for _, mistake := range result.Mistakes {
				fmt.Fprintf(os.Stderr, "darwin/%s: %s\n", arch, mistake)
				failed.Store(arch, true)
			}
			fmt.Printf("darwin/%s: %d packages (%d of ours, %d with cgo files), %d mistakes, %.1f s\n",
				arch, result.Packages, result.Ours, result.Cgo, len(result.Mistakes), time.Since(began).Seconds())
		})
	}
	wait.Wait()
	failed.Range(func(any, any) bool {
		os.Exit(1)
		return false
	})
}

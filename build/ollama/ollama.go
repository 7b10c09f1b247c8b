// Package main builds a real Ollama server for the tests from the Go module
// proxy, once, outside the work tree: go run ./build/ollama [--version V] [--dir DIR].
//
// The server is a tool here, not a dependency: go.mod requires only its client
// package. Module zips leave out every folder named vendor, and Ollama keeps
// three C++ headers in one; two are Debian packages, for the third stands
// shim/miniaudio. The path of the program is the last line printed, and the only
// one on standard output.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"plimsoll/build/ollama/server"
)

func main() {
	version := flag.String("version", server.Versions[0], "the version to build, as the module proxy names it")
	dir := flag.String("dir", "", "the folder for the program (default: the cache that the tests look in)")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run ./build/ollama [--version VERSION] [--dir DIR]\n\n"+
			"Builds a real Ollama server for the tests, 4 to 8 minutes once; tested with %s.\n\n",
			strings.Join(server.Versions, " and "))
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || !strings.HasPrefix(*version, "v") {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	path, err := build(ctx, *dir, *version)
	if err != nil {
		fmt.Fprintln(os.Stderr, "build/ollama:", err)
		os.Exit(exitCode(err))
	}
	fmt.Println(path)
}

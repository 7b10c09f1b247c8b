package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// needs are the files that a build looks for, and the Debian package of each.
// v0.6.5 does without the headers; asking for them all the same costs 3 s once.
var needs = []struct{ file, pkg string }{
	{"/usr/bin/gcc", "gcc"},
	{"/usr/bin/g++", "g++"},
	{"/usr/include/nlohmann/json_fwd.hpp", "nlohmann-json3-dev"},
	{"/usr/include/stb/stb_image.h", "libstb-dev"},
}

// root tells whether packages can be installed without asking anyone.
var root = func() bool { return os.Geteuid() == 0 }

// missingError says what a person has to do before a build can begin.
type missingError struct{ advice string }

func (e *missingError) Error() string { return e.advice }

// needHeaders installs the Debian packages that are missing, as root or through
// a sudo that asks nothing. It returns a *missingError where it cannot.
func needHeaders(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return &missingError{"only Linux can build a server; install Ollama and set PLIMSOLL_OLLAMA to its program"}
	}
	packages := missing(needs)
	if len(packages) == 0 {
		return nil
	}
	list := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return &missingError{"this is no Debian system: install what Debian calls " + list}
	}
	var as []string
	if !root() {
		if exec.CommandContext(ctx, "sudo", "-n", "apt-get", "--version").Run() != nil {
			return &missingError{"Debian packages are missing. Run this once, then this again:\n" +
				"  sudo apt-get update && sudo apt-get install -y --no-install-recommends " + list}
		}
		as = []string{"sudo", "-n"}
	}
	say("installing %s", list)
	apt := func(args ...string) error {
		args = append(append(append([]string{}, as...), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"), args...)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if apt(install...) == nil { // the lists may be fresh enough
		return nil
	}
	if err := apt("update"); err != nil {
		return fmt.Errorf("fetching the package lists: %w", err)
	}
	if err := apt(install...); err != nil {
		return fmt.Errorf("installing %s: %w", list, err)
	}
	return nil
}

// missing lists the packages whose files are not there.
func missing(needs []struct{ file, pkg string }) []string {
	var packages []string
	for _, n := range needs {
		if _, err := os.Stat(n.file); err != nil {
			packages = append(packages, n.pkg)
		}
	}
	return packages
}

// Command bundle puts the programs into a macOS application.
//
//	go run ./build/bundle [-agent FILE] [-window FILE] [-helper FILE] [-icon PNG] [-sign] [-o Plimsoll.app]
//
//	Plimsoll.app/Contents/              the agent: no Dock icon, lives in the menu bar
//	  Info.plist PkgInfo
//	  MacOS/plimsoll
//	  Resources/plimsoll.icns, en.lproj, zh-Hans.lproj
//	  Helpers/Plimsoll Window.app/      the window: an application of its own, with
//	    Contents/…                      Dock icon and menu bar while it is open
//	  Helpers/plimsoll-helper           what plimsoll limit install gives to root
//
// The helper must be the one that the agent was built for, byte for byte: its
// signature, if it is to have one, is part of that and comes before (build/lib.sh).
//
// It runs on any system, so that all but the signature is tested on any; -sign
// needs a Mac's codesign. Name, identifier and version come from FyneApp.toml.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	var b bundle
	flag.StringVar(&b.Agent, "agent", "bin/plimsoll", "the agent, built for macOS")
	flag.StringVar(&b.Window, "window", "bin/plimsoll-window", "the window, built for macOS")
	flag.StringVar(&b.Helper, "helper", "bin/plimsoll-helper", "the helper that the agent was built for, signed")
	flag.StringVar(&b.Icon, "icon", "assets/icon.png", "the icon: square, a power of two, 512 pixels or more")
	out := flag.String("o", "bin/Plimsoll.app", "the application to write; what is there is replaced")
	sign := flag.Bool("sign", false, "sign ad hoc, inner application first")
	flag.Parse()

	err := b.write(*out)
	if err == nil && *sign {
		err = signAdHoc(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(*out)
}

// signAdHoc gives both applications a signature without a certificate. macOS
// shows notifications of a signed bundle only, and the outer seal covers the
// inner application and the helper, so those are signed first: the helper long
// before, which is only checked here.
func signAdHoc(app string) error {
	for _, args := range [][]string{
		{"--verify", "--strict", helperIn(app)},
		{"--force", "--sign", "-", windowApp(app)},
		{"--force", "--sign", "-", app},
	} {
		if out, err := exec.Command("codesign", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("codesign %q: %w: %s", args, err, out)
		}
	}
	return nil
}

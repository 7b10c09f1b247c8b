// Command bundle puts the two programs into a macOS application.
//
//	go run ./build/bundle [-agent FILE] [-window FILE] [-icon PNG] [-sign] [-o Plimsoll.app]
//
//	Plimsoll.app/Contents/              the agent: no Dock icon, lives in the menu bar
//	  Info.plist PkgInfo
//	  MacOS/plimsoll
//	  Resources/plimsoll.icns, en.lproj, zh-Hans.lproj
//	  Helpers/Plimsoll Window.app/      the window: an application of its own, with
//	    Contents/…                      Dock icon and menu bar while it is open
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
// inner application, so that one is signed first.
func signAdHoc(app string) error {
	for _, path := range []string{windowApp(app), app} {
		cmd := exec.Command("codesign", "--force", "--sign", "-", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("signing %s: %w: %s", path, err, out)
		}
	}
	return nil
}

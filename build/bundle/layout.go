package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image/png"
	"os"
	"path/filepath"

	"plimsoll"
	"plimsoll/app/view"
)

// windowName is the inner application's name; the agent looks for it there.
const windowName = "Plimsoll Window"

// minimumSystem is the oldest macOS that Go 1.26 makes programs for.
// Source: https://go.dev/doc/go1.25#darwin (Go 1.25 requires macOS 12).
const minimumSystem = "12.0"

// languages are the folders of a bundle's texts and ours.
var languages = []struct{ folder, tag string }{{"en", "en"}, {"zh-Hans", "zh"}}

// bundle is what an application is made of: paths of existing files.
type bundle struct {
	Agent, Window, Helper, Icon string
}

// windowApp is where the inner application stands in the outer one.
func windowApp(app string) string {
	return filepath.Join(app, "Contents", "Helpers", windowName+".app")
}

// helperIn is where the helper stands in the application; the agent looks for it there.
func helperIn(app string) string {
	return filepath.Join(app, "Contents", "Helpers", "plimsoll-helper")
}

// write writes the application, in place of what is there. It is put together
// beside its place and moved there when it is whole.
func (b bundle) write(app string) error {
	icon, err := b.icns()
	if err != nil {
		return err
	}
	parent := filepath.Dir(app)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("making the application's folder: %w", err)
	}
	next, err := os.MkdirTemp(parent, ".bundle-")
	if err != nil {
		return fmt.Errorf("making the application's folder: %w", err)
	}
	defer os.RemoveAll(next)
	if err := os.Chmod(next, 0o755); err != nil {
		return fmt.Errorf("making the application's folder: %w", err)
	}
	if err := one(next, "plimsoll", b.Agent, icon, agentInfo()); err != nil {
		return err
	}
	if err := one(windowApp(next), "plimsoll-window", b.Window, icon, windowInfo()); err != nil {
		return err
	}
	if err := b.writeHelper(next); err != nil {
		return err
	}
	if err := os.RemoveAll(app); err != nil {
		return fmt.Errorf("removing the old application: %w", err)
	}
	return os.Rename(next, app)
}

// writeHelper puts the helper beside the window. An agent that was built for another
// one would refuse to install it, so that is found here.
func (b bundle) writeHelper(app string) error {
	helper, err := os.ReadFile(b.Helper)
	if err != nil {
		return fmt.Errorf("reading the helper: %w", err)
	}
	agent, err := os.ReadFile(b.Agent)
	if err != nil {
		return fmt.Errorf("reading the agent: %w", err)
	}
	if sum := sha256.Sum256(helper); !bytes.Contains(agent, []byte(hex.EncodeToString(sum[:]))) {
		return fmt.Errorf("%s was not built for %s: build both with build/package", b.Agent, b.Helper)
	}
	if err := os.WriteFile(helperIn(app), helper, 0o755); err != nil {
		return fmt.Errorf("writing the application: %w", err)
	}
	return nil
}

// one writes one application without what is nested in it.
func one(app, executable, program string, icon []byte, info dict) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the program: %w", err)
	}
	files := []struct {
		name string
		mode os.FileMode
		data []byte
	}{
		{"Info.plist", 0o644, info.plist()},
		{"PkgInfo", 0o644, []byte("APPL????")},
		{"MacOS/" + executable, 0o755, binary},
		{"Resources/plimsoll.icns", 0o644, icon},
	}
	for _, l := range languages {
		text := view.In(l.tag).Text("bundle.local_network", view.Args{"Name": plimsoll.Name})
		files = append(files, struct {
			name string
			mode os.FileMode
			data []byte
		}{"Resources/" + l.folder + ".lproj/InfoPlist.strings", 0o644, fmt.Appendf(nil, "NSLocalNetworkUsageDescription = %q;\n", text)})
	}
	for _, f := range files {
		path := filepath.Join(app, "Contents", filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing the application: %w", err)
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return fmt.Errorf("writing the application: %w", err)
		}
	}
	return nil
}

// agentInfo is the property list of the agent.
func agentInfo() dict {
	return append(commonInfo(plimsoll.Name, plimsoll.ID, "plimsoll"),
		// An agent: no Dock icon and no menu bar of its own.
		pair{"LSUIElement", true},
		// A model server in the local network is asked only when the person names it;
		// macOS 15 asks the person then and shows this sentence.
		pair{"NSLocalNetworkUsageDescription", view.In("en").Text("bundle.local_network", view.Args{"Name": plimsoll.Name})},
	)
}

// windowInfo is the property list of the window.
func windowInfo() dict {
	return commonInfo(windowName, plimsoll.ID+".window", "plimsoll-window")
}

func commonInfo(name, id, executable string) dict {
	var folders []string
	for _, l := range languages {
		folders = append(folders, l.folder)
	}
	return dict{
		{"CFBundleInfoDictionaryVersion", "6.0"},
		{"CFBundlePackageType", "APPL"},
		{"CFBundleName", name},
		{"CFBundleDisplayName", name},
		{"CFBundleIdentifier", id},
		{"CFBundleExecutable", executable},
		{"CFBundleIconFile", "plimsoll.icns"},
		{"CFBundleShortVersionString", plimsoll.Version},
		{"CFBundleVersion", plimsoll.Version},
		{"CFBundleDevelopmentRegion", "en"},
		{"CFBundleLocalizations", folders},
		{"LSApplicationCategoryType", "public.app-category.developer-tools"},
		{"LSMinimumSystemVersion", minimumSystem},
		{"NSHighResolutionCapable", true},
	}
}

// icns makes the icon file of the PNG.
func (b bundle) icns() ([]byte, error) {
	data, err := os.ReadFile(b.Icon)
	if err != nil {
		return nil, fmt.Errorf("reading the icon: %w", err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading the icon %s: %w", b.Icon, err)
	}
	return encodeICNS(picture)
}

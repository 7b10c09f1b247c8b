package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll"
)

// write writes an application of made-up programs and a made-up icon.
func write(t *testing.T, size int) (string, error) {
	t.Helper()
	dir := t.TempDir()
	b := files(dir)
	for path, data := range map[string][]byte{
		b.Agent: []byte("an agent" + hashOf("a helper")), b.Window: []byte("a window"), b.Helper: []byte("a helper"), b.Icon: encode(t, disc(size)),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app := filepath.Join(dir, "out", "Plimsoll.app")
	return app, b.write(app)
}

// files are the parts of an application in a folder.
func files(dir string) bundle {
	return bundle{Agent: filepath.Join(dir, "agent"), Window: filepath.Join(dir, "window"), Helper: filepath.Join(dir, "helper"), Icon: filepath.Join(dir, "icon.png")}
}

// hashOf is what an agent says of the helper that it was built for.
func hashOf(helper string) string {
	sum := sha256.Sum256([]byte(helper))
	return hex.EncodeToString(sum[:])
}

func encode(t *testing.T, picture image.Image) []byte {
	t.Helper()
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, picture); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// disc is a red disc on nothing.
func disc(size int) image.Image {
	picture := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			if dx, dy := x-size/2, y-size/2; dx*dx+dy*dy < size*size/5 {
				picture.Set(x, y, color.NRGBA{R: 200, A: 255})
			}
		}
	}
	return picture
}

func TestLayout(t *testing.T) {
	app, err := write(t, 512)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.WalkDir(app, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			if info.Mode().Perm() != 0o755 {
				t.Errorf("folder %s has mode %o", path, info.Mode().Perm())
			}
			return nil
		}
		name, _ := filepath.Rel(app, path)
		got = append(got, info.Mode().Perm().String()+" "+filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-rw-r--r-- Contents/Helpers/Plimsoll Window.app/Contents/Info.plist",
		"-rwxr-xr-x Contents/Helpers/Plimsoll Window.app/Contents/MacOS/plimsoll-window",
		"-rw-r--r-- Contents/Helpers/Plimsoll Window.app/Contents/PkgInfo",
		"-rw-r--r-- Contents/Helpers/Plimsoll Window.app/Contents/Resources/en.lproj/InfoPlist.strings",
		"-rw-r--r-- Contents/Helpers/Plimsoll Window.app/Contents/Resources/plimsoll.icns",
		"-rw-r--r-- Contents/Helpers/Plimsoll Window.app/Contents/Resources/zh-Hans.lproj/InfoPlist.strings",
		"-rwxr-xr-x Contents/Helpers/plimsoll-helper",
		"-rw-r--r-- Contents/Info.plist",
		"-rwxr-xr-x Contents/MacOS/plimsoll",
		"-rw-r--r-- Contents/PkgInfo",
		"-rw-r--r-- Contents/Resources/en.lproj/InfoPlist.strings",
		"-rw-r--r-- Contents/Resources/plimsoll.icns",
		"-rw-r--r-- Contents/Resources/zh-Hans.lproj/InfoPlist.strings",
	}
	if !slices.Equal(got, want) {
		t.Errorf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, want := range map[string]string{"MacOS/plimsoll": "an agent" + hashOf("a helper"), "Helpers/plimsoll-helper": "a helper", "PkgInfo": "APPL????", "Helpers/Plimsoll Window.app/Contents/MacOS/plimsoll-window": "a window"} {
		if got, err := os.ReadFile(filepath.Join(app, "Contents", name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestWritingAgainReplaces(t *testing.T) {
	app, err := write(t, 512)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(app, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(filepath.Dir(app))
	b := files(dir)
	if err := b.write(app); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(app, "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file of the old application is still there")
	}
	b.Window = filepath.Join(dir, "absent")
	if err := b.write(app); err == nil {
		t.Error("an application without a window program was written")
	}
	b = files(dir)
	if err := os.WriteFile(b.Helper, []byte("another helper"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.write(app); err == nil || !strings.Contains(err.Error(), "was not built for") {
		t.Errorf("an agent with another's helper was written: %v", err)
	}
	if _, err := os.Stat(filepath.Join(app, "Contents", "Info.plist")); err != nil {
		t.Errorf("a failed write took the old application away: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(app), ".bundle-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestPropertyLists(t *testing.T) {
	app, err := write(t, 512)
	if err != nil {
		t.Fatal(err)
	}
	outer := read(t, filepath.Join(app, "Contents", "Info.plist"))
	inner := read(t, filepath.Join(windowApp(app), "Contents", "Info.plist"))
	for key, want := range map[string][2]string{
		"CFBundleIdentifier":            {plimsoll.ID, plimsoll.ID + ".window"},
		"CFBundleExecutable":            {"plimsoll", "plimsoll-window"},
		"CFBundleName":                  {"Plimsoll", "Plimsoll Window"},
		"CFBundlePackageType":           {"APPL", "APPL"},
		"CFBundleInfoDictionaryVersion": {"6.0", "6.0"},
		"CFBundleIconFile":              {"plimsoll.icns", "plimsoll.icns"},
		"CFBundleShortVersionString":    {plimsoll.Version, plimsoll.Version},
		"CFBundleVersion":               {plimsoll.Version, plimsoll.Version},
		"CFBundleLocalizations":         {"en zh-Hans", "en zh-Hans"},
		"LSMinimumSystemVersion":        {"12.0", "12.0"},
		"LSUIElement":                   {"true", ""},
		"NSHighResolutionCapable":       {"true", "true"},
	} {
		if outer[key] != want[0] || inner[key] != want[1] {
			t.Errorf("%s: agent %q, window %q; want %q", key, outer[key], inner[key], want)
		}
	}
	strings := filepath.Join(app, "Contents", "Resources", "zh-Hans.lproj", "InfoPlist.strings")
	if text, err := os.ReadFile(strings); err != nil || !bytes.Contains(text, []byte("模型服务器")) {
		t.Errorf("%s: %q, %v", strings, text, err)
	}
}

// read reads a property list of strings, bools and lists of strings, these
// joined by spaces. Where Apple's format has another reader here, it has to
// accept the file too.
func read(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if tool, err := exec.LookPath("plistutil"); err == nil {
		if out, err := exec.Command(tool, "-i", path, "-o", filepath.Join(t.TempDir(), "binary")).CombinedOutput(); err != nil {
			t.Errorf("plistutil refuses %s: %v: %s", path, err, out)
		}
	}
	values, err := decode(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

func decode(data []byte) (map[string]string, error) {
	values := map[string]string{}
	var key string
	var list []string
	inList := false
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "key", "string":
				var text string
				if err := d.DecodeElement(&text, &e); err != nil {
					return nil, err
				}
				switch {
				case e.Name.Local == "key":
					key = text
				case inList:
					list = append(list, text)
				default:
					values[key] = text
				}
			case "true", "false":
				values[key] = e.Name.Local
			case "array":
				inList, list = true, nil
			}
		case xml.EndElement:
			if e.Name.Local == "array" {
				inList, values[key] = false, strings.Join(list, " ")
			}
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	want := `a < b & "c" 模型`
	got, err := decode(dict{{"Key", want}}.plist())
	if err != nil || got["Key"] != want {
		t.Errorf("%q came back as %q, %v", want, got["Key"], err)
	}
}

func TestICNS(t *testing.T) {
	data, err := encodeICNS(disc(1024))
	if err != nil {
		t.Fatal(err)
	}
	if string(data[:4]) != "icns" || int(binary.BigEndian.Uint32(data[4:])) != len(data) {
		t.Fatalf("the file says %q and %d bytes, it has %d", data[:4], binary.BigEndian.Uint32(data[4:]), len(data))
	}
	sizes := map[string]int{}
	for rest := data[8:]; len(rest) > 0; {
		length := int(binary.BigEndian.Uint32(rest[4:]))
		picture, err := png.Decode(bytes.NewReader(rest[8:length]))
		if err != nil {
			t.Fatalf("entry %q: %v", rest[:4], err)
		}
		size := picture.Bounds().Dx()
		sizes[string(rest[:4])] = size
		if got := color.NRGBAModel.Convert(picture.At(size/2, size/2)); got != (color.NRGBA{R: 200, A: 255}) {
			t.Errorf("entry %q: the middle is %v", rest[:4], got)
		}
		if _, _, _, a := picture.At(0, 0).RGBA(); a != 0 {
			t.Errorf("entry %q: the corner is not transparent", rest[:4])
		}
		rest = rest[length:]
	}
	for _, want := range icnsTypes {
		if sizes[want.name] != want.size {
			t.Errorf("entry %s has %d pixels, want %d", want.name, sizes[want.name], want.size)
		}
	}
}

func TestIconThatCannotBeUsed(t *testing.T) {
	for _, size := range []int{256, 600} {
		if _, err := write(t, size); err == nil {
			t.Errorf("an icon of %d pixels was taken", size)
		}
	}
	half, err := encodeICNS(disc(512))
	if err != nil || bytes.Contains(half, []byte("ic10")) {
		t.Errorf("an icon of 512 pixels: %v, or an entry larger than the picture", err)
	}
}

// TestRealIcon makes the icon file of the project's own icon. Where the tool is,
// another reader has to find the sizes it knows.
func TestRealIcon(t *testing.T) {
	data, err := bundle{Icon: "../../assets/icon.png"}.icns()
	if err != nil {
		t.Fatal(err)
	}
	tool, err := exec.LookPath("icns2png")
	if err != nil {
		return
	}
	path := filepath.Join(t.TempDir(), "icon.icns")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-l", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1024x1024") || !strings.Contains(string(out), "256x256") {
		t.Errorf("icns2png reads: %v\n%s", err, out)
	}
}

// TestAgentFindsItsWindow runs the agent, built for this system, out of a bundle:
// it has to start the program in the inner one.
func TestAgentFindsItsWindow(t *testing.T) {
	dir := t.TempDir()
	agent, window, said := filepath.Join(dir, "agent"), filepath.Join(dir, "window"), filepath.Join(dir, "said")
	helper := filepath.Join(dir, "helper")
	if err := os.WriteFile(helper, []byte("a helper"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-tags=headless", "-ldflags=-s -w -X plimsoll/app/limit.helperSHA256="+hashOf("a helper"), "-o", agent, "plimsoll/app")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the agent: %v\n%s", err, out)
	}
	if err := os.WriteFile(window, []byte("#!/bin/sh\necho \"$0 $*\" >"+said+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(dir, "Plimsoll.app")
	if err := (bundle{Agent: agent, Window: window, Helper: helper, Icon: "../../assets/icon.png"}).write(app); err != nil {
		t.Fatal(err)
	}
	open := exec.Command(filepath.Join(app, "Contents", "MacOS", "plimsoll"), "window")
	open.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if out, err := open.CombinedOutput(); err != nil {
		t.Fatalf("plimsoll window: %v\n%s", err, out)
	}
	got, err := os.ReadFile(said)
	if err != nil || !strings.Contains(string(got), "/Plimsoll Window.app/Contents/MacOS/plimsoll-window ") {
		t.Errorf("the agent started %q, %v", got, err)
	}
}

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plimsoll/metal/wired"
)

// TestWiringIsSmall: what runs as root beside package wired can be read at a sitting.
func TestWiringIsSmall(t *testing.T) {
	for _, system := range []string{"darwin", "linux"} {
		files := sources(t, system)
		lines := 0
		for _, text := range files {
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
					lines++
				}
			}
		}
		if len(files) != 2 || lines == 0 || lines >= 150 {
			t.Errorf("%s: %d lines of code in %d files", system, lines, len(files))
		}
	}
}

// TestNoSeamOnAMac: no file of the program for a Mac knows of a folder that
// stands in for one, or looks at an argument or the environment.
func TestNoSeamOnAMac(t *testing.T) {
	for name, text := range sources(t, "darwin") {
		for _, word := range []string{"-seam", "Getenv", "LookupEnv", "Environ", `"flag"`, "os.Args[0]"} {
			if strings.Contains(text, word) {
				t.Errorf("%s contains %s", name, word)
			}
		}
	}
	if text := sources(t, "darwin")["helper_darwin.go"]; !strings.Contains(text, "if len(args) > 0 {\n\t\treturn nil, nil, errors.New(") {
		t.Error("arguments are not refused first")
	}
}

// sources are the files of the program for a system, without tests.
func sources(t *testing.T, system string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{join .GoFiles "\n"}}`, ".")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing the files for %s: %v", system, err)
	}
	files := map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

// job is the launchd job of the helper.
const job = "../../build/darwin/dev.plimsoll.helper.plist"

// TestJob holds the property list to what package wired says and launchd.plist(5)
// knows, whole: an entry that is not expected is a mistake too.
func TestJob(t *testing.T) {
	data, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readPlist(data)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"Label":            wired.Label,
		"ProgramArguments": []any{wired.Program},
		"RunAtLoad":        true,
		"KeepAlive":        map[string]any{"SuccessfulExit": false},
		"Sockets": map[string]any{"Listener": map[string]any{
			"SockPathName": wired.Socket,
			"SockPathMode": fmt.Sprint(0o666),
		}},
		"Umask":                       fmt.Sprint(0o022),
		"AssociatedBundleIdentifiers": "dev.plimsoll.agent",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if filepath.Base(job) != filepath.Base(wired.Job) || filepath.Base(wired.Job) != wired.Label+".plist" {
		t.Errorf("%s is installed as %s", job, wired.Job)
	}
	if tool, err := exec.LookPath("plistutil"); err == nil {
		if out, err := exec.Command(tool, "-i", job, "-o", filepath.Join(t.TempDir(), "binary")).CombinedOutput(); err != nil {
			t.Errorf("plistutil: %v: %s", err, out)
		}
	}
	if tool, err := exec.LookPath("plutil"); err == nil {
		if out, err := exec.Command(tool, "-lint", job).CombinedOutput(); err != nil {
			t.Errorf("plutil: %v: %s", err, out)
		}
	}
}

// TestPlistReader: what plutil -lint refuses is refused.
func TestPlistReader(t *testing.T) {
	const head, foot = `<plist version="1.0"><dict>`, `</dict></plist>`
	for name, text := range map[string]string{
		"no value":         head + `<key>A</key>` + foot,
		"no key":           head + `<true/>` + foot,
		"twice":            head + `<key>A</key><true/><key>A</key><true/>` + foot,
		"unknown element":  head + `<key>A</key><yes/>` + foot,
		"not a number":     head + `<key>A</key><integer>0x1b6</integer>` + foot,
		"not closed":       head + `<key>A</key><true/></plist>`,
		"text in between":  head + `A<key>A</key><true/>` + foot,
		"no property list": `<dict></dict>`,
		"no dictionary":    `<plist version="1.0"><string>A</string></plist>`,
		"nothing":          ``,
	} {
		if got, err := readPlist([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

// readPlist reads a dictionary of strings, integers (as text), booleans, arrays and
// dictionaries, man 5 plist.
func readPlist(data []byte) (map[string]any, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	if e, err := element(d); err != nil || e == nil || e.Name.Local != "plist" {
		return nil, fmt.Errorf("no property list: %w", err)
	}
	e, err := element(d)
	if err != nil || e == nil {
		return nil, fmt.Errorf("empty: %w", err)
	}
	v, err := value(d, e)
	if err != nil {
		return nil, err
	}
	dict, ok := v.(map[string]any)
	if end, err := element(d); !ok || err != nil || end != nil {
		return nil, errors.New("not one dictionary")
	}
	return dict, nil
}

// element is the next start of an element, nil at the end of the one around it.
func element(d *xml.Decoder) (*xml.StartElement, error) {
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			return &e, nil
		case xml.EndElement:
			return nil, nil
		case xml.CharData:
			if len(bytes.TrimSpace(e)) > 0 {
				return nil, fmt.Errorf("stray text %q", e)
			}
		}
	}
}

func value(d *xml.Decoder, e *xml.StartElement) (any, error) {
	switch e.Name.Local {
	case "true", "false":
		return e.Name.Local == "true", d.Skip()
	case "string", "key", "integer":
		var text string
		err := d.DecodeElement(&text, e)
		if e.Name.Local == "integer" && strings.Trim(text, "0123456789") != "" {
			err = fmt.Errorf("%q is no integer", text)
		}
		return text, err
	case "array", "dict":
		var list []any
		dict := map[string]any{}
		key, keyed := "", false
		for {
			inner, err := element(d)
			if err != nil {
				return nil, err
			}
			if inner == nil {
				break
			}
			v, err := value(d, inner)
			if err != nil {
				return nil, err
			}
			_, twice := dict[key]
			switch isKey := inner.Name.Local == "key"; {
			case e.Name.Local == "array" && !isKey:
				list = append(list, v)
			case e.Name.Local == "dict" && isKey && !keyed:
				key, keyed = v.(string), true
			case e.Name.Local == "dict" && !isKey && keyed && !twice:
				dict[key], keyed = v, false
			default:
				return nil, fmt.Errorf("misplaced %s", inner.Name.Local)
			}
		}
		if keyed {
			return nil, fmt.Errorf("%s has no value", key)
		}
		if e.Name.Local == "array" {
			return list, nil
		}
		return dict, nil
	}
	return nil, fmt.Errorf("unknown element %s", e.Name.Local)
}

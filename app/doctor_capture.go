package main

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll"
	"plimsoll/app/view"
	"plimsoll/metal"
)

// toolsFolder is where a recording has what the tools printed.
const toolsFolder = "tools"

// checkFolder refuses a folder that has something in it.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failed("doctor.capture.unwritable", view.Args{"Folder": dir, "Reason": reason(err)})
	case len(entries) > 0:
		return failed("doctor.capture.not_empty", view.Args{"Folder": dir})
	}
	return nil
}

// writeCapture writes a recording beside its place and moves it there when it is
// whole: a folder with the name that was asked for is never half a recording.
func (d *doctor) writeCapture(dir string, c *metal.Recording, outputs []printed) error {
	secrets := d.secrets()
	more := map[string][]byte{}
	for _, o := range outputs {
		if len(o.output) > 0 {
			more[toolsFolder+"/"+o.tool+".txt"] = metal.ScrubTool(o.tool, o.output, secrets...)
		}
	}
	files, err := c.Files(strings.ToLower(plimsoll.Name)+" "+plimsoll.Version, more, secrets...)
	if errors.Is(err, metal.ErrUnsupported) {
		return failed("doctor.capture.no_machine", nil)
	}
	if err != nil {
		return err
	}
	unwritable := func(err error) error {
		return failed("doctor.capture.unwritable", view.Args{"Folder": dir, "Reason": reason(err)})
	}
	to, err := filepath.Abs(dir)
	if err != nil {
		return unwritable(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return unwritable(err)
	}
	partial, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".partial-")
	if err != nil {
		return unwritable(err)
	}
	defer os.RemoveAll(partial)
	for name, data := range files {
		if err := writeWhole(filepath.Join(partial, filepath.FromSlash(name)), data); err != nil {
			return unwritable(err)
		}
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return unwritable(err)
	}
	// An empty folder of that name is replaced; one that has got something in it
	// meanwhile is not.
	if err := os.Rename(partial, to); err != nil {
		return unwritable(err)
	}
	return nil
}

func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// secrets are the names of the person and the machine, which a recording must not
// have.
func (p *program) secrets() []string {
	var all []string
	add := func(names ...string) {
		for _, n := range names {
			if n != "" && n != "." && n != "/" && n != "root" {
				all = append(all, n)
			}
		}
	}
	if u, err := user.Current(); err == nil {
		add(u.Username, u.Name, path.Base(u.HomeDir))
	}
	add(p.getenv("USER"), p.getenv("LOGNAME"), filepath.Base(p.home))
	if host, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(host, ".")
		add(host, short)
	}
	// The longest first, so that no part of one is left.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// replayMachine examines a recorded machine.
func (p *program) replayMachine(f *doctorFlags) error {
	dir := os.DirFS(f.replay)
	c, err := metal.OpenRecording(dir)
	if err != nil {
		return failed("doctor.replay.unusable", view.Args{"Folder": f.replay, "Reason": err.Error()})
	}
	var outputs []printed
	for _, t := range systemTools[c.System] {
		if f.noTools {
			break
		}
		output, err := fs.ReadFile(dir, toolsFolder+"/"+t.name+".txt")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		o := printed{tool: t.name, output: output, err: err, took: time.Duration(0)}
		o.decode()
		outputs = append(outputs, o)
	}
	return p.tell(p.judge(c, outputs), f)
}

package plimsoll

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// anything in a row's may list lets a package import all of ours that no row of
// closed keeps to others.
const anything = "*"

// matrix tells what each package may import directly of this module, and why it
// may not import the rest. A folder that ends in "/..." stands for all below it;
// the first row that fits counts. A package without a row is a mistake.
var matrix = []row{
	{".", nil, "it only tells the name and the version, which everything may need"},
	{"assets", nil, "it only embeds files"},
	{"assets/mark", nil, "it only draws shapes"},
	{"metal/objc", nil, "it loads libraries and knows nothing of what is called in them"},
	{"metal/internal/...", []string{"metal/objc", "metal/internal/..."}, "it makes calls; meaning is given to their answers in metal"},
	{"metal/wired", nil, "it is linked into the program that runs as root: standard library alone"},
	{"metal/helper", []string{"metal/wired"}, "it runs as root: less code, less to go wrong"},
	{"metal", []string{"metal/internal/iokit", "metal/objc"}, "facts do not depend on what is made of them"},
	{"monitor/request", nil, "backend and meter share it: a leaf of arithmetic"},
	{"monitor/fit", nil, "a leaf of arithmetic"},
	{"monitor/backend/serverlog", []string{"monitor/request"}, "it reads lines and knows nothing of who asks"},
	{"monitor/backend", []string{"monitor/request", "monitor/backend/serverlog"}, "a model server's answers do not depend on what is made of them"},
	{"monitor/meter", []string{"monitor/request"}, "it carries other people's requests: it must stand alone"},
	{"monitor/sim", []string{"metal", "metal/wired", "monitor/request"}, "it stands in for the machine and the server, so it must not know who looks"},
	{"monitor/api", []string{"metal", "metal/wired", "monitor", "monitor/backend", "monitor/meter", "monitor/request", "monitor/fit"}, "it carries updates and commands; screens are its clients"},
	{"monitor/store", []string{"metal", "metal/wired", "monitor", "monitor/backend", "monitor/meter", "monitor/request", "monitor/fit"}, "monitor knows it only as a subscriber"},
	{"monitor/bench", []string{"metal", "metal/wired", "monitor", "monitor/backend", "monitor/meter", "monitor/request", "monitor/fit"}, "monitor knows it only as a subscriber"},
	{"monitor", []string{"metal", "metal/wired", "monitor/backend", "monitor/backend/serverlog", "monitor/meter", "monitor/request", "monitor/fit"}, "it knows its subscribers only by their mailboxes"},
	{"app/...", []string{anything}, ""},
	{"build/...", []string{anything}, ""},
}

// row is one line of the matrix.
type row struct {
	pkg string
	may []string
	why string // why it may import nothing else
}

// closed tells who alone may import a package, ours or another's. A name that
// ends in "/..." stands for all below it too.
var closed = []struct {
	pkg  string
	only []string
	why  string
}{
	{"metal/internal/...", []string{"metal", "metal/internal/..."}, "raw calls have one reader"},
	{"metal/helper", nil, "it is a program that runs as root"},
	{"metal/objc", []string{"metal", "metal/internal/...", "app/notify", "app/tray"}, "Objective-C stays in few places"},
	{"app", nil, "it is a program"},
	{"app/window/...", []string{"app/window/..."}, "Fyne stays out of the agent"},
	{"app/...", []string{"app/...", "build/..."}, "screens stand above the monitor, never below it"},
	{"build/...", []string{"build/..."}, "tools are no part of the programs"},
	{"fyne.io/fyne/...", []string{"app/window/...", "build/darwincheck/..."}, "a resident Fyne program polls at 60 Hz for ever"},
	{"fyne.io/systray", []string{"app/tray"}, "one package knows the tray's library and its faults"},
	{"C", nil, "a cgo file is skipped without a word when Mac code is checked elsewhere"},
}

// settings are the builds in which the matrix has to hold.
var settings = []struct{ os, tags string }{
	{"linux", "gles,x11"}, {"linux", "headless"}, {"darwin", ""}, {"darwin", "headless"},
}

// listed is what go list tells about a package, as far as it is used.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Error      *struct{ Err string }
}

// list asks the go command for packages as one system's build takes them.
func list(t *testing.T, system, tags, cgo string, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-tags=" + tags, "-json=ImportPath,Imports,Standard,Error"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED="+cgo)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages for %s: %v\n%s", system, err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("reading go list's answer: %v", err)
		}
		all = append(all, p)
	}
}

func TestImportMatrix(t *testing.T) {
	for _, s := range settings {
		t.Run(s.os+" "+s.tags, func(t *testing.T) {
			t.Parallel()
			packages := list(t, s.os, s.tags, "1", "./...")
			if len(packages) < 5 {
				t.Fatalf("only %d packages found", len(packages))
			}
			for _, v := range violations(packages) {
				t.Error(v)
			}
		})
	}
}

// TestClosures checks all that is linked into the programs that must stay small.
func TestClosures(t *testing.T) {
	for _, program := range []struct{ dir, tags string }{{"./app", "headless"}, {"./metal/helper", ""}} {
		if entries, _ := filepath.Glob(filepath.Join(program.dir, "*.go")); len(entries) == 0 {
			continue // not part of this tree yet
		}
		for _, system := range []string{"linux", "darwin"} {
			t.Run(program.dir+" "+system, func(t *testing.T) {
				t.Parallel()
				for _, p := range list(t, system, program.tags, "0", "-deps", program.dir) {
					switch {
					case strings.HasPrefix(p.ImportPath, "fyne.io/"), p.ImportPath == "runtime/cgo":
						t.Errorf("it is linked with %s", p.ImportPath)
					case p.Error != nil:
						t.Errorf("without cgo there is no %s: %s", p.ImportPath, p.Error.Err)
					}
				}
			})
		}
	}
}

// TestHelperClosure checks all that is linked into the program that runs as root:
// our package wired, the standard library without what starts programs or speaks
// HTTP, system calls, and on a Mac purego, for launchd's socket and the system log.
func TestHelperClosure(t *testing.T) {
	for system, others := range map[string][]string{
		"linux":  {"plimsoll/metal/helper", "plimsoll/metal/wired", "golang.org/x/sys/unix"},
		"darwin": {"plimsoll/metal/helper", "plimsoll/metal/wired", "golang.org/x/sys/unix", "github.com/ebitengine/purego/..."},
	} {
		found := 0
		for _, p := range list(t, system, "", "0", "-deps", "./metal/helper") {
			switch {
			case !p.Standard && !among(others, p.ImportPath), among([]string{"os/exec", "net/http", "plugin", "C"}, p.ImportPath):
				t.Errorf("on %s it is linked with %s", system, p.ImportPath)
			case !p.Standard:
				found++
			}
		}
		if found < len(others) {
			t.Errorf("on %s only %d packages are none of the standard library", system, found)
		}
	}
}

// violations tells every direct import that the tables forbid.
func violations(packages []listed) []string {
	var found []string
	for _, p := range packages {
		from := local(p.ImportPath)
		i := slices.IndexFunc(matrix, func(r row) bool { return covers(r.pkg, from) })
		if i < 0 {
			found = append(found, from+" has no row in the import matrix")
			continue
		}
		r := matrix[i]
		for _, imported := range p.Imports {
			to := local(imported)
			ours := to != imported
			if ours && to != "." && !covers("assets/...", to) && !among(r.may, to) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", from, to, r.why))
				continue
			}
			for _, c := range closed {
				if covers(c.pkg, to) {
					if !among(c.only, from) {
						found = append(found, fmt.Sprintf("%s imports %s: %s", from, to, c.why))
					}
					break
				}
			}
			if from == "metal/wired" && !ours && strings.Contains(strings.Split(to, "/")[0], ".") {
				found = append(found, fmt.Sprintf("%s imports %s: %s", from, to, r.why))
			}
		}
	}
	return found
}

// local is a package's folder in this module, "." for the root; the import path
// itself for any other package.
func local(importPath string) string {
	if importPath == "plimsoll" {
		return "."
	}
	return strings.TrimPrefix(importPath, "plimsoll/")
}

// among tells whether one of some names stands for a package.
func among(names []string, pkg string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return name == anything || covers(name, pkg) })
}

// covers tells whether a name of the tables stands for a package.
func covers(name, pkg string) bool {
	if above, deep := strings.CutSuffix(name, "/..."); deep {
		return pkg == above || strings.HasPrefix(pkg, above+"/")
	}
	return pkg == name
}

func TestPlantedImportsAreFound(t *testing.T) {
	for _, planted := range []struct{ from, to, want string }{
		{"plimsoll/metal", "plimsoll/monitor", "facts do not depend"},
		{"plimsoll/monitor", "plimsoll/app/view", "mailboxes"},
		{"plimsoll/monitor", "plimsoll/monitor/api", "mailboxes"},
		{"plimsoll/monitor/sim", "plimsoll/monitor", "who looks"},
		{"plimsoll/monitor/backend", "plimsoll/metal", "answers do not depend"},
		{"plimsoll/metal/wired", "golang.org/x/sys/unix", "runs as root"},
		{"plimsoll/metal/helper", "plimsoll/metal", "runs as root"},
		{"plimsoll/app", "fyne.io/fyne/v2/widget", "60 Hz"},
		{"plimsoll/app/notify", "fyne.io/systray", "one package"},
		{"plimsoll/app/term", "plimsoll/metal/internal/iokit", "one reader"},
		{"plimsoll/app/tray", "plimsoll/app/window", "out of the agent"},
		{"plimsoll/app/tray", "plimsoll/build/bundle", "no part of the programs"},
		{"plimsoll/metal", "C", "skipped without a word"},
		{"plimsoll/useful", "fmt", "no row"},
	} {
		got := violations([]listed{{ImportPath: planted.from, Imports: []string{planted.to}}})
		if len(got) != 1 || !strings.Contains(got[0], planted.want) {
			t.Errorf("%s importing %s: reported %q, want one with %q", planted.from, planted.to, got, planted.want)
		}
	}
	for _, allowed := range []struct{ from, to string }{
		{"plimsoll/monitor", "plimsoll/metal"},
		{"plimsoll/app/window", "fyne.io/fyne/v2/widget"},
		{"plimsoll/app/tray", "fyne.io/systray"},
		{"plimsoll/app", "plimsoll/monitor/sim"},
		{"plimsoll/monitor/backend", "net/http"},
	} {
		if got := violations([]listed{{ImportPath: allowed.from, Imports: []string{allowed.to}}}); len(got) > 0 {
			t.Errorf("%s may import %s, reported %q", allowed.from, allowed.to, got)
		}
	}
}

// TestOnePackageComment checks that each package says what it is in one place,
// the file named after it (a program's may be main.go).
func TestOnePackageComment(t *testing.T) {
	comments := map[string][]string{} // folder → files with a package comment
	err := filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		comments[dir] = append(comments[dir], []string{}...)
		if file.Doc != nil {
			comments[dir] = append(comments[dir], path.Base(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range comments {
		named := path.Base(dir) + ".go"
		if dir == "." {
			named = "plimsoll.go"
		}
		if len(files) != 1 || files[0] != named && files[0] != "main.go" {
			t.Errorf("%s: package comment in %q, want it in %s alone", dir, files, named)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is the Mac build to check for.
type target struct {
	Arch  string // GOARCH
	Tags  string // build tags, "" for none
	Tests bool   // take _test.go files too
}

// result tells what was checked and what is wrong.
type result struct {
	Packages int // all packages checked, the standard library included
	Ours     int // of them in this module, test variants counted apart
	Cgo      int // of them with cgo files
	Mistakes []mistake
}

// mistake is one error of the type checker.
type mistake struct {
	File    string // relative to the working directory where it is below it
	Line    int
	Message string
}

func (m mistake) String() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Message) }

// listed is what go list -json tells about a package, as far as it is used.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	ImportMap  map[string]string // import in the source → package really meant
	ForTest    string
	Standard   bool
	Module     *struct {
		Main      bool
		GoVersion string
	}
	Error      *struct{ Err string }
	DepsErrors []*struct{ Err string }
}

func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// check type-checks packages and all they depend on. The error says that the
// packages could not be listed; what is wrong in them is in the result.
func check(t target, packages ...string) (*result, error) {
	all, err := list(t, packages...)
	if err != nil {
		return nil, err
	}
	c := &checker{
		fset:  token.NewFileSet(),
		done:  map[string]*types.Package{"unsafe": types.Unsafe},
		files: map[string]*ast.File{},
		sizes: types.SizesFor("gc", t.Arch),
		arch:  t.Arch,
	}
	for _, p := range all { // dependencies come before those who need them
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // built in; the main function that go test writes
		}
		c.check(p)
	}
	return &c.result, nil
}

// list asks the go command for packages and their dependencies, as a Mac build
// would take them.
func list(t target, packages ...string) ([]*listed, error) {
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Name,Dir,GoFiles,CgoFiles,ImportMap,ForTest,Standard,Module,Error,DepsErrors"}
	if t.Tests {
		args = append(args, "-test")
	}
	if t.Tags != "" {
		args = append(args, "-tags", t.Tags)
	}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+t.Arch, "CGO_ENABLED=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w: %s", strings.Join(packages, " "), err, strings.TrimSpace(stderr.String()))
	}
	var all []*listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading go list's answer: %w", err)
		}
		all = append(all, p)
	}
}

// checker checks packages in the order in which they are needed.
type checker struct {
	result
	fset  *token.FileSet
	done  map[string]*types.Package
	files map[string]*ast.File
	sizes types.Sizes
	arch  string
}

func (c *checker) check(p *listed) {
	c.Packages++
	if p.ours() {
		c.Ours++
	}
	if len(p.CgoFiles) > 0 {
		c.Cgo++
	}
	if p.Error != nil && len(p.GoFiles)+len(p.CgoFiles) == 0 {
		c.Mistakes = append(c.Mistakes, mistake{File: p.ImportPath, Message: p.Error.Err})
		return
	}
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		if file := c.parse(filepath.Join(p.Dir, name)); file != nil {
			files = append(files, file)
		}
	}
	config := types.Config{
		FakeImportC:      true,
		IgnoreFuncBodies: !p.ours(),
		Sizes:            c.sizes,
		Importer:         importer{c, p},
		Error:            c.note,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // "x [x.test]" is x
	pkg, _ := config.Check(path, c.fset, files, nil)
	c.done[p.ImportPath] = pkg
}

// parse reads a file once for all variants of its package.
func (c *checker) parse(path string) *ast.File {
	if file, ok := c.files[path]; ok {
		return file
	}
	file, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		c.Mistakes = append(c.Mistakes, mistake{File: relative(path), Message: err.Error()})
	}
	c.files[path] = file
	return file
}

// note takes one error of the type checker, once: a file of a package is
// checked again for its test variant.
func (c *checker) note(err error) {
	var e types.Error
	if !errors.As(err, &e) {
		c.Mistakes = append(c.Mistakes, mistake{Message: err.Error()})
		return
	}
	at := c.fset.Position(e.Pos)
	m := mistake{File: relative(at.Filename), Line: at.Line, Message: e.Msg}
	for _, known := range c.Mistakes {
		if known == m {
			return
		}
	}
	c.Mistakes = append(c.Mistakes, m)
}

// importer gives a package the packages that it imports.
type importer struct {
	*checker
	to *listed
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if mapped, ok := i.to.ImportMap[path]; ok {
		path = mapped
	}
	if pkg := i.done[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("no package %s for darwin/%s", path, i.arch)
}

// relative shortens a path for reading.
func relative(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(short, "..") {
			return short
		}
	}
	return path
}

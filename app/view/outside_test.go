package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A text for a person has two words, or one Chinese character. %d and its kind
// count as numbers, so "%.1f GiB" is a unit and "%s of %s" is a text.
var (
	verb  = regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z]`)
	words = regexp.MustCompile(`\p{L}[,.:;]? \p{L}|0 (of|in|at|on|[a-z]{3,})\b|\p{Han}`)
	// sentences are what counts in package monitor and below, where errors and
	// other programs' words are at home: they begin small.
	sentences = regexp.MustCompile(`^\p{Lu}\p{Ll}*[,:;]? \p{L}|\p{Han}`)
	markup    = regexp.MustCompile(`^\s*<[a-z!?/]`)
	// typed is a command line to be typed as it is, or a unit file of systemd.
	typed = regexp.MustCompile(`^((sudo|plimsoll|osascript|launchctl|systemctl|brew|kill) |\[Unit\]\n)`)
)

// forPrograms are calls whose texts are for logs, other programs or the file
// system, by name, or by method where the name begins with a dot. Errors are
// wrapped in a sentence of the area "error" before a person sees them.
var forPrograms = map[string]string{
	"fmt.Errorf": "an error", "errors.New": "an error", "api.Failure": "an error", "failuref": "an error", "Failure": "an error",
	"panic": "a mistake of ours", "filepath.Join": "a path", "regexp.MustCompile": "an expression",
	"exec.Command": "a program", "exec.CommandContext": "a program", "exec.LookPath": "a program",
	".Debug": "a log", ".Info": "a log", ".Warn": "a log", ".Error": "a log", ".Log": "a log", ".DebugContext": "a log",
	".InfoContext": "a log", ".WarnContext": "a log", ".ErrorContext": "a log", ".LogAttrs": "a log",
	"strings.Contains": "found in another program's words", "strings.Index": "found in another program's words",
	"strings.Cut": "found in another program's words", "strings.HasPrefix": "found in another program's words",
	"strings.HasSuffix": "found in another program's words", "strings.CutPrefix": "found in another program's words",
	".command": "the usage line of a command: its name and its arguments",
}

// outside are the texts that stay outside the message files, each with its reason.
var outside = map[string]string{
	"launchctl setenv OLLAMA_CONTEXT_LENGTH %d": "a command for a terminal",
	"LM Studio":         "a product's name",
	"Ollama is running": "what a server's front page says",
	"Apple M5":          "a product's name",
	"中文":                "a language is named in its own words",
}

// TestNoTextIsLeftOutside reads every Go file of the program, whatever system it
// is for, and finds texts for people that no translator would see.
func TestNoTextIsLeftOutside(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	for _, folder := range []string{"app", "monitor"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (strings.HasSuffix(entry.Name(), "test") || entry.Name() == "sim" || entry.Name() == "serverlog") {
				// What tests share; the simulator, whose texts are those of the programs
				// and the server that it plays; and what is looked for in a server's log.
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			files++
			look := words
			if folder == "monitor" || filepath.Base(filepath.Dir(path)) == "limit" {
				look = sentences // errors with codes, which have their sentences
			}
			for _, found := range textsOutside(t, path, nil, look) {
				t.Errorf("%s: move it to a message file in assets/locale", found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 20 {
		t.Errorf("read only %d files", files)
	}
}

// TestTheScanSees proves the scan on planted texts.
func TestTheScanSees(t *testing.T) {
	const source = "package x\nimport \"a b\"\nvar tag struct { A int `json:\"a b\"` }\n" +
		"func f() {\n\tfmt.Errorf(\"not this one\")\n\tlog.Info(\"nor \" + \"this one\")\n\tset(\"Unload now\")\n\tset(\"卸载\")\n" +
		"\tset(\"%s of %s\")\n\tset(\"%.1f GiB\", \"a.b.c\")\n\t_ = myError{\"not this\"}\n\tp.command(\"x\", \"x FILE\", func() { set(\"but this\") })\n" +
		"\t_ = cobra.Command{Use: \"x FILE\", Short: \"and this\"}\n\t_ = s == \"not this\"\n}\n" +
		"func (e E) Error() string { return \"not this\" }\n"
	var got []string
	for _, found := range textsOutside(t, "x.go", source, words) {
		_, text, _ := strings.Cut(found, ": ")
		got = append(got, text)
	}
	if want := `"Unload now" "卸载" "%s of %s" "but this" "and this"`; strings.Join(got, " ") != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// textsOutside lists the texts for people in one file.
func textsOutside(t *testing.T, path string, source any, look *regexp.Regexp) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	var stack []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && !exempt(stack) {
			text, err := strconv.Unquote(literal.Value)
			if err == nil && look.MatchString(verb.ReplaceAllString(text, "0")) && !markup.MatchString(text) && !typed.MatchString(text) && outside[text] == "" {
				found = append(found, set.Position(literal.Pos()).String()+": "+strconv.Quote(text))
			}
		}
		stack = append(stack, n)
		return true
	})
	return found
}

// exempt reports a place in the syntax whose texts are not for people, by what
// stands around it. What a function does that is handed over is its own.
func exempt(stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.ImportSpec, *ast.Field: // a struct tag
			return true
		case *ast.FuncLit:
			return false
		case *ast.FuncDecl:
			return n.Recv != nil && n.Name.Name == "Error"
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Use" {
				return true
			}
		case *ast.CompositeLit:
			if strings.HasSuffix(strings.ToLower(called(n.Type)), "error") {
				return true
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ { // compared with another program's words
				return true
			}
		case *ast.CallExpr:
			name := called(n.Fun)
			if forPrograms[name] != "" || forPrograms[name[max(0, strings.LastIndex(name, ".")):]] != "" {
				return true
			}
		}
	}
	return false
}

// called is the name of what is called or made: "f", "p.f", "x.y.f".
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return called(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return called(e.X)
	}
	return "."
}

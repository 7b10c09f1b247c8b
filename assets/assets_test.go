package assets_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"plimsoll/assets"
)

// languages are those the program speaks, the first of which has all messages.
var languages = []string{"en", "zh"}

// message is one text by plural form; one without forms has "other" alone.
type message map[string]string

var place = regexp.MustCompile(`\.[A-Z]\w*`)

// places are the names of values in all forms of a message.
func (m message) places() []string {
	seen := map[string]bool{}
	for _, text := range m {
		for _, action := range regexp.MustCompile(`{{.*?}}`).FindAllString(text, -1) {
			for _, name := range place.FindAllString(action, -1) {
				seen[name[1:]] = true
			}
		}
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// load reads every message file: language → area → id → message.
func load(t *testing.T) map[string]map[string]map[string]message {
	t.Helper()
	files, err := assets.Locale.ReadDir("locale")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]map[string]message{}
	for _, file := range files {
		area, rest, _ := strings.Cut(file.Name(), ".")
		language := strings.TrimSuffix(rest, ".json")
		data, err := assets.Locale.ReadFile("locale/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]any
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
		if all[language] == nil {
			all[language] = map[string]map[string]message{}
		}
		all[language][area] = map[string]message{}
		for id, value := range raw {
			m := message{}
			switch value := value.(type) {
			case string:
				m["other"] = value
			case map[string]any:
				for form, text := range value {
					m[form], _ = text.(string)
				}
			}
			all[language][area][id] = m
		}
	}
	return all
}

func TestEveryLanguageSaysEverything(t *testing.T) {
	all := load(t)
	if len(all) != len(languages) {
		t.Errorf("there are %d languages, want %q", len(all), languages)
	}
	owner := map[string]string{}
	for area, messages := range all[languages[0]] {
		for id, m := range messages {
			// A part of the program may bring errors of its own.
			if !strings.HasPrefix(id, area+".") && !strings.HasPrefix(id, "error.") {
				t.Errorf("%s is not of the area %s", id, area)
			}
			if owner[id] != "" {
				t.Errorf("%s is in %s and in %s", id, owner[id], area)
			}
			owner[id] = area
			for _, language := range languages[1:] {
				other, ok := all[language][area][id]
				if !ok {
					t.Errorf("%s has no %s", language, id)
					continue
				}
				if want, got := m.places(), other.places(); !slices.Equal(want, got) {
					t.Errorf("%s: %s has the places %q, %s has %q", id, languages[0], want, language, got)
				}
			}
		}
	}
	for _, language := range languages[1:] {
		for area, messages := range all[language] {
			for id := range messages {
				if _, ok := all[languages[0]][area][id]; !ok {
					t.Errorf("%s has %s in %s, %s does not", language, id, area, languages[0])
				}
			}
		}
	}
}

// forms are the plural forms that each language has (Unicode CLDR, plurals).
var forms = map[string][]string{"en": {"one", "other"}, "zh": {"other"}}

func TestMessagesAreOfTheirLanguage(t *testing.T) {
	han, latin := regexp.MustCompile(`\p{Han}`), regexp.MustCompile(`[a-z]{2}`)
	for language, areas := range load(t) {
		for _, messages := range areas {
			for id, m := range messages {
				plural := len(m) > 1 || language == "en" && m["one"] != ""
				for form, text := range m {
					if strings.TrimSpace(text) == "" {
						t.Errorf("%s: %s is empty", language, id)
					}
					if !slices.Contains(forms[language], form) {
						t.Errorf("%s: %s has the form %q", language, id, form)
					}
					if language == "en" && han.MatchString(text) {
						t.Errorf("%s: %s is Chinese: %q", language, id, text)
					}
					bare := regexp.MustCompile("{{.*?}}|`[^`]*`").ReplaceAllString(text, "")
					if language == "zh" && !han.MatchString(text) && latin.MatchString(bare) && !neutral[id] && !strings.HasSuffix(id, ".example") {
						t.Errorf("%s: %s is not Chinese: %q", language, id, text)
					}
				}
				if plural && language == "en" && len(m) != 2 {
					t.Errorf("%s: %s has the forms %v", language, id, m)
				}
			}
		}
	}
}

// neutral are texts that are the same in every language, as names and units are,
// beside the examples of commands.
var neutral = map[string]bool{
	"field.unit.mhz": true, "field.unit.tokens": true, "field.unit.truth": true,
	"view.told.sysctl": true, "view.told.metal": true, "view.told.amdgpu": true, "view.told.iokit": true,
}

// TestTemplatesRun executes every message with all its values absent and with
// all there: neither may fail or leave a trace.
func TestTemplatesRun(t *testing.T) {
	for language, areas := range load(t) {
		for _, messages := range areas {
			for id, m := range messages {
				for _, text := range m {
					parsed, err := template.New(id).Parse(text)
					if err != nil {
						t.Errorf("%s: %s: %v", language, id, err)
						continue
					}
					for _, value := range []any{"", "x"} {
						values := map[string]any{}
						for _, name := range m.places() {
							values[name] = value
						}
						var b strings.Builder
						if err := parsed.Execute(&b, values); err != nil {
							t.Errorf("%s: %s: %v", language, id, err)
						}
						if strings.Contains(b.String(), "<no value>") || strings.Contains(b.String(), "{{") || value == "x" && strings.TrimSpace(b.String()) == "" {
							t.Errorf("%s: %s becomes %q", language, id, b.String())
						}
					}
				}
			}
		}
	}
}

// literals are the texts in the Go source of the program, tests left out.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, folder := range []string{"app", "monitor", "metal", "build"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						found[text] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// elsewhere are beginnings of ids whose ends are no texts in our source.
var elsewhere = map[string]string{
	"field.":                      "the JSON names of a Snapshot; package view tests that each has its message and each message its field",
	"cli.kind.":                   "the kinds of flags, as package pflag names them",
	"view.server.next.port_taken": "a cause that backend.Status may have and no server tells yet",
}

// TestEveryMessageIsUsed: the source has each id, whole or in the parts it is
// made of: a beginning ("alert."), a word that is a constant somewhere
// ("swapping") and an end (".title").
func TestEveryMessageIsUsed(t *testing.T) {
	source := literals(t)
	for _, messages := range load(t)[languages[0]] {
		for id := range messages {
			said := source[id] || composed(id, source)
			for beginning := range elsewhere {
				said = said || strings.HasPrefix(id, beginning)
			}
			if !said {
				t.Errorf("nothing says %s", id)
			}
		}
	}
}

func composed(id string, source map[string]bool) bool {
	for end := len(id); end > 0; end-- {
		if end < len(id) && !(id[end] == '.' && source[id[end:]]) {
			continue
		}
		whole := id[:end]
		if end < len(id) && source[whole] {
			return true
		}
		for i := range whole {
			if whole[i] == '.' && source[whole[:i+1]] && source[whole[i+1:]] {
				return true
			}
		}
	}
	return false
}

// TestEveryIDInTheSourceExists finds ids that no file has: they would be shown
// as they are.
func TestEveryIDInTheSourceExists(t *testing.T) {
	ids, areas := map[string]bool{}, []string{}
	for area, messages := range load(t)[languages[0]] {
		areas = append(areas, area)
		for id := range messages {
			ids[id] = true
			for i := range id {
				if id[i] == '.' {
					ids[id[:i+1]] = true // the beginning of a family
				}
			}
		}
	}
	like := regexp.MustCompile(`^(` + strings.Join(areas, "|") + `)\.[a-z0-9_.]*$`)
	file := regexp.MustCompile(`\.(go|json|png|svg|ico|icns|toml|log|txt|sock|css|html)$`)
	for text := range literals(t) {
		if like.MatchString(text) && !file.MatchString(text) && !ids[text] {
			t.Errorf("the source says %q, which is in no message file", text)
		}
	}
}

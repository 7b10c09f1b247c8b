package metal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recordings holds texts of system tools and expected.json, which tells what each
// must decode to.
type recordings struct {
	folder string
	min    map[string]int // how many files there must be at least
}

var recordingKinds = map[string]func(what, text string) (any, error){
	"vm_stat":         func(_, text string) (any, error) { return ParseVMStat(text) },
	"memory_pressure": func(_, text string) (any, error) { return ParseMemoryPressure(text) },
	"sysctl":          func(what, text string) (any, error) { return ParseSysctl(text, askedNames(what)...) },
}

// askedNames are the names that a recording of bare values was asked for; they
// stand in parentheses in its description.
func askedNames(what string) []string {
	list := regexp.MustCompile(`\(((?:\w+\.[\w.]+(?:, )?)+)\)`).FindStringSubmatch(what)
	if list == nil {
		return nil
	}
	return strings.Split(list[1], ", ")
}

func TestOwnTexts(t *testing.T) {
	recordings{"testdata/text", map[string]int{"vm_stat": 4, "sysctl": 10, "memory_pressure": 3}}.test(t)
}

// TestSharedRecordings runs over what other people's Macs printed. The recordings
// are not part of this tree.
func TestSharedRecordings(t *testing.T) {
	const folder = "../../shared/fixtures"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the shared recordings are not here: %v", err)
	}
	recordings{folder, map[string]int{"vm_stat": 3, "sysctl": 16, "memory_pressure": 2}}.test(t)
}

func (r recordings) test(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(r.folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]struct {
		What   string
		Expect map[string]any
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for name, e := range expected {
		kind := strings.SplitN(name, "/", 2)[0]
		decode := recordingKinds[kind]
		if decode == nil {
			continue
		}
		seen[kind]++
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(r.folder, name))
			if err != nil {
				t.Fatal(err)
			}
			value, err := decode(e.What, string(text))
			compareFields(t, "", e.Expect, decoded(t, value, err))
		})
	}
	for kind, min := range r.min {
		if seen[kind] < min {
			t.Errorf("%d recordings of %s, want at least %d", seen[kind], kind, min)
		}
	}
}

// decoded is a value as JSON sees it, with the kind of its error as "error".
func decoded(t *testing.T, value any, err error) map[string]any {
	t.Helper()
	text, jsonErr := json.Marshal(value)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	m["error"] = nil
	if err != nil {
		var fault *TextError
		if !errors.As(err, &fault) {
			t.Fatalf("the error %v has no kind", err)
		}
		m["error"] = string(fault.Kind)
	}
	return m
}

// compareFields demands every wanted field. Fields that are not listed are not
// asked for, but an error always is.
func compareFields(t *testing.T, at string, want, got map[string]any) {
	t.Helper()
	if _, ok := want["error"]; !ok && at == "" && got["error"] != nil {
		t.Errorf("error %v, want none", got["error"])
	}
	for name, w := range want {
		if strings.HasPrefix(name, "by_eye_") {
			continue
		}
		g, ok := got[name]
		if !ok {
			t.Errorf("%s%s is not decoded at all, want %v", at, name, w)
			continue
		}
		compare(t, at+name, w, g)
	}
}

func compare(t *testing.T, at string, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, want %v", at, got, want)
			return
		}
		compareFields(t, at+".", w, g)
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			t.Errorf("%s is %v, want %v", at, got, want)
			return
		}
		for i := range w {
			compare(t, fmt.Sprintf("%s[%d]", at, i), w[i], g[i])
		}
	case float64:
		g, ok := got.(float64)
		// Whole numbers are exact, fractions rounded to four decimals.
		if !ok || g != w && (w == math.Trunc(w) && g == math.Trunc(g) || math.Abs(g-w) > 1e-4) {
			t.Errorf("%s is %v, want %v", at, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s is %v, want %v", at, got, want)
		}
	}
}

package backend

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestFixtures checks every value that the collected recordings of Ollama's API,
// its table and its statistics are known to have.
func TestFixtures(t *testing.T) {
	var all map[string]struct {
		What   string
		Expect map[string]any
	}
	if err := json.Unmarshal(shared(t, "fixtures", "expected.json"), &all); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, want := range all {
		file, ours := strings.CutPrefix(name, "ollama_api/")
		if !ours {
			continue
		}
		checked++
		t.Run(file, func(t *testing.T) {
			got, err := decodeFixture(t, file, shared(t, "fixtures", "ollama_api", file))
			if err != nil {
				t.Fatalf("%s: %v", want.What, err)
			}
			compare(t, "", jsonValue(t, got), want.Expect)
		})
	}
	if checked < 17 {
		t.Errorf("only %d recordings were checked", checked)
	}
}

// decodeFixture picks the decoder by the name of the recording.
func decodeFixture(t *testing.T, file string, data []byte) (any, error) {
	switch {
	case strings.HasPrefix(file, "ps-cli-"):
		rows, err := DecodeTable(string(data))
		return map[string]any{"models": rows}, err
	case strings.HasPrefix(file, "verbose-"):
		return DecodeVerbose(string(data))
	case strings.Contains(file, "-ps-"), strings.HasPrefix(file, "ps-"):
		return fixtureResidents(t, data), nil
	case strings.Contains(file, "-tags-"):
		return fixtureModels(t, data), nil
	case strings.Contains(file, "show-"):
		if path.Ext(file) == ".json5" {
			data = toJSON(string(data))
		}
		return DecodeShape(data)
	}
	return DecodeFinal(data)
}

// fixtureResidents plays a reply to the backend and names what comes out as the
// expected values do.
func fixtureResidents(t *testing.T, data []byte) any {
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/ps": says(string(data))})
	// A day before the recording's expiry, or some day for one without.
	now := func() time.Time { return time.Date(2024, 6, 4, 0, 0, 0, 0, time.UTC) }
	a := backendAt(t, f.URL, WithClock(now)).Poll(t.Context())
	if a.Status.State != Running {
		t.Fatalf("%s", pretty(a.Status))
	}
	entries, err := decodeRunning(&exchange{body: data})
	if err != nil {
		t.Fatal(err)
	}
	var models []any
	for i, r := range a.Residents {
		models = append(models, map[string]any{
			"name": r.Model, "size_bytes": r.Size, "size_vram_bytes": r.GPU,
			"gpu_percent": 100 * float64(*r.GPU) / float64(*r.Size), "context_length": r.Context,
			"expires_at": entries[i].ExpiresAt, "keep_forever": r.Pinned, "format": entries[i].Details.Format,
			"quantization": r.Quantization, "parameter_size": r.Parameters,
		})
		if r.Pinned != (r.Expires == nil) || r.Expires != nil && !r.Expires.Equal(*entries[i].ExpiresAt) {
			t.Errorf("pinned %v, expires %v", r.Pinned, r.Expires)
		}
	}
	return map[string]any{"models": models}
}

func fixtureModels(t *testing.T, data []byte) any {
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/tags": says(string(data))})
	a := backendAt(t, f.URL).Poll(t.Context())
	var models []any
	for _, m := range a.Models {
		models = append(models, map[string]any{
			"name": m.Model, "cloud": m.Cloud, "size_bytes": m.Size, "format": "gguf",
			"family": m.Family, "quantization": m.Quantization, "parameter_size": m.Parameters,
		})
	}
	return map[string]any{"models": models}
}

// toJSON turns the JSON5 of a documentation sample into JSON.
func toJSON(s string) []byte {
	text := regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
	var out strings.Builder
	plain := func(s string) string {
		s = regexp.MustCompile(`//[^\n]*`).ReplaceAllString(s, "")
		s = regexp.MustCompile(`(\w+)(\s*:)`).ReplaceAllString(s, `"$1"$2`)
		return regexp.MustCompile(`,(\s*[}\]])`).ReplaceAllString(s, "$1")
	}
	// Comments and keys are looked for between texts only.
	last := 0
	var parts []string
	for _, at := range text.FindAllStringIndex(s, -1) {
		parts = append(parts, s[last:at[0]], s[at[0]:at[1]])
		last = at[1]
	}
	parts = append(parts, s[last:])
	for i, part := range parts {
		switch {
		case i%2 == 0:
			out.WriteString(plain(part))
		case part[0] == '\'':
			inner := strings.ReplaceAll(part[1:len(part)-1], `"`, `\"`)
			out.WriteString(`"` + strings.ReplaceAll(inner, `\\"`, `\"`) + `"`)
		default:
			out.WriteString(part)
		}
	}
	// A comma before a closing bracket may stand behind a text.
	return []byte(regexp.MustCompile(`,(\s*[}\]])`).ReplaceAllString(out.String(), "$1"))
}

func jsonValue(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// compare checks every expected field: texts and whole numbers exactly, computed
// fractions to the six digits they are given with, null as absent.
func compare(t *testing.T, where string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: %v, want an object", where, got)
			return
		}
		for name, value := range want {
			compare(t, where+"."+name, fields[name], value)
		}
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			t.Errorf("%s: %v, want %d items", where, got, len(want))
			return
		}
		for i := range want {
			compare(t, fmt.Sprintf("%s[%d]", where, i), items[i], want[i])
		}
	case float64:
		if n, ok := got.(float64); !ok || math.Abs(n-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
}

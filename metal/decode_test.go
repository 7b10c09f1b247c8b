package metal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDecodeOwnRecordings runs Decode over the recordings of this tree, whose
// numbers are made up.
func TestDecodeOwnRecordings(t *testing.T) {
	seen := decodeRecordings(t, "testdata/decode")
	for _, source := range Sources() {
		if own := []string{"sysctl", "vm_stat", "memory_pressure"}; !slices.Contains(own, source) && seen[source] < 2 {
			t.Errorf("%d recordings of %s", seen[source], source)
		}
	}
}

// TestDecodeSharedRecordings runs it over what other people's machines printed,
// which is no part of this tree.
func TestDecodeSharedRecordings(t *testing.T) {
	const folder = "../../shared/fixtures"
	if _, err := os.Stat(filepath.Join(folder, "expected.json")); err != nil {
		t.Skipf("the shared recordings are not here: %v", err)
	}
	seen, all := decodeRecordings(t, folder), 0
	for _, source := range Sources() {
		if seen[source] == 0 {
			t.Errorf("no recording of %s", source)
		}
		all += seen[source]
	}
	t.Logf("%d recordings of %d sources", all, len(Sources()))
}

func decodeRecordings(t *testing.T, folder string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]struct{ Expect map[string]any }
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for name, e := range expected {
		source, _, _ := strings.Cut(name, "/")
		if !slices.Contains(Sources(), source) {
			continue
		}
		seen[source]++
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			got := decodedObject(t, source, data)
			if _, ok := e.Expect["error"]; !ok && got["error"] != nil {
				t.Errorf("error %v, want none", got["error"])
			}
			for _, fault := range differences(e.Expect, got) {
				t.Error(fault)
			}
		})
	}
	return seen
}

// decodedObject is what Decode tells, as JSON.
func decodedObject(t *testing.T, source string, data []byte) map[string]any {
	t.Helper()
	value, err := Decode(source, data)
	var fault *TextError
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("the error %v has no kind", err)
	}
	text, err := MarshalDecoded(value, err)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

// differences demands every wanted field, to the last digit. What a person still
// reads by eye in a recording is not asked for.
func differences(want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf(" is %v, want %v", got, want)}
		}
		var faults []string
		for name, v := range w {
			if strings.HasPrefix(name, "by_eye_") {
				continue
			}
			if _, ok := g[name]; !ok && v != nil {
				faults = append(faults, name+" is not decoded")
				continue
			}
			for _, f := range differences(v, g[name]) {
				faults = append(faults, name+"."+f)
			}
		}
		return faults
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{fmt.Sprintf(" is %v, want %v", got, want)}
		}
		var faults []string
		for i := range w {
			for _, f := range differences(w[i], g[i]) {
				faults = append(faults, fmt.Sprintf("[%d].%s", i, f))
			}
		}
		return faults
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-w) <= 1e-9*max(1, math.Abs(w)) {
			return nil
		}
	default:
		if got == want {
			return nil
		}
	}
	return []string{fmt.Sprintf(" is %v, want %v", got, want)}
}

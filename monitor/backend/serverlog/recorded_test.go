package serverlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor/request"
)

// shared is a file beside the repository; a test that needs one skips without.
func shared(t testing.TB, path ...string) []byte {
	t.Helper()
	file := filepath.Join(append([]string{"..", "..", "..", "..", "shared"}, path...)...)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%s is not there", file)
	}
	return data
}

// TestFixtures checks every value that the collected logs are known to have.
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
		file, ours := strings.CutPrefix(name, "ollama_log/")
		if !ours {
			continue
		}
		checked++
		t.Run(file, func(t *testing.T) {
			got, err := DecodeRecorded(shared(t, "fixtures", "ollama_log", file))
			if err != nil {
				t.Fatalf("%s: %v", want.What, err)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				t.Fatal(err)
			}
			compare(t, "", value, want.Expect)
		})
	}
	if checked < 12 {
		t.Errorf("only %d logs were checked", checked)
	}
}

// compare checks every expected field, null as absent.
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
			has, there := fields[name]
			if !there {
				t.Errorf("%s.%s is not there", where, name)
			}
			compare(t, where+"."+name, has, value)
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

func TestRecordedWithoutALog(t *testing.T) {
	for text, kind := range map[string]string{"": "truncated", " \n ": "truncated", "Hello world\nThis is no log\n": "labels_not_recognised"} {
		value, err := DecodeRecorded([]byte(text))
		e, ok := errors.AsType[*RecordedError](err)
		if !ok || e.ErrorKind() != kind || value == nil {
			t.Errorf("%q: %v, %v; want %s", text, value, err, kind)
		}
	}
}

// What the collected logs tell of requests comes out of the Tracker as it stands
// in them.
func TestFixturesAsRequests(t *testing.T) {
	for file, want := range map[string]string{
		"v0.32-llama-server-request-01.txt":   "14518 0 140 7.46 100.91",
		"v0.32-llama-server-cache-hit-01.txt": "32952 32112 138 3.35 49.62",
		"v0.32.9-mlx-request-macos-01.txt":    "633 68 530 23.23 425.34; 337 0 201 31.66 353.31",
	} {
		_, events := parse(string(shared(t, "fixtures", "ollama_log", file)))
		tracker := request.NewTracker()
		var last time.Time
		for _, e := range events {
			if l, ok := e.Line("ollama"); ok {
				tracker.Log(request.Moment{Wall: l.At, Awake: l.At.Sub(noon)}, l)
				last = l.At
			}
		}
		var got []string
		for _, r := range tracker.Requests(request.Moment{Wall: last, Awake: last.Sub(noon)}) {
			if r.PromptTokens == nil {
				continue // the line of a load
			}
			if r.Phase != request.PhaseDone || r.OutputTokens == nil || r.Decode == nil || r.Prefill == nil || r.CachedTokens == nil {
				t.Errorf("%s: %+v", file, r)
				continue
			}
			if source := r.Decode.Source; source != request.SourceServer && (source != request.SourceLog || !r.Decode.Approximate) || (source == request.SourceLog) != strings.Contains(file, "mlx") {
				t.Errorf("%s: decode rate %+v", file, r.Decode)
			}
			got = append(got, fmt.Sprintf("%d %d %d %.2f %.2f", *r.PromptTokens, *r.CachedTokens, *r.OutputTokens, r.Decode.Value, r.Prefill.Value))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: %s, want %s", file, s, want)
		}
	}
}

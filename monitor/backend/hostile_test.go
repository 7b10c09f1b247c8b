package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// many is a list of n models, each entry made by one.
func many(n int, one func(int) string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = one(i)
	}
	return `{"models":[` + strings.Join(entries, ",") + `]}`
}

// TestRepliesThatNoServerGives: what they hold would be kept, or gone through, at
// every tick.
func TestRepliesThatNoServerGives(t *testing.T) {
	for _, row := range []struct{ what, path, body, detail string }{
		{"hundred thousand models in memory", "GET /api/ps", many(100_000, func(i int) string { return fmt.Sprintf(`{"name":"m%d"}`, i) }), "longer than 128 KiB"},
		{"three hundred models in memory", "GET /api/ps", many(300, func(i int) string { return fmt.Sprintf(`{"name":"m%d"}`, i) }), "more than 256 models"},
		{"a name of a megabyte", "GET /api/ps", `{"models":[{"name":"` + strings.Repeat("x", 1<<20) + `"}]}`, "longer than 128 KiB"},
		{"a version of a megabyte", "GET /api/version", `{"version":"` + strings.Repeat("9", 1<<20) + `"}`, "not one of this kind"},
	} {
		a := backendAt(t, newFake(t, map[string]http.HandlerFunc{row.path: says(row.body)}).URL).Poll(t.Context())
		if a.Status.State != Failed || !strings.Contains(a.Status.Detail, row.detail) || len(a.Residents) > 0 {
			t.Errorf("%s: %s with %d models", row.what, pretty(a.Status), len(a.Residents))
		}
	}
}

// TestWhatIsAnsweredCanBeWritten: JSON has no form for some times that can be read.
func TestWhatIsAnsweredCanBeWritten(t *testing.T) {
	for _, at := range []string{
		"2026-12-01T00:00:00+24:00", "2026-12-01T00:00:00-24:00", "2026-12-01T00:00:00+23:60",
		"0000-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "2026-12-01T00:00:00.123456789+05:30",
	} {
		f := newFake(t, map[string]http.HandlerFunc{
			"GET /api/ps":   says(`{"models":[{"name":"a","expires_at":"` + at + `"}]}`),
			"GET /api/tags": says(`{"models":[{"name":"a","modified_at":"` + at + `"}]}`),
		})
		a := backendAt(t, f.URL).Poll(t.Context())
		if _, err := json.Marshal(a); err != nil || len(a.Residents) != 1 || len(a.Models) != 1 {
			t.Errorf("%s: %v, %s", at, err, pretty(a.Status))
		}
	}
}

func TestDetailsAreBounded(t *testing.T) {
	words := make([]string, 1000)
	for i := range words {
		words[i] = `"completion"`
	}
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /api/ps": says(`{"models":[{"name":"a:latest","digest":"d"}]}`),
		"POST /api/show": says(`{"modelfile":"FROM /` + strings.Repeat("x", 1<<20) + `sha256","capabilities":["` + strings.Repeat("y", 1<<20) + `",` +
			strings.Join(words, ",") + `],"model_info":{"general.architecture":"llama","llama.context_length":1e300}}`),
	})
	r := backendAt(t, f.URL).Poll(t.Context()).Residents[0]
	if len(r.Capabilities) != capabilityMost-1 || len(r.Weights) > 0 || r.TrainedContext != nil {
		t.Errorf("%d capabilities, a path of %d bytes, context %v", len(r.Capabilities), len(r.Weights), r.TrainedContext)
	}
}

// TestALongListCostsLittle: with each of a hundred thousand models looked through
// for each in memory, a poll would not end in time.
func TestALongListCostsLittle(t *testing.T) {
	o := &ollama{shown: map[string]*shown{}, now: time.Now, places: map[string]int{}}
	for i := range 100_000 {
		name := fmt.Sprintf("Model-%d:latest", i)
		o.models = append(o.models, listed{Model: Model{Model: name, Cloud: i == 99_999}})
		o.places[place(name)] = i
	}
	if n := testing.AllocsPerRun(100, func() { o.cloud("library/model-99999") }); n > 10 {
		t.Errorf("%v allocations to find one", n)
	}
	if !o.cloud("library/model-99999") || o.cloud("model-99998") {
		t.Error("found another")
	}
}

// TestNoErrorShowsAPassword: nor does what is shown of an address that cannot be used.
func TestNoErrorShowsAPassword(t *testing.T) {
	for _, address := range []string{
		"http://me:sec/ret@host", "me:sec/ret@host", "http://me:sec@ret@host:99999", "https://me:secret@[::1", "ftp://me:secret@host",
		"me:secret@host?query", "http://sec/ret@host:1", "http://me:secret@host:0",
	} {
		_, err := ParseHost(address)
		if err != nil && (strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret@")) {
			t.Errorf("%s: %v", address, err)
		}
		if shown := WithoutUser(address); strings.Contains(shown, "sec") || strings.Contains(shown, "ret") || !strings.Contains(shown, "1") && !strings.Contains(shown, "host") {
			t.Errorf("%s is shown as %s", address, shown)
		}
	}
	for address, want := range map[string]string{"": "", "host": "host", "http://host:1/x": "http://host:1/x", "u@host": "host", "https://u:p@host/x": "https://host/x"} {
		if got := WithoutUser(address); got != want {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}

// TestACommandToAServerThatIsAwaySaysSo: the code is what crosses the API, and what
// a person's sentence is made of.
func TestACommandToAServerThatIsAwaySaysSo(t *testing.T) {
	for _, row := range []struct{ address, code string }{
		{unused(t), "not_running"}, {raw(t, silent), "timeout"}, {answering(t, says("null")), "failed"},
	} {
		err := backendAt(t, row.address).Unload(t.Context(), "a")
		var coded interface{ Code() string }
		if !errors.As(err, &coded) || coded.Code() != row.code {
			t.Errorf("%v: want the code %s", err, row.code)
		}
	}
}

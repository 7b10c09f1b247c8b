package backend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLookingAsksOnlyWhatItMay is about what a thousand polls send: nothing that
// loads a model, generates, or moves an expiry, and of the rest no more than said.
func TestLookingAsksOnlyWhatItMay(t *testing.T) {
	const polls, apart = 1000, 2 * time.Second
	ps := func(models ...string) string {
		var entries []string
		for _, m := range models {
			entries = append(entries, fmt.Sprintf(`{"name":%q,"model":%q,"size":1,"digest":"d-%s","expires_at":"2030-01-01T00:00:00Z","size_vram":1}`, m, m, m))
		}
		return `{"models":[` + strings.Join(entries, ",") + `]}`
	}
	f := newFake(t, nil)
	c := &clock{at: time.Date(2029, 12, 31, 0, 0, 0, 0, time.UTC)}
	o := backendAt(t, f.URL, WithClock(c.now))
	for i := range polls {
		switch i {
		case 100:
			f.set("GET /api/ps", says(ps("a:latest", "b:latest")))
		case 500: // the order flips, which is no change
			f.set("GET /api/ps", says(ps("b:latest", "a:latest")))
		case 700:
			f.set("GET /api/ps", says(ps("b:latest")))
		}
		if a := o.Poll(t.Context()); a.Status.State != Running {
			t.Fatalf("poll %d: %s", i, pretty(a.Status))
		}
		c.advance(apart)
	}
	counts := map[string]int{}
	for _, r := range f.requests() {
		counts[r.what]++
		if r.what != "POST /api/show" && r.body != "" {
			t.Fatalf("%s with a body: %s", r.what, r.body)
		}
	}
	// The list of models: each minute, a minute after the last time, which the
	// changes at polls 100 and 700 bring forward.
	lists := 0
	for _, stretch := range []int{100, 600, 300} {
		lists += (stretch + 29) / 30
	}
	want := map[string]int{
		"GET /api/ps":      polls,
		"GET /api/version": (polls*2 + 299) / 300,
		"GET /api/tags":    lists,
		"POST /api/show":   2,
	}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("sent %v, want %v", counts, want)
	}
}

func TestReconnectAsksAfresh(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"GET /api/ps": says(`{"models":[{"name":"a:latest","digest":"d"}]}`)})
	o := backendAt(t, f.URL)
	o.Poll(t.Context())
	f.set("GET /api/ps", fails(503, "", ""))
	if a := o.Poll(t.Context()); a.Status.State != Failed {
		t.Fatalf("%s", pretty(a.Status))
	}
	f.requests()
	f.set("GET /api/version", says(`{"version":"0.18.0"}`))
	f.set("GET /api/ps", says(`{"models":[{"name":"a:latest","digest":"d"}]}`))
	a := o.Poll(t.Context())
	var asked []string
	for _, r := range f.requests() {
		asked = append(asked, r.what)
	}
	if want := "[GET /api/version GET /api/ps GET /api/tags]"; fmt.Sprint(asked) != want || a.Status.Version != "0.18.0" {
		t.Errorf("asked %v, version %s; want %s", asked, a.Status.Version, want)
	}
}

func TestRecordedServers(t *testing.T) {
	for _, folder := range recordings {
		t.Run(folder, func(t *testing.T) {
			f := newFake(t, map[string]http.HandlerFunc{
				"GET /api/version": replay(t, folder, "version"),
				"GET /api/ps":      replay(t, folder, "ps-keepalive-minus1"),
				"GET /api/tags":    replay(t, folder, "tags"),
				"POST /api/show":   replay(t, folder, "show"),
			})
			o := backendAt(t, f.URL)
			a := o.Poll(t.Context())
			if want := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(folder, "-default"), "v"), "-new-engine"); a.Status.Version != want {
				t.Errorf("version %q, want %q", a.Status.Version, want)
			}
			if len(a.Models) < 8 || *a.Status.Installed != len(a.Models) || *a.Status.Cloud != 0 {
				t.Errorf("%d models, installed %v, cloud %v", len(a.Models), *a.Status.Installed, *a.Status.Cloud)
			}
			if !slices.IsSortedFunc(a.Models, func(x, y Model) int { return strings.Compare(x.Model, y.Model) }) {
				t.Error("models are not sorted")
			}
			for _, m := range a.Models {
				if m.Size == nil || *m.Size < 400_000 || m.Family != "llama" || m.Modified == nil || m.Quantization != "" {
					t.Errorf("model %s", pretty(m))
				}
			}
			if len(a.Residents) != 2 || a.Residents[0].Model != "probe-stop:latest" || a.Residents[1].Model != "probe-tiny:latest" {
				t.Fatalf("residents %s", pretty(a.Residents))
			}
			stop, tiny := a.Residents[0], a.Residents[1]
			if !tiny.Pinned || tiny.Expires != nil || stop.Pinned || stop.Expires == nil {
				t.Errorf("pinned %v until %v, other pinned %v until %v", tiny.Pinned, tiny.Expires, stop.Pinned, stop.Expires)
			}
			// On the CPU: a real 0, not an absent value.
			if tiny.Size == nil || *tiny.Size < 1_000_000 || tiny.GPU == nil || *tiny.GPU != 0 {
				t.Errorf("%s", pretty(tiny))
			}
			if old := folder == "v0.6.5"; (tiny.Context == nil) != old || !old && *tiny.Context != 4096 {
				t.Errorf("context %v", tiny.Context)
			}
			if tiny.TrainedContext == nil || *tiny.TrainedContext != 8192 || tiny.Parameters != "111K" {
				t.Errorf("%s", pretty(tiny))
			}
			if !slices.Equal(tiny.Capabilities, []string{"completion"}) {
				t.Errorf("capabilities %q", tiny.Capabilities)
			}
			if !strings.HasPrefix(tiny.Weights, "/srv/ollama/store") || !strings.Contains(tiny.Weights, "/blobs/sha256-") {
				t.Errorf("weights in %q", tiny.Weights)
			}
			f.set("GET /api/ps", replay(t, folder, "ps-numctx-1024"))
			if a := o.Poll(t.Context()); folder != "v0.6.5" && *a.Residents[0].Context != 1024 {
				t.Errorf("context %v, want 1024", *a.Residents[0].Context)
			}
			f.set("GET /api/ps", replay(t, folder, "ps-empty"))
			if a := o.Poll(t.Context()); a.Residents == nil || len(a.Residents) != 0 {
				t.Errorf("nothing in memory gives %v", a.Residents)
			}
		})
	}
}

// TestRecordedTimelines plays what /api/ps said while a model loaded, was busy
// beyond its expiry, and was told to go while busy: expiries pass as they are.
func TestRecordedTimelines(t *testing.T) {
	for _, folder := range recordings {
		for _, name := range []string{"generate-cold-load", "busy-beyond-expiry", "stopping-while-busy"} {
			f := newFake(t, nil)
			c := &clock{}
			o := backendAt(t, f.URL, WithClock(c.now))
			past, polls := 0, 0
			for line := range strings.Lines(recorded(t, folder, name+".ps-timeline.jsonl")) {
				var poll struct {
					At   time.Time
					Body struct {
						Models []struct{ Expires_at time.Time }
					}
				}
				if err := json.Unmarshal([]byte(line), &poll); err != nil {
					t.Fatal(err)
				}
				var body struct{ Body json.RawMessage }
				if err := json.Unmarshal([]byte(line), &body); err != nil {
					t.Fatal(err)
				}
				f.set("GET /api/ps", says(string(body.Body)))
				c.at = poll.At
				a := o.Poll(t.Context())
				if a.Status.State != Running || len(a.Residents) != len(poll.Body.Models) {
					t.Fatalf("%s %s: %s", folder, name, pretty(a))
				}
				polls++
				for i, r := range a.Residents {
					if r.Pinned || r.Expires == nil || !r.Expires.Equal(poll.Body.Models[i].Expires_at) {
						t.Errorf("%s %s: expires %v, want %v", folder, name, r.Expires, poll.Body.Models[i].Expires_at)
					} else if r.Expires.Before(poll.At) {
						past++
					}
				}
			}
			if polls < 4 || name == "stopping-while-busy" && past == 0 || name == "generate-cold-load" && past > 0 {
				t.Errorf("%s %s: %d polls, %d expiries in the past", folder, name, polls, past)
			}
		}
	}
}

func TestDetailsAreAskedOnceAndBounded(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{"POST /api/show": fails(404, "application/json", `{"error":"model not found"}`)})
	c := &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	o := backendAt(t, f.URL, WithClock(c.now))
	shows := func() (n int) {
		for _, r := range f.requests() {
			if r.what == "POST /api/show" {
				n++
			}
		}
		return n
	}
	f.set("GET /api/ps", says(`{"models":[{"model":"a","digest":"d"}]}`))
	for range 10 {
		o.Poll(t.Context())
		c.advance(2 * time.Second)
	}
	if n := shows(); n != 1 {
		t.Errorf("details that cannot be had were asked for %d times in 20 s", n)
	}
	c.advance(shownRetry)
	f.set("POST /api/show", replay(t, "v0.17.4-default", "show"))
	for range 3 {
		o.Poll(t.Context())
	}
	if n := shows(); n != 1 || o.shown["d"].failed {
		t.Errorf("later they were asked for %d times, still failed: %v", n, o.shown["d"].failed)
	}
	for i := range 300 {
		f.set("GET /api/ps", says(fmt.Sprintf(`{"models":[{"model":"a","digest":"d%d"}]}`, i)))
		o.Poll(t.Context())
	}
	if len(o.shown) > shownMost {
		t.Errorf("%d details are remembered", len(o.shown))
	}
}

func TestWeightsFile(t *testing.T) {
	for modelfile, want := range map[string]string{
		"# FROM tiny:latest\n\nFROM /a b/blobs/sha256-12\nTEMPLATE x\n": "/a b/blobs/sha256-12",
		"FROM /x/sha256:12": "/x/sha256:12",
		`FROM C:\Users\me\.ollama\models\blobs\sha256-12`: `C:\Users\me\.ollama\models\blobs\sha256-12`,
		"FROM llama3.2:latest\n":                          "",
		"":                                                "",
		"FROM /m/sha256-1\nFROM /m/sha256-2\nADAPTER y": "/m/sha256-1",
	} {
		if got := weightsFile(modelfile); got != want {
			t.Errorf("%q: %q, want %q", modelfile, got, want)
		}
	}
}

func TestRecordedTables(t *testing.T) {
	for _, folder := range recordings {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.cli-ps.txt"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", folder, files, err)
		}
		rows, err := DecodeTable(recorded(t, folder, "stopping-while-busy.cli-ps.txt"))
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %v %v", folder, rows, err)
		}
		r := rows[0]
		if r.Model != "probe-m512:latest" || !r.Stopping || r.Pinned || *r.GPU != 0 || r.Size < 0.1 || r.Size > 0.4 || (r.Context == nil) != (folder == "v0.6.5") {
			t.Errorf("%s: %s", folder, pretty(r))
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	f := twoResident(t)
	o := backendAt(t, f.URL)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if a := o.Poll(t.Context()); a.Status.State != Running || len(a.Residents) != 2 {
					t.Errorf("%s", pretty(a))
				}
				if err := o.Unload(t.Context(), "talker"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

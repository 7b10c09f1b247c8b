package term

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test ./app/term -update writes it anew. Got:\n%s\nwant:\n%s", path, got, want)
	}
}

// example is the update that plimsoll replay --fields shows.
func example(t *testing.T) monitor.Update {
	t.Helper()
	var u monitor.Update
	if err := json.Unmarshal([]byte(view.Example()), &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// quiet is a machine without a server, where little is known.
func quiet(t *testing.T) monitor.Update {
	u := example(t)
	s := *u.Snapshot
	s.GPU, s.Thermal, s.Headroom, s.Residents, s.Consumers = nil, nil, nil, nil, nil
	s.Backends = []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.NotRunning}}
	return monitor.Update{Snapshot: &s}
}

func render(words *view.Renderer, u monitor.Update) view.View {
	return words.Render(u, u.Snapshot.Taken)
}

func TestStatus(t *testing.T) {
	for name, u := range map[string]monitor.Update{"full": example(t), "quiet": quiet(t)} {
		for _, language := range []string{"en", "zh"} {
			words := view.In(language)
			golden(t, name+"."+language+".txt", Page{Words: words, Width: 80}.Status(render(words, u)))
		}
	}
	words := view.In("en")
	golden(t, "full.en.colour.txt", Page{Words: words, Width: 80, Colour: true}.Status(render(words, example(t))))
	golden(t, "full.en.narrow.txt", Page{Words: words, Width: 36}.Status(render(words, example(t))))
}

func TestNoLineIsWiderThanThePage(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		words := view.In(language)
		for width := 1; width <= 200; width++ {
			page := Page{Words: words, Width: width}
			for _, line := range strings.Split(page.Status(render(words, example(t))), "\n") {
				if most := max(width, narrowest); Width(line) > most {
					t.Fatalf("%s at %d columns: %q has %d", language, width, line, Width(line))
				}
			}
		}
	}
}

func TestAnEmptyViewIsAPage(t *testing.T) {
	if got := (Page{Words: view.In("en"), Width: 80}).Status(view.View{}); !strings.HasPrefix(got, "Plimsoll\n") {
		t.Errorf("an empty view gives %q", got)
	}
}

func TestNothingFromOutsideReachesTheTerminalUnclean(t *testing.T) {
	evil := "a\x1b[31mb\u202ec\r\nd\x00\xffe"
	v := view.View{
		Demo: evil, Machine: view.Row{Text: evil}, Line: view.Row{Label: evil, Text: evil, Detail: evil}, Memory: view.Row{Label: evil, Text: evil},
		Stale: evil, Alerts: []view.Alert{{Title: evil, Text: evil}}, Models: []view.Model{{Name: evil, Text: evil}},
		Servers: []view.Server{{Name: evil, Text: evil, Next: evil}}, Consumers: []view.Row{{Label: evil, Text: evil}},
		Bar: view.Bar{Total: 10, Segments: []view.Segment{{Label: evil, Text: evil, Bytes: 10}}, Marks: []view.Mark{{Label: evil, At: 5}}},
	}
	got := Page{Words: view.In("en"), Width: 80}.Status(v) + Page{}.Table([][]string{{evil, evil}})
	if strings.ContainsAny(got, "\x1b\r\x00\u202e") || !strings.Contains(got, "a") {
		t.Errorf("control characters came through: %q", got)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 100, []string{"one two three"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"内存压力正常", 6, []string{"内存压", "力正常"}},
		{"内存压力，正常", 8, []string{"内存压", "力，正常"}},
		{"卸载 qwen3:14b 吧", 10, []string{"卸载", "qwen3:14b", "吧"}},
		{"表", 1, []string{"表"}},
	} {
		got := Wrap(c.text, c.width)
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestTheBarIsAlwaysFull(t *testing.T) {
	bar := view.Bar{Total: 32 << 30}
	for _, n := range []uint64{1, 5 << 30, 0, 20 << 30, 7<<30 - 1} {
		bar.Segments = append(bar.Segments, view.Segment{Bytes: n})
	}
	for width := 5; width < 100; width++ {
		sum := 0
		for i, n := range shares(bar, width) {
			sum += n
			if n == 0 && bar.Segments[i].Bytes > 0 {
				t.Errorf("at %d columns segment %d is not seen", width, i)
			}
		}
		if sum != width {
			t.Errorf("at %d columns the segments have %d", width, sum)
		}
	}
}

func TestTable(t *testing.T) {
	got := Page{Width: 30}.Table([][]string{{"模型", "SIZE", "STATE"}, {"qwen3:14b", "8.3 GiB", "in 4 min and some more"}})
	want := "模型       SIZE     STATE\nqwen3:14b  8.3 GiB  in 4 min …\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLive(t *testing.T) {
	var out bytes.Buffer
	live := NewLive(&out, true)
	for range 2 {
		if err := live.Show("a\nb\nc\n", 2); err != nil {
			t.Fatal(err)
		}
	}
	live.End()
	live.End()
	page := "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"
	if want := "\x1b[?1049h\x1b[?25l" + page + page + "\x1b[?25h\x1b[?1049l"; out.String() != want {
		t.Errorf("on a terminal: %q, want %q", out.String(), want)
	}
	out.Reset()
	live = NewLive(&out, false)
	live.Show("a\n", 0)
	live.Show("b\n", 0)
	live.End()
	if out.String() != "a\n\nb\n" {
		t.Errorf("into a file: %q", out.String())
	}
}

func BenchmarkStatus(b *testing.B) {
	var u monitor.Update
	json.Unmarshal([]byte(view.Example()), &u)
	words := view.In("en")
	v := words.Render(u, time.Now())
	for b.Loop() {
		_ = Page{Words: words, Width: 80, Colour: true}.Status(v)
	}
}

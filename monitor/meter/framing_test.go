package meter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told collects the models of the records in a text that comes in pieces, "-" for
// a broken one and "end" for the mark of the end.
func told(f framing, text string, cut int) []string {
	var got []string
	model := ""
	r := newRecords(f, func(path []byte, _ byte, text []byte, _ int) {
		if string(path) == "model" {
			model = string(text)
		}
	})
	r.whole = func() { got = append(got, model); model = "" }
	r.broken = func() { got = append(got, "-"); model = "" }
	r.finished = func() { got = append(got, "end") }
	for i := 0; i < len(text); i += cut {
		r.feed([]byte(text[i:min(i+cut, len(text))]))
	}
	r.end()
	return got
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		name string
		f    framing
		text string
		want string
	}{
		{"lines", framingLines, "{\"model\":\"a\"}\n{\"model\":\"b\"}\n", "a b"},
		{"lines with returns", framingLines, "{\"model\":\"a\"}\r\n\r\n{\"model\":\"b\"}\r\n", "a b"},
		{"no end of the last line", framingLines, "{\"model\":\"a\"}\n{\"model\":\"b\"}", "a b"},
		{"a cut line", framingLines, "{\"model\":\"a\"}\n{\"model\":\"b", "a"},
		{"a line cut by another", framingLines, "{\"model\":\"a\n{\"model\":\"b\"}\n", "- b"},
		{"a raw tab", framingLines, "{\"model\":\"a\tb\"}\n{\"model\":\"c\"}\n", "- c"},
		{"a mark of byte order", framingLines, "\ufeff{\"model\":\"a\"}\n{\"model\":\"c\"}\n", "- c"},
		{"two in a line", framingLines, "{\"model\":\"a\"} {\"model\":\"b\"}\n", "a b"},
		{"one value", framingValue, "{\n  \"model\":\n \"a\"}\n", "a"},
		{"one value cut", framingValue, "{\"model\":\"a\"", ""},
		{"lines that say they are one value", framingValue, "{\"model\":\"a\"}\n{\"model\nb\"}\n{\"model\":\"c\"}", "a - - c"},
		{"a page", framingValue, "<html>", "-"},
		{"events", framingEvents, "data: {\"model\":\"a\"}\n\ndata: {\"model\":\"b\"}\n\ndata: [DONE]\n\n", "a b end"},
		{"events with returns", framingEvents, "data: {\"model\":\"a\"}\r\n\r\ndata:{\"model\":\"b\"}\r\rdata: [DONE]\r\n\r\n", "a b end"},
		{"events with a mark of byte order", framingEvents, "\ufeffdata: {\"model\":\"a\"}\n\n", "a"},
		{"events with names", framingEvents, ": ping\n\nevent: x\nid: 7\nretry: 3\ndata: {\"model\":\"a\"}\n\n", "a"},
		{"data over lines", framingEvents, "data: {\"model\":\ndata: \"a\"}\n\n", "a"},
		{"data broken over lines", framingEvents, "data: {\"model\":\"a\ndata: b\"}\n\ndata: {\"model\":\"c\"}\n\n", "- c"},
		{"events not parted", framingEvents, "data: {\"model\":\"a\"}\ndata: {\"model\":\"b\"}\n", "a b"},
		{"no data", framingEvents, "event: done\n\ndata\n\nother: {}\n\n", ""},
		{"almost the mark", framingEvents, "data: [DONE\n\ndata: {\"model\":\"a\"}\n\n", "- a"},
		{"data that is no JSON", framingEvents, "data: hello\n\ndata: {\"model\":\"a\"}\n\n", "- a"},
		{"old llama-server's error", framingEvents, "error: {\"model\":\"a\"}\n\n", "a"},
	} {
		for cut := 1; cut <= len(c.text); cut++ {
			if got := strings.Join(told(c.f, c.text, cut), " "); got != c.want {
				t.Errorf("%s in pieces of %d: %q, want %q", c.name, cut, got, c.want)
				break
			}
		}
	}
}

func TestFramingOf(t *testing.T) {
	for kind, want := range map[string]framing{
		"application/x-ndjson": framingLines, "application/json; charset=utf-8": framingValue, "text/event-stream; charset=utf-8": framingEvents,
		"application/problem+json": framingValue, "text/plain": framingNone, "": framingNone, "text/event-stream;": framingEvents,
	} {
		if got := framingOf(kind); got != want {
			t.Errorf("%q: framing %d, want %d", kind, got, want)
		}
	}
}

// FuzzRecords: however an answer is cut into pieces, the same is read in it; and
// lines are read as a reader of whole lines would.
func FuzzRecords(f *testing.F) {
	for _, s := range []string{"{\"model\":\"a\"}\n{\"model\":\"b\"}\r\n", "data: {\"model\":\"a\"}\r\n\r\ndata: [DONE]\n\n", "\xef\xbb\xbfdata:[DONE]x\n", "error: {}\n\n", "[1]\n2\n\"x\"\n{}{}"} {
		f.Add(s, uint8(3), uint8(framingEvents))
		f.Add(s, uint8(1), uint8(framingLines))
	}
	f.Fuzz(func(t *testing.T, text string, cut, how uint8) {
		kind := framing(how % 4)
		whole := told(kind, text, max(1, len(text)))
		if pieces := told(kind, text, max(1, int(cut))); !slices.Equal(whole, pieces) {
			t.Errorf("%q as %d: whole %q, in pieces of %d %q", text, kind, whole, cut, pieces)
		}
		if kind != framingLines || strings.ContainsAny(text, "0123456789[") {
			return // numbers are checked loosely, and arrays have no model
		}
		good := 0
		for line := range strings.Lines(text) {
			if json.Valid([]byte(line)) {
				good++
			}
		}
		if got := len(whole) - occurrences(whole, "-"); got < good {
			t.Errorf("%q: %d lines are good, read %s", text, good, fmt.Sprint(whole))
		}
	})
}

func occurrences(all []string, what string) (n int) {
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}

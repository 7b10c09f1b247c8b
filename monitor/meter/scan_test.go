package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// seen collects what a scan tells, as "path kind text".
func seen(s *scan, into *[]string) {
	s.value = func(path []byte, kind byte, text []byte, size int) {
		*into = append(*into, fmt.Sprintf("%s %c %s", path, kind, text))
	}
}

func TestScanTellsScalarsUnderTheirPath(t *testing.T) {
	const text = `{"a":1,"b":{"c":"x\"\u00e9","d":[true,{"e":null},[false]],"":-2.5e3},"f":[],"g":{},"h":"end"}`
	want := []string{`a 0 1`, `b.c " x\"\u00e9`, `b.d t t`, `b.d.e n n`, `b.d f f`, `b. 0 -2.5e3`, `h " end`}
	for cut := 1; cut <= len(text); cut++ {
		var s scan
		var got []string
		seen(&s, &got)
		for i := 0; i < len(text); i += cut {
			s.feed([]byte(text[i:min(i+cut, len(text))]))
		}
		if s.state != scanDone || !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: %q, want %q", cut, got, want)
		}
	}
}

func TestScanKeepsLittle(t *testing.T) {
	var s scan
	size, longest := 0, 0
	s.value = func(_ []byte, _ byte, text []byte, n int) { size, longest = max(size, n), max(longest, len(text)) }
	line := append(append([]byte(`{"model":"m","response":"`), bytes.Repeat([]byte("x"), 16<<20)...), `","done":true}`...)
	allocated := testing.AllocsPerRun(1, func() {
		s.reset()
		s.feed(line)
	})
	if s.state != scanDone || size != 16<<20 || longest != textLimit || allocated > 5 || cap(s.text) > 2*textLimit {
		t.Errorf("16 MiB: state %d, size %d, kept %d (%d), %.0f allocations", s.state, size, longest, cap(s.text), allocated)
	}
}

func TestScanRefusesWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{
		"{\"a\":\"x\ty\"}", "{\"a\":\"\x1b\"}", "\ufeff{}", `{"a"}`, `{"a":}`, `{,}`, `[1,]`, `{"a":1,}`, `[1}`, `{"a":tru}`,
		`{"a":"\x"}`, `{"a":"\u12g4"}`, `{a:1}`, `]`, `{"a" 1}`, strings.Repeat("[", nestLimit+1),
	} {
		var s scan
		var got []string
		seen(&s, &got)
		s.feed([]byte(text))
		if s.end(); s.state != scanFailed {
			t.Errorf("%q was taken for JSON (state %d)", text, s.state)
		}
	}
}

// FuzzScan holds the scan against encoding/json: what is valid there is valid here,
// and what is valid here differs there by its numbers alone.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":"c\u0041"}],"d":null}`, `[]`, `"x"`, `1e5`, "{\"a\":\"\t\"}", `{"a":1}}`, ` true `, "\xef\xbb\xbf{}", `[1.2.3]`} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var s scan
		numbers := true
		s.value = func(_ []byte, kind byte, text []byte, _ int) {
			numbers = numbers && (kind != '0' || len(text) < textLimit && json.Valid(text))
		}
		cut = max(1, cut)
		rest := text
		for len(rest) > 0 && s.state != scanDone {
			n := min(cut, len(rest))
			rest = rest[s.feed(rest[:n]):]
		}
		s.end()
		accepted := s.state == scanDone && len(bytes.TrimLeft(rest, " \t\r\n")) == 0
		if valid := json.Valid(text); valid != accepted && (valid || numbers) && bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) < nestLimit {
			t.Errorf("%q: valid %v, accepted %v", text, valid, accepted)
		}
		if cap(s.text) > 2*textLimit || cap(s.path) > 2*pathLimit {
			t.Errorf("it kept %d and %d bytes", cap(s.text), cap(s.path))
		}
	})
}

package main

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	stage(t, false, nil)
	for _, c := range []struct {
		text  string
		width float32
	}{
		{"Swap-out 140 MiB/s. Biggest memory user: qwen3:32b (a model), 20.6 GiB.", 180},
		{"换出 140 MiB/s。占用内存最多：模型 qwen3:32b（20.6 GiB）。请卸载它，否则回答会变得非常慢。", 180},
		{"hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-1M-GGUF:UD-Q4_K_XL", 120},
		{"一二三四五六七八九十，一二三四五六七八九十。", 100},
		{"two\nparagraphs with more than one line each of them", 120},
		{"", 100}, {" ", 100}, {"W", 1},
	} {
		w := body().wrapped()
		w.set(c.text)
		lines := w.lines(c.width)
		if got, want := strip(strings.Join(lines, "")), strip(c.text); got != want {
			t.Errorf("folding changed %q to %q", want, got)
		}
		for _, line := range lines {
			if w.width(line) > c.width && len([]rune(line)) > 1 {
				t.Errorf("line %q of %q is %v wide, more than %v", line, c.text, w.width(line), c.width)
			}
			for _, mark := range "，。、）" {
				if strings.HasPrefix(line, string(mark)) && w.width(line) < c.width-30 {
					t.Errorf("a line begins with %c: %q", mark, lines)
				}
			}
		}
	}
}

func strip(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }

func TestCut(t *testing.T) {
	stage(t, false, nil)
	w := body()
	w.set("hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-1M-GGUF:UD-Q4_K_XL")
	for _, width := range []float32{0, 5, 60, 200, 1000} {
		line := w.lines(width)[0]
		switch {
		case width == 1000 && line != w.text:
			t.Errorf("a text that fits became %q", line)
		case width >= 60 && w.width(line) > width:
			t.Errorf("%q is wider than %v", line, width)
		case width < 1000 && !strings.HasSuffix(line, "…"):
			t.Errorf("%q does not say that it was cut", line)
		}
	}
}

func TestWithout(t *testing.T) {
	for _, c := range [][3]string{
		{"14.8B · 9.3 GiB · in 4 min", "in 4 min", "14.8B · 9.3 GiB"},
		{"busy", "busy", ""}, {"14.8B · 9.3 GiB", "pinned", "14.8B · 9.3 GiB"}, {"", "x", ""},
	} {
		if got := without(c[0], c[1]); got != c[2] {
			t.Errorf("%q without %q is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

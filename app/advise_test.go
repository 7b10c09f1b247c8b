package main

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/sim"
)

func TestAdvise(t *testing.T) {
	both(t, func(t *testing.T, w *world, run func(...string) (int, string, string)) {
		w.load(sim.Model7B)
		w.resident(1)
		for _, c := range []struct {
			args []string
			word string
			says string
		}{
			{[]string{"--context", "500", "--output", "100"}, "either", "Nothing speaks against"},
			{[]string{"--private", "--context", "90000"}, "local", "private"},
			{[]string{"--context", "9000"}, "cloud", "9000 tokens of prompt are over the boundary of 8192"},
			{[]string{"--context", "9000", "--max-context", "16384"}, "either", ""},
			{[]string{"--model", "nosuch:1b"}, "cloud", "no such model"},
		} {
			code, out, errs := run(append([]string{"advise"}, c.args...)...)
			if word, rest, _ := strings.Cut(out, "\n"); code != 0 || word != c.word || !strings.Contains(rest, c.says) {
				t.Errorf("%q: code %d, %q, errors %q; want %s, %q", c.args, code, out, errs, c.word, c.says)
			}
		}
		code, out, _ := run("advise", "--json", "--private")
		var a monitor.Advice
		if err := json.Unmarshal([]byte(out), &a); err != nil || code != 0 || a.Choice != monitor.ChooseLocal || len(a.Vetoes) != 1 {
			t.Errorf("code %d, %v: %s", code, err, out)
		}
	})
}

func TestAdviseRefusesWhatItCannotCount(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{
		{"--context", "-1"}, {"--price-in", "1"}, {"--price-in", "1", "--price-out", "2", "--requests-per-day", "5"},
		{"--price-in", "NaN", "--price-out", "1", "--context", "1", "--output", "1", "--requests-per-day", "5"}, {"extra"},
	} {
		if code, _, errs := w.run(append([]string{"advise"}, args...)...); code != exitUsage || !strings.Contains(errs, "plimsoll advise --help") {
			t.Errorf("%q: code %d, %q", args, code, errs)
		}
	}
}

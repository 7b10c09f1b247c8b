package main

import (
	"strings"
	"testing"

	"plimsoll/app/term"
)

func TestWatchedStatusLivesThroughARestart(t *testing.T) {
	w := newWorld(t)
	socket, stop := w.agent()
	for _, args := range [][]string{{"status", "--watch"}, {"status", "--watch", "--json"}} {
		var out, errs output
		ctx, cancel := contextOf(t)
		ended := make(chan int, 1)
		go func() { ended <- w.program(&out, &errs).run(ctx, append([]string{"--socket", socket}, args...)) }()
		eventually(t, "two updates", func() bool { return strings.Count(out.String(), "Ollama")+strings.Count(out.String(), `"taken"`) >= 2 })
		stop()
		eventually(t, "word of the end", func() bool { return strings.Contains(out.String()+errs.String(), "The agent has ended") })
		_, stop = w.agent()
		before := len(out.String())
		eventually(t, "updates of the next agent", func() bool { return len(out.String()) > before+200 })
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("%q ended with exit code %d\n%s", args, code, errs.String())
		}
	}
}

func TestALiveViewGivesTheTerminalBack(t *testing.T) {
	w := newWorld(t)
	socket, _ := w.agent()
	var out, errs output
	p := w.program(&out, &errs)
	p.terminal = func(any) bool { return true }
	p.size = func() (int, int) { return 50, 12 }
	ctx, cancel := contextOf(t)
	ended := make(chan int, 1)
	go func() { ended <- p.run(ctx, []string{"--socket", socket, "status", "--watch"}) }()
	eventually(t, "a page", func() bool { return strings.Count(out.String(), "\x1b[H") >= 2 })
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	text := out.String()
	if !strings.HasPrefix(text, "\x1b[?1049h") || !strings.HasSuffix(text, "\x1b[?1049l") {
		t.Errorf("the terminal is not given back: %.40q … %q", text, text[max(len(text)-40, 0):])
	}
	for page := range strings.SplitSeq(text, "\x1b[H") {
		lines := strings.Split(page, "\r\n")
		if len(lines) > 12 {
			t.Errorf("a page has %d lines, the terminal 12", len(lines))
		}
		for _, line := range lines {
			if n := term.Width(plainText(line)); n > 50 {
				t.Errorf("%q has %d columns, the terminal 50", line, n)
			}
		}
	}
}

// plainText is a line without control sequences.
func plainText(line string) string {
	for {
		start := strings.IndexByte(line, '\x1b')
		if start < 0 {
			return line
		}
		end := start + 2 + strings.IndexFunc(line[start+2:], func(r rune) bool { return r >= '@' })
		line = line[:start] + line[end+1:]
	}
}

func TestNoColour(t *testing.T) {
	w := newWorld(t)
	terminal := func(p *program) { p.terminal = func(any) bool { return true } }
	if _, out, _ := w.runWith(terminal, "status"); !strings.Contains(out, "\x1b[") {
		t.Error("no colour on a terminal")
	}
	w.env["NO_COLOR"] = "1"
	if _, out, _ := w.runWith(terminal, "status"); strings.Contains(out, "\x1b") {
		t.Errorf("colour in spite of NO_COLOR:\n%q", out)
	}
}

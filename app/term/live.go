package term

import (
	"io"
	"strings"
)

// Live redraws a page in place. On a terminal it has a screen of its own, so
// that what was there before comes back at the end; elsewhere each page is
// written below the last, with an empty line between.
type Live struct {
	out    io.Writer
	screen bool
	shown  bool
}

// NewLive starts a live view; screen says whether out is a terminal.
func NewLive(out io.Writer, screen bool) *Live { return &Live{out: out, screen: screen} }

// Control sequences of xterm, which every terminal of the last decades knows:
// the second screen, the cursor, and clearing.
const (
	enter  = "\x1b[?1049h\x1b[?25l"
	leave  = "\x1b[?25h\x1b[?1049l"
	home   = "\x1b[H"
	clear  = "\x1b[K"
	below  = "\x1b[J"
	ending = clear + "\r\n"
)

// Show draws page, of which at most height lines fit (0: any number). It is one
// write, so that nothing flickers.
func (l *Live) Show(page string, height int) error {
	var b strings.Builder
	switch {
	case !l.screen && l.shown:
		b.WriteString("\n" + page)
	case !l.screen:
		b.WriteString(page)
	default:
		if !l.shown {
			b.WriteString(enter)
		}
		lines := strings.Split(strings.TrimRight(page, "\n"), "\n")
		if height > 0 && len(lines) > height {
			lines = lines[:height]
		}
		b.WriteString(home + strings.Join(lines, ending) + clear + below)
	}
	l.shown = true
	_, err := io.WriteString(l.out, b.String())
	return err
}

// End gives the terminal back as it was.
func (l *Live) End() {
	if l.screen && l.shown {
		io.WriteString(l.out, leave)
	}
	l.shown = false
}

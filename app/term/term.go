// Package term lays a View out for a terminal: as wide as the terminal is, with
// characters that take two columns counted as two, coloured only where colours
// can be seen. What the words are is decided in package view; nothing that a
// server or a recording says can move the cursor or change a colour.
package term

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"plimsoll/app/view"
)

// Page is how a terminal is to be written on.
type Page struct {
	// Words are for what no View says: headings.
	Words *view.Renderer
	// Width is the terminal's, in columns; below narrowest it counts as that.
	Width int
	// Colour allows escape sequences for colour.
	Colour bool
}

// narrowest is the fewest columns that a page is laid out for.
const narrowest = 24

func (p Page) width() int { return max(p.Width, narrowest) }

// columns counts as terminals do in every language: characters of ambiguous
// width (the bar's blocks) are narrow, as most terminals have them.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// Width is how many columns s takes.
func Width(s string) int { return columns.StringWidth(s) }

// Clean replaces what would do something to a terminal instead of being seen:
// control characters, and those that change the direction of what follows.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// Cut shortens s to at most width columns, with a mark where it was cut.
func Cut(s string, width int) string { return columns.Truncate(s, max(width, 1), "…") }

// pad fills s with spaces up to width columns.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-Width(s), 0))
}

// Wrap breaks s into lines of at most width columns: at spaces where there are
// some, and between any two characters that take two columns, as Chinese is
// written. A word longer than a line is broken where it must be.
func Wrap(s string, width int) []string {
	width = max(width, 2)
	var lines []string
	line, used := "", 0
	end := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, used = "", 0
	}
	for _, word := range breakable(s) {
		n := Width(strings.TrimRight(word, " "))
		if used > 0 && used+n > width {
			end()
		}
		for n > width {
			head := columns.Truncate(word, width, "")
			line, word = head, strings.TrimPrefix(word, head)
			end()
			n = Width(strings.TrimRight(word, " "))
		}
		line += word
		used += Width(word)
	}
	if line != "" || len(lines) == 0 {
		end()
	}
	return lines
}

// noStart may not begin a line in Chinese text.
const noStart = "，。、；：？！）》」』”’…％%"

// breakable cuts s into pieces that may each begin a line, spaces kept at the end.
func breakable(s string) []string {
	var pieces []string
	start := 0
	var last rune
	for i, r := range s {
		wide := columns.RuneWidth(r) == 2 || columns.RuneWidth(last) == 2
		if i > start && r != ' ' && !strings.ContainsRune(noStart, r) && (last == ' ' || wide && !strings.ContainsRune("（《「『“‘", last)) {
			pieces = append(pieces, s[start:i])
			start = i
		}
		last = r
	}
	return append(pieces, s[start:])
}

// hang writes text after a head of its own width: the first line beside it, the
// rest below, all within the page.
func (p Page) hang(b *strings.Builder, head, text string, colour style) {
	indent := Width(head)
	for i, line := range Wrap(text, p.width()-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		b.WriteString(head)
		b.WriteString(p.paint(colour, line))
		b.WriteByte('\n')
	}
}

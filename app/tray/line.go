package tray

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longer texts make a menu wider than a small screen.
const (
	titleLimit   = 90  // runes
	tooltipLimit = 600 // runes
)

// line is a row and what it shows now, so that only a change reaches the
// desktop: each costs a message or a hop to the main thread.
type line struct {
	row              Row
	title, tooltip   string
	enabled, visible bool
}

// newLine appends a row and hides it until it has something to say.
func newLine(t Tray, parent Row, clicked func()) *line {
	l := &line{row: t.Row(parent, "", clicked), enabled: true, visible: true}
	l.hide()
	return l
}

// show brings the row to this state. An empty title hides it: a row without
// words is not known or means nothing.
func (l *line) show(title, tooltip string, enabled bool) {
	title, tooltip = clean(title, titleLimit), cleanLines(tooltip, tooltipLimit)
	if title == "" {
		l.hide()
		return
	}
	if l.title != title {
		l.title = title
		l.row.Title(title)
	}
	if l.tooltip != tooltip {
		l.tooltip = tooltip
		l.row.Tooltip(tooltip)
	}
	if l.enabled != enabled {
		l.enabled = enabled
		l.row.Enable(enabled)
	}
	if !l.visible {
		l.visible = true
		l.row.Show(true)
	}
}

// hide leaves the words as they are: they are not seen, and often come back.
func (l *line) hide() {
	if l.visible {
		l.visible = false
		l.row.Show(false)
	}
}

// clean makes one line of text that every desktop can show. Text that is not
// UTF-8 or holds a NUL would end a macOS program or be cut.
func clean(text string, limit int) string {
	return shorten(strings.TrimFunc(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")), isPlainSpace), limit)
}

// cleanLines is clean for text that may have several lines.
func cleanLines(text string, limit int) string {
	return shorten(strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")), limit)
}

// isPlainSpace leaves figure spaces alone: they keep the title's width.
func isPlainSpace(r rune) bool { return r == ' ' }

// shorten cuts after limit runes, the last of them an ellipsis.
func shorten(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := 0
	for i := range text {
		if runes++; runes == limit {
			return text[:i] + "…"
		}
	}
	return text
}

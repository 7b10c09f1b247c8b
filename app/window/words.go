package main

import (
	"strings"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// words is a text without the padding of Fyne's labels, so that columns align
// to the pixel. One line is cut with an ellipsis where it does not fit; with
// wrap set it takes as many lines as it needs, and Chinese may break anywhere.
type words struct {
	widget.BaseWidget
	text   string
	size   fyne.ThemeSizeName
	colour fyne.ThemeColorName
	bold   bool
	mono   bool
	wrap   bool
	align  fyne.TextAlign
}

func newWords(size fyne.ThemeSizeName, colour fyne.ThemeColorName) *words {
	w := &words{size: size, colour: colour}
	w.ExtendBaseWidget(w)
	return w
}

// body, caption and strong are the texts of the window.
func body() *words    { return newWords(theme.SizeNameText, theme.ColorNameForeground) }
func caption() *words { return newWords(theme.SizeNameCaptionText, theme.ColorNamePlaceHolder) }
func strong() *words {
	w := body()
	w.bold = true
	return w
}

func (w *words) wrapped() *words {
	w.wrap = true
	return w
}

func (w *words) trailing() *words {
	w.align = fyne.TextAlignTrailing
	return w
}

// set changes the text and says whether it was another one.
func (w *words) set(text string) bool {
	text = strings.TrimSpace(text)
	if text == w.text {
		return false
	}
	w.text = text
	w.Refresh()
	return true
}

func (w *words) setColour(name fyne.ThemeColorName) {
	if name != w.colour {
		w.colour = name
		w.Refresh()
	}
}

func (w *words) style() fyne.TextStyle { return fyne.TextStyle{Bold: w.bold, Monospace: w.mono} }

func (w *words) width(text string) float32 {
	return fyne.MeasureText(text, w.Theme().Size(w.size), w.style()).Width
}

func (w *words) lineHeight() float32 {
	return fyne.MeasureText("M", w.Theme().Size(w.size), w.style()).Height
}

// natural is the width that the whole text takes on one line.
func (w *words) natural() float32 {
	if w.text == "" {
		return 0
	}
	return w.width(w.text) + 1 // a rounding error must not cost a letter
}

// heightFor is the height that the text takes at a width.
func (w *words) heightFor(width float32) float32 {
	if w.text == "" {
		return 0
	}
	return float32(len(w.lines(width))) * w.lineHeight()
}

// lines cuts the text for a width.
func (w *words) lines(width float32) []string {
	if !w.wrap {
		return []string{w.cut(strings.ReplaceAll(w.text, "\n", " "), width)}
	}
	var lines []string
	for paragraph := range strings.SplitSeq(w.text, "\n") {
		lines = append(lines, w.fold(paragraph, width)...)
	}
	return lines
}

// cut shortens a line until it and an ellipsis fit.
func (w *words) cut(line string, width float32) string {
	if w.width(line) <= width {
		return line
	}
	runes := []rune(line)
	low, high := 0, len(runes)
	for low < high {
		middle := (low + high + 1) / 2
		if w.width(string(runes[:middle])+"…") <= width {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return strings.TrimRight(string(runes[:low]), " ") + "…"
}

// fold breaks a paragraph into lines: at spaces, on either side of a Chinese
// character, and within a word only when it alone is wider than the line.
func (w *words) fold(paragraph string, width float32) []string {
	var lines []string
	line := ""
	for _, piece := range pieces(paragraph) {
		if line == "" || w.width(strings.TrimRight(line+piece, " ")) <= width {
			line += piece
		} else {
			lines = append(lines, strings.TrimRight(line, " "))
			line = piece
		}
		for w.width(strings.TrimRight(line, " ")) > width {
			head := w.head(line, width)
			lines = append(lines, line[:head])
			line = line[head:]
		}
	}
	return append(lines, strings.TrimRight(line, " "))
}

// head is the length in bytes of the longest start of line that fits, at least
// one character.
func (w *words) head(line string, width float32) int {
	end := 0
	for i, r := range line {
		next := i + len(string(r))
		if end > 0 && w.width(line[:next]) > width {
			break
		}
		end = next
	}
	return end
}

// closing are the characters that never begin a line.
const closing = "，。、；：！？）》」』”’…％"

// pieces cuts a paragraph where it may break: after spaces and around wide
// characters.
func pieces(paragraph string) []string {
	var all []string
	start := 0
	var before rune
	for i, r := range paragraph {
		breaks := before == ' ' && r != ' ' ||
			(wide(r) || wide(before)) && before != 0 && !strings.ContainsRune(closing, r) && r != ' ' && !opening(before)
		if breaks && i > start {
			all = append(all, paragraph[start:i])
			start = i
		}
		before = r
	}
	return append(all, paragraph[start:])
}

func wide(r rune) bool {
	return unicode.Is(unicode.Han, r) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF
}
func opening(r rune) bool { return strings.ContainsRune("（《「『“‘", r) }

// MinSize is little in width: a layout gives a text what it has and the text
// copes. The height of a wrapped text is that at its width.
func (w *words) MinSize() fyne.Size {
	w.ExtendBaseWidget(w)
	if w.text == "" {
		return fyne.Size{}
	}
	if w.wrap && w.Size().Width > 0 {
		return fyne.NewSize(10, w.heightFor(w.Size().Width))
	}
	return fyne.NewSize(10, w.lineHeight())
}

// CreateRenderer implements fyne.Widget.
func (w *words) CreateRenderer() fyne.WidgetRenderer {
	return &wordsRenderer{words: w}
}

type wordsRenderer struct {
	words *words
	texts []fyne.CanvasObject
}

func (r *wordsRenderer) Layout(size fyne.Size) { r.lay(size) }

// lay puts the lines in their places and reports whether any looks different.
// Fyne draws a text's picture anew for every Refresh, so there is none without
// need.
func (r *wordsRenderer) lay(size fyne.Size) (changed bool) {
	w := r.words
	var lines []string
	if w.text != "" && size.Width > 0 {
		lines = w.lines(size.Width)
	}
	changed = len(lines) != len(r.texts)
	for len(r.texts) < len(lines) {
		r.texts = append(r.texts, canvas.NewText("", nil))
	}
	r.texts = r.texts[:len(lines)]
	height, textSize := w.lineHeight(), w.Theme().Size(w.size)
	colour := w.Theme().Color(w.colour, fyne.CurrentApp().Settings().ThemeVariant())
	for i, line := range lines {
		text := r.texts[i].(*canvas.Text)
		text.Move(fyne.NewPos(0, float32(i)*height))
		text.Resize(fyne.NewSize(size.Width, height))
		if text.Text == line && text.TextSize == textSize && text.TextStyle == w.style() && text.Color == colour && text.Alignment == w.align {
			continue
		}
		text.Text, text.TextSize, text.TextStyle, text.Color, text.Alignment = line, textSize, w.style(), colour, w.align
		text.Refresh()
		changed = true
	}
	return changed
}

func (r *wordsRenderer) Refresh() {
	if r.lay(r.words.Size()) {
		canvas.Refresh(r.words)
	}
}

func (r *wordsRenderer) MinSize() fyne.Size           { return r.words.MinSize() }
func (r *wordsRenderer) Objects() []fyne.CanvasObject { return r.texts }
func (r *wordsRenderer) Destroy()                     {}

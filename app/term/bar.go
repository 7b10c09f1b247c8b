package term

import (
	"strings"

	"plimsoll/app/view"
)

// cell is one column of the bar.
type cell struct {
	fill   string
	colour style
}

// fills are the bar's characters, told apart without colour too.
var fills = map[view.SegmentKind]cell{
	view.SegmentWired:      {"█", blue},
	view.SegmentApp:        {"▓", cyan},
	view.SegmentCompressed: {"▒", yellow},
	view.SegmentCached:     {"░", dim},
	view.SegmentFree:       {"·", dim},
}

// widest is as wide as the bar gets; more columns tell nothing more.
const widest = 72

// bar draws memory from end to end, with the GPU limit as a line across it, and
// says below what is what. A bar without a total is not drawn.
func (p Page) bar(b *strings.Builder, bar view.Bar) {
	if bar.Total == 0 || len(bar.Segments) == 0 {
		return
	}
	width := min(p.width(), widest) - 2
	cells := make([]cell, 0, width)
	for i, n := range shares(bar, width) {
		look, ok := fills[bar.Segments[i].Kind]
		if !ok {
			look.fill = "?"
		}
		for range n {
			cells = append(cells, look)
		}
	}
	for i, m := range bar.Marks {
		if at := int(float64(m.At) / float64(bar.Total) * float64(width)); at >= 0 && at < len(cells) {
			cells[at] = cell{tick(i, m), bold}
		}
	}
	b.WriteString("\n[" + p.run(cells) + "]\n")
	p.legend(b, bar)
}

// tick is the character of a mark: a whole line for the limit, broken ones for the
// others, each its own.
func tick(i int, m view.Mark) string {
	if !m.Minor {
		return "│"
	}
	return []string{"┊", "╎"}[i%2]
}

// run paints cells of one colour together.
func (p Page) run(cells []cell) string {
	var b strings.Builder
	for from := 0; from < len(cells); {
		to := from
		text := ""
		for ; to < len(cells) && cells[to].colour == cells[from].colour; to++ {
			text += cells[to].fill
		}
		b.WriteString(p.paint(cells[from].colour, text))
		from = to
	}
	return b.String()
}

// legend says what the bar's characters mean, as many of them on a line as fit.
func (p Page) legend(b *strings.Builder, bar view.Bar) {
	var parts []string
	for _, s := range bar.Segments {
		if s.Bytes > 0 {
			parts = append(parts, fills[s.Kind].fill+" "+Clean(s.Label)+" "+Clean(s.Text))
		}
	}
	for i, m := range bar.Marks {
		parts = append(parts, tick(i, m)+" "+Clean(m.Label))
	}
	line := ""
	for _, part := range parts {
		part = Cut(part, p.width()-1)
		if line != "" && Width(line)+2+Width(part) > p.width()-1 {
			b.WriteString(" " + p.paint(dim, line) + "\n")
			line = ""
		}
		if line != "" {
			line += "  "
		}
		line += part
	}
	b.WriteString(" " + p.paint(dim, line) + "\n")
}

// shares gives each segment its part of width columns: at least one to each that
// is not empty, as long as there are enough, and all of them together width.
func shares(bar view.Bar, width int) []int {
	n := make([]int, len(bar.Segments))
	var before uint64
	from := 0
	for i, s := range bar.Segments {
		before += s.Bytes
		to := min(int(float64(before)/float64(bar.Total)*float64(width)+0.5), width)
		n[i] = max(to-from, 0)
		if n[i] == 0 && s.Bytes > 0 && from < width {
			n[i] = 1
		}
		from += n[i]
	}
	return n
}

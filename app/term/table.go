package term

import "strings"

// Table lays rows out in columns as wide as their widest cell, the first row
// being the headings. A cell that makes a line wider than the page is cut, the
// last column first to go.
func (p Page) Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(Clean(cell)))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			cell = Clean(cell)
			if c < len(row)-1 {
				cell = pad(cell, widths[c]) + "  "
			}
			line.WriteString(cell)
		}
		text := strings.TrimRight(line.String(), " ")
		if p.Width > 0 {
			text = Cut(text, p.width())
		}
		if i == 0 {
			text = p.paint(bold, text)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

package term

import (
	"strings"

	"plimsoll"
	"plimsoll/app/view"
)

// Status is the whole state of the machine on one page, ending in a line end.
func (p Page) Status(v view.View) string {
	var b strings.Builder
	p.heading(&b, v)
	p.alerts(&b, v.Alerts)
	p.bar(&b, v.Bar)
	p.rows(&b, "", v.Largest, v.Speed, v.Diagnosis)
	p.rows(&b, "", v.Memory, v.Pressure, v.Swap, v.GPU, limit(v), v.Heat, v.Throttle, v.Background)
	p.rows(&b, p.Words.Text("term.consumers"), v.Consumers...)
	p.models(&b, v)
	p.servers(&b, v.Servers)
	return b.String()
}

// heading names the program, the machine and the line: what the next model may take.
func (p Page) heading(b *strings.Builder, v view.View) {
	name := p.paint(bold, plimsoll.Name)
	if v.Demo != "" {
		name += " " + p.paint(purple, "["+Clean(v.Demo)+"]")
	}
	b.WriteString(name)
	if v.Machine.Text != "" {
		b.WriteString(p.paint(dim, "  "+Cut(Clean(v.Machine.Text), p.width()-Width(plimsoll.Name)-Width(v.Demo)-5)))
	}
	b.WriteByte('\n')
	if v.Stale != "" {
		p.hang(b, "", Clean(v.Stale), yellow)
	}
	if v.Line.Text != "" {
		b.WriteByte('\n')
		colour := colourOf(v.Line.Level)
		if colour == plain {
			colour = bold
		}
		p.hang(b, "", OneLine(v.Line), colour)
		for detail := range strings.Lines(v.Line.Detail) {
			p.hang(b, "  ", Clean(strings.TrimSpace(detail)), dim)
		}
	}
}

// OneLine is a row as text, with its label unless the text begins with it.
func OneLine(r view.Row) string {
	label, text := Clean(r.Label), oneLine(r.Text)
	if label == "" || len(text) >= len(label) && strings.EqualFold(text[:len(label)], label) {
		return text
	}
	return label + "  " + text
}

func oneLine(s string) string { return Clean(strings.ReplaceAll(s, "\n", " · ")) }

func (p Page) alerts(b *strings.Builder, alerts []view.Alert) {
	for _, a := range alerts {
		b.WriteByte('\n')
		colour := colourOf(a.Level)
		p.hang(b, p.paintMark(a.Level), Clean(a.Title), colour)
		p.hang(b, "  ", oneLine(a.Text), plain)
	}
}

func (p Page) paintMark(level view.Level) string { return mark(level) + " " }

// rows writes facts as two columns, below a heading if there is one. What is not
// known is not shown.
func (p Page) rows(b *strings.Builder, heading string, rows ...view.Row) {
	label := 0
	for _, r := range rows {
		if r.Text != "" {
			label = max(label, Width(Clean(r.Label)))
		}
	}
	label = min(label, p.width()/3)
	first := true
	for _, r := range rows {
		if r.Text == "" {
			continue
		}
		if first {
			b.WriteByte('\n')
			if heading != "" {
				p.hang(b, "", heading, bold)
			}
			first = false
		}
		head := p.paintMark(r.Level) + pad(Cut(Clean(r.Label), label), label) + "  "
		p.hang(b, head, Clean(r.Text), colourOf(r.Level))
	}
}

// models lists what is resident, one row each: name, facts.
func (p Page) models(b *strings.Builder, v view.View) {
	b.WriteByte('\n')
	p.hang(b, "", p.Words.Text("term.models"), bold)
	if len(v.Models) == 0 {
		p.hang(b, "  ", p.Words.Text("term.models.none"), dim)
		return
	}
	name := 0
	for _, m := range v.Models {
		name = max(name, Width(Clean(m.Name)))
	}
	name = min(name, p.width()*2/5)
	for _, m := range v.Models {
		head := p.paintMark(m.Level) + pad(Cut(Clean(m.Name), name), name) + "  "
		p.hang(b, head, Clean(m.Text), colourOf(m.Level))
	}
}

// servers lists the model servers, with what to do where something is wrong.
func (p Page) servers(b *strings.Builder, servers []view.Server) {
	if len(servers) == 0 {
		return
	}
	b.WriteByte('\n')
	p.hang(b, "", p.Words.Text("term.servers"), bold)
	name := 0
	for _, s := range servers {
		name = max(name, Width(Clean(s.Name)))
	}
	for _, s := range servers {
		p.hang(b, p.paintMark(s.Level)+pad(Clean(s.Name), name)+"  ", Clean(s.Text), colourOf(s.Level))
		if s.Next != "" {
			p.hang(b, "  ", Clean(s.Next), plain)
		}
	}
}

// Facts are rows in two columns, below a heading if there is one. What is not known
// is left out.
func (p Page) Facts(heading string, rows ...view.Row) string {
	var b strings.Builder
	p.rows(&b, heading, rows...)
	return b.String()
}

package main

import (
	"image"
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"plimsoll/app/view"
)

// inks are the painters' colours as the theme has them now.
func inks() ink {
	return ink{
		segments: map[view.SegmentKind]color.NRGBA{
			view.SegmentWired:      colour(colourWired),
			view.SegmentApp:        colour(colourApp),
			view.SegmentCompressed: colour(colourCompressed),
			view.SegmentCached:     colour(colourCached),
			view.SegmentFree:       colour(colourFree),
			view.SegmentWeights:    colour(colourWired),
			view.SegmentCache:      colour(colourApp),
			view.SegmentBuffers:    colour(colourCached),
			view.SegmentTaken:      colour(colourCompressed),
		},
		stripe: colour(colourCompressedLine),
		mark:   colour(theme.ColorNameForeground),
		ground: colour(colourCard),
	}
}

const (
	barHeight float32 = 22
	swatch    float32 = 10
)

// memoryBar is the bar with the names of its marks above and its legend below.
type memoryBar struct {
	box    *fyne.Container
	bar    view.Bar
	raster *canvas.Raster
	marks  []*words
	legend []*legend
}

// legend is one segment's swatch, name and amount.
type legend struct {
	tick   int // of a tick: one more than its place among the marks
	kind   view.SegmentKind
	swatch *canvas.Raster
	label  *words
}

func newMemoryBar() *memoryBar {
	m := &memoryBar{}
	m.raster = canvas.NewRaster(func(w, h int) image.Image {
		return paintBar(w, h, float64(h)/float64(barHeight), m.bar, inks())
	})
	m.box = container.New(arrange{m.heightFor, m.place}, m.raster)
	m.box.Hide()
	return m
}

func (m *memoryBar) set(bar view.Bar) {
	for len(m.marks) < len(bar.Marks) { // before the bar: adding one lays out
		m.marks = append(m.marks, caption())
		m.box.Add(m.marks[len(m.marks)-1])
	}
	m.bar = bar
	if bar.Total == 0 {
		m.box.Hide()
		return
	}
	for i, mark := range m.marks {
		if i < len(bar.Marks) {
			mark.set(above(bar.Marks[i]))
		} else {
			mark.set("")
		}
	}
	m.setLegend(bar)
	m.box.Show()
	m.raster.Refresh()
	relayout(m.box)
}

// above is the name that stands above a mark; ticks are named in the legend.
func above(m view.Mark) string {
	if m.Minor {
		return ""
	}
	return m.Label
}

// setLegend names the segments, and the ticks after them.
func (m *memoryBar) setLegend(bar view.Bar) {
	type entry struct {
		kind  view.SegmentKind
		tick  int
		label string
	}
	var entries []entry
	for _, s := range bar.Segments {
		if s.Label == "" {
			continue // what is left needs no name
		}
		entries = append(entries, entry{s.Kind, 0, s.Label + " " + s.Text})
	}
	for i, mark := range bar.Marks {
		if mark.Minor {
			entries = append(entries, entry{"", i + 1, mark.Label})
		}
	}
	for len(m.legend) < len(entries) {
		m.legend = append(m.legend, newLegend())
		last := m.legend[len(m.legend)-1]
		m.box.Add(last.swatch)
		m.box.Add(last.label)
	}
	for i, l := range m.legend {
		if i >= len(entries) {
			l.swatch.Hide()
			l.label.set("")
			continue
		}
		l.swatch.Show()
		if l.kind != entries[i].kind || l.tick != entries[i].tick {
			l.kind, l.tick = entries[i].kind, entries[i].tick
			l.swatch.Refresh()
		}
		l.label.set(entries[i].label)
	}
}

func newLegend() *legend {
	l := &legend{label: caption()}
	l.label.colour = theme.ColorNameForeground
	l.swatch = canvas.NewRaster(func(w, h int) image.Image {
		img := image.NewNRGBA(image.Rect(0, 0, w, h))
		colours, unit := inks(), float64(h)/float64(swatch)
		if l.tick > 0 {
			paintTick(img, w/2, unit, l.tick-1, colours.mark)
			return img
		}
		for y := range h {
			for x := range w {
				c := stripes(l.kind, x, y, unit, colours.segments[l.kind], colours.stripe)
				c.A = uint8(255 * rounded(float64(x)+.5, float64(y)+.5, float64(w), float64(h), 2*unit))
				img.SetNRGBA(x, y, c)
			}
		}
		return img
	})
	return l
}

// markHeight is the room for the names of the marks.
func (m *memoryBar) markHeight() float32 {
	if len(m.bar.Marks) == 0 {
		return 0
	}
	return m.marks[0].lineHeight()
}

// flow places the legend from the left, with as many entries in a line as fit,
// and returns the number of lines. each gets every entry's place.
func (m *memoryBar) flow(width float32, each func(l *legend, x, row, width float32)) (lines int) {
	const between = 14
	x := float32(0)
	for i, l := range m.shown() {
		need := swatch + 6 + l.label.natural()
		if i == 0 {
			lines = 1
		} else if x+need > width {
			x = 0
			lines++
		}
		if each != nil {
			each(l, x, float32(lines-1), min(need, width-x))
		}
		x += need + between
	}
	return lines
}

func (m *memoryBar) shown() []*legend {
	return slices.DeleteFunc(slices.Clone(m.legend), func(l *legend) bool { return l.label.text == "" })
}

func (m *memoryBar) heightFor(width float32) float32 {
	if m.bar.Total == 0 {
		return 0
	}
	height := m.markHeight() + barHeight
	if lines := m.flow(width, nil); lines > 0 {
		height += 6 + float32(lines)*(m.legend[0].label.lineHeight()+2) - 2
	}
	return height
}

func (m *memoryBar) place(size fyne.Size) {
	y := m.markHeight()
	for i, mark := range m.bar.Marks {
		// Centred over its line, but within the bar.
		natural := min(m.marks[i].natural(), size.Width)
		x := size.Width*float32(float64(mark.At)/float64(m.bar.Total)) - natural/2
		put(m.marks[i], max(0, min(x, size.Width-natural)), 0, natural, y)
	}
	put(m.raster, 0, y, size.Width, barHeight)
	y += barHeight + 6
	m.flow(size.Width, func(l *legend, x, row, width float32) {
		height := l.label.lineHeight()
		top := y + row*(height+2)
		put(l.swatch, x, top+(height-swatch)/2, swatch, swatch)
		put(l.label, x+swatch+6, top, width-swatch-6, height)
	})
}

// chart is a curve with its name.
type chart struct {
	box    *fyne.Container
	label  *words
	raster *canvas.Raster
	values []float64
}

const chartHeight float32 = 40

func newChart(name fyne.ThemeColorName, hatched bool) *chart {
	c := &chart{label: caption()}
	c.raster = canvas.NewRaster(func(w, h int) image.Image {
		line := curve{values: c.values, colour: colour(name), hatched: hatched}
		return paintCurve(w, h, float64(h)/float64(chartHeight), line, colour(theme.ColorNameSeparator))
	})
	c.box = container.New(arrange{
		func(float32) float32 { return c.label.lineHeight() + 2 + chartHeight },
		func(size fyne.Size) {
			put(c.label, 0, 0, size.Width, c.label.lineHeight())
			put(c.raster, 0, c.label.lineHeight()+2, size.Width, chartHeight)
		},
	}, c.label, c.raster)
	return c
}

func (c *chart) set(label string, values []float64) {
	c.label.set(label)
	c.values = values
	c.raster.Refresh()
}

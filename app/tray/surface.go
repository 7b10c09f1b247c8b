//go:build !headless

package tray

import (
	"log"
	"log/slog"
	"strings"

	"fyne.io/systray"
)

// surface is the Tray that systray makes.
type surface struct{ desk *desk }

func (s *surface) Row(parent Row, title string, clicked func()) Row {
	var item *systray.MenuItem
	if parent == nil {
		item = systray.AddMenuItem(s.desk.label(title), "")
	} else {
		item = parent.(*row).item.AddSubMenuItem(s.desk.label(title), "")
	}
	if clicked != nil {
		// systray drops a click that nobody waits for at that very moment; with
		// a buffer it cannot.
		item.ClickedCh = make(chan struct{}, 32)
		go func(clicks <-chan struct{}) {
			for range clicks {
				clicked()
			}
		}(item.ClickedCh)
	}
	return &row{desk: s.desk, item: item}
}

func (s *surface) Separator() { systray.AddSeparator() }

func (s *surface) Picture(png []byte) { s.desk.picture(png) }

func (s *surface) Title(text string) { s.desk.title(text) }

func (s *surface) Tooltip(text string) { systray.SetTooltip(text) }

// row is one systray item.
type row struct {
	desk *desk
	item *systray.MenuItem
}

func (r *row) Title(text string) { r.item.SetTitle(r.desk.label(text)) }

func (r *row) Tooltip(text string) {
	if rowTooltips {
		r.item.SetTooltip(text)
	}
}

func (r *row) Enable(enabled bool) {
	if enabled {
		r.item.Enable()
	} else {
		r.item.Disable()
	}
}

func (r *row) Show(visible bool) {
	if visible {
		r.item.Show()
	} else {
		r.item.Hide()
	}
}

// quietLog sends what systray prints through the standard logger to the log
// for developers; a person is told what matters in words. The answer undoes it.
func quietLog(to *slog.Logger) (restore func()) {
	before := log.Writer()
	log.SetOutput(writer(func(line []byte) (int, error) {
		if i := strings.Index(string(line), "systray error: "); i >= 0 {
			to.Debug(strings.TrimSpace(string(line[i:])))
			return len(line), nil
		}
		return before.Write(line)
	}))
	return func() { log.SetOutput(before) }
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

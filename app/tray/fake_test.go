package tray

import (
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// fake is a Tray that keeps what it was told and counts each call.
type fake struct {
	rows           []*fakeRow // in menu order, nil for a separator
	picture        []byte
	pictures       int
	title, tooltip string
	calls          int
}

type fakeRow struct {
	fake             *fake
	parent           *fakeRow
	children         []*fakeRow
	title, tooltip   string
	enabled, visible bool
	clicked          func()
}

func (f *fake) Row(parent Row, title string, clicked func()) Row {
	r := &fakeRow{fake: f, title: title, enabled: true, visible: true, clicked: clicked}
	if parent != nil {
		r.parent = parent.(*fakeRow)
		r.parent.children = append(r.parent.children, r)
	} else {
		f.rows = append(f.rows, r)
	}
	return r
}

func (f *fake) Separator()          { f.rows = append(f.rows, nil) }
func (f *fake) Picture(png []byte)  { f.picture = png; f.pictures++; f.calls++ }
func (f *fake) Title(text string)   { f.title = text; f.calls++ }
func (f *fake) Tooltip(text string) { f.tooltip = text; f.calls++ }

func (r *fakeRow) Title(text string)   { r.title = text; r.fake.calls++ }
func (r *fakeRow) Tooltip(text string) { r.tooltip = text; r.fake.calls++ }
func (r *fakeRow) Enable(on bool)      { r.enabled = on; r.fake.calls++ }
func (r *fakeRow) Show(on bool)        { r.visible = on; r.fake.calls++ }

// text is the menu as a person sees it: "-" is a separator, "(…)" a row that
// cannot be clicked, an indented row is in a submenu.
func (f *fake) text() string {
	var b strings.Builder
	line := func(r *fakeRow, indent string) {
		title := r.title
		if !r.enabled {
			title = "(" + title + ")"
		}
		b.WriteString(indent + title + "\n")
	}
	for _, r := range f.rows {
		if r == nil {
			b.WriteString("-\n")
			continue
		}
		if !r.visible {
			continue
		}
		line(r, "")
		for _, child := range r.children {
			if child.visible {
				line(child, "  ")
			}
		}
	}
	return b.String()
}

// find is the visible row with this title below the row with that one ("" for
// the top).
func (f *fake) find(t *testing.T, parent, title string) *fakeRow {
	t.Helper()
	for _, r := range f.rows {
		if r == nil || !r.visible {
			continue
		}
		if parent == "" && r.title == title {
			return r
		}
		if parent != "" && strings.HasPrefix(r.title, parent) {
			for _, child := range r.children {
				if child.visible && child.title == title {
					return child
				}
			}
		}
	}
	t.Fatalf("no row %q below %q in:\n%s", title, parent, f.text())
	return nil
}

// scene is a menu on a fake, with a clock that the test moves.
type scene struct {
	t        *testing.T
	tray     *fake
	menu     *menu
	time     time.Time
	mutex    sync.Mutex
	commands []monitor.Command
	opened   []string
	quits    int
	arrived  chan struct{}
}

func newScene(t *testing.T, language string) *scene {
	s := &scene{t: t, tray: &fake{}, time: time.Unix(1_760_000_000, 0), arrived: make(chan struct{}, 1000)}
	record := func(f func()) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		f()
		s.arrived <- struct{}{}
	}
	s.menu = newMenu(s.tray, Config{
		Name:  "Plimsoll",
		Words: view.In(language),
		Do:    func(c monitor.Command) { record(func() { s.commands = append(s.commands, c) }) },
		Open:  func(page string) { record(func() { s.opened = append(s.opened, page) }) },
		Quit:  func() { record(func() { s.quits++ }) },
	}, false, func() time.Time { return s.time })
	return s
}

func (s *scene) show(v view.View)           { s.menu.show(v, true) }
func (s *scene) pass(d time.Duration)       { s.time = s.time.Add(d) }
func (s *scene) click(parent, title string) { s.t.Helper(); s.tray.find(s.t, parent, title).clicked() }

// wait waits until n clicks arrived.
func (s *scene) wait(n int) {
	s.t.Helper()
	for range n {
		select {
		case <-s.arrived:
		case <-time.After(10 * time.Second):
			s.t.Fatal("a click did not arrive")
		}
	}
}

// last is the newest command.
func (s *scene) last() monitor.Command {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.commands[len(s.commands)-1]
}

func model(name string) view.Model {
	return view.Model{
		Key: "ollama/" + name, Name: name, Text: "9.3 GiB · in 4 min", State: "in 4 min", Detail: "Q4_K_M\n9.3 GiB",
		Actions: []view.Action{
			{Label: "Unload", Enabled: true, Command: monitor.Command{Kind: monitor.CommandUnload, Backend: "ollama", Model: name}},
			{Label: "Keep 1 h", Enabled: true, Command: monitor.Command{Kind: monitor.CommandKeep, Backend: "ollama", Model: name, Keep: new(3600.0)}},
			{Label: "Pin", Enabled: true, Command: monitor.Command{Kind: monitor.CommandKeep, Backend: "ollama", Model: name, Keep: new(-1.0)}},
		},
	}
}

func models(names ...string) view.View {
	v := view.View{Line: view.Row{Text: "14.2 GiB left"}}
	for _, name := range names {
		v.Models = append(v.Models, model(name))
	}
	return v
}

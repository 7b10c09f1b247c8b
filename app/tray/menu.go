package tray

import (
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// How many rows there are for things whose number changes.
const (
	serverRows = 3
	modelRows  = 10
	actionRows = 4
	alertRows  = 5
)

// menu is the rows and what they show. show is called from one goroutine;
// clicks come from any.
type menu struct {
	config   Config
	tray     Tray
	template bool
	now      func() time.Time
	commands queue
	orders   queue // the window and the end, which must not wait for a server
	quit     chan struct{}

	// renderer is the language in force, words what is looked up once in it: a
	// View comes every second.
	renderer *view.Renderer
	words    struct{ colon, noModels, noAlerts string }

	icons          icons
	icon           icon // the one that is shown, if drawn
	drawn          bool
	title, tooltip string
	fresh          time.Time // when numbers were last brought up to date

	demo, headline, stale  *line
	largest, speed, pace   *line
	relieve                *actionRow // what the pace asks for
	memory, swap, pressure *line
	heat, throttle, gpu    *line
	limit                  *limitMenu
	consumer               *line
	servers                []*line
	nothing, more          *line
	models                 []*modelRow
	modelPlaces            *places
	unloadAll              *actionRow
	alerts                 []*alertRow
	alertPlaces            *places
	quiet                  *line

	openWindow, settings, leave *line
}

// modelRow is a resident model with its actions as a submenu.
type modelRow struct {
	line    *line
	doing   string // key and state of the model it shows
	actions []*actionRow
	detail  *line // instead of actions, so that the submenu is never empty
}

// alertRow is a standing alert and, below it, its action.
type alertRow struct {
	line   *line
	action *actionRow
}

// actionRow is a row that sends a command.
type actionRow struct {
	line   *line
	target target
}

// newMenu appends all rows. Separators cannot be hidden, so every part between
// two of them always has a row to show.
func newMenu(t Tray, c Config, template bool, now func() time.Time) *menu {
	m := &menu{
		config: c, tray: t, template: template, now: now,
		quit:        make(chan struct{}),
		modelPlaces: newPlaces(modelRows), alertPlaces: newPlaces(alertRows),
	}
	m.picture(icon{state: view.IconNormal})
	m.addFacts()
	t.Separator()
	m.addModels()
	t.Separator()
	m.addAlerts()
	t.Separator()
	m.openWindow = m.addRow(nil, m.open(""))
	m.settings = m.addRow(nil, m.open("settings"))
	m.leave = m.addRow(nil, m.end)
	m.speak(c.Words)
	m.headline.show(c.Words.Text("tray.starting"), "", false)
	m.nothing.show(m.words.noModels, "", false)
	m.quiet.show(m.words.noAlerts, "", false)
	return m
}

// speak puts the fixed rows in a language. What else there is follows when a
// View is shown.
func (m *menu) speak(words *view.Renderer) {
	m.renderer = words
	m.words.colon = words.Text("tray.colon")
	m.words.noModels = words.Text("tray.no_models")
	m.words.noAlerts = words.Text("tray.no_alerts")
	m.openWindow.show(words.Text("tray.open"), "", true)
	m.settings.show(words.Text("tray.settings"), "", true)
	m.leave.show(words.Text("tray.quit"), "", true)
}

func (m *menu) addRow(parent Row, clicked func()) *line { return newLine(m.tray, parent, clicked) }

func (m *menu) addFacts() {
	for _, l := range []**line{&m.demo, &m.headline, &m.largest, &m.stale, &m.speed, &m.pace} {
		*l = m.addRow(nil, nil)
	}
	m.relieve = m.addAction(nil)
	for _, l := range []**line{&m.memory, &m.swap, &m.pressure, &m.heat, &m.throttle, &m.gpu} {
		*l = m.addRow(nil, nil)
	}
	m.addLimit()
	m.consumer = m.addRow(nil, nil)
}

func (m *menu) addModels() {
	for range serverRows {
		m.servers = append(m.servers, m.addRow(nil, nil))
	}
	m.nothing = m.addRow(nil, nil)
	for range modelRows {
		row := &modelRow{line: m.addRow(nil, nil)}
		for range actionRows {
			row.actions = append(row.actions, m.addAction(row.line.row))
		}
		row.detail = m.addRow(row.line.row, nil)
		m.models = append(m.models, row)
	}
	m.more = m.addRow(nil, m.open(""))
	m.unloadAll = m.addAction(nil)
}

func (m *menu) addAlerts() {
	m.quiet = m.addRow(nil, nil)
	for range alertRows {
		m.alerts = append(m.alerts, &alertRow{
			line:   m.addRow(nil, m.open("")),
			action: m.addAction(nil),
		})
	}
}

func (m *menu) addAction(parent Row) *actionRow {
	row := &actionRow{}
	row.line = m.addRow(parent, func() {
		if command := row.target.at(m.now()); command != nil {
			m.do(*command)
		}
	})
	return row
}

// do, open and end are what clicks lead to. They return at once.

func (m *menu) do(command monitor.Command) {
	if m.config.Do != nil {
		m.commands.add(func() { m.config.Do(command) })
	}
}

func (m *menu) open(page string) func() {
	return func() {
		if m.config.Open != nil {
			m.orders.add(func() { m.config.Open(page) })
		}
	}
}

func (m *menu) end() {
	m.orders.add(func() {
		select {
		case <-m.quit:
			return // clicked twice
		default:
		}
		if m.config.Quit != nil {
			m.config.Quit()
		}
		close(m.quit)
	})
}

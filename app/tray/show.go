package tray

import (
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// unseen is how old a number in a closed menu may get. Panels read the menu
// again after each change; an xfce4-panel 4.18 does with twelve calls that cost
// this program 10 ms, in which nobody has an interest. KDE, GNOME and
// everything made with libdbusmenu tell when they open the menu, which then is
// brought up to date at once.
const unseen = 30 * time.Second

// show brings icon, text and rows to a View. looking tells that the menu may be
// open: then every number follows, else only what happens (models, alerts, the
// icon) does at once. A View in another language changes every word at once.
func (m *menu) show(v view.View, looking bool) {
	now := m.now()
	other := v.Language != "" && v.Language != m.renderer.Language()
	if other {
		m.speak(view.In(v.Language))
	}
	fresh := other || looking || v.Icon != m.icon.state || now.Sub(m.fresh) >= unseen
	if fresh {
		m.fresh = now
	}
	// Nobody tells when a pointer rests on the icon: the tooltip keeps up with it.
	if m.picture(icon{state: v.Icon, badge: v.Badge}) || fresh {
		if tooltip := cleanLines(v.Tooltip, tooltipLimit); tooltip != m.tooltip {
			m.tooltip = tooltip
			m.tray.Tooltip(tooltip)
		}
	}
	if title := clean(v.Title, titleLimit); title != m.title {
		m.title = title
		m.tray.Title(title)
	}
	if fresh {
		m.showFacts(v)
		m.relieve.show("→ ", v.DiagnosisAction, now)
	}
	m.showLimit(v.Limit, now, fresh)
	m.showServers(v.Servers)
	m.showModels(v.Models, now, fresh)
	m.unloadAll.show("", v.UnloadAll, now)
	m.showAlerts(v.Alerts, now)
}

// picture sets the icon when another one is due, and tells whether it was.
func (m *menu) picture(want icon) bool {
	want.template = m.template
	if want.template || want.state == view.IconNoServer {
		want.badge = "" // not drawn
	}
	if m.drawn && m.icon == want {
		return false
	}
	m.icon, m.drawn = want, true
	m.tray.Picture(m.icons.picture(want))
	return true
}

// repeat sets what is not in the menu again.
func (m *menu) repeat() {
	m.tray.Picture(m.icons.picture(m.icon))
	m.tray.Title(m.title)
	m.tray.Tooltip(m.tooltip)
}

func (m *menu) showFacts(v view.View) {
	m.demo.show(v.Demo, "", false)
	headline := m.text(v.Line)
	if headline == "" {
		headline = m.config.Name // never a menu without a head
	}
	m.headline.show(headline, v.Line.Detail, false)
	m.stale.show(v.Stale, "", false)
	for _, fact := range []struct {
		line *line
		row  view.Row
	}{
		{m.largest, v.Largest}, {m.speed, v.Speed}, {m.pace, v.Diagnosis}, {m.memory, v.Memory}, {m.swap, v.Swap}, {m.pressure, v.Pressure},
		{m.heat, v.Heat}, {m.throttle, v.Throttle}, {m.gpu, v.GPU},
	} {
		fact.line.show(m.text(fact.row), fact.row.Detail, false)
	}
	consumer := view.Row{}
	if len(v.Consumers) > 0 {
		consumer = v.Consumers[0]
	}
	m.consumer.show(m.text(consumer), consumer.Detail, false)
}

// text is a fact as one line; "" when it is not known.
func (m *menu) text(r view.Row) string {
	if r.Text == "" || r.Label == "" {
		return r.Text
	}
	return r.Label + m.words.colon + r.Text
}

func (m *menu) showServers(servers []view.Server) {
	for i, row := range m.servers {
		if i >= len(servers) {
			row.hide()
			continue
		}
		s := servers[i]
		text := m.text(view.Row{Label: s.Name, Text: s.Text})
		row.show(sign(s.Level)+text, s.Next, false)
	}
}

func (m *menu) showModels(models []view.Model, now time.Time, fresh bool) {
	keys := make([]string, len(models))
	for i, model := range models {
		keys[i] = model.Key
	}
	for place, i := range m.modelPlaces.arrange(keys, now) {
		if i < 0 {
			m.models[place].hide(now)
		} else {
			m.models[place].show(models[i], now, fresh)
		}
	}
	if len(models) == 0 {
		m.nothing.show(m.words.noModels, "", false)
	} else {
		m.nothing.hide()
	}
	if left := len(models) - modelRows; left > 0 {
		m.more.show(m.renderer.Text("tray.more", view.Args{"Count": left}), "", true)
	} else {
		m.more.hide()
	}
}

func (r *modelRow) show(model view.Model, now time.Time, fresh bool) {
	shown := 0
	for i, row := range r.actions {
		var action *view.Action
		if i < len(model.Actions) {
			action = &model.Actions[i]
			shown++
		}
		row.show("", action, now)
	}
	if shown == 0 {
		r.detail.show(firstOf(model.State, model.Text, model.Name), "", false)
	} else {
		r.detail.hide()
	}
	// A model that does what it did has only numbers that changed.
	if doing := model.Key + "\x00" + model.State; fresh || r.doing != doing || !r.line.visible {
		r.doing = doing
	} else {
		return
	}
	title := model.Name
	if model.Text != "" {
		title += " · " + model.Text
	}
	r.line.show(sign(model.Level)+title, model.Detail, true)
}

// hide hides the row and its actions, whose clicks mean the old model for a
// moment more.
func (r *modelRow) hide(now time.Time) {
	r.line.hide()
	for _, row := range r.actions {
		row.target.set(nil, now)
	}
}

// show gives the row an action, or hides it when there is none.
func (r *actionRow) show(before string, action *view.Action, now time.Time) {
	if action == nil || action.Label == "" {
		r.target.set(nil, now)
		r.line.hide()
		return
	}
	var command *monitor.Command
	if action.Enabled {
		command = new(action.Command)
	}
	r.target.set(command, now)
	r.line.show(before+action.Label, "", action.Enabled)
}

func (m *menu) showAlerts(alerts []view.Alert, now time.Time) {
	keys := make([]string, len(alerts))
	for i, alert := range alerts {
		keys[i] = alert.ID
	}
	for place, i := range m.alertPlaces.arrange(keys, now) {
		row := m.alerts[place]
		if i < 0 {
			row.line.hide()
			row.action.show("", nil, now)
			continue
		}
		row.line.show(sign(alerts[i].Level)+alerts[i].Title, alerts[i].Text, true)
		row.action.show("→ ", alerts[i].Action, now)
	}
	if len(alerts) == 0 {
		m.quiet.show(m.words.noAlerts, "", false)
	} else {
		m.quiet.hide()
	}
}

// sign goes before what is not well: menus have no colour.
func sign(level view.Level) string {
	switch level {
	case view.Warning:
		return "⚠ "
	case view.Critical:
		return "‼ "
	}
	return ""
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return "–"
}

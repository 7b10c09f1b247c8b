package tray

import (
	"time"

	"plimsoll/app/view"
)

// limitChoices is the system's default and the steps above it, of which there are
// four at most.
const limitChoices = 5

// limitMenu is the row of the GPU's limit with what can be done about it. Rows that
// come and go stand at the end, so that no choice moves under a pointer.
type limitMenu struct {
	line     *line
	stands   string // what it showed last, but for the time that is left
	choices  []*actionRow
	nothing  *line
	other    *line
	keep     *actionRow
	restarts []*restartRow
}

// restartRow is a server that does not see the limit yet and, below it, what its
// restart interrupts.
type restartRow struct {
	action *actionRow
	cost   *line
}

func (m *menu) addLimit() {
	l := &limitMenu{line: m.addRow(nil, nil)}
	for range limitChoices {
		l.choices = append(l.choices, m.addAction(l.line.row))
	}
	l.nothing = m.addRow(l.line.row, nil)
	l.other = m.addRow(l.line.row, m.open("limit"))
	l.keep = m.addAction(l.line.row)
	for range serverRows {
		l.restarts = append(l.restarts, &restartRow{m.addAction(l.line.row), m.addRow(l.line.row, nil)})
	}
	m.limit = l
}

// showLimit brings the row to the limit as it stands. What it is follows at once,
// the time that is left of a trial when somebody looks.
func (m *menu) showLimit(v *view.Limit, now time.Time, fresh bool) {
	l := m.limit
	if v == nil {
		l.hide(now)
		return
	}
	stands := v.Row.Text
	if v.Trial != "" {
		stands = "trial"
	}
	if fresh || stands != l.stands || !l.line.visible {
		l.stands = stands
		l.line.show(sign(v.Row.Level)+m.text(v.Row), v.Row.Detail, true)
	}
	for i, row := range l.choices {
		row.show("", choiceAction(v.Choices, i), now)
	}
	l.nothing.show(v.Nothing, "", false)
	l.other.show(m.renderer.Text("tray.limit"), "", true)
	l.keep.show("", v.Keep, now)
	for i, row := range l.restarts {
		if i >= len(v.Restarts) {
			row.action.show("", nil, now)
			row.cost.hide()
			continue
		}
		row.action.show("", &v.Restarts[i].Action, now)
		row.cost.show(v.Restarts[i].Interrupts, "", false)
	}
}

// choiceAction is the click on a choice, with all that a menu can say of it.
func choiceAction(choices []view.LimitChoice, i int) *view.Action {
	if i >= len(choices) {
		return nil
	}
	c := choices[i]
	action := c.Action
	action.Label = c.Label
	if c.Detail != "" {
		action.Label += " · " + c.Detail
	}
	if c.Chosen {
		action.Label = "✓ " + action.Label
	}
	return &action
}

// hide hides the row. Clicks that were aimed at it mean what they meant for a
// moment more.
func (l *limitMenu) hide(now time.Time) {
	l.line.hide()
	for _, row := range l.choices {
		row.target.set(nil, now)
	}
	l.keep.target.set(nil, now)
	for _, row := range l.restarts {
		row.action.target.set(nil, now)
	}
}

package main

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"plimsoll/app/view"
)

// restartRow is a server that does not see the limit: why, what its restart
// interrupts, a button, and the command that does the same.
type restartRow struct {
	boxed
	why, cost *words
	button    *commandButton
	hand      *handRow
}

func newRestartRow(do func(view.Action)) *restartRow {
	r := &restartRow{why: body().wrapped(), cost: caption().wrapped(), button: newCommandButton(do), hand: newHandRow()}
	button := container.New(arrange{
		func(width float32) float32 {
			return max(r.button.MinSize().Height, r.cost.heightFor(r.costWidth(width)))
		},
		func(size fyne.Size) {
			least := r.button.MinSize()
			put(r.button, 0, (size.Height-least.Height)/2, least.Width+8, least.Height)
			h := r.cost.heightFor(r.costWidth(size.Width))
			put(r.cost, least.Width+18, (size.Height-h)/2, r.costWidth(size.Width), h)
		},
	}, r.button, r.cost)
	r.box = newColumn(6, r.why, button, r.hand)
	r.ExtendBaseWidget(r)
	return r
}

func (r *restartRow) costWidth(width float32) float32 {
	return max(60, width-r.button.MinSize().Width-18)
}

func (r *restartRow) set(intro string, restart view.Restart) {
	r.why.set(restart.Why)
	r.cost.set(restart.Interrupts)
	r.button.set(restart.Action)
	r.hand.set(view.ByHand{Intro: intro, Command: restart.Command})
	relayout(r.box)
}

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"plimsoll/app/view"
	"plimsoll/monitor/api"
)

// field is a text of the settings, put in force by its button or the Enter key.
// What is wrong with it stands below.
type field struct {
	entry   *widget.Entry
	apply   *widget.Button
	label   *words
	hint    *words
	trouble *words
	mark    *sign
	known   string // as it is in force
}

// newField makes a field; choose is called to put it in force.
func newField(choose func(*field)) *field {
	f := &field{entry: widget.NewEntry(), label: strong(), hint: caption().wrapped(), trouble: caption().wrapped(), mark: newSign()}
	f.apply = widget.NewButton("", func() { choose(f) })
	f.apply.Importance = widget.HighImportance
	f.entry.OnSubmitted = func(string) { choose(f) }
	f.entry.OnChanged = func(string) { f.changed() }
	f.trouble.colour = theme.ColorNameError
	f.mark.set(view.Critical)
	return f
}

func (f *field) card() fyne.CanvasObject {
	text := container.NewBorder(nil, nil, nil, f.apply, f.entry)
	trouble := container.New(arrange{
		func(width float32) float32 { return f.trouble.heightFor(width - gutter) },
		func(size fyne.Size) {
			show(f.mark.image, f.trouble.text != "")
			put(f.mark.image, 0, 1, glyph, glyph)
			put(f.trouble, gutter, 0, size.Width-gutter, size.Height)
		},
	}, f.mark.image, f.trouble)
	return newCard(newColumn(6, f.label, text, trouble, f.hint))
}

// text is what is typed.
func (f *field) text() string { return strings.TrimSpace(f.entry.Text) }

// set shows what is in force. A text that is being typed stays.
func (f *field) set(known string) {
	typing := f.text() != f.known
	f.known = known
	if !typing {
		f.entry.SetText(known)
	}
	f.changed()
}

// taken shows what is in force after submitted was put there, unless more was
// typed meanwhile.
func (f *field) taken(submitted, known string) {
	f.known = known
	if f.text() == submitted {
		f.entry.SetText(known)
	}
	f.changed()
}

// changed offers to apply a text that is not the one in force.
func (f *field) changed() {
	if f.text() == f.known {
		f.apply.Disable()
	} else {
		f.apply.Enable()
	}
}

// celsius is a temperature as it is typed, "" for none.
func celsius(t *float64) string {
	if t == nil {
		return ""
	}
	return strconv.FormatFloat(*t, 'f', -1, 64)
}

// readCelsius reads a temperature as people write it, "95", "92,5 °C"; nil for
// an empty text. Whether it is plausible is the agent's to say.
func readCelsius(text string) (*float64, error) {
	digits := strings.TrimSpace(strings.TrimRight(text, "°℃cC "))
	if digits == "" && strings.TrimSpace(text) == "" {
		return nil, nil
	}
	t, err := strconv.ParseFloat(strings.Replace(digits, ",", ".", 1), 64)
	if err != nil || math.IsNaN(t) || math.IsInf(t, 0) {
		return nil, api.Failure("bad_hot", fmt.Sprintf("%q is no temperature", text), err)
	}
	return &t, nil
}

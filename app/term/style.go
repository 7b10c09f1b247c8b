package term

import "plimsoll/app/view"

// style is the parameter of a terminal's SGR sequence (ECMA-48, 8.3.117).
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
	purple style = "35"
	cyan   style = "36"
	alarm  style = "1;31"
)

func (p Page) paint(s style, text string) string {
	if !p.Colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// mark is the shape of a level, which stands where no colour does; calm levels
// have none.
func mark(level view.Level) string {
	switch level {
	case view.Warning:
		return "▲"
	case view.Critical:
		return "◆"
	}
	return " "
}

func colourOf(level view.Level) style {
	switch level {
	case view.Warning:
		return yellow
	case view.Critical:
		return alarm
	case view.Unknown:
		return dim
	}
	return plain
}

package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// figureSpace is as wide as a digit.
const figureSpace = "\u2007"

// between joins the facts of one line.
const between = " · "

// size is an amount of memory: GiB with one decimal from 0.1 GiB on, and the
// largest unit that leaves a whole number below that, so that nothing that is
// there ever reads as 0.
func size(n uint64) string {
	switch {
	case n >= gibibyte/10:
		return gib(n) + " GiB"
	case n >= mebibyte:
		return fmt.Sprintf("%.0f MiB", float64(n)/mebibyte)
	case n >= kibibyte:
		return fmt.Sprintf("%.0f KiB", float64(n)/kibibyte)
	}
	return fmt.Sprintf("%d B", n)
}

// gib is the number of GiB without its unit.
func gib(n uint64) string { return fmt.Sprintf("%.1f", float64(n)/gibibyte) }

// wholeSize is size without ".0": the memory of a machine, "32 GiB".
func wholeSize(n uint64) string { return strings.Replace(size(n), ".0 ", " ", 1) }

// optional is size, or "" when n is absent.
func optional(n *uint64) string {
	if n == nil {
		return ""
	}
	return size(*n)
}

// part is "1.2 of 4.0 GiB". The first unit is left out where both are the same.
func (r *Renderer) part(used, total uint64) string {
	whole, some := size(total), size(used)
	if strings.HasSuffix(whole, " GiB") {
		some = strings.TrimSuffix(some, " GiB")
	}
	return r.Text("view.of", Args{"Used": some, "Total": whole})
}

// finite is *f if it is a number a measurement can have given.
func finite(f *float64) (float64, bool) {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return 0, false
	}
	return *f, true
}

// rate is bytes per second, "" when it is absent, negative or less than a byte.
func rate(f *float64) string {
	n, ok := finite(f)
	switch {
	case !ok || n < 1:
		return ""
	case n >= gibibyte:
		return fmt.Sprintf("%.1f GiB/s", n/gibibyte)
	case n >= 10*mebibyte:
		return fmt.Sprintf("%.0f MiB/s", n/mebibyte)
	case n >= mebibyte/10:
		return fmt.Sprintf("%.1f MiB/s", n/mebibyte)
	case n >= kibibyte:
		return fmt.Sprintf("%.0f KiB/s", n/kibibyte)
	}
	return fmt.Sprintf("%.0f B/s", n)
}

// perHour is what bytes per second add up to in an hour, "" when it is absent or
// no growth.
func perHour(f *float64) string {
	n, ok := finite(f)
	if n *= 3600; !ok || n < 1 || n > 1e18 {
		return ""
	}
	return size(uint64(n))
}

// percent is a share in whole percent. Only all is 100, and only nothing is 0.
func percent(share float64) string {
	n := math.Round(share * 100)
	if n >= 100 && share < 1 {
		n = 99
	}
	if n < 1 && share > 0 {
		n = 1
	}
	return fmt.Sprintf("%.0f %%", n)
}

// percentOf is a share that may be more than all, as of one processor core.
func percentOf(share float64) string { return fmt.Sprintf("%.0f %%", min(max(1, 100*share), 1e5)) }

// positive is a count or a process number, "" when it is absent or cannot be one.
func positive(n *int) string {
	if n == nil || *n <= 0 {
		return ""
	}
	return strconv.Itoa(*n)
}

// share is part ÷ whole within 0 to 1, −1 when there is no whole.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return -1
	}
	return min(float64(part)/float64(whole), 1)
}

// tokens is a context length: "8K" for multiples of 1,024, as models are named,
// all digits otherwise.
func tokens(n int) string {
	if n >= mebibyte && n%mebibyte == 0 {
		return strconv.Itoa(n/mebibyte) + "M"
	}
	if n >= kibibyte && n%kibibyte == 0 {
		return strconv.Itoa(n/kibibyte) + "K"
	}
	return strconv.Itoa(n)
}

// grouped is a number of tokens as people read it, "32,768".
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// celsius is a temperature, "" when it is absent or nothing a chip in use can
// have: sensors that are asleep or renamed read 0 to 10, broken ones above 125
// (github.com/vladkens/macmon/issues/12, github.com/exelban/stats/issues/2473).
func celsius(f *float64) string {
	n, ok := finite(f)
	if !ok || n < 15 || n > 125 {
		return ""
	}
	return fmt.Sprintf("%.0f °C", n)
}

// line joins the facts that are known.
func line(facts ...string) string { return joined(between, facts) }

// lines puts each fact that is known on a line of its own.
func lines(facts ...string) string { return joined("\n", facts) }

func joined(by string, facts []string) string {
	known := facts[:0:0]
	for _, fact := range facts {
		if fact != "" {
			known = append(known, fact)
		}
	}
	return strings.Join(known, by)
}

// nameLength is the most characters of a name or message from outside that a
// screen shows.
const nameLength = 80

// clean makes one short line of a text that comes from a server or the system:
// without line breaks, control characters and marks that turn the direction of
// writing, which could make a row read as something else.
func clean(s string) string { return cleanTo(s, nameLength) }

func cleanTo(s string, most int) string {
	var b strings.Builder
	count, space := 0, false
	for _, c := range s {
		if unicode.IsSpace(c) {
			space = b.Len() > 0
			continue
		}
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == unicode.ReplacementChar {
			continue
		}
		if count >= most {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
			count, space = count+1, false
		}
		b.WriteRune(c)
		count++
	}
	return b.String()
}

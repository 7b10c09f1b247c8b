package view

import (
	"math"
	"time"
)

const day = 24 * time.Hour

// longest bounds what a duration may say: beyond ten years it is no duration
// that a person acts on, and a server that means "for ever" (Ollama says the
// year 2319) is pinned.
const longest = 10 * 365 * day

// duration says a time in words, "" for none: "40 s", "4 min", "1 h 30 min",
// "2 d 4 h".
func (r *Renderer) duration(d time.Duration) string {
	if d < 0 {
		d = -max(d, -longest)
	}
	d = min(d, longest)
	// Each unit is left as soon as rounding would fill it up: 59.6 s is 1 min.
	if s := d.Round(time.Second); s < time.Minute {
		return r.unit("view.duration.s", s/time.Second)
	}
	if m := d.Round(time.Minute); m < time.Hour {
		return r.unit("view.duration.min", m/time.Minute)
	}
	if m := d.Round(time.Minute); m < day {
		return r.two("view.duration.h", m/time.Hour, "view.duration.min", m%time.Hour/time.Minute)
	}
	h := d.Round(time.Hour)
	return r.two("view.duration.d", h/day, "view.duration.h", h%day/time.Hour)
}

func (r *Renderer) unit(id string, n time.Duration) string {
	return r.Text(id, Args{"N": int64(n)})
}

func (r *Renderer) two(big string, n time.Duration, small string, rest time.Duration) string {
	if rest == 0 {
		return r.unit(big, n)
	}
	return r.unit(big, n) + " " + r.unit(small, rest)
}

// seconds makes a duration of a number of seconds, 0 when it is absent.
func seconds(f *float64) time.Duration {
	n, ok := finite(f)
	if !ok {
		return 0
	}
	limit := longest.Seconds()
	return time.Duration(math.Max(-limit, math.Min(n, limit)) * float64(time.Second))
}

// staleAfter is how old the last answer may be before a screen says so: three
// planned ticks, and at least ten seconds.
func staleAfter(interval *float64) time.Duration {
	return max(3*seconds(interval), 10*time.Second)
}

// since says by a message how long ago t was when that is longer than limit,
// else "".
func (r *Renderer) since(id string, t, now time.Time, limit time.Duration) string {
	if t.IsZero() || now.IsZero() {
		return ""
	}
	age := now.Sub(t)
	if age <= limit {
		return ""
	}
	return r.Text(id, Args{"Age": r.duration(age)})
}

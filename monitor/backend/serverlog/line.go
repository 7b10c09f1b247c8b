package serverlog

import (
	"strconv"
	"strings"
	"time"
)

// line is one line taken apart. A record has a message and attributes, as Ollama
// writes them (package log/slog's text, and log's before v0.6):
//
//	time=2026-02-25T18:14:34.262+08:00 level=INFO source=device.go:251 msg="kv cache" device=Metal size="1.2 GiB"
//	2025/02/11 14:24:45 routes.go:1187: INFO server config env="map[…]"
//
// Any other line, of a runner above all, is only text.
type line struct {
	text   string
	record bool
	stamp  string
	level  string
	source string
	msg    string
	rest   string // the attributes
}

// split takes a line apart. It keeps parts of s.
func split(s string) line {
	l := line{text: s}
	switch {
	case strings.HasPrefix(s, "time=") || strings.HasPrefix(s, "level="):
		rest := s
		for rest != "" && l.msg == "" {
			key, value, next, ok := cutAttribute(rest)
			if !ok {
				return l
			}
			switch key {
			case "time":
				l.stamp = value
			case "level":
				l.level = value
			case "source":
				l.source = value
			case "msg":
				l.msg, l.record, l.rest = unquote(value), true, next
				return l
			}
			rest = next
		}
	case len(s) > 20 && s[4] == '/' && s[7] == '/' && s[10] == ' ' && s[13] == ':':
		at, err := time.Parse("2006/01/02 15:04:05", s[:19])
		source, rest, ok := strings.Cut(s[20:], ": ")
		level, rest, leveled := strings.Cut(rest, " ")
		if err != nil || !ok || !leveled || strings.Contains(source, " ") {
			return l
		}
		l.stamp, l.source, l.level, l.record = at.Format("2006-01-02T15:04:05"), source, level, true
		l.msg = rest
		if equals := strings.IndexByte(rest, '='); equals >= 0 {
			before := max(strings.LastIndexByte(rest[:equals], ' '), 0)
			l.msg, l.rest = rest[:before], strings.TrimPrefix(rest[before:], " ")
		}
	}
	return l
}

// time is the line's own, zero without one that can be read.
func (l *line) time() time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, l.stamp, time.Local); err == nil {
			return at
		}
	}
	return time.Time{}
}

// cutAttribute cuts key=value off. Both may be quoted as Go quotes; the value is
// returned as it stands. It fails where a quotation does not end.
func cutAttribute(s string) (key, value, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil || !strings.HasPrefix(s[len(quoted):], "=") {
			return "", "", "", false
		}
		key, s = unquote(quoted), s[len(quoted)+1:]
	} else if key, s, ok = strings.Cut(s, "="); !ok || strings.ContainsAny(key, " \"") {
		return "", "", "", false
	}
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", "", false
		}
		return key, quoted, strings.TrimPrefix(s[len(quoted):], " "), true
	}
	value, rest, _ = strings.Cut(s, " ")
	return key, value, rest, true
}

func unquote(s string) string {
	if text, err := strconv.Unquote(s); strings.HasPrefix(s, `"`) && err == nil {
		return text
	}
	return s
}

// attribute is the value of the first attribute of that name, "" without one.
func (l *line) attribute(name string) string {
	for rest := l.rest; rest != ""; {
		key, value, next, ok := cutAttribute(rest)
		if !ok {
			return ""
		}
		if key == name {
			return unquote(value)
		}
		rest = next
	}
	return ""
}

// count is an attribute that is a whole number from 0 on.
func (l *line) count(name string) *int { return count(l.attribute(name)) }

// count reads a whole number from 0 on, nil when it is none.
func count(s string) *int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > 1<<40 {
		return nil
	}
	return &n
}

// decimal reads a number from 0 on, nil when it is none.
func decimal(s string) *float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(x >= 0 && x < 1e15) {
		return nil
	}
	return &x
}

// between is what stands between two marks, as far as both are there.
func between(s, from, to string) (string, bool) {
	_, s, ok := strings.Cut(s, from)
	if !ok {
		return "", false
	}
	return cutBefore(s, to)
}

func cutBefore(s, mark string) (string, bool) {
	s, _, ok := strings.Cut(s, mark)
	return s, ok
}

// size reads "697.2 MiB", "0 B" and "9.00 MiB".
func size(s string) *uint64 {
	number, unit, ok := strings.Cut(strings.TrimSpace(s), " ")
	x := decimal(number)
	scale := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[strings.TrimSpace(unit)]
	if !ok || x == nil || scale == 0 || *x*scale > 1<<60 {
		return nil
	}
	return new(uint64(*x*scale + 0.5))
}

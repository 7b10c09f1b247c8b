package metal

import (
	"math"
	"strings"
)

// MLXDevice is what MLX's device_info tells, printed by Python. Every field may be
// absent.
type MLXDevice struct {
	Device       *string `json:"device"`
	Architecture *string `json:"architecture"`
	RAM          *uint64 `json:"ram_bytes"`
	// WorkingSet is the limit in effect, which an override changes; MaxBuffer is
	// 75 % of the default one, which it does not.
	WorkingSet        *uint64  `json:"working_set_bytes"`
	WorkingSetMiB     *float64 `json:"working_set_mib"`
	WorkingSetPercent *float64 `json:"working_set_percent_of_ram"`
	MaxBuffer         *uint64  `json:"max_buffer_bytes"`
	MaxBufferPercent  *float64 `json:"max_buffer_percent_of_working_set"`
	ResourceLimit     *uint64  `json:"resource_limit"`
	// The default limit that MaxBuffer tells, and the override that is set. Absent
	// where the limit is the default.
	DefaultWorkingSet    *uint64  `json:"default_working_set_bytes_from_max_buffer"`
	DefaultWorkingSetMiB *float64 `json:"default_working_set_mib_from_max_buffer"`
	WiredLimitMB         *uint64  `json:"wired_limit_mb_implied"`
}

// ParseMLXDevice decodes a Python dictionary, or one of JSON, on any number of
// lines. With an error (a *TextError) it returns what it could read as well.
func ParseMLXDevice(text string) (*MLXDevice, error) {
	const tool = "device_info"
	m := &MLXDevice{}
	start := strings.IndexByte(text, '{')
	if start < 0 {
		if strings.TrimSpace(text) == "" {
			return m, &TextError{Truncated, tool, "no output"}
		}
		return m, &TextError{LabelsNotRecognised, tool, lastLine(text)}
	}
	known, whole := false, false
	for rest := strings.TrimSpace(text[start+1:]); ; {
		if strings.HasPrefix(rest, "}") {
			whole = true
			break
		}
		key, value, next, ok := cutPair(rest)
		if !ok {
			break
		}
		known = m.set(key, value) || known
		rest = next
	}
	m.derive()
	switch {
	case !whole:
		return m, &TextError{Truncated, tool, lastLine(text)}
	case !known:
		return m, &TextError{LabelsNotRecognised, tool, lastLine(text)}
	}
	return m, nil
}

func (m *MLXDevice) set(key, value string) bool {
	switch key {
	case "device_name":
		m.Device = word(value)
	case "architecture":
		m.Architecture = word(value)
	case "memory_size":
		m.RAM = whole(value)
	case "max_recommended_working_set_size":
		m.WorkingSet = whole(value)
	case "max_buffer_length":
		m.MaxBuffer = whole(value)
	case "resource_limit":
		m.ResourceLimit = whole(value)
	default:
		return false
	}
	return true
}

// cutPair cuts 'key': value and the comma behind it off. A value that neither a
// comma nor the brace stands behind was cut.
func cutPair(s string) (key, value, rest string, ok bool) {
	key, s, ok = cutQuoted(s)
	if !ok {
		return "", "", "", false
	}
	s, ok = strings.CutPrefix(strings.TrimSpace(s), ":")
	if s = strings.TrimSpace(s); !ok || s == "" {
		return "", "", "", false
	}
	if s[0] == '\'' || s[0] == '"' {
		value, s, ok = cutQuoted(s)
	} else if end := strings.IndexAny(s, ",}"); end >= 0 {
		value, s = strings.TrimSpace(s[:end]), s[end:]
	} else {
		ok = false
	}
	s = strings.TrimSpace(s)
	if !ok || s == "" || s[0] != ',' && s[0] != '}' {
		return "", "", "", false
	}
	return key, value, strings.TrimSpace(strings.TrimPrefix(s, ",")), true
}

// cutQuoted cuts a string in either kind of quotes off; no key or name has an
// escape in it.
func cutQuoted(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", "", false
	}
	return strings.Cut(s[1:], s[:1])
}

func (m *MLXDevice) derive() {
	if m.WorkingSet == nil {
		return
	}
	limit := float64(*m.WorkingSet)
	m.WorkingSetMiB = rounded(limit/(1<<20), 4)
	if m.RAM != nil {
		m.WorkingSetPercent = share(limit, float64(*m.RAM))
	}
	if m.MaxBuffer == nil || limit == 0 {
		return
	}
	buffer := float64(*m.MaxBuffer)
	m.MaxBufferPercent = share(buffer, limit)
	if math.Abs(buffer/limit-0.75) < 1e-4 {
		return
	}
	normal := buffer / 0.75
	m.DefaultWorkingSet, m.DefaultWorkingSetMiB = wholeBytes(normal), rounded(normal/(1<<20), 6)
	if *m.WorkingSet%(1<<20) == 0 { // an override is whole MiB
		m.WiredLimitMB = new(*m.WorkingSet >> 20)
	}
}

package metal

import (
	"strconv"
	"strings"
)

// MemoryPressureText is what the command memory_pressure prints, with -Q only
// the first and the last line of it. It never tells the pressure level. Every
// field may be absent; counters are pages since the start of the system.
type MemoryPressureText struct {
	RAM         *uint64 `json:"ram_bytes"`
	RAMPages    *uint64 `json:"ram_pages"`
	PageSize    *uint64 `json:"page_size_bytes"`
	Free        *uint64 `json:"free_bytes"`
	Purgeable   *uint64 `json:"purgeable_bytes"`
	Active      *uint64 `json:"active_bytes"`
	Inactive    *uint64 `json:"inactive_bytes"`
	Speculative *uint64 `json:"speculative_bytes"`
	Throttled   *uint64 `json:"throttled_bytes"`
	Wired       *uint64 `json:"wired_bytes"`
	Compressor  *uint64 `json:"compressor_bytes"`

	PurgedPages    *uint64 `json:"purged_pages"`
	SwapIns        *uint64 `json:"swapins"`
	SwapOuts       *uint64 `json:"swapouts"`
	Decompressions *uint64 `json:"decompressions"`
	Compressions   *uint64 `json:"compressions"`
	PageIns        *uint64 `json:"pageins"`
	PageOuts       *uint64 `json:"pageouts"`

	// FreePercent is 100 × pageable memory ÷ all memory (kern.memorystatus_level),
	// not a share of free memory.
	FreePercent *uint64 `json:"free_percent"`
}

type memoryPressureLine struct {
	label  string
	amount bool
	field  func(*MemoryPressureText) **uint64
}

// Labels as Apple's memory_pressure.c prints them (apple-oss-distributions/system_cmds).
var memoryPressureLines = []memoryPressureLine{
	{"Pages free", true, func(m *MemoryPressureText) **uint64 { return &m.Free }},
	{"Pages purgeable", true, func(m *MemoryPressureText) **uint64 { return &m.Purgeable }},
	{"Pages active", true, func(m *MemoryPressureText) **uint64 { return &m.Active }},
	{"Pages inactive", true, func(m *MemoryPressureText) **uint64 { return &m.Inactive }},
	{"Pages speculative", true, func(m *MemoryPressureText) **uint64 { return &m.Speculative }},
	{"Pages throttled", true, func(m *MemoryPressureText) **uint64 { return &m.Throttled }},
	{"Pages wired down", true, func(m *MemoryPressureText) **uint64 { return &m.Wired }},
	{"Pages used by compressor", true, func(m *MemoryPressureText) **uint64 { return &m.Compressor }},
	{"Pages purged", false, func(m *MemoryPressureText) **uint64 { return &m.PurgedPages }},
	{"Swapins", false, func(m *MemoryPressureText) **uint64 { return &m.SwapIns }},
	{"Swapouts", false, func(m *MemoryPressureText) **uint64 { return &m.SwapOuts }},
	{"Pages decompressed", false, func(m *MemoryPressureText) **uint64 { return &m.Decompressions }},
	{"Pages compressed", false, func(m *MemoryPressureText) **uint64 { return &m.Compressions }},
	{"Pageins", false, func(m *MemoryPressureText) **uint64 { return &m.PageIns }},
	{"Pageouts", false, func(m *MemoryPressureText) **uint64 { return &m.PageOuts }},
}

// memoryPressureLast is the label of the last line; a text without it was cut.
const memoryPressureLast = "System-wide memory free percentage"

// ParseMemoryPressure decodes the output of memory_pressure or memory_pressure -Q.
// With an error (a *TextError) it returns what it could read as well.
func ParseMemoryPressure(text string) (*MemoryPressureText, error) {
	m := &MemoryPressureText{}
	m.readHeader(text)
	m.FreePercent = memoryPressurePercent(text)
	body := text
	if m.FreePercent == nil && !strings.HasSuffix(text, "\n") {
		// Cut in the middle of a line: its number may miss digits.
		body = text[:strings.LastIndexByte(text, '\n')+1]
	}
	known := m.RAM != nil || m.FreePercent != nil
	for line := range strings.Lines(body) {
		label, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		for i := range memoryPressureLines {
			l := &memoryPressureLines[i]
			if l.label != label {
				continue
			}
			known = true
			n := whole(strings.TrimSpace(value))
			if !l.amount {
				*l.field(m) = n
			} else if m.PageSize != nil {
				*l.field(m) = times(n, *m.PageSize)
			}
		}
	}
	return m, m.fault(known, text)
}

func (m *MemoryPressureText) fault(known bool, text string) error {
	const tool = "memory_pressure"
	switch {
	case !known && strings.TrimSpace(text) != "":
		return &TextError{LabelsNotRecognised, tool, lastLine(text)}
	case known && m.PageSize == nil:
		return &TextError{PageSizeMissing, tool, ""}
	case m.FreePercent == nil:
		return &TextError{Truncated, tool, "no " + memoryPressureLast}
	}
	return nil
}

// readHeader reads "The system has 17179869184 (1048576 pages with a page size of 16384)."
func (m *MemoryPressureText) readHeader(text string) {
	_, after, ok := strings.Cut(text, "The system has ")
	if !ok {
		return
	}
	header, _, ok := strings.Cut(after, ").")
	if !ok {
		return
	}
	ram, rest, _ := strings.Cut(header, " (")
	pages, size, _ := strings.Cut(rest, " pages with a page size of ")
	m.RAM, m.RAMPages, m.PageSize = whole(ram), whole(pages), pageSize(whole(size))
}

func memoryPressurePercent(text string) *uint64 {
	_, after, ok := strings.Cut(text, memoryPressureLast+":")
	if !ok {
		return nil
	}
	digits, _, ok := strings.Cut(after, "%")
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 8)
	if err != nil || n > 100 {
		return nil
	}
	return &n
}
